"""assay perfzero-cloud: the commands and flags of PerfZero's cloud_manager.py."""

from __future__ import annotations

import getpass
import subprocess
import time
from collections.abc import Callable, Sequence
from typing import Annotated

import click
import msgspec

from assay.cli import options, printing
from assay.cli.command import Keywords, click_command
from assay.commands.cloud import api
from assay.commands.cloud.api import output
from assay.core.errors import UsageError
from assay.core.objects import ServiceUnavailableError
from assay.core.options import Argument, Flag
from assay.platforms.cloud.provider import MachineRequest

PROJECT = "google.com:tensorflow-performance"
# Commands that cloud_manager.py runs on a new machine by ssh; they may be repeated.
ON_MACHINE = (
    "test -d benchmarks || git clone https://github.com/tensorflow/benchmarks.git",
    'sudo usermod -a -G docker "$USER"',
)
TRIES, PAUSE = 12, 5.0  # seconds: until a new key is on the machine
_UNREACHED = 255  # ssh's own exit status
_SSH = ("-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=accept-new", "-o", "ConnectTimeout=30")
COMMANDS = ("create", "start", "stop", "delete", "status", "list_all")


def machine_name(username: str) -> str:
    """The name PerfZero gives a machine."""
    return f"perfzero-dev-{(username or getpass.getuser()).lower()}"


def request(
    username: Annotated[str, Flag("The machine is perfzero-dev-USERNAME; default: you.")] = "",
    accelerator_count: Annotated[int, Flag("GPUs.")] = 1,
    accelerator_type: Annotated[str, Flag("Of GPU.")] = "nvidia-tesla-v100",
    cpu_min_platform: Annotated[str, Flag("Such as 'Intel Skylake'.")] = "",
    machine_type: Annotated[str, Flag("Default: n1-standard-(8 for each GPU).")] = "",
    image: Annotated[str, Flag("To boot; PerfZero's own is gone.")] = "",
    nvme_count: Annotated[int, Flag("Local NVMe disks.", show_default=True)] = 0,
    boot_ssd_size: Annotated[int, Flag("GB.")] = 0,
    internal_ip: Annotated[
        bool, Flag("Reach it by its internal address.", flags="--ssh-internal-ip")
    ] = False,
) -> MachineRequest:
    """The request of `create`. A bare image name is an image of the project, as for gcloud."""
    machine = MachineRequest(
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
        return machine
    path = image if "/" in image else f"global/images/{image}"
    return msgspec.structs.replace(machine, image=path)


def check_command(command: str) -> str:
    """Raise for an unknown command; PerfZero silently did nothing."""
    if command not in COMMANDS:
        raise UsageError(f"'{command[:40]}' is no command.", hint=f"One of: {', '.join(COMMANDS)}.")
    return command


def prepare(ssh: Sequence[str], say: Callable[[str], None]) -> None:
    """Clone PerfZero's repository on a new machine and add its user to the docker group."""
    program, *rest = ssh
    for command in ON_MACHINE:
        say(f"on the machine: {command}")
        ended = _run([program, *_SSH, *rest, command])
        if ended.returncode:
            lines = (ended.stderr or ended.stdout).strip().splitlines() or ["it said nothing"]
            raise ServiceUnavailableError(
                f"The machine runs, but '{command}' failed on it: {lines[-1][:200]}",
                hint="Do it by hand there; the machine stays as it is.",
            )


def _run(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run ssh; retry while the machine refuses the connection."""
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


@click_command(
    request,
    separator="_",
    epilog="""\b
Examples:
  assay perfzero-cloud create --project=my-project --accelerator_count=8 --nvme_count=4
  assay perfzero-cloud delete --project=my-project
  assay perfzero-cloud list_all --project=my-project""",
)
def command(
    what: Annotated[str, Argument("COMMAND")],
    keywords: Keywords,
    *,
    debug: Annotated[
        bool,
        Flag("Accepted; there is nothing more to show.", read="truth"),
    ] = False,
    project: Annotated[str, Flag("Of Google Cloud.")] = PROJECT,
    username: str,
    zone: Annotated[str, Flag("Of Google Cloud.")] = api.ZONE,
    internal_ip: bool,
    ssh_key_file: Annotated[str, Flag("Key for the ssh line.", flags="--ssh-key-file")] = "",
    yes: Annotated[bool, Flag("Delete without asking (assay's own flag).")] = False,
    dry_run: Annotated[
        bool, Flag("Print the requests and send nothing (assay's own flag).", flags="--dry-run")
    ] = False,
    clone: Annotated[
        bool,
        Flag(
            "Clone PerfZero's repository onto a new machine by ssh (assay's own flag).",
            flags="--clone/--no-clone",
            show_default=True,
        ),
    ] = True,
) -> int:
    """COMMAND is create, start, stop, delete, status or list_all."""
    check_command(what)
    name = machine_name(username)
    if dry_run and what != "create":
        verb = what.removesuffix("_all")
        printing.put_document(api.command_requests(verb, project, name, zone))
        return 0
    if what == "list_all":
        printing.show(output(api.machines(project)), "text")
        return 0
    if what == "delete":
        api.delete_own_machine(name, project, zone)
        if not yes:
            click.confirm(f"Delete {name} in {zone}?", abort=True, err=True)
        api.delete_machine(name, project, zone)
        options.print_message(f"{name} is deleted")
        return 0
    if what == "create":
        machine_request = request(**keywords)
        if dry_run:
            printing.put_document(api.machine_requests(machine_request, project, [zone]))
            return 0
        machine = api.create_machine(machine_request, project, [zone], say=options.print_message)
    else:
        calls = {"start": api.start_machine, "stop": api.stop_machine}
        machine = calls.get(what, api.machine_status)(name, project, zone)
    line = api.ssh_line(machine, username, ssh_key_file, internal_ip)
    printing.show(output([machine], [line]), "text")
    if what == "create" and clone:
        prepare(api.ssh_words(machine, username, ssh_key_file, internal_ip), options.print_message)
    return 0
