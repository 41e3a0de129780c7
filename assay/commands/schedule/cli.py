"""assay schedule: schedule a plan file, or show its past runs."""

from __future__ import annotations

from typing import Annotated

from assay.cli import options, printing
from assay.cli.command import Keywords, click_command
from assay.commands.schedule import api, plan_file
from assay.commands.schedule.view import runs_output
from assay.core.files import user_path, write_user_file
from assay.core.options import Flag, Format


@click_command(
    api.schedule,
    epilog="""\b
Examples:
  assay schedule --every night --plan plan.toml --as cron
  assay schedule --at 01:30 --plan plan.toml --as systemd --write ~/.config/systemd/user
  assay schedule --every week --plan nightly/plan.toml --as github-actions --write .
  assay schedule --every night --plan plan.toml --status

With --status, exit status 1 if the last run failed, never ended or was missed.""",
)
def command(
    keywords: Keywords,
    *,
    plan: str,
    every: str,
    write: Annotated[str, Flag("Write the files there; else print.", "FOLDER")] = "",
    status: Annotated[bool, Flag("Show all past runs of the plan.")] = False,
    store: str | None,
    format: Format = "text",
) -> int:
    """Schedule a plan file with cron, systemd or GitHub Actions.

    The scheduled command is `assay run --plan FILE --every …`: it measures, checks, alerts, and
    reports an earlier run that was missed or never ended.
    """
    if status:
        nights = api.scheduled_runs(plan, every, store)
        printing.show(runs_output(plan_file.read(plan).name, nights), format)
        return int(bool(nights and nights[-1].status))
    files = api.schedule(**keywords)
    if write:
        for name, text in files.items():
            write_user_file(user_path(write) / name, text.encode())
            options.print_message(f"written: {user_path(write) / name}")
    elif format == "json":
        printing.put_document(files)
    else:
        for name, text in files.items():
            heading = [f"# {name}"] if len(files) > 1 else []
            printing.put(*heading, text.rstrip("\n"))
    return 0
