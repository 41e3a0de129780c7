"""This machine: its noise, what would help, its peaks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import msgspec

from assay.cli import options, printing
from assay.cli.command import Keywords, click_command
from assay.core import settings
from assay.core.findings import Output, Table
from assay.core.options import Flag, Format, StoreUrl, accept_old_keywords
from assay.core.progress import ignore
from assay.core.records import Value
from assay.core.units import human
from assay.measure.machine.doctor import Checkup, Noise, Peak

if TYPE_CHECKING:
    from assay.measure.machine.doctor import Checkup


@accept_old_keywords(home="store")
def doctor(
    quick: Annotated[bool, Flag("Measure for a quarter of the time; less precise.")] = False,
    store: StoreUrl = None,
    progress: Callable[[str], None] = ignore,
) -> Checkup:
    """This machine: its noise now, remedies, and its measured peaks, which are stored.

    Takes a minute at most, or 15 s if `quick`; parts that do not fit are `left_out`.
    """
    from assay.measure.machine.doctor import examine

    return examine(settings.home(store), quick, progress)


_BYTES = ("memory", "swap_used")  # endings of facts that are counted in bytes


def output(checkup: Checkup) -> Output:
    return Output(tables=tuple(checkup_tables(checkup)), document=msgspec.to_builtins(checkup))


def checkup_tables(checkup: Checkup) -> list[Table]:
    """What it is, what can be used, how noisy it is, how fast."""
    tables = [_machine(checkup), _frameworks(checkup), _usable(checkup)]
    if checkup.noise:
        tables.append(_noise(checkup, checkup.noise))
    return [*tables, _peaks(checkup)]


def _machine(checkup: Checkup) -> Table:
    return Table(
        title="This machine",
        columns=("fact", "value"),
        rows=tuple((name, _fact(name, value)) for name, value in checkup.machine.items()),
    )


def _frameworks(checkup: Checkup) -> Table:
    return Table(
        title="Frameworks",
        columns=("framework", "version", "devices it sees"),
        rows=tuple(
            (f.name, f.version, f.problem or ", ".join(f.devices)) for f in checkup.frameworks
        ),
    )


def _usable(checkup: Checkup) -> Table:
    rows = [("backend", name, problem) for name, problem in checkup.backends.items()]
    rows += [("monitor", name, problem) for name, problem in checkup.monitors.items()]
    return Table(
        title="What can be used",
        columns=("part", "name", "here"),
        rows=tuple((part, name, problem or "usable") for part, name, problem in rows),
    )


def _noise(checkup: Checkup, noise: Noise) -> Table:
    notes = [
        f"single samples spread by {noise.spread:.1%}; two identical workloads differed "
        f"by {abs(noise.difference):.2%} over {noise.pairs} pairs",
        f"a change below {noise.visible:.2%} cannot be detected at present",
    ]
    return Table(
        title="Noise, and what would help",
        columns=("remedy", "how", "detectable effect", "instead of", "verdict"),
        rows=tuple(
            (r.name, r.how, f"{r.after:.2%}", f"{r.before:.2%}", "helps" if r.helps else "no help")
            for r in checkup.remedies
        ),
        numeric=frozenset({"detectable effect", "instead of"}),
        notes=tuple(notes),
    )


def _peaks(checkup: Checkup) -> Table:
    return Table(
        title="Highest rates measured",
        columns=("device", "what", "rate", "published", "share"),
        rows=tuple(
            (
                peak.device,
                peak.what if peak.what == "copy" else f"matrix product, {peak.what}",
                human(peak.rate, peak.unit),
                human(peak.published, peak.unit) if peak.published else "not known",
                f"{peak.rate / peak.published:.0%}" if peak.published else "",
            )
            for peak in checkup.peaks
        ),
        numeric=frozenset({"rate", "published", "share"}),
        notes=(
            *_left_out(checkup),
            *_busy(checkup),
            *(_above_peak_note(peak) for peak in checkup.peaks if peak.exceeds),
        ),
    )


def _busy(checkup: Checkup) -> list[str]:
    load, cpus = checkup.machine.get("load_average", 0.0), checkup.machine.get("cpus_allowed", 1)
    if not isinstance(load, float) or not isinstance(cpus, int) or load < 0.5 * cpus:
        return []
    return [
        f"the load was {load:g} on {cpus} CPUs, so rates are too low: "
        "run it again when the machine is idle"
    ]


def _left_out(checkup: Checkup) -> list[str]:
    if not checkup.left_out:
        return []
    return [
        f"there was no time for {', '.join(checkup.left_out)} within {checkup.budget:g} s: "
        "run it again when the machine is idle"
    ]


def _above_peak_note(peak: Peak) -> str:
    return (
        f"{peak.device} exceeds the published peak of {peak.what}: its clocks may be higher than "
        "the data sheet's, or fewer operations are done than are counted"
    )


def _fact(name: str, value: Value) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and (name.endswith(_BYTES) or name.startswith(("cache", "memory"))):
        return human(value, "B")
    return str(value)


@click_command(
    doctor,
    epilog="""\b
Examples:
  assay doctor
  assay doctor --quick
  assay doctor --format json""",
)
def command(keywords: Keywords, format: Format = "text") -> int:
    """Check this machine: what it is, how noisy it is now, what would help, its peak rates.

    Takes under a minute, with --quick 15 s; on a busy machine, parts that do not fit are left out.
    The peaks are stored, and later results are compared to them.
    """
    checkup = doctor(**keywords, progress=options.print_message)
    printing.show(output(checkup), format)
    return 0
