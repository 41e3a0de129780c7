"""assay schedule: when a plan file is carried out, and whether it was."""

from __future__ import annotations

import click

from assay.cli import options, printing
from assay.commands.schedule import api, plan_file
from assay.commands.schedule.timers import KINDS
from assay.commands.schedule.view import nights_output
from assay.core.files import user_file, user_path


@click.command(
    epilog="""\b
Examples:
  assay schedule --every night --plan plan.toml --as cron
  assay schedule --at 01:30 --plan plan.toml --as systemd --write ~/.config/systemd/user
  assay schedule --every week --plan nightly/plan.toml --as github-actions --write .
  assay schedule --every night --plan plan.toml --status

With --status it leaves with 1 when the last one failed, never ended or was missed."""
)
@click.option("--plan", required=True, metavar="FILE", help="The plan file to carry out.")
@click.option(
    "--every", default="night", show_default=True, metavar="hour|night|week", help="How often."
)
@click.option("--at", default="02:00", show_default=True, metavar="HH:MM", help="Time of day.")
@click.option(
    "--as", "kind", default="cron", show_default=True, metavar="|".join(KINDS), help="For what."
)
@click.option("--write", default="", metavar="FOLDER", help="Write the files there; else print.")
@click.option("--status", is_flag=True, help="Show every time it was carried out.")
@options.home
@options.form
def command(
    plan: str,
    every: str,
    at: str,
    kind: str,
    write: str,
    status: bool,
    home: str | None,
    form: str,
) -> int:
    """Schedule a plan file with cron, systemd or GitHub Actions.

    What is scheduled is `assay run --plan FILE --every …`: it measures, checks, alerts, and reports
    an earlier one that was missed or never ended.
    """
    if status:
        kept = api.kept_nights(plan, every, home)
        printing.show(nights_output(plan_file.read(plan).name, kept), form)
        return int(bool(kept and kept[-1].status))
    files = api.schedule(plan, every, kind, at, home)
    if write:
        for name, text in files.items():
            with user_file(user_path(write) / name) as temporary:
                temporary.write_text(text)
            options.say(f"written: {user_path(write) / name}")
    elif form == "json":
        printing.put_document(files)
    else:
        for name, text in files.items():
            heading = [f"# {name}"] if len(files) > 1 else []
            printing.put(*heading, text.rstrip("\n"))
    return 0
