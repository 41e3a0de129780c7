"""assay doctor as it is typed; the visit itself takes a minute, and a written one stands for it."""

from __future__ import annotations

import json

import pytest

from assay.measure.machine import doctor
from assay.measure.machine.doctor import Checkup, Peak

FOUND = Checkup(
    when="2026-01-01T00:00:00+00:00",
    machine={"cpu": "Xeon", "memory": 1 << 34},
    peaks=(Peak(device="cpu", what="float32", rate=2e12, unit="FLOP/s"),),
)


@pytest.fixture
def visits(monkeypatch):
    """The places and the haste that a visit was asked for with."""
    asked = []

    def examine(home, quick, report):
        asked.append((home, quick))
        report("how noisy this machine is now …")
        return FOUND

    monkeypatch.setattr(doctor, "examine", examine)
    return asked


@pytest.mark.usefixtures("visits")
def test_the_tables_are_the_output_and_what_is_done_meanwhile_is_said(assay):
    status, out, error = assay("doctor")

    assert status == 0
    assert "This machine" in out and "2.00 TFLOP/s" in out
    assert error == "how noisy this machine is now …\n"


@pytest.mark.usefixtures("visits")
def test_json_is_the_whole_checkup(assay):
    _, out, _ = assay("doctor", "--format", "json")

    document = json.loads(out)
    assert (document["schema"], document["kind"]) == (1, "doctor")
    assert document["peaks"][0]["rate"] == 2e12


def test_a_quick_visit_and_another_home_are_asked_for(assay, visits, tmp_path):
    assay("doctor", "--quick", "--home", str(tmp_path / "other"))

    assert visits == [(tmp_path / "other", True)]


def test_a_home_that_cannot_be_written_to_is_said_before_a_minute_is_spent(assay, tmp_path):
    (tmp_path / "file").touch()

    status, out, error = assay("doctor", "--home", str(tmp_path / "file"))

    assert (status, out) == (4, "")
    assert error.startswith(f"error: {tmp_path / 'file'} cannot be written to")
