"""Machines of a cloud: made in the first zone that has one, and never touched if not ours."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable, Sequence
from typing import Annotated

import msgspec

from assay.core.errors import AssayError, NotPossibleError, UsageError
from assay.core.findings import Output, Table
from assay.core.objects import ServiceUnavailableError
from assay.core.options import Flag, accept_old_keywords
from assay.core.progress import ignore
from assay.core.records import SCHEMA
from assay.platforms.cloud.gce import Gce
from assay.platforms.cloud.provider import (
    Machine,
    MachineRequest,
    Provider,
    StockoutError,
    check_name,
    check_zone,
)

ZONE = "us-west1-b"
SSH = 22
ProgressCallback = Callable[[str], None]
Project = Annotated[
    str,
    Flag("Project of Google Cloud; default: $GOOGLE_CLOUD_PROJECT.", envvar="GOOGLE_CLOUD_PROJECT"),
]
Zone = Annotated[str, Flag("Zone it is in.")]


@accept_old_keywords(wanted="request")
def create_machine(
    request: MachineRequest,
    project: Project,
    zones: Annotated[
        Sequence[str],
        Flag("Repeat it: the next is tried where one has no such machine left.", flags="--zone"),
    ] = (ZONE,),
    wait: Annotated[float, Flag("Seconds for ssh to answer; 0: none.")] = 60.0,
    provider: Provider | None = None,
    say: ProgressCallback = ignore,
) -> Machine:
    """Make a machine in the first of the zones that has one, and wait until ssh answers.

    One that was made only half is deleted again.

    >>> request = assay.MachineRequest(name="assay-me", accelerator_count=8, nvme_count=4)
    >>> machine = assay.create_machine(request, "my-project", ["us-west1-b", "us-east1-c"])
    """
    cloud = provider or Gce(project)
    for zone in zones:
        check_zone(zone)
    if request.nvme_count:
        say(f"{request.name} has local disks: it cannot be stopped, only deleted.")
    trouble: StockoutError | None = None
    for zone in zones:
        try:
            machine = _create(cloud, request, zone)
        except StockoutError as error:
            say(str(error))
            trouble = error
            continue
        _await_ssh(machine, request, wait, say)
        return machine
    raise trouble or UsageError("No zone was given.", hint=f"--zone {ZONE}")


def machine_requests(
    request: MachineRequest, project: str, zones: Sequence[str], provider: Provider | None = None
) -> list[dict[str, object]]:
    """What `create_machine` would send, one after the other until a zone has one."""
    cloud = provider or Gce(project)
    return [cloud.request(request, check_zone(zone)) for zone in zones]


def command_requests(
    what: str, project: str, name: str = "", zone: str = ZONE
) -> list[dict[str, object]]:
    """What status, start, stop, delete or list would send; nothing is sent."""
    if what != "list":
        check_name(name)
        check_zone(zone)
    return Gce(project).requests(what, name, zone)


def machine_status(
    name: str, project: Project, zone: Zone = ZONE, provider: Provider | None = None
) -> Machine:
    """A machine as it is now."""
    machine = (provider or Gce(project)).get(check_name(name), check_zone(zone))
    if machine is None:
        raise UsageError(
            f"There is no machine {name} in {zone}.", hint="assay cloud list shows all of yours."
        )
    return machine


def start_machine(
    name: str, project: Project, zone: Zone = ZONE, provider: Provider | None = None
) -> Machine:
    """Start a machine that assay has made; as it is then."""
    cloud = provider or Gce(project)
    delete_own_machine(name, project, zone, cloud)
    cloud.start(name, zone)
    return machine_status(name, project, zone, cloud)


def stop_machine(
    name: str, project: Project, zone: Zone = ZONE, provider: Provider | None = None
) -> Machine:
    """Stop a machine that assay has made. One with local disks cannot be: they would be lost."""
    cloud = provider or Gce(project)
    if delete_own_machine(name, project, zone, cloud).local_disks:
        raise NotPossibleError(
            f"{name} has local disks, and Google Cloud stops no such machine.",
            hint=f"assay cloud delete {name}, once what is on them is elsewhere.",
        )
    cloud.stop(name, zone)
    return machine_status(name, project, zone, cloud)


def delete_machine(
    name: str, project: Project, zone: Zone = ZONE, provider: Provider | None = None
) -> None:
    """Delete a machine that assay has made, and its disks."""
    cloud = provider or Gce(project)
    delete_own_machine(name, project, zone, cloud)
    cloud.delete(name, zone)


def machines(project: Project, provider: Provider | None = None) -> list[Machine]:
    """Every machine of the project that assay has made, in all zones."""
    return (provider or Gce(project)).all()


def ssh_words(
    machine: Machine, user: str = "", key_file: str = "", internal: bool = False
) -> list[str]:
    """ssh, its key, and who is where."""
    address = machine.internal_ip if internal else machine.external_ip or machine.internal_ip
    key = ["-i", key_file] if key_file else []
    return ["ssh", *key, f"{user}@{address}" if user else address]


def ssh_line(machine: Machine, user: str = "", key_file: str = "", internal: bool = False) -> str:
    """What to type to be on it; TensorBoard's port comes along."""
    import shlex

    *words, target = ssh_words(machine, user, key_file, internal)
    return shlex.join([*words, "-L", "6006:127.0.0.1:6006", target])


