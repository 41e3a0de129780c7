"""Google Compute Engine through google-cloud-compute: requests, operations, machines."""

from __future__ import annotations

import json
import re
import time
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from assay.core.errors import AssayError, UsageError
from assay.core.objects import ServiceUnavailableError
from assay.platforms.cloud import google
from assay.platforms.cloud.provider import LABEL, SCOPE, Machine, MachineRequest

ENDPOINT = "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE"  # gcloud's own variable for another endpoint
_PROJECT = re.compile(r"([a-z0-9.-]+:)?[a-z][a-z0-9-]{0,61}[a-z0-9]")
_ROLE = "Compute Instance Admin"
_POLL = 1.0  # seconds between polls of an operation


class Gce:
    """A project of Google Compute Engine."""

    def __init__(self, project: str, timeout: float = 600.0) -> None:
        if not _PROJECT.fullmatch(project):
            raise UsageError(
                f"'{project[:80]}' is not a project of Google Cloud.", hint="--project my-project"
            )
        self._project, self._timeout = project, timeout
        self._library = _library()

    @cached_property
    def _instances(self) -> Any:
        return google.client_at(self._library.InstancesClient, ENDPOINT)

    @cached_property
    def _operations(self) -> Any:
        return google.client_at(self._library.ZoneOperationsClient, ENDPOINT)

    def request(self, machine: MachineRequest, zone: str) -> dict[str, Any]:
        """The request that would be sent, without credentials."""
        instance = _resource(machine, zone)
        body = self._library.Instance.to_json(instance, use_integers_for_enums=False)
        path = f"/compute/v1/projects/{self._project}/zones/{zone}/instances"
        return {"method": "POST", "path": path, "body": _drop_empty(json.loads(body))}

    def requests(self, what: str, name: str = "", zone: str = "") -> list[dict[str, Any]]:
        """The requests of status, start, stop, delete and list, without credentials."""
        path = f"/compute/v1/projects/{self._project}"
        if what == "list":
            query = urlencode({"filter": f"labels.{LABEL}:*"}, safe="*")
            return [{"method": "GET", "path": f"{path}/aggregated/instances?{query}"}]
        machine = f"{path}/zones/{zone}/instances/{name}"
        look = {"method": "GET", "path": machine}
        change = {
            "start": {"method": "POST", "path": f"{machine}/start"},
            "stop": {"method": "POST", "path": f"{machine}/stop"},
            "delete": {"method": "DELETE", "path": machine},
        }
        if what not in change:
            return [look]
        return [look, change[what], *[look] * (what != "delete")]

    def create(self, machine: MachineRequest, zone: str) -> Machine:
        with google.error_text(f"create {machine.name} in {zone}", _ROLE):
            operation = self._instances.insert_unary(
                project=self._project, zone=zone, instance_resource=_resource(machine, zone)
            )
            self._wait(operation, zone, f"{machine.name} was not created in {zone}")
        created = self.get(machine.name, zone)
        if created is None:
            raise AssayError(f"{machine.name} was created, but does not exist.", hint="Try again.")
        return created

    def get(self, name: str, zone: str) -> Machine | None:
        from google.api_core.exceptions import NotFound

        with google.error_text(f"look at {name} in {zone}", _ROLE):
            try:
                instance = self._instances.get(project=self._project, zone=zone, instance=name)
            except NotFound as error:
                if "zone" in str(error).lower() and "instances" not in str(error).lower():
                    raise
                return None
        return _machine(instance, zone)

    def start(self, name: str, zone: str) -> None:
        self._change("start", name, zone)

    def stop(self, name: str, zone: str) -> None:
        self._change("stop", name, zone)

    def delete(self, name: str, zone: str) -> None:
        self._change("delete", name, zone)

    def all(self) -> list[Machine]:
        with google.error_text("list machines", _ROLE):
            request = {"project": self._project, "filter": f"labels.{LABEL}:*"}
            return [
                _machine(instance, zone.rpartition("/")[2])
                for zone, part in self._instances.aggregated_list(request=request)
                for instance in part.instances
            ]

    def _change(self, what: str, name: str, zone: str) -> None:
        with google.error_text(f"{what} {name} in {zone}", _ROLE):
            call = getattr(self._instances, f"{what}_unary")
            operation = call(project=self._project, zone=zone, instance=name)
            self._wait(operation, zone, f"{name} did not {what}")

    def _wait(self, operation: Any, zone: str, sentence: str) -> None:
        """Wait for an operation; errors are in the operation, not in its status."""
        end = time.monotonic() + self._timeout
        while operation.status.name != "DONE":
            if time.monotonic() > end:
                raise ServiceUnavailableError(
                    f"{sentence} within {self._timeout:g} s.", hint="See: assay cloud status"
                )
            time.sleep(_POLL)
            operation = self._operations.get(
                project=self._project, zone=zone, operation=operation.name
            )
        problems = [f"{problem.code}: {problem.message}" for problem in operation.error.errors]
        if problems:
            raise google.problem(sentence, " ".join(problems))


