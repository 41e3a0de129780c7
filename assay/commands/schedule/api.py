"""When a plan file is carried out: the schedule for it, and whether it was kept."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from assay.commands.schedule import plan_file, run_log
from assay.commands.schedule.run_log import NightLine
from assay.commands.schedule.timers import KINDS, Scheduled, files, when
from assay.core import settings
from assay.core.errors import UsageError
from assay.core.options import Flag, StoreUrl, older_keywords
from assay.core.settings import Home

_SECRET = "env:"


@older_keywords(home="store")
def schedule(
    plan: Annotated[str | Path, Flag("The plan file to carry out.", "FILE", required=True)],
    every: Annotated[str, Flag("How often.", "hour|night|week")] = "night",
    kind: Annotated[str, Flag("For what.", "|".join(KINDS), flags="--as")] = "cron",
    at: Annotated[str, Flag("Time of day.", "HH:MM")] = "02:00",
    store: StoreUrl = None,
) -> dict[str, str]:
    """The files that make cron, systemd or GitHub Actions carry out a plan file: name → text.

    >>> for name, text in assay.schedule("plan.toml", kind="systemd").items():
    ...     print(name, text, sep="\\n")
    """
    return files(kind, _scheduled(plan, every, at, store))


@older_keywords(home="store")
def kept_nights(plan: str | Path, every: str = "", store: StoreUrl = None) -> list[NightLine]:
    """Every time a plan file was carried out, oldest first. With `every`, one that should have
    been by now and was not is the last, and says so in its findings."""
    if every:
        when(every, "0:00")
    name, now = plan_file.read(plan).name, datetime.now(UTC)
    found = run_log.lines(name, store)
    trouble = run_log.trouble(found, every, now)
    if not found and every:
        raise UsageError(
            f"The plan {name} was never carried out.",
            hint=f"assay run --plan {plan} --every {every}",
        )
    if trouble:
        stamp = now.strftime("%Y-%m-%dT%H:%M:%SZ")
        found.append(NightLine(started=stamp, ended=stamp, status=1, findings=tuple(trouble)))
    return found


def _scheduled(plan: str | Path, every: str, at: str, home: Home) -> Scheduled:
    hour, minute = when(every, at)
    read, place = plan_file.read(plan), Path(plan).expanduser().absolute()
    store = settings.place(home)
    command = (sys.executable, "-m", "assay", "run", "--plan", str(place), "--every", every)
    at_home = ("--home", store) if "@" not in store else ()  # a password is nobody's to read
    secrets = [to.removeprefix(_SECRET) for to in read.alerts.to if to.startswith(_SECRET)]
    return Scheduled(
        name=read.name,
        every=every,
        hour=hour,
        minute=minute,
        command=(*command, *at_home),
        folder=str(place.parent),
        plan=str(plan) if not Path(plan).is_absolute() else place.name,
        secrets=(*secrets, *(() if at_home else ("ASSAY_STORE",))),
    )
