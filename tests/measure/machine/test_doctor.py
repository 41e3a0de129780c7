"""The doctor: advice that was measured, and peaks that are kept."""

import pytest

from assay.core.errors import StoreError
from assay.measure.machine import doctor, environment
from assay.measure.machine.doctor import Checkup, Peak, Remedy
from assay.worker.peaks import shortest


def quiet(*_):
    pass


@pytest.fixture
def answers(monkeypatch):
    """What the doctor's processes would print, by the module asked."""
    told = {
        "assay.worker.noise": "[[1.0, 1.1, 1.0], [1.0, 1.0, 1.1]]",
        "assay.worker.peaks": '{"device": "cpu", "what": "float32", "rate": 1e9}\n'
        '{"device": "cpu", "what": "copy", "rate": 2e9}\n',
        "assay.backends.devices": 'a warning\n{"version": "1.2", "devices": ["cpu"]}',
    }
    monkeypatch.setattr(doctor, "_start", lambda words, *_: words[0])
    monkeypatch.setattr(doctor, "_answer", lambda module, limit: doctor._Answer(told[module]))
    return told


def test_a_checkup_is_kept_and_its_peaks_are_found_again(tmp_path, answers):
    found = doctor.examine(tmp_path, quick=True, progress=quiet)

    assert [peak.unit for peak in found.peaks] == ["FLOP/s", "B/s"]
    assert doctor.peaks_for(tmp_path) == {"cpu_peak_float32": 1e9, "cpu_peak_copy": 2e9}


def test_a_busy_day_does_not_lower_a_peak(tmp_path, answers):
    doctor.examine(tmp_path, quick=True, progress=quiet)
    answers["assay.worker.peaks"] = '{"device": "cpu", "what": "float32", "rate": 5e8}\n'

    found = doctor.examine(tmp_path, quick=True, progress=quiet)

    assert [peak.rate for peak in found.peaks] == [1e9, 2e9]


def test_a_folder_that_cannot_be_written_is_said_first(tmp_path, answers):
    (tmp_path / "file").touch()

    with pytest.raises(StoreError, match="cannot be written to"):
        doctor.examine(tmp_path / "file", quick=True, progress=pytest.fail)


def test_every_remedy_was_tried(tmp_path, answers):
    found = doctor.examine(tmp_path, quick=True, progress=quiet)

    assert found.noise
    assert len(found.remedies) >= 2
    assert all(remedy.before >= 0 and remedy.after >= 0 for remedy in found.remedies)


def test_what_does_not_answer_is_left_out_or_named(tmp_path, answers):
    answers.update(dict.fromkeys(answers, ""))

    found = doctor.examine(tmp_path, quick=True, progress=quiet)

    assert found.noise is None and "noise" in found.left_out
    assert found.peaks == ()
    assert all("cannot be imported" in framework.problem for framework in found.frameworks)


def test_peaks_of_another_machine_are_not_used(tmp_path, answers, monkeypatch):
    doctor.examine(tmp_path, quick=True, progress=quiet)
    here = environment.current_environment()
    monkeypatch.setattr(doctor.environment, "current_environment", lambda: _other(here))

    assert doctor.peaks_for(tmp_path) == {}


def _other(here):
    import msgspec

    return msgspec.structs.replace(here, machine={**here.machine, "cpu": "another"})


@pytest.mark.parametrize("text", [None, "", "{broken", '{"schema": 99, "kind": "doctor"}'])
def test_a_kept_file_that_cannot_be_used_is_none(tmp_path, text):
    if text is not None:
        (tmp_path / "doctor.json").write_text(text)

    assert doctor.peaks_for(tmp_path) == {}


@pytest.mark.parametrize("after, helps", [(0.5, True), (0.95, False), (2.0, False)])
def test_a_remedy_helps_only_if_it_does_so_clearly(after, helps):
    assert Remedy(name="x", how="y", before=1.0, after=after).helps is helps


def test_a_published_peak_that_is_exceeded_is_known():
    rate = doctor.published_peak("NVIDIA H200", "bfloat16") * 1.01
    peak = Peak(device="gpu0", what="bfloat16", rate=rate, unit="FLOP/s", published=rate / 1.01)

    assert peak.exceeds
    assert doctor.published_peak("AMD EPYC", "float32") is None


def clock(*times):
    left = list(times)
    return lambda: left.pop(0)


def test_the_shortest_call_counts_and_the_first_does_not():
    times = (0.0, 1.0, 1.0, 2.0, 5.0, 5.5, 6.0, 8.0, 99.0)

    assert shortest(quiet, quiet, 5.0, clock(*times)) == 2.0


def test_a_first_call_that_fills_the_time_is_enough():
    assert shortest(quiet, quiet, 5.0, clock(0.0, 7.0, 7.0)) == 7.0


@pytest.mark.real
def test_a_real_quick_visit(tmp_path):
    found = doctor.examine(tmp_path, quick=True, progress=quiet)

    assert isinstance(found, Checkup)
    assert found.noise.pairs >= 10
    assert {"float32", "copy"} <= {peak.what for peak in found.peaks} or found.left_out
    assert all(peak.rate > 1e6 for peak in found.peaks)
