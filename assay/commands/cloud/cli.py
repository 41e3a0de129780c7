"""assay cloud: machines of Google Cloud, from the first request to the last."""

from __future__ import annotations

import getpass
from typing import Any

import click

from assay.cli import options, printing
from assay.commands.cloud import api
from assay.commands.cloud.api import output
from assay.core.errors import UsageError
from assay.platforms.cloud.provider import MachineRequest

project = click.option(
    "--project",
    envvar="GOOGLE_CLOUD_PROJECT",
    default="",
    help="Project of Google Cloud; default: $GOOGLE_CLOUD_PROJECT.",
)
zone = click.option("--zone", default=api.ZONE, show_default=True, help="Zone it is in.")
name = click.argument("name", required=False, default="")
REQUEST = (
    *("accelerator_count", "accelerator_type", "nvme_count", "boot_ssd_size", "image"),
    *("cpu_min_platform", "machine_type", "install_driver", "internal_ip"),
)


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


@command.command(
    epilog="""\b
Examples:
  assay cloud create --accelerator-count 8 --nvme-count 4 --zone us-west1-b --zone us-east1-c
  assay cloud create bench-1 --accelerator-count 0 --machine-type n2-standard-16 --dry-run"""
)
@name
@project
@click.option(
    "--zone",
    "zones",
    multiple=True,
    default=(api.ZONE,),
    show_default=True,
    help="Repeat it: the next is tried where one has no such machine left.",
)
@click.option("--accelerator-count", type=int, default=1, show_default=True, help="GPUs.")
@click.option("--accelerator-type", default="nvidia-tesla-v100", show_default=True, help="Of GPU.")
@click.option("--machine-type", default="", help="Default: 8 processors for each GPU.")
@click.option("--cpu-min-platform", default="", help="Such as 'Intel Skylake'.")
@click.option("--image", default=MachineRequest(name="a").image, show_default=True, help="To boot.")
@click.option("--nvme-count", type=int, default=0, show_default=True, help="Local NVMe disks.")
@click.option("--boot-ssd-size", type=int, default=0, help="GB of a boot disk on SSD.")
@click.option("--scope", "scopes", multiple=True, help="Access scope; default: cloud-platform.")
@click.option("--network-tag", "network_tags", multiple=True, help="For firewall rules.")
@click.option("--driver/--no-driver", "install_driver", default=True, help="Install NVIDIA's.")
@click.option("--internal-ip", is_flag=True, help="No address outside; ssh by the internal one.")
@click.option("--ssh-key-file", default="", help="For the line to type.")
@click.option("--wait", default=60.0, show_default=True, help="Seconds for ssh to answer; 0: none.")
@click.option("--dry-run", is_flag=True, help="Print the requests that would be sent.")
@options.form
def create(
    name: str,
    project: str,
    zones: tuple[str, ...],
    wait: float,
    dry_run: bool,
    ssh_key_file: str,
    form: str,
    **given: Any,
) -> int:
    """Make a machine, and wait until ssh answers."""
    more = {one: given[one] for one in ("scopes", "network_tags") if given[one]}
    wanted = MachineRequest(name=own(name), **{n: given[n] for n in REQUEST}, **more)
    if dry_run:
        printing.put_document(api.machine_requests(wanted, require_project(project), zones))
        return 0
    made = api.create_machine(
        wanted, require_project(project), zones, wait, say=options.print_message
    )
    line = api.ssh_line(made, key_file=ssh_key_file, internal=wanted.internal_ip)
    printing.show(output([made], [line]), form)
    return 0


@command.command(epilog="\b\nExample:\n  assay cloud status assay-me --zone us-west1-b")
@name
@project
@zone
@options.form
def status(name: str, project: str, zone: str, form: str) -> int:
    """Show a machine, and the line that leads to it."""
    found = api.machine_status(own(name), require_project(project), zone)
    printing.show(output([found], [api.ssh_line(found)]), form)
    return 0


@command.command(epilog="\b\nExample:\n  assay cloud start assay-me")
@name
@project
@zone
@options.form
def start(name: str, project: str, zone: str, form: str) -> int:
    """Start a machine that was stopped."""
    found = api.start_machine(own(name), require_project(project), zone)
    printing.show(output([found], [api.ssh_line(found)]), form)
    return 0


@command.command(epilog="\b\nExample:\n  assay cloud stop assay-me")
@name
@project
@zone
@options.form
def stop(name: str, project: str, zone: str, form: str) -> int:
    """Stop a machine; one with local NVMe disks cannot be."""
    printing.show(output([api.stop_machine(own(name), require_project(project), zone)]), form)
    return 0


@command.command(epilog="\b\nExample:\n  assay cloud delete assay-me --yes")
@name
@project
@zone
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete(name: str, project: str, zone: str, yes: bool) -> int:
    """Delete a machine that assay has made, with its disks."""
    chosen = own(name)
    api.delete_own_machine(chosen, require_project(project), zone)
    if not yes:
        click.confirm(f"Delete {chosen} in {zone} with all of its disks?", abort=True, err=True)
    api.delete_machine(chosen, require_project(project), zone)
    options.print_message(f"{chosen} is deleted")
    return 0


@command.command("list", epilog="\b\nExample:\n  assay cloud list --format json")
@project
@options.form
def list_(project: str, form: str) -> int:
    """List the machines that assay has made, of all zones."""
    printing.show(output(api.machines(require_project(project))), form)
    return 0


def own(name: str) -> str:
    return name or f"assay-{getpass.getuser().lower()}"


def require_project(project: str) -> str:
    if not project:
        raise UsageError(
            "No project of Google Cloud was given.", hint="--project, or $GOOGLE_CLOUD_PROJECT"
        )
    return project
