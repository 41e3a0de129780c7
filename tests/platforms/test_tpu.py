"""TPU nodes through google-cloud-tpu against a server on loopback."""

from __future__ import annotations

import json

import msgspec
import pytest

from assay.compat.perfzero import options
from assay.core.errors import NotPossibleError, UsageError
from assay.core.objects import ServiceUnavailableError
from assay.platforms.cloud import tpu
from assay.platforms.cloud.provider import StockoutError
from tests.platforms.services import serving

pytestmark = pytest.mark.real("google.cloud.tpu_v2")
WANTED = tpu.TpuRequest(name="n1", project="p", zone="us-central1-b", size="v3-8", version="tf")


class Tpus:
    """Nodes by path; one that is made is looked at in each of these states."""

    def __init__(self) -> None:
        self.nodes: dict[str, list[str]] = {}
        self.states = ["CREATING", "READY"]
        self.refusal: tuple[int, str] | None = None
        self.version = "2.1.0"
        self.asked: list[str] = []

    def __call__(self, method, path, headers, body):
        if path.startswith("/requestversion"):
            return self._worker(method, path)
        bare = path.partition("?")[0].removeprefix("/v2/")
        if method == "POST" and self.refusal:
            code, message = self.refusal
            return code, json.dumps({"error": {"code": code, "message": message}}).encode()
        if method == "POST":
            name = path.partition("nodeId=")[2].partition("&")[0]
            assert json.loads(body)["labels"] == {"assay": "1"}
            self.nodes[f"{bare}/{name}"] = list(self.states)
            return 200, b'{"name": "operations/1"}'
        if bare not in self.nodes:
            return 404, b'{"error": {"code": 404, "message": "no node"}}'
        if method == "DELETE":
            del self.nodes[bare]
            return 200, b'{"name": "operations/2"}'
        left = self.nodes[bare]
        state = left.pop(0) if len(left) > 1 else left[0]
        found = {"name": bare, "state": state, "networkEndpoints": [{"ipAddress": "127.0.0.1"}]}
        return 200, json.dumps(found).encode()

    def _worker(self, method, path):
        if method == "POST":
            self.asked.append(path)
            self.version = path.partition("?")[0].rpartition("/")[2]
            return (404, b"no such version") if self.version == "gone" else (200, b"")
        told = {"currentVersion": self.version, "buildLabel": "b1", "piperOriginRevId": 7}
        return 200, json.dumps(told).encode()


@pytest.fixture
def service(monkeypatch):
    nodes = Tpus()
    monkeypatch.setattr(tpu, "_POLL", 0.0)
    with serving(nodes) as (_, address):
        monkeypatch.setenv(tpu.ENDPOINT, address)
        monkeypatch.setattr(tpu, "PORT", int(address.rpartition(":")[2]))
        yield nodes


def test_a_node_is_ready_inside_and_gone_afterwards(service):
    said = []

    with tpu.node(WANTED, said.append):
        assert service.nodes == {WANTED.path: ["READY"]}

    assert service.nodes == {}
    assert said[-1] == "TPU n1: deleted"


def test_workers_run_the_version_that_was_asked_for(service):
    wanted = msgspec.structs.replace(WANTED, version_id="2.6.0-nightly")

    with tpu.node(wanted, print) as told:
        assert told == {"url": "", "hash": "2.6.0-nightly", "branch": "b1", "piper_id": "7"}
    assert service.asked == ["/requestversion/2.6.0-nightly?restartType=ifNeeded"]

    service.nodes[WANTED.path] = ["READY"]
    with tpu.node(msgspec.structs.replace(wanted, started=True), print) as told:
        assert told["hash"] == "2.6.0-nightly"
    assert WANTED.path in service.nodes  # it is somebody else's


def test_a_version_that_workers_do_not_take_and_a_node_that_is_not_there(service, monkeypatch):
    refused = msgspec.structs.replace(WANTED, version_id="gone")
    taken = pytest.raises(ServiceUnavailableError, match="did not accept the version gone")
    with taken, tpu.node(refused, print):
        pass
    assert service.nodes == {}

    started = msgspec.structs.replace(refused, started=True)
    with pytest.raises(UsageError, match="There is no TPU n1"), tpu.node(started, print):
        pass
    monkeypatch.setattr(tpu, "PORT", 1)  # nobody listens there
    with tpu.node(WANTED, print) as told:
        assert told == {}


def test_a_node_is_deleted_whatever_happens(service):
    with pytest.raises(ZeroDivisionError), tpu.node(WANTED, print):
        raise ZeroDivisionError
    assert service.nodes == {}

    service.states = ["CREATING", "TERMINATED"]
    with pytest.raises(ServiceUnavailableError, match="is TERMINATED"), tpu.node(WANTED, print):
        pass
    assert service.nodes == {}


def test_a_node_that_never_becomes_ready_is_given_up_and_deleted(service):
    service.states = ["CREATING"]

    given_up = pytest.raises(ServiceUnavailableError, match="is CREATING, and did not become ready")
    with given_up, tpu.node(WANTED, print, timeout=0.05):
        pass
    assert service.nodes == {}


def test_a_node_that_was_there_is_not_touched(service):
    service.nodes[WANTED.path] = ["READY"]

    with pytest.raises(UsageError, match="exists already"), tpu.node(WANTED, print):
        pass
    assert WANTED.path in service.nodes


@pytest.mark.parametrize(
    "refusal, kind",
    [
        ((403, "no"), NotPossibleError),
        ((429, "no more v3-8"), StockoutError),
        ((400, "no such version"), UsageError),
        ((503, "away"), ServiceUnavailableError),
    ],
)
def test_refusals_in_words(service, refusal, kind):
    service.refusal = refusal

    with pytest.raises(kind, match=refusal[1]), tpu.node(WANTED, print):
        pass


def test_perfzero_s_parameters_make_a_request_unless_it_is_started():
    given = {"name": "n1", "project": "p", "zone": "us-central1-b", "size": "v3-8", "version": "tf"}

    def request(parameters):
        flags = options.PerfZeroFlags(
            benchmark_methods=("a.B.c",), tpu_parameters=json.dumps(parameters)
        )
        return options.request(flags, "1h", "")

    made = request(given)
    assert (made.tpu, made.setting.tpu) == (WANTED, "n1")

    made = request({**given, "using_prestarted_tpu": "true"})
    assert (made.tpu, made.setting.tpu) == (None, "n1")
    with pytest.raises(UsageError, match="is not a zone"):
        request({**given, "zone": "$(id)"})