def _library() -> Any:
    try:
        from google.cloud import compute_v1
    except ImportError:
        raise google.missing_reason("google-cloud-compute", "cloud") from None
    return compute_v1


def _resource(machine: MachineRequest, zone: str) -> Any:
    from google.cloud import compute_v1

    outside = [] if machine.internal_ip else [{"name": "External NAT", "type_": "ONE_TO_ONE_NAT"}]
    metadata = [{"key": "install-nvidia-driver", "value": "True"}] if machine.install_driver else []
    return compute_v1.Instance(
        name=machine.name,
        machine_type=f"zones/{zone}/machineTypes/{machine.type}",
        min_cpu_platform=machine.cpu_min_platform or None,
        labels={LABEL: "1"},
        tags={"items": list(machine.network_tags)},
        disks=_disks(machine, zone),
        guest_accelerators=_accelerators(machine, zone),
        scheduling={"on_host_maintenance": "TERMINATE", "automatic_restart": True},
        network_interfaces=[{"network": "global/networks/default", "access_configs": outside}],
        service_accounts=_service_accounts(machine),
        metadata={"items": metadata},
    )


def _service_accounts(machine: MachineRequest) -> list[dict[str, Any]]:
    if not machine.service_account:
        return []
    return [{"email": "default", "scopes": list(machine.scopes or (SCOPE,))}]


def _accelerators(machine: MachineRequest, zone: str) -> list[dict[str, Any]]:
    if not machine.accelerator_count:
        return []
    kind = f"zones/{zone}/acceleratorTypes/{machine.accelerator_type}"
    return [{"accelerator_type": kind, "accelerator_count": machine.accelerator_count}]


def _disks(machine: MachineRequest, zone: str) -> list[dict[str, Any]]:
    first: dict[str, Any] = {"source_image": machine.image}
    if machine.boot_ssd_size:
        first |= {
            "disk_size_gb": machine.boot_ssd_size,
            "disk_type": f"zones/{zone}/diskTypes/pd-ssd",
        }
    local = {
        "type_": "SCRATCH",
        "interface": "NVME",
        "auto_delete": True,
        "initialize_params": {"disk_type": f"zones/{zone}/diskTypes/local-ssd"},
    }
    return [
        {"boot": True, "auto_delete": True, "initialize_params": first},
        *[local] * machine.nvme_count,
    ]


def _machine(instance: Any, zone: str) -> Machine:
    link = instance.network_interfaces[0] if instance.network_interfaces else None
    outside = link.access_configs[0].nat_i_p if link and link.access_configs else ""
    return Machine(
        name=instance.name,
        zone=zone,
        status=instance.status,
        type=instance.machine_type.rpartition("/")[2],
        ours=LABEL in instance.labels,
        internal_ip=link.network_i_p if link else "",
        external_ip=outside,
        local_disks=sum(disk.type_ == "SCRATCH" for disk in instance.disks),
        made=instance.creation_timestamp,
    )


def _drop_empty(document: Any) -> Any:
    """Remove empty fields, which are not sent."""
    if isinstance(document, dict):
        fields = {name: _drop_empty(value) for name, value in document.items()}
        return {name: value for name, value in fields.items() if value not in ("", [], {}, None)}
    return [_drop_empty(item) for item in document] if isinstance(document, list) else document
