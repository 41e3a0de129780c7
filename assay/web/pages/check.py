"""The gate over all series, as `assay check` would answer now, without measuring again."""

from __future__ import annotations

import msgspec

from assay.commands.check import view
from assay.commands.check.api import Checked, check, status
from assay.core.contracts import Store
from assay.core.errors import UsageError
from assay.core.records import SCHEMA, Query
from assay.core.settings import Home
from assay.web.page import Choice, Form, Grid, Page, Section, grid

MOST = 300  # series that one page looks at; each takes some milliseconds
FIELDS = {
    "since": "baseline (label:…, tag:…, commit:…, date:…; empty: the last stable stretch)",
    "fail_on": "fail on, such as step_time:3%",
    "workload": "workload",
    "machine": "machine",
}


def check_page(store: Store, home: Home, given: dict[str, str]) -> Page:
    form = Form(
        action="/check",
        fields=tuple(
            Choice(name=name, label=label, value=given.get(name, ""))
            for name, label in FIELDS.items()
        ),
    )
    query = Query(workload=given.get("workload", ""), machine=given.get("machine", ""))
    count = len({one.series.id for one in store.series(query)})
    if count > MOST:
        return _refused(
            UsageError(
                f"{count} series are more than a page looks at while you wait.",
                hint="Choose a workload or a machine here, or run assay check in a terminal.",
            ),
            form,
        )
    try:
        found = check(
            since=given.get("since", ""),
            fail_on=[given["fail_on"]] if given.get("fail_on") else (),
            query=query,
            store=home,
        )
    except UsageError as error:
        return _refused(error, form)
    return Page(
        title="Check",
        lead=view.headline(found),
        mood="good" if status(found) == 0 else "bad",
        command=_command(given),
        document=msgspec.to_builtins(found),
        sections=(_section(found),),
        form=form,
    )


def _section(found: Checked) -> Section:
    table = view.check_table(found, everything=True)
    series = {(one.key, one.metric): one.series for one in found.found}
    rows = tuple(
        (
            msgspec.structs.replace(
                row[0], to=f"/history/{series[(row[0].text, row[1].text)]}/{row[1].text}"
            ),
            *row[1:],
        )
        for row in grid(table).rows
    )
    shown = Grid(columns=table.columns, rows=rows, numeric=table.numeric)
    return Section(title="Every series", grid=shown, notes=table.notes)


def _command(given: dict[str, str]) -> str:
    words = [f"--{name.replace('_', '-')} '{given[name]}'" for name in FIELDS if given.get(name)]
    return " ".join(["assay check", *words])


def _refused(error: UsageError, form: Form) -> Page:
    """Nothing to check yet, or a field that cannot be read: said above the form."""
    return Page(
        title="Check",
        lead=f"{error} {error.hint}",
        command="assay check",
        document={"schema": SCHEMA, "kind": "error", "error": str(error), "hint": error.hint},
        form=form,
    )
