"""PerfZero's cloud_manager.py: its commands and flags in assay's words."""

from __future__ import annotations

import getpass

import msgspec

from assay.core.cloud import MachineRequest
from assay.core.errors import UsageError

PROJECT = "google.com:tensorflow-performance"
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
