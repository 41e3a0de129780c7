"""Machines through google-cloud-compute against a server on loopback: life cycle and faults."""

from __future__ import annotations

import socket

import pytest

import assay
from assay.commands.cloud import api
from assay.core.errors import AssayError, NotPossibleError, UsageError
from assay.core.objects import ServiceUnavailableError
from assay.platforms.cloud import gce
from assay.platforms.cloud.provider import StockoutError
from tests.platforms.compute import answering

pytestmark = pytest.mark.real("google.cloud.compute_v1")
PROJECT = "my-project"
WANTED = assay.MachineRequest(name="assay-me", accelerator_count=8, nvme_count=0, boot_ssd_size=100)
STOCKOUT = {"code": "ZONE_RESOURCE_POOL_EXHAUSTED", "message": "no V100 left"}
QUOTA = {"code": "QUOTA_EXCEEDED", "message": "Quota 'NVIDIA_V100_GPUS' exceeded. Limit: 1.0"}
ZONES = ["us-west1-b", "us-east1-c"]


@pytest.fixture
def compute(monkeypatch):
    with answering(monkeypatch) as service:
        yield service


def create(wanted=WANTED, zones=ZONES, say=lambda _: None):
    return assay.create_machine(wanted, PROJECT, zones, wait=0, say=say)


def test_a_machine_s_life(compute):
    made = create()
    assert (made.zone, made.status, made.type, made.ours) == (
        *("us-west1-b", "RUNNING", "n1-standard-64", True),
    )
    assert api.ssh_line(made, "me") == "ssh -L 6006:127.0.0.1:6006 me@127.0.0.1"
    assert [one.name for one in assay.machines(PROJECT)] == ["assay-me"]

    assert assay.stop_machine("assay-me", PROJECT).status == "TERMINATED"
    assert assay.start_machine("assay-me", PROJECT).status == "RUNNING"
    assay.delete_machine("assay-me", PROJECT)

    assert compute.instances == {}
    with pytest.raises(UsageError, match="no machine assay-me in us-west1-b"):
        assay.machine_status("assay-me", PROJECT)


def test_what_is_sent_is_what_a_dry_run_prints(compute):
    wanted = assay.MachineRequest(
        name="assay-me",
        nvme_count=2,
        boot_ssd_size=200,
        cpu_min_platform="Intel Skylake",
        network_tags=("allow-ssh",),
    )
    (printed,) = api.machine_requests(wanted, PROJECT, ["us-west1-b"])
    assert compute.asked == []

    create(wanted)

    (sent,) = [body for method, path, body in compute.asked if method == "POST"]
    assert printed["path"] == "/compute/v1/projects/my-project/zones/us-west1-b/instances"
    assert printed["body"] == sent
    assert sent["minCpuPlatform"] == "Intel Skylake"
    assert [disk.get("interface", "") for disk in sent["disks"]] == ["", "NVME", "NVME"]
    assert sent["disks"][0]["initializeParams"]["diskSizeGb"] == "200"
    assert sent["guestAccelerators"][0]["acceleratorCount"] == 1
    assert sent["labels"] == {"assay": "1"}
    assert sent["tags"] == {"items": ["allow-ssh"]}
    assert sent["scheduling"]["onHostMaintenance"] == "TERMINATE"


def test_the_next_zone_is_tried_where_one_has_none_left(compute):
    compute.errors = {"us-west1-b": STOCKOUT}
    said = []

    made = create(say=said.append)

    assert made.zone == "us-east1-c"
    assert "no V100 left" in said[0]


def test_all_zones_without_one_are_said(compute):
    compute.errors = {zone: STOCKOUT for zone in ZONES}

    with pytest.raises(StockoutError, match=r"us-east1-c.*no V100 left"):
        create()


@pytest.mark.parametrize("half", [False, True])
def test_a_quota_is_said_at_once_and_nothing_is_left_half(compute, half):
    compute.errors, compute.half = {"us-west1-b": QUOTA}, half

    with pytest.raises(NotPossibleError, match="Quota 'NVIDIA_V100_GPUS' exceeded") as caught:
        create()

    assert compute.instances == {}
    assert ("is deleted again" in caught.value.hint) == half


