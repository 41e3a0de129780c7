"""assay perfzero-cloud: what `python3 cloud_manager.py` was, flag by flag."""

from __future__ import annotations

from typing import Any

import click

from assay.cli import options, printing
from assay.commands.cloud import api
from assay.commands.cloud.api import output
from assay.compat.perfzero import cloud as old

REQUEST = (
    *("accelerator_count", "accelerator_type", "cpu_min_platform", "machine_type", "image"),
    *("nvme_count", "boot_ssd_size"),
)


@click.command(
    epilog="""\b
Examples:
  assay perfzero-cloud create --project=my-project --accelerator_count=8 --nvme_count=4
  assay perfzero-cloud delete --project=my-project
  assay perfzero-cloud list_all --project=my-project"""
)
@click.argument("what", metavar="COMMAND")
@options.boolean("--debug", help="Accepted; there is nothing more to show.")
@click.option("--project", default=old.PROJECT, show_default=True, help="Of Google Cloud.")
@click.option("--username", default="", help="The machine is perfzero-dev-USERNAME; default: you.")
@click.option("--zone", default=api.ZONE, show_default=True, help="Of Google Cloud.")
@click.option("--ssh-internal-ip", is_flag=True, help="Reach it by its internal address.")
@click.option("--ssh-key-file", default="", help="Key for the ssh line.")
@click.option("--accelerator_count", type=int, default=1, show_default=True, help="GPUs.")
@click.option("--accelerator_type", default="nvidia-tesla-v100", show_default=True, help="Of GPU.")
@click.option("--cpu_min_platform", default="", help="Such as 'Intel Skylake'.")
@click.option("--machine_type", default="", help="Default: n1-standard-(8 for each GPU).")
@click.option("--image", default="", help="To boot; PerfZero's own is gone.")
@click.option("--nvme_count", type=int, default=0, show_default=True, help="Local NVMe disks.")
@click.option("--boot_ssd_size", type=int, default=0, help="GB.")
@click.option("--yes", is_flag=True, help="Delete without asking (assay's own flag).")
@click.option("--dry-run", is_flag=True, help="Print the request (assay's own flag).")
@click.option(
    "--clone/--no-clone",
    default=True,
    show_default=True,
    help="Clone PerfZero's repository onto a new machine by ssh (assay's own flag).",
)
def command(
    what: str,
    debug: bool,
    project: str,
    username: str,
    zone: str,
    ssh_internal_ip: bool,
    ssh_key_file: str,
    yes: bool,
    dry_run: bool,
    clone: bool,
    **given: Any,  # noqa: ANN401
) -> int:
    """COMMAND is create, start, stop, delete, status or list_all."""
    old.check_command(what)
    if what == "list_all":
        printing.show(output(api.machines(project)), "text")
        return 0
    name = old.machine_name(username)
    if what == "delete":
        api.own_machine(name, project, zone)
        if not yes:
            click.confirm(f"Delete {name} in {zone}?", abort=True, err=True)
        api.delete_machine(name, project, zone)
        options.say(f"{name} is deleted")
        return 0
    if what == "create":
        wanted = old.request(username, internal_ip=ssh_internal_ip, **given)
        if dry_run:
            printing.put_document(api.machine_requests(wanted, project, [zone]))
            return 0
        found = api.create_machine(wanted, project, [zone], say=options.say)
    else:
        calls = {"start": api.start_machine, "stop": api.stop_machine}
        found = calls.get(what, api.machine_status)(name, project, zone)
    line = api.ssh_line(found, username, ssh_key_file, ssh_internal_ip)
    printing.show(output([found], [line]), "text")
    if what == "create" and clone:
        old.prepare(api.ssh_words(found, username, ssh_key_file, ssh_internal_ip), options.say)
    return 0
