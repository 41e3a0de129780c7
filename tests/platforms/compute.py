"""A server on loopback that speaks Compute Engine's REST interface, faults included."""

from __future__ import annotations

import json
import re
from urllib.parse import parse_qs, urlsplit

PREFIX = "/compute/v1/projects/my-project"
ZONES = ("us-west1-b", "us-east1-c")


class Compute:
    """Instances by zone. An operation is RUNNING when it is made and DONE when it is looked at."""

    def __init__(self) -> None:
        self.instances: dict[tuple[str, str], dict] = {}
        self.operations: dict[str, dict] = {}
        self.errors: dict[str, dict] = {}  # zone → the error of the next insert there
        self.refusals: list[tuple[int, str]] = []  # of the next requests
        self.half = False  # an insert that fails leaves its instance behind
        self.never = False  # no operation ends
        self.asked: list[tuple[str, str, dict]] = []

    def __call__(self, method: str, path: str, headers: dict, body: bytes) -> tuple[int, bytes]:
        given = json.loads(body) if body else {}
        parts = urlsplit(path)
        self.asked.append((method, parts.path, given))
        if self.refusals:
            return self._error(*self.refusals.pop(0))
        if parts.path == f"{PREFIX}/aggregated/instances":
            return 200, json.dumps(self._all(parse_qs(parts.query))).encode()
        match = re.fullmatch(rf"{PREFIX}/zones/([^/]+)/(\w+)(?:/([\w-]+))?(?:/(\w+))?", parts.path)
        if not match:
            return self._error(404, f"no path {parts.path}")
        zone, kind, name, what = match.groups()
        if zone not in ZONES:
            return self._error(404, f"The resource 'zones/{zone}' was not found: unknown zone")
        if kind == "operations":
            return 200, json.dumps(self._ended(name)).encode()
        return self._instances(method, zone, name, what, given)

    def _instances(self, method, zone, name, what, given) -> tuple[int, bytes]:
        if method == "POST" and name is None:
            return self._insert(zone, given)
        if (zone, name) not in self.instances:
            return self._error(404, f"The resource 'zones/{zone}/instances/{name}' was not found")
        if method == "GET":
            return 200, json.dumps(self.instances[zone, name]).encode()
        if method == "DELETE":
            del self.instances[zone, name]
        else:
            status = {"start": "RUNNING", "stop": "TERMINATED"}[what]
            self.instances[zone, name]["status"] = status
        return self._operation(zone)

    def _insert(self, zone: str, given: dict) -> tuple[int, bytes]:
        error = self.errors.pop(zone, None)
        if error is None or self.half:
            link = {"networkIP": "10.0.0.2", "accessConfigs": [{"natIP": "127.0.0.1"}]}
            self.instances[zone, given["name"]] = {
                **given,
                "status": "PROVISIONING" if error else "RUNNING",
                "networkInterfaces": [link],
                "creationTimestamp": "2026-11-17T02:00:00Z",
            }
        return self._operation(zone, error)

    def _operation(self, zone: str, error: dict | None = None) -> tuple[int, bytes]:
        name = f"operation-{len(self.operations)}"
        self.operations[name] = {"name": name, "status": "RUNNING", "zone": zone}
        begun = dict(self.operations[name])
        if error:
            self.operations[name]["error"] = {"errors": [error]}
        return 200, json.dumps(begun).encode()

    def _ended(self, name: str) -> dict:
        return {**self.operations[name], "status": "RUNNING" if self.never else "DONE"}

    def _all(self, query: dict) -> dict:
        assert query["filter"] == ["labels.assay:*"]
        found: dict[str, dict] = {}
        for (zone, _), one in self.instances.items():
            if "assay" in one.get("labels", {}):
                found.setdefault(f"zones/{zone}", {"instances": []})["instances"].append(one)
        return {"items": found}

    @staticmethod
    def _error(code: int, message: str) -> tuple[int, bytes]:
        problem = {"code": code, "message": message, "errors": [{"message": message}]}
        return code, json.dumps({"error": problem}).encode()