def test_an_operation_that_never_ends_is_said_and_what_is_there_half_named(compute):
    compute.never = True

    with pytest.raises(
        ServiceUnavailableError, match=r"not created in us-west1-b within 0\.05 s"
    ) as caught:
        assay.create_machine(WANTED, PROJECT, ZONES, 0, gce.Gce(PROJECT, timeout=0.05))

    assert "may be there half" in caught.value.hint


@pytest.mark.parametrize("change", [assay.delete_machine, assay.stop_machine, assay.start_machine])
def test_a_change_that_never_ends_is_said(compute, change):
    create()
    compute.never = True

    with pytest.raises(ServiceUnavailableError, match=r"within 0\.05 s"):
        change("assay-me", PROJECT, provider=gce.Gce(PROJECT, timeout=0.05))


def test_someone_else_s_machine_is_never_touched(compute):
    compute.instances["us-west1-b", "assay-me"] = {"name": "assay-me", "status": "RUNNING"}

    for change in (assay.delete_machine, assay.stop_machine, assay.start_machine):
        with pytest.raises(NotPossibleError, match="was not made by assay"):
            change("assay-me", PROJECT)
    with pytest.raises(UsageError, match="is there already"):
        create()

    assert compute.instances["us-west1-b", "assay-me"]["status"] == "RUNNING"
    assert {method for method, _, _ in compute.asked} == {"GET"}
    assert assay.machines(PROJECT) == []


def test_local_disks_cannot_be_stopped_and_that_is_said_first(compute):
    said = []
    create(assay.MachineRequest(name="assay-me", nvme_count=4), say=said.append)

    assert "cannot be stopped" in said[0]
    with pytest.raises(NotPossibleError, match="has local disks"):
        assay.stop_machine("assay-me", PROJECT)


@pytest.mark.parametrize(
    "refusal, kind, sentence",
    [
        ((403, "Required 'compute.instances.get' permission"), NotPossibleError, "no permission"),
        ((403, "Quota exceeded for quota metric"), NotPossibleError, "Quota exceeded"),
        ((401, "who are you"), NotPossibleError, "no permission"),
        ((400, "Invalid value"), UsageError, "Invalid value"),
        ((500, "backend error"), ServiceUnavailableError, "backend error"),
    ],
)
def test_refusals_in_words(compute, refusal, kind, sentence):
    compute.refusals = [refusal] * 9

    with pytest.raises(kind, match=sentence):
        assay.machine_status("assay-me", PROJECT)


def test_it_waits_until_ssh_answers_and_says_when_it_does_not(compute, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as door:
        monkeypatch.setattr(api, "SSH", door.getsockname()[1])
        assay.create_machine(WANTED, PROJECT, ZONES, wait=5)
    assay.delete_machine("assay-me", PROJECT)

    with pytest.raises(ServiceUnavailableError, match="ssh did not answer"):
        assay.create_machine(WANTED, PROJECT, ZONES, wait=0.01)


def test_an_unknown_zone_is_said(compute):
    with pytest.raises(AssayError, match="unknown zone"):
        create(zones=["us-west9-z"])
    with pytest.raises(UsageError, match="'Mars; id' is not a zone"):
        create(zones=["Mars; id"])


@pytest.mark.parametrize(
    "given",
    [
        {"name": "Upper"},
        {"name": "a; reboot"},
        {"name": ""},
        {"name": "a", "image": "$(id)"},
        {"name": "a", "nvme_count": -1},
        {"name": "a", "network_tags": ("x\ny",)},
    ],
)
def test_wrong_words_are_refused_before_anything_is_sent(given):
    with pytest.raises(UsageError):
        assay.MachineRequest(**given)


def test_a_wrong_project_is_refused():
    with pytest.raises(UsageError, match="is not a project"):
        assay.machines("my project; drop")
