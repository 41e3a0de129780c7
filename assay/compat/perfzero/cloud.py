"""PerfZero's cloud_manager.py: its commands and flags in assay's words."""

from __future__ import annotations

import getpass
import subprocess
import time
from collections.abc import Callable, Sequence
from typing import Any

import click
import msgspec

from assay.cli import options, printing
from assay.commands.cloud import api
from assay.commands.cloud.api import output
from assay.core.errors import UsageError
from assay.core.objects import ServiceUnavailableError
from assay.platforms.cloud.provider import MachineRequest

PROJECT = "google.com:tensorflow-performance"
# What cloud_manager.py did on a new machine, by ssh. That it is done already is no failure.
ON_MACHINE = (
    "test -d benchmarks || git clone https://github.com/tensorflow/benchmarks.git",
    'sudo usermod -a -G docker "$USER"',
)
TRIES, PAUSE = 12, 5.0  # seconds: a key takes a while to get there
_UNREACHED = 255  # ssh's own exit status
_SSH = ("-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=accept-new", "-o", "ConnectTimeout=30")
COMMANDS = ("create", "start", "stop", "delete", "status", "list_all")


def machine_name(username: str) -> str:
    """As PerfZero named it."""
    return f"perfzero-dev-{(username or getpass.getuser()).lower()}"


def request(
    username: str,
    accelerator_count: int,
    accelerator_type: str,
    cpu_min_platform: str,
    machine_type: str,
    image: str,
    nvme_count: int,
    boot_ssd_size: int,
    internal_ip: bool,
) -> MachineRequest:
    """Of `create`. A bare name of an image is one of the project's own, as gcloud took it."""
    made = MachineRequest(
        name=machine_name(username),
        accelerator_count=accelerator_count,
        accelerator_type=accelerator_type,
        cpu_min_platform=cpu_min_platform,
        machine_type=machine_type,
        nvme_count=nvme_count,
        boot_ssd_size=boot_ssd_size,
        internal_ip=internal_ip,
    )
    if not image:
        return made
    whole = image if "/" in image else f"global/images/{image}"
    return msgspec.structs.replace(made, image=whole)


def check_command(command: str) -> str:
    """PerfZero took any name in its module for a command, and then did nothing."""
    if command not in COMMANDS:
        raise UsageError(f"'{command[:40]}' is no command.", hint=f"One of: {', '.join(COMMANDS)}.")
    return command


def prepare(ssh: Sequence[str], say: Callable[[str], None]) -> None:
    """PerfZero's repository onto a new machine, and its user into the group that may use docker."""
    program, *rest = ssh
    for command in ON_MACHINE:
        say(f"on the machine: {command}")
        ended = _run([program, *_SSH, *rest, command])
        if ended.returncode:
            told = (ended.stderr or ended.stdout).strip().splitlines() or ["it said nothing"]
            raise ServiceUnavailableError(
                f"The machine runs, but '{command}' failed on it: {told[-1][:200]}",
                hint="Do it by hand there; the machine stays as it is.",
            )


def _run(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Tried again while the machine does not let us in."""
    for _ in range(TRIES):
        try:
            ended = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        except FileNotFoundError:
            raise UsageError(
                "There is no ssh here to set the machine up.", hint="Install openssh-client."
            ) from None
        if ended.returncode != _UNREACHED:
            break
        time.sleep(PAUSE)
    return ended


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
@click.option("--project", default=PROJECT, show_default=True, help="Of Google Cloud.")
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
    **given: Any,
) -> int:
    """COMMAND is create, start, stop, delete, status or list_all."""
    check_command(what)
    if what == "list_all":
        printing.show(output(api.machines(project)), "text")
        return 0
    name = machine_name(username)
    if what == "delete":
        api.delete_own_machine(name, project, zone)
        if not yes:
            click.confirm(f"Delete {name} in {zone}?", abort=True, err=True)
        api.delete_machine(name, project, zone)
        options.print_message(f"{name} is deleted")
        return 0
    if what == "create":
        wanted = request(username, internal_ip=ssh_internal_ip, **given)
        if dry_run:
            printing.put_document(api.machine_requests(wanted, project, [zone]))
            return 0
        found = api.create_machine(wanted, project, [zone], say=options.print_message)
    else:
        calls = {"start": api.start_machine, "stop": api.stop_machine}
        found = calls.get(what, api.machine_status)(name, project, zone)
    line = api.ssh_line(found, username, ssh_key_file, ssh_internal_ip)
    printing.show(output([found], [line]), "text")
    if what == "create" and clone:
        prepare(
            api.ssh_words(found, username, ssh_key_file, ssh_internal_ip), options.print_message
        )
    return 0
