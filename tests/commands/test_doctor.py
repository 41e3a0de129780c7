"""The doctor from Python: where its findings go, whom it tells. It starts no process here."""

from __future__ import annotations

import pytest

from assay.commands.doctor import checkup_tables, doctor
from assay.core.errors import StoreError
from assay.measure.machine import doctor as machine
from assay.testing import FakeClock

TOLD = {
    "assay.worker.noise": "[[1.0, 1.1, 1.0], [1.0, 1.0, 1.1]]",
    "assay.worker.peaks": '{"device": "cpu", "what": "float32", "rate": 1e9}\n',
    "assay.backends.devices": '{"version": "1.2", "devices": ["cpu"]}',
}


@pytest.fixture
def started(monkeypatch):
    """The words of every process that would have been started."""
    words = []
    monkeypatch.setattr(machine, "_start", lambda asked, *_: words.append(asked) or asked[0])
    monkeypatch.setattr(machine, "_answer", lambda asked, limit: machine._Answer(TOLD[asked]))
    return words


class SlowMachine:
    """Each process takes its own seconds and an opening; one that outlasts its limit is ended."""

    def __init__(self, opening: float) -> None:
        self.clock, self.opening = FakeClock(), opening

    def answer(self, asked: list[str], limit: float) -> machine._Answer:
        times = {"assay.worker.noise": 1, "assay.worker.peaks": 7}.get(asked[0], 0)
        own = times * float(asked[1]) if times else 0.0
        self.clock.advance(min(limit, self.opening + own))
        if self.opening + own <= limit:
            return machine._Answer(TOLD[asked[0]])
        torn = TOLD[asked[0]] + '{"device": "cp' if self.opening < limit else ""
        return machine._Answer(torn, complete=False, late=True)


@pytest.fixture
def slow(monkeypatch):
    """A checkup on a machine where a process takes so long to start."""

    def examine(home, opening: float, quick: bool = False):
        slow_machine = SlowMachine(opening)
        monkeypatch.setattr(machine, "_start", lambda asked, *_: asked)
        monkeypatch.setattr(machine, "_answer", slow_machine.answer)
        checkup = machine.examine(home, quick, lambda _: None, slow_machine.clock)
        return checkup, slow_machine.clock.now

    return examine


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
    assert "which framework sees which device …" in told
    assert told[-1].startswith("and so: ")


def test_a_home_that_cannot_be_written_to_is_refused_before_anything_is_started(started, tmp_path):
    (tmp_path / "file").touch()

    with pytest.raises(StoreError, match="cannot be written to"):
        doctor(store=tmp_path / "file")

    assert started == []


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("opening", [0.1, 2.0, 8.0, 20.0, 100.0])
def test_the_promised_time_is_kept_on_a_machine_however_slow(slow, tmp_path, opening, quick):
    checkup, seconds = slow(tmp_path, opening, quick)

    assert checkup.budget == (15 if quick else 60)
    assert seconds <= checkup.budget + 1e-6


def test_on_a_machine_that_is_not_slow_nothing_is_left_out(slow, tmp_path):
    checkup, _ = slow(tmp_path, opening=0.5)

    assert checkup.left_out == ()
    assert checkup.noise and checkup.peaks and len(checkup.remedies) >= 2


def test_when_time_runs_out_what_was_measured_remains(slow, tmp_path):
    checkup, _ = slow(tmp_path, opening=8.0, quick=True)

    assert checkup.left_out[:2] == ("noise", "highest rates")
    assert checkup.machine and checkup.backends and (tmp_path / machine.FILE).exists()


def test_a_part_of_the_peaks_is_kept_and_a_torn_line_is_not(slow, tmp_path):
    checkup, _ = slow(tmp_path, opening=2.9, quick=True)

    assert [peak.what for peak in checkup.peaks] == ["float32"]


def test_what_there_was_no_time_for_is_named():
    checkup = machine.Checkup(when="", budget=15, left_out=("some highest rates", "torch"))

    notes = [note for table in checkup_tables(checkup) for note in table.notes]

    assert notes == [
        "there was no time for some highest rates, torch within 15 s: "
        "run it again when the machine is idle"
    ]
