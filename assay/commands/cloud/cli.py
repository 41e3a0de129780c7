"""assay cloud: machines of Google Cloud, from the first request to the last."""

from __future__ import annotations

import getpass
from typing import Annotated

import click

from assay.cli import options, printing
from assay.cli.command import Keywords, click_command
from assay.commands.cloud import api
from assay.commands.cloud.api import output
from assay.core.errors import UsageError
from assay.core.options import Argument, Flag, Format
from assay.platforms.cloud.provider import MachineRequest

Name = Annotated[str, Argument()]


@click.group(
    epilog="""\b
Examples:
  assay cloud create --accelerator-count 8 --nvme-count 4 --project my-project
  assay cloud status ; assay cloud stop ; assay cloud delete
  assay cloud list"""
)
def command() -> None:
    """Make, see, start, stop and delete machines of Google Cloud.

    A machine is named assay-USER unless another name is given. Only machines that assay has made,
    which have its label, are ever started, stopped or deleted.
    """


@click_command(
    MachineRequest,
    api.create_machine,
    group=command,
    without=("project", "zones", "wait"),
    epilog="""\b
Examples:
  assay cloud create --accelerator-count 8 --nvme-count 4 --zone us-west1-b --zone us-east1-c
  assay cloud create bench-1 --accelerator-count 0 --machine-type n2-standard-16 --dry-run
  assay cloud create bench-1 --internal-ip --no-service-account""",
)
def create(
    keywords: Keywords,
    name: Name = "",
    *,
    project: str,
    zones: tuple[str, ...],
    wait: float,
    ssh_key_file: Annotated[str, Flag("For the line to type.")] = "",
    dry_run: Annotated[bool, Flag("Print the requests that would be sent.")] = False,
    format: Format = "text",
) -> int:
    """Make a machine, and wait until ssh answers."""
    request = MachineRequest(name=machine_or_default(name), **keywords)
    options.print_message(request.access)
    if dry_run:
        printing.put_document(api.machine_requests(request, require_project(project), zones))
        return 0
    machine = api.create_machine(
        request, require_project(project), zones, wait, say=options.print_message
    )
    line = api.ssh_line(machine, key_file=ssh_key_file, internal=request.internal_ip)
    printing.show(output([machine], [line]), format)
    return 0


@click_command(
    api.machine_status,
    group=command,
    epilog="\b\nExample:\n  assay cloud status assay-me --zone us-west1-b",
)
def status(name: Name = "", *, project: str, zone: str, format: Format = "text") -> int:
    """Show a machine, and the line that leads to it."""
    machine = api.machine_status(machine_or_default(name), require_project(project), zone)
    printing.show(output([machine], [api.ssh_line(machine)]), format)
    return 0


@click_command(
    api.start_machine, group=command, epilog="\b\nExample:\n  assay cloud start assay-me"
)
def start(name: Name = "", *, project: str, zone: str, format: Format = "text") -> int:
    """Start a machine that was stopped."""
    machine = api.start_machine(machine_or_default(name), require_project(project), zone)
    printing.show(output([machine], [api.ssh_line(machine)]), format)
    return 0


@click_command(api.stop_machine, group=command, epilog="\b\nExample:\n  assay cloud stop assay-me")
def stop(name: Name = "", *, project: str, zone: str, format: Format = "text") -> int:
    """Stop a machine; one with local NVMe disks cannot be."""
    machine = api.stop_machine(machine_or_default(name), require_project(project), zone)
    printing.show(output([machine]), format)
    return 0


@click_command(
    api.delete_machine,
    group=command,
    epilog="\b\nExample:\n  assay cloud delete assay-me --yes",
)
def delete(
    name: Name = "",
    *,
    project: str,
    zone: str,
    yes: Annotated[bool, Flag("Do not ask.")] = False,
) -> int:
    """Delete a machine that assay has made, with its disks."""
    chosen = machine_or_default(name)
    api.delete_own_machine(chosen, require_project(project), zone)
    if not yes:
        click.confirm(f"Delete {chosen} in {zone} with all of its disks?", abort=True, err=True)
    api.delete_machine(chosen, require_project(project), zone)
    options.print_message(f"{chosen} is deleted")
    return 0


@click_command(
    api.machines,
    group=command,
    name="list",
    epilog="\b\nExample:\n  assay cloud list --format json",
)
def list_(project: str, format: Format = "text") -> int:
    """List the machines that assay has made, of all zones."""
    printing.show(output(api.machines(require_project(project))), format)
    return 0


def machine_or_default(name: str) -> str:
    return name or f"assay-{getpass.getuser().lower()}"


def require_project(project: str | None) -> str:
    if not project:
        raise UsageError(
            "No project of Google Cloud was given.", hint="--project, or $GOOGLE_CLOUD_PROJECT"
        )
    return project
