"""The doctor from Python: where its findings go, whom it tells. It starts no process here."""

from __future__ import annotations

import pytest

from assay.commands.doctor import doctor
from assay.core.errors import StoreError
from assay.measure.machine import doctor as machine

TOLD = {
    "assay.worker.noise": "[[1.0, 1.1, 1.0], [1.0, 1.0, 1.1]]",
    "assay.worker.peaks": '{"device": "cpu", "what": "float32", "rate": 1e9}',
    "assay.backends.devices": '{"version": "1.2", "devices": ["cpu"]}',
}


@pytest.fixture
def started(monkeypatch):
    """The words of every process that would have been started."""
    words = []
    monkeypatch.setattr(machine, "_start", lambda asked, *_: words.append(asked) or asked[0])
    monkeypatch.setattr(machine, "_answer", TOLD.get)
    return words


@pytest.mark.usefixtures("started")
def test_the_findings_are_kept_where_results_look_for_them(home):
    found = doctor()

    assert (home / machine.FILE).exists()
    assert machine.peaks_for(home) == {"cpu_peak_float32": found.peaks[0].rate}


@pytest.mark.usefixtures("started")
def test_another_home_may_be_named(home, tmp_path):
    doctor(store=str(tmp_path / "other"))

    assert (tmp_path / "other" / machine.FILE).exists()
    assert not home.exists()


def test_a_quick_visit_measures_for_a_shorter_time(started):
    seconds = []
    for quick in (False, True):
        started.clear()
        doctor(quick=quick)
        seconds.append([float(asked[1]) for asked in started if asked[0].startswith("assay.mach")])

    assert all(short < long for long, short in zip(*seconds, strict=True))


@pytest.mark.usefixtures("started")
def test_whoever_waits_is_told_what_is_done():
    told = []

    doctor(progress=told.append)

    assert told[0] == "how noisy this machine is now …"
    assert told[-1] == "which framework sees which device …"


def test_a_home_that_cannot_be_written_to_is_refused_before_anything_is_started(started, tmp_path):
    (tmp_path / "file").touch()

    with pytest.raises(StoreError, match="cannot be written to"):
        doctor(store=tmp_path / "file")

    assert started == []
