"""Which benchmark methods are meant: named ones as they are, the others by a look in a child."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from assay.commands.bench.process import discover, find_methods
from assay.core.errors import AssayError, UsageError
from assay.formats.perfzero.messages import BenchSetting, FindMethods
from assay.formats.perfzero.names import Filter, Method

DATA = str(Path(__file__).parents[2] / "data")
SETTING = BenchSetting(python_path=(DATA,))


def test_a_method_that_is_named_is_taken_without_a_look():
    named = [Method("no_such", "Class", "b"), Method("no_such", "Class", "a")]

    assert discover(named, SETTING) == named


def test_a_filter_finds_callables_only_and_constructs_nothing():
    found = discover([Filter("bench_endings", "Refuses", ".*")], SETTING)

    assert found == [Method("bench_endings", "Refuses", "benchmark_never")]


def test_what_a_filter_finds_stands_where_the_filter_stood():
    before, after = Method("m", "C", "before"), Method("m", "C", "after")
    pattern = Filter("bench_endings", "Dotted", "benchmark_")

    found = discover([before, pattern, after], SETTING)

    dotted = Method("bench_endings", "Dotted", "benchmark__name.performance")
    assert found == [before, dotted, after]


def test_a_filter_that_matches_nothing_is_an_error():
    with pytest.raises(UsageError, match=r"No method of .* matches 'nothing'") as caught:
        discover([Filter("bench_endings", "Endings", "nothing")], SETTING)

    assert caught.value.hint == "assay list benchmarks bench_endings shows what there is."


def test_no_name_at_all_is_an_error():
    with pytest.raises(UsageError, match="No benchmark method was named"):
        discover([], SETTING)


def test_a_filter_on_a_missing_module_says_which_part():
    sentence = r"no_such\.Class cannot be looked into: there is no module 'no_such'"

    with pytest.raises(UsageError, match=sentence) as caught:
        discover([Filter("no_such", "Class", ".*")], SETTING)

    assert "--python-path" in caught.value.hint


def test_a_module_that_ends_the_process_is_no_mistake_of_the_user(tmp_path):
    (tmp_path / "leaves.py").write_text("import os\nos._exit(3)\n")
    wanted = FindMethods(packages=("leaves",), python_path=(str(tmp_path),))

    with pytest.raises(AssayError, match=r"leaves cannot be .* exit status 3") as caught:
        find_methods(wanted)

    assert not isinstance(caught.value, UsageError)


def test_another_interpreter_can_look():
    wanted = FindMethods(packages=("bench_endings",), python_path=(DATA,))

    found = find_methods(wanted, sys.executable)

    assert found.names["bench_endings.Plain.benchmark_it"] == ""
    assert "bench_endings" not in sys.modules
