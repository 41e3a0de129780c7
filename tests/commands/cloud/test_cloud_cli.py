"""assay cloud: words, questions, exit status."""

from __future__ import annotations

import json

import pytest

from tests.platforms.compute import answering

pytestmark = pytest.mark.real("google.cloud.compute_v1")
P = ("--project", "my-project")


@pytest.fixture
def compute(monkeypatch):
    with answering(monkeypatch) as service:
        yield service


def test_create_status_list_and_delete_which_asks(assay, compute, monkeypatch):
    words = ("--accelerator-count", "8", "--nvme-count", "4", "--wait", "0")
    status, out, err = assay("cloud", "create", "bench-1", *P, *words)
    assert status == 0 and "RUNNING" in out and "ssh -L" in out
    assert "cannot be stopped" in err

    assert "bench-1" in assay("cloud", "status", "bench-1", *P)[1]
    assert json.loads(assay("cloud", "list", *P, "--format", "json")[1])["machines"][0]["ours"]
    assert assay("cloud", "stop", "bench-1", *P)[0] == 3

    monkeypatch.setattr("click.termui.visible_prompt_func", lambda _: "n")
    assert assay("cloud", "delete", "bench-1", *P)[0] == 130
    assert len(compute.instances) == 1
    assert assay("cloud", "delete", "bench-1", *P, "--yes")[0] == 0
    assert compute.instances == {}


def test_a_dry_run_prints_requests_and_sends_none(assay, compute):
    zones = ("--zone", "us-west1-b", "--zone", "us-east1-c")
    status, out, _ = assay("cloud", "create", "bench-1", *P, *zones, "--dry-run")

    assert status == 0
    assert [one["path"].split("/")[6] for one in json.loads(out)] == ["us-west1-b", "us-east1-c"]
    assert compute.asked == []


def test_a_dry_run_needs_no_credentials_and_anything_else_does(assay, monkeypatch, tmp_path):
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)

    assert assay("cloud", "create", "bench-1", *P, "--dry-run")[0] == 0
    status, _, err = assay("cloud", "list", *P)
    assert status == 3 and "There are no credentials of Google Cloud here" in err


@pytest.mark.parametrize(
    ("words", "access"),
    [
        ((), "service account default, scopes https://www.googleapis.com/auth/cloud-platform; ext"),
        (("--no-service-account", "--internal-ip"), "no service account; internal address only"),
        (("--scope", "s/devstorage"), "service account default, scopes s/devstorage; external"),
    ],
)
def test_create_prints_account_scopes_and_address(assay, compute, words, access):
    status, out, err = assay("cloud", "create", "bench-1", *P, *words, "--dry-run")
    (request,) = json.loads(out)

    assert status == 0 and f"bench-1 gets: {access}" in err
    restricted = "--no-service-account" in words
    assert ("serviceAccounts" in request["body"]) is not restricted
    (link,) = request["body"]["networkInterfaces"]
    assert ("accessConfigs" in link) is not restricted


def test_scopes_without_a_service_account_are_refused(assay):
    words = ("--no-service-account", "--scope", "s/devstorage", "--dry-run")
    status, _, err = assay("cloud", "create", "bench-1", *P, *words)

    assert status == 2 and "without a service account" in err


def test_no_project_is_a_mistake(assay, monkeypatch):
    monkeypatch.delenv("GOOGLE_CLOUD_PROJECT", raising=False)

    status, _, err = assay("cloud", "list")

    assert status == 2 and "No project" in err
