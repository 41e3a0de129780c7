"""The gate over all series, as `assay check` reports it, without confirmation."""

from __future__ import annotations

import msgspec

from assay.commands.check import view
from assay.commands.check.api import CheckReport, read_report, status
from assay.core.contracts import Store
from assay.core.errors import UsageError
from assay.core.records import SCHEMA, Query
from assay.web.page import Choice, Form, Grid, Page, Section, table_grid
from assay.web.pages import PageRoute
from assay.web.pages.findings import MAX_CHECKED

FIELDS = {
    "since": "baseline (label:…, tag:…, commit:…, date:…; empty: the last stable stretch)",
    "fail_on": "fail on, such as step_time:3%",
    "workload": "workload",
    "machine": "machine",
}
PAGES = (PageRoute("/check", lambda store, query, _: check_page(store, query), "Check", 4, True),)


def check_page(store: Store, params: dict[str, str]) -> Page:
    form = Form(
        action="/check",
        fields=tuple(
            Choice(name=name, label=label, value=params.get(name, ""))
            for name, label in FIELDS.items()
        ),
    )
    query = Query(workload=params.get("workload", ""), machine=params.get("machine", ""))
    count = len({series.series.id for series in store.series(query)})
    if count > MAX_CHECKED:
        return _refusal_page(
            UsageError(
                f"{count} series are too many for one page.",
                hint="Choose a workload or a machine here, or run assay check in a terminal.",
            ),
            form,
        )
    try:
        report = read_report(
            store,
            since=params.get("since", ""),
            fail_on=[params["fail_on"]] if params.get("fail_on") else (),
            query=query,
        )
    except UsageError as error:
        return _refusal_page(error, form)
    return Page(
        title="Check",
        lead=view.headline(report),
        mood="good" if status(report) == 0 else "bad",
        command=_command(params),
        document=msgspec.to_builtins(report),
        sections=(gate_section("Every series", report, everything=True),),
        form=form,
    )


def gate_section(title: str, report: CheckReport, everything: bool) -> Section:
    """Every series, or those that are not fine."""
    table = view.check_table(report, everything)
    series = {(finding.key, finding.metric): finding.series for finding in report.found}
    rows = tuple(
        (
            msgspec.structs.replace(
                row[0], to=f"/history/{series[(row[0].text, row[1].text)]}/{row[1].text}"
            ),
            *row[1:],
        )
        for row in table_grid(table).rows
    )
    shown = Grid(
        columns=table.columns,
        rows=rows,
        numeric=table.numeric,
        minor=frozenset({"metric", "95 % interval", *table.spare}),
    )
    return Section(title=title, grid=shown, notes=table.notes)


def _command(params: dict[str, str]) -> str:
    words = [f"--{name.replace('_', '-')} '{params[name]}'" for name in FIELDS if params.get(name)]
    return " ".join(["assay check", *words])


def _refusal_page(error: UsageError, form: Form) -> Page:
    """Nothing to check yet, or an invalid field: shown above the form."""
    return Page(
        title="Check",
        lead=f"{error} {error.hint}",
        command="assay check",
        document={"schema": SCHEMA, "kind": "error", "error": str(error), "hint": error.hint},
        form=form,
    )
