"""Machines of a cloud: requests, state, and the protocol of providers."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Protocol

import msgspec

from assay.core.errors import AssayError, UsageError
from assay.core.options import Flag
from assay.core.records import SCHEMA

LABEL = "assay"  # of machines created by assay; others are never changed
SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_NAME = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?")
_ZONE = re.compile(r"[a-z]+-[a-z]+\d+-[a-z]")
_WORD = re.compile(r"[A-Za-z0-9][\w ./:-]{0,255}", re.ASCII)


class StockoutError(AssayError):
    """The zone has no such machine available."""

    status = 3


class MachineRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A machine to create; its fields are options of `assay cloud create`."""

    name: str
    machine_type: Annotated[str, Flag("Default: 8 processors for each GPU.")] = ""
    accelerator_type: Annotated[str, Flag("Of GPU.")] = "nvidia-tesla-v100"
    accelerator_count: Annotated[int, Flag("GPUs.")] = 1
    # a machine with local disks cannot be stopped
    nvme_count: Annotated[int, Flag("Local NVMe disks.", show_default=True)] = 0
    boot_ssd_size: Annotated[int, Flag("GB of a boot disk on SSD.")] = 0  # 0: the image's size
    image: Annotated[str, Flag("To boot.")] = (
        "projects/deeplearning-platform-release/global/images/family/common-cu124"
    )
    cpu_min_platform: Annotated[str, Flag("Such as 'Intel Skylake'.")] = ""
    scopes: Annotated[
        tuple[str, ...], Flag("Access scope; default: cloud-platform.", flags="--scope")
    ] = ()
    network_tags: Annotated[
        tuple[str, ...], Flag("For firewall rules.", flags="--network-tag")
    ] = ()
    install_driver: Annotated[bool, Flag("Install NVIDIA's.", flags="--driver/--no-driver")] = True
    internal_ip: Annotated[bool, Flag("No address outside; ssh by the internal one.")] = False
    service_account: Annotated[
        bool,
        Flag("Programs on the machine get no credentials.", flags="--no-service-account"),
    ] = True

    def __post_init__(self) -> None:
        check_name(self.name)
        for name in ("accelerator_count", "nvme_count", "boot_ssd_size"):
            if getattr(self, name) < 0:
                raise UsageError(
                    f"{name} is {getattr(self, name)}, but has to be 0 or more.", hint=f"{name}=0"
                )
        words = (self.machine_type, self.accelerator_type, self.image, self.cpu_min_platform)
        for text in (*words, *self.scopes, *self.network_tags):
            if text and not _WORD.fullmatch(text):
                raise UsageError(
                    f"'{text[:80]}' is not a valid value of Google Cloud.", hint="See its docs."
                )

        if self.scopes and not self.service_account:
            raise UsageError(
                "Scopes were given for a machine without a service account.",
                hint="Leave out --scope or --no-service-account.",
            )

    @property
    def access(self) -> str:
        """What can reach the machine, and what the machine can reach, in one line."""
        scopes = ", ".join(self.scopes or (SCOPE,))
        account = f"service account default, scopes {scopes}" if self.service_account else ""
        address = "internal address only" if self.internal_ip else "external and internal address"
        return f"{self.name} gets: {account or 'no service account'}; {address}."

    @property
    def type(self) -> str:
        return self.machine_type or f"n1-standard-{8 * max(self.accelerator_count, 1)}"


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """An existing machine."""

    name: str
    zone: str
    status: str  # PROVISIONING, RUNNING, STOPPING, TERMINATED, …
    type: str = ""
    ours: bool = False  # has assay's label
    internal_ip: str = ""
    external_ip: str = ""
    local_disks: int = 0
    made: str = ""
    kind: Literal["machine"] = "machine"
    schema: int = SCHEMA


class Provider(Protocol):
    """Operations of a cloud. Every call waits until it is complete; AssayError if it fails."""

    def request(self, machine: MachineRequest, zone: str) -> dict[str, Any]:
        """The request that `create` sends."""

    def create(self, machine: MachineRequest, zone: str) -> Machine:
        """Raises StockoutError if the zone has none available."""

    def get(self, name: str, zone: str) -> Machine | None: ...

    def start(self, name: str, zone: str) -> None: ...

    def stop(self, name: str, zone: str) -> None: ...

    def delete(self, name: str, zone: str) -> None: ...

    def all(self) -> list[Machine]:
        """Machines of all zones with assay's label."""


def check_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"'{name[:80]}' is not a machine name: lower-case letters, digits and dashes.",
            hint="As in: assay-me",
        )
    return name


def check_zone(zone: str) -> str:
    if not _ZONE.fullmatch(zone):
        raise UsageError(f"'{zone[:80]}' is not a zone.", hint="As in: us-west1-b")
    return zone