def _create(cloud: Provider, request: MachineRequest, zone: str) -> Machine:
    existing = cloud.get(request.name, zone)
    if existing is not None:
        raise UsageError(
            f"{request.name} is there already, in {zone} ({existing.status}).",
            hint="Choose another --name, or use it: assay cloud status",
        )
    try:
        return cloud.create(request, zone)
    except AssayError as error:
        left = _clean_up(cloud, request.name, zone)
        if left and not isinstance(error, StockoutError):
            error.hint = f"{left} {error.hint}"
        raise


def _clean_up(cloud: Provider, name: str, zone: str) -> str:
    """A machine that was made only half costs money; what became of it, in words."""
    with contextlib.suppress(AssayError):
        machine = cloud.get(name, zone)
        if machine is None or not machine.ours:
            return ""
        cloud.delete(name, zone)
        return f"{name} was made half, and is deleted again."
    return f"{name} may be there half: see assay cloud status {name} --zone {zone}."


def delete_own_machine(
    name: str, project: Project, zone: Zone = ZONE, provider: Provider | None = None
) -> Machine:
    """A machine that assay has made; any other is refused."""
    machine = machine_status(name, project, zone, provider)
    if not machine.ours:
        raise NotPossibleError(
            f"{name} was not made by assay, so assay does not touch it.",
            hint="Its label 'assay' is missing; use gcloud for what is yours otherwise.",
        )
    return machine


def _await_ssh(
    machine: Machine, request: MachineRequest, seconds: float, say: ProgressCallback
) -> None:
    address = machine.internal_ip if request.internal_ip else machine.external_ip
    end = time.monotonic() + seconds
    while seconds and address:
        try:
            with socket.create_connection((address, SSH), timeout=5):
                return
        except OSError as error:
            if time.monotonic() > end:
                raise ServiceUnavailableError(
                    f"{machine.name} runs, but ssh did not answer within {seconds:g} s ({error}).",
                    hint="It may still be installing its driver: assay cloud status",
                ) from None
            say(f"{machine.name}: waiting for ssh …")
            time.sleep(min(5.0, seconds))


def output(machines: Sequence[Machine], notes: Sequence[str] = ()) -> Output:
    rows = tuple(
        (
            *(
                machine.name,
                machine.zone,
                machine.status,
                machine.type,
                machine.external_ip or machine.internal_ip,
            ),
            *(str(machine.local_disks or ""), "" if machine.ours else "not assay's"),
        )
        for machine in machines
    )
    columns = ("machine", "zone", "status", "type", "address", "local disks", "")
    document = {
        "schema": SCHEMA,
        "kind": "machines",
        "machines": [msgspec.to_builtins(machine) for machine in machines],
        "notes": list(notes),
    }
    return Output(
        tables=(Table(columns=columns, rows=rows, notes=tuple(notes)),), document=document
    )
