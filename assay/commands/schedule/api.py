"""Schedule a plan file, and list its past runs."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from assay.commands.schedule import plan_file, run_log
from assay.commands.schedule.run_log import PlanRunLine
from assay.commands.schedule.timers import KINDS, Scheduled, files, parse_time
from assay.core import settings
from assay.core.errors import UsageError
from assay.core.options import Flag, StoreUrl, accept_old_keywords
from assay.core.settings import Home

_SECRET = "env:"


@accept_old_keywords(home="store")
def schedule(
    plan: Annotated[str | Path, Flag("Plan file to run.", "FILE", required=True)],
    every: Annotated[str, Flag("Interval of the schedule.", "hour|night|week")] = "night",
    kind: Annotated[
        str, Flag("Scheduler to write files for.", "|".join(KINDS), flags="--as")
    ] = "cron",
    at: Annotated[str, Flag("Time of day.", "HH:MM")] = "02:00",
    store: StoreUrl = None,
) -> dict[str, str]:
    """The files that schedule a plan file with cron, systemd or GitHub Actions: name → text.

    >>> for name, text in assay.schedule("plan.toml", kind="systemd").items():
    ...     print(name, text, sep="\\n")
    """
    return files(kind, _make_scheduled(plan, every, at, store))


@accept_old_keywords(home="store")
def scheduled_runs(plan: str | Path, every: str = "", store: StoreUrl = None) -> list[PlanRunLine]:
    """Past runs of a plan file, oldest first. With `every`, a missed run is the last, with a
    finding that says so."""
    if every:
        parse_time(every, "0:00")
    name, now = plan_file.read(plan).name, datetime.now(UTC)
    nights = run_log.lines(name, store)
    trouble = run_log.problems(nights, every, now)
    if not nights and every:
        raise UsageError(
            f"The plan {name} has never run.",
            hint=f"assay run --plan {plan} --every {every}",
        )
    if trouble:
        stamp = now.strftime("%Y-%m-%dT%H:%M:%SZ")
        nights.append(PlanRunLine(started=stamp, ended=stamp, status=1, findings=tuple(trouble)))
    return nights


def _make_scheduled(plan: str | Path, every: str, at: str, home: Home) -> Scheduled:
    hour, minute = parse_time(every, at)
    definition, path = plan_file.read(plan), Path(plan).expanduser().absolute()
    store = settings.place(home)
    command = (sys.executable, "-m", "assay", "run", "--plan", str(path), "--every", every)
    at_home = ("--home", store) if "@" not in store else ()  # no password in a crontab
    secrets = [to.removeprefix(_SECRET) for to in definition.alerts.to if to.startswith(_SECRET)]
    return Scheduled(
        name=definition.name,
        every=every,
        hour=hour,
        minute=minute,
        command=(*command, *at_home),
        folder=str(path.parent),
        plan=str(plan) if not Path(plan).is_absolute() else path.name,
        secrets=(*secrets, *(() if at_home else ("ASSAY_STORE",))),
    )
