"""Files that schedule a plan with cron, systemd or GitHub Actions: file name → text."""

from __future__ import annotations

import json
import re
import shlex
from typing import NamedTuple

from assay.commands.schedule.run_log import SECONDS
from assay.core.errors import UsageError, unknown_name_error

KINDS = ("cron", "systemd", "github-actions")
_CALENDAR = {  # of systemd.time(7)
    "hour": "*-*-* *:{minute:02}:00",
    "night": "*-*-* {hour:02}:{minute:02}:00",
    "week": "Sun *-*-* {hour:02}:{minute:02}:00",
}
_CRON = {
    "hour": "{minute} * * * *",
    "night": "{minute} {hour} * * *",
    "week": "{minute} {hour} * * 0",
}


class Scheduled(NamedTuple):
    """What is to run when."""

    name: str
    every: str
    hour: int
    minute: int
    command: tuple[str, ...]
    folder: str  # it is run in
    plan: str  # the plan file, from a checkout
    secrets: tuple[str, ...] = ()  # variables whose values are secret


def parse_time(every: str, at: str) -> tuple[int, int]:
    """Hour and minute, checked."""
    if every not in SECONDS:
        raise unknown_name_error("schedule", every, SECONDS)
    match = re.fullmatch(r"([01]?\d|2[0-3]):([0-5]\d)", at)
    if not match:
        raise UsageError(f"'{at}' is no time of day.", hint="As in: --at 02:30")
    return int(match[1]), int(match[2])


def files(kind: str, what: Scheduled) -> dict[str, str]:
    """The files of a schedule, each with the name it goes by."""
    if kind not in KINDS:
        raise unknown_name_error("kind of schedule", kind, KINDS)
    for text in (*what.command, what.folder, what.plan):
        if not text.isprintable():  # a new line would be a line of its own there
            raise UsageError(f"{text!r} has control characters in it.", hint="Rename it.")
    return {"cron": _cron, "systemd": _systemd, "github-actions": _workflow}[kind](what)


def calendar(what: Scheduled) -> str:
    return _CALENDAR[what.every].format(hour=what.hour, minute=what.minute)


def _cron(what: Scheduled) -> dict[str, str]:
    """A line of crontab(5). There a % ends the command, quoted or not."""
    timing = _CRON[what.every].format(hour=what.hour, minute=what.minute)
    command = f"cd {shlex.quote(what.folder)} && {shlex.join(what.command)}"
    line = f"{timing} {command}".replace("%", r"\%")
    head = f"# assay: the plan {what.name}, every {what.every}; to install it: crontab -e\n"
    secret = "".join(f"# it needs {name}: set it above, NAME=VALUE\n" for name in what.secrets)
    return {f"assay-{what.name}.cron": f"{head}{secret}{line}\n"}


def _systemd(what: Scheduled) -> dict[str, str]:
    unit = f"assay-{what.name}"
    lines = [
        "[Unit]",
        f"Description=assay: the plan {what.name}",
        "After=network-online.target",
        "Wants=network-online.target",
        "",
        "[Service]",
        "Type=oneshot",
        f"WorkingDirectory={_specifier(what.folder)}",
        *(f"PassEnvironment={name}" for name in what.secrets),
        f"ExecStart={' '.join(_word(word) for word in what.command)}",
    ]
    timer = [
        "[Unit]",
        f"Description=assay: the plan {what.name}, every {what.every}",
        "",
        "[Timer]",
        f"OnCalendar={calendar(what)}",
        "Persistent=true",
        f"Unit={unit}.service",
        "",
        "[Install]",
        "WantedBy=timers.target",
    ]
    return {
        f"{unit}.service": "\n".join(lines) + "\n",
        f"{unit}.timer": "\n".join(timer) + "\n",
    }


def _word(text: str) -> str:
    """Quoted as systemd.syntax(7) reads it: neither a specifier nor a variable of its own."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return f'"{_specifier(escaped)}"'


def _specifier(text: str) -> str:
    return text.replace("%", "%%")


def _workflow(what: Scheduled) -> dict[str, str]:
    """On a runner that keeps its disk: without its store there is no history to check against."""
    timing = _CRON[what.every].format(hour=what.hour, minute=what.minute)
    command = shlex.join(("assay", "run", "--plan", what.plan, "--every", what.every))
    lines = [
        f"name: {json.dumps(f'assay {what.name}')}",
        "on:",
        f"  schedule: [{{cron: {json.dumps(timing)}}}]",
        "  workflow_dispatch:",
        "concurrency:",
        f"  group: {json.dumps(f'assay-{what.name}')}",
        "jobs:",
        "  measure:",
        "    runs-on: [self-hosted, quiet]",
        "    timeout-minutes: 1440",
        "    env:",
        "      ASSAY_HOME: /var/lib/assay",
        *(f"      {name}: ${{{{ secrets.{name} }}}}" for name in what.secrets),
        "    steps:",
        "      - uses: actions/checkout@v4",
        "      - run: python -m pip install assay-lab",
        f"      - run: {json.dumps(command)}",
    ]
    return {f".github/workflows/assay-{what.name}.yml": "\n".join(lines) + "\n"}
