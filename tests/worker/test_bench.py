"""The process of one benchmark method: what its class is given, and what it tells of itself."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pytest

from assay.commands.bench.process import BenchProcess, case_of, write_request
from assay.core.errors import EndingError
from assay.core.messages import Open
from assay.formats.perfzero import report
from assay.formats.perfzero.messages import ANSWER, REPORTS, BenchAnswer, BenchSetting, RunMethod
from assay.formats.perfzero.names import Method

DATA = str(Path(__file__).parents[1] / "data")


@pytest.fixture
def bench(tmp_path):
    """A method → what was reported first, and what its process told of itself."""

    def run(owner, name, **setting):
        chosen = BenchSetting(**{"python_path": (DATA,), "root_data_dir": "/somewhere", **setting})
        method = Method("bench_endings", owner, f"benchmark_{name}")
        write_request(
            tmp_path, RunMethod(method=method, setting=chosen, output_dir=str(tmp_path / "out"))
        )
        with BenchProcess(case_of(method, chosen), tmp_path, 60, tmp_path) as child:
            child.run()
        return first(tmp_path), told(tmp_path)

    return run


def first(folder):
    lines = folder / REPORTS
    return report.read_line(lines.read_bytes().splitlines()[0]) if lines.exists() else None


def told(folder):
    return msgspec.json.decode((folder / ANSWER).read_bytes(), type=BenchAnswer)


def test_the_constructor_is_told_output_and_data_and_the_users_own(bench, tmp_path):
    reported, _ = bench("Endings", "tells_its_constructor", constructor_args={"size": "big"})

    assert reported.extras == {
        "output": str(tmp_path / "out"),
        "data": "/somewhere",
        "tpu": "None",
        "size": "big",
    }


def test_a_plain_constructor_gets_nothing_but_the_users_own(bench):
    reported, _ = bench("Endings", "tells_its_constructor", plain=True, constructor_args={"a": 1})

    assert reported.extras == {"output": "None", "data": "None", "a": 1}


@pytest.mark.parametrize("owner", ["Old", "Plain"])
def test_a_constructor_is_given_only_what_it_takes(bench, owner):
    _, answer = bench(owner, "it")

    assert answer.execution > 0


@pytest.mark.parametrize(
    ("owner", "name", "status", "reason"),
    [
        ("Refuses", "never", "failed", "the constructor of Refuses refused no arguments: TypeErr"),
        ("Endings", "fin", "failed", "There is no method of bench_endings.Endings named 'benchmar"),
        ("Endings", "skips", "skipped", "needs eight GPUs"),
        ("Endings", "raises", "failed", "ValueError: no good"),
    ],
)
def test_what_goes_wrong_is_said_in_words(bench, owner, name, status, reason):
    with pytest.raises(EndingError) as ended:
        bench(owner, name)

    assert ended.value.status == status
    assert ended.value.reason.startswith(reason)


def test_it_tells_its_times_its_packages_and_its_interpreter(bench):
    _, answer = bench("Endings", "fine")

    assert min(answer.began, answer.initialization, answer.execution) > 0
    assert answer.framework["name"] == "none"
    assert answer.packages["msgspec"] == msgspec.__version__
    assert answer.python["executable"] == sys.executable


def test_a_crash_loses_nothing_of_what_was_known_before(bench, tmp_path):
    with pytest.raises(EndingError, match="SIGSEGV"):
        bench("Endings", "segfaults")

    assert told(tmp_path).initialization > 0
    assert told(tmp_path).execution == 0.0


def test_a_parent_of_another_version_is_refused(tmp_path):
    case = case_of(Method("m", "C", "x"), BenchSetting())

    with (
        pytest.raises(EndingError, match="speaks protocol 2, not 99"),
        BenchProcess(case, tmp_path, 60, tmp_path) as child,
    ):
        list(child.ask(Open(case=case, version=99)))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_the_constructor_gets_numbers_that_are_not_finite(bench, value):
    reported, _ = bench("Endings", "tells_its_constructor", constructor_args={"size": value})

    assert repr(reported.extras["size"]) == repr(value)
