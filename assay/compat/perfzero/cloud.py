"""PerfZero's cloud_manager.py: its commands and flags in assay's words."""

from __future__ import annotations

import getpass
import subprocess
import time
from collections.abc import Callable, Sequence

import msgspec

from assay.core.errors import UsageError
from assay.core.objects import ServiceAwayError
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
            raise ServiceAwayError(
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
