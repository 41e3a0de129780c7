"""What can be drawn, from the store or from a file."""

import pytest

from assay.commands.plot import api
from assay.core.errors import UsageError
from assay.core.records import Case, Plan, Procedure, Result, Samples
from assay.core.registry import open_store
from assay.stores import folders

CASE = Case(workload="w", backend="b", key="w@b")
LINE = '{"time": 1.1, "rss": 5, "vms": 6, "cpu_percent": 7.0}\n'


@pytest.fixture
def kept(tmp_path):
    """A store with one run of two results, the first with a process series."""
    store = open_store(tmp_path)
    run = store.new_run(Plan(cases=(CASE,)))
    samples = (Samples(metric="step_time", unit="s", phase="steady", values=(1.0, 2.0)),)
    for _ in range(2):
        place = folders.new_case(run)
        store.append(
            Result(
                id=place.id,
                case=CASE,
                procedure=Procedure(),
                status="ok",
                samples=samples,
            )
        )
    store.close()
    (run / "001" / "process_info.log").write_text(LINE * 3)
    return run.name


@pytest.mark.real("matplotlib")
@pytest.mark.parametrize("series", ["process", "samples"])
def test_a_kept_result_is_drawn(tmp_path, kept, series):
    written = api.plot(f"{kept}/001", series, tmp_path / "figure.png", store=tmp_path)

    assert written.read_bytes().startswith(b"\x89PNG")


@pytest.mark.real("matplotlib")
def test_a_log_of_another_tool_is_drawn_without_a_store(tmp_path):
    log = tmp_path / "process_info.log"
    log.write_text(LINE)

    written = api.plot(str(log), "process", tmp_path / "figure.svg")

    assert "memory (MiB)" in written.read_text()


@pytest.mark.real("matplotlib")
def test_the_samples_of_a_whole_run_are_drawn_in_one_figure(tmp_path, kept):
    written = api.plot(kept, "samples", tmp_path / "figure.svg", store=tmp_path)

    drawn = written.read_text()
    assert f"({kept}/001) -->" in drawn
    assert f"({kept}/002) -->" in drawn


def test_the_process_series_of_two_results_are_too_much_for_one_figure(tmp_path, kept):
    with pytest.raises(UsageError, match="names 2 results") as caught:
        api.plot(kept, "process", tmp_path / "figure.png", store=tmp_path)
    assert f"{kept}/002" in caught.value.hint


def test_a_result_without_a_series_says_so(tmp_path, kept):
    with pytest.raises(UsageError, match="no process series"):
        api.plot(f"{kept}/002", "process", tmp_path / "figure.png", store=tmp_path)
