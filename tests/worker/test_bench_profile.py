from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from threading import Event

import pytest

from assay.commands.bench import api
from assay.formats.perfzero.messages import BenchSetting
from assay.formats.perfzero.windows import parse
from assay.formats.traces import read as traces
from assay.worker.bench_profile import Windows

DATA = str(Path(__file__).parents[1] / "data")
OUT = Path("out")


class FakeProfiler:
    """Remembers when it was on; the method waits for it instead of for a clock."""

    def __init__(self, error=None):
        self.told, self.on, self.error = [], Event(), error

    @contextmanager
    def __call__(self, folder):
        if folder != OUT:  # it is only warmed up
            yield
            return
        self.on.set()
        if self.error:
            raise self.error
        self.told.append("on")
        yield
        self.told.append("off")


def windows(text, profiler, name="torch"):
    return Windows(parse(text), OUT, lambda: name, {"torch": profiler}, clock=lambda: 0.0)


def test_a_window_that_is_open_when_the_method_ends_is_closed_then():
    profiler = FakeProfiler()

    with windows("0:1000", profiler) as found:
        profiler.on.wait()

    assert profiler.told == ["on", "off"]
    assert found.notes == []


def test_a_window_the_method_never_reached_is_noted(capfd):
    profiler = FakeProfiler()

    with windows("0:5,1000:", profiler) as found:
        profiler.on.wait()

    assert found.notes == ["the profiler window 1000: never began: the method ended after 0 s"]
    assert found.notes[0] in capfd.readouterr().err


def test_an_error_of_the_profiler_is_noted_and_nothing_else():
    profiler = FakeProfiler(RuntimeError("another profiler is on"))

    with windows("0:5", profiler) as found:
        profiler.on.wait()

    (note,) = found.notes
    assert note.endswith("0:5 has no profile: RuntimeError: another profiler is on")


def test_a_window_that_the_profilers_start_used_up_is_noted():
    now, profiler = [0.0], FakeProfiler()

    def torch():
        return "torch"

    @contextmanager
    def slow(folder):
        with profiler(folder):
            now[0] += 6.0
            yield

    with Windows(parse("0:20"), OUT, torch, {"torch": slow}, clock=lambda: now[0]) as soon:
        profiler.on.wait()
    profiler.on.clear()
    with Windows(parse("0:5"), OUT, torch, {"torch": slow}, clock=lambda: now[0]) as late:
        profiler.on.wait()

    assert soon.notes == []
    assert late.notes == [
        "the profiler window 0:5 was over before the profiler was on: its trace is empty"
    ]


def test_without_a_framework_there_is_nothing_to_profile():
    profiler = FakeProfiler()

    with windows("0:5", profiler, "none") as found:
        pass

    assert found.notes and not profiler.told


def test_without_windows_no_thread_is_started():
    with windows("", FakeProfiler()) as found:
        assert not found._thread.is_alive()


@pytest.mark.parametrize(
    ("name", "operation"),
    [
        pytest.param("torch", "aten::mm", marks=pytest.mark.real("torch")),
        pytest.param("jax", "dot", marks=pytest.mark.real("jax")),
        pytest.param("tensorflow", "MatMul", marks=pytest.mark.real("tensorflow")),
    ],
)
def test_a_window_leaves_a_trace_of_what_the_method_did_in_it(name, operation):
    setting = BenchSetting(
        python_path=(DATA,),
        constructor_args={"framework": name},
        windows=parse("0:0.5,3000:"),
        timeout=120.0,
    )

    (benched,) = api.bench("bench_windows.Windows.benchmark_until_traced", setting=setting)

    assert (benched.result.status, benched.result.reason) == ("ok", "")
    assert "3000: never began" in str(benched.result.facts["note"])
    found = list(traces.events(Path(benched.output_dir) / "profiler_data"))
    assert any(operation in event.name or operation in event.source for event in found)
