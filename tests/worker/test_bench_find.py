"""Benchmark methods are found by looking at classes; nothing is constructed or called."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from assay.core.errors import EndingError, UsageError
from assay.formats.perfzero.messages import FindMethods
from assay.formats.perfzero.names import Filter, Method
from assay.worker.bench_find import class_of, find, methods

DATA = str(Path(__file__).parents[1] / "data")
MODULE = '''
import unittest


class Base:
    def benchmark_of_the_base(self):
        """Told in one line.

        The rest is left out.
        """


class Own(Base, unittest.TestCase):
    benchmark_is_a_text = "and no method"

    class benchmark_is_a_class:
        pass

    def __init__(self, must_have):
        raise RuntimeError("constructed")

    def benchmark_two(self):
        raise RuntimeError("called")

    def helper(self):
        pass


from bench_elsewhere import Elsewhere
'''


@pytest.fixture(autouse=True)
def searched(tmp_path, monkeypatch):
    """Folders where modules are found; what a test has loaded is forgotten after it."""
    monkeypatch.syspath_prepend(DATA)
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith(("bench_", "some_")):
            del sys.modules[name]


@pytest.fixture
def own(searched):
    (searched / "bench_own.py").write_text(MODULE)
    (searched / "bench_elsewhere.py").write_text("class Elsewhere:\n    def benchmark_x(self): 0\n")


@pytest.mark.usefixtures("own")
def test_a_module_has_the_methods_of_its_own_classes_and_what_they_say_of_themselves():
    found = find(FindMethods(packages=("bench_own",)))

    assert found.names == {
        "bench_own.Base.benchmark_of_the_base": "Told in one line.",
        "bench_own.Own.benchmark_of_the_base": "Told in one line.",
        "bench_own.Own.benchmark_two": "",
    }


@pytest.mark.usefixtures("own")
def test_what_a_framework_brings_is_none_of_the_users_methods():
    owner = class_of(Method("bench_own", "Own", ""))

    assert methods(owner) == ["benchmark_of_the_base", "benchmark_two", "helper"]


@pytest.mark.usefixtures("own")
def test_a_filter_matches_the_beginning_of_any_method():
    filters = (Filter("bench_own", "Own", "help"), Filter("bench_own", "Own", ".*_two"))

    found = find(FindMethods(filters=filters))

    assert list(found.names) == ["bench_own.Own.helper", "bench_own.Own.benchmark_two"]


def test_a_package_is_looked_into_to_its_depth_but_not_run(searched):
    deep = searched / "some_pkg" / "deep"
    deep.mkdir(parents=True)
    for folder in (deep.parent, deep):
        (folder / "__init__.py").touch()
    (deep / "good.py").write_text("class A:\n    def benchmark_b(self): pass\n")
    (deep / "__main__.py").write_text("raise RuntimeError('run')\n")
    (deep.parent / "leaves.py").write_text("import sys\nraise ImportError('too old')\n")

    found = find(FindMethods(packages=("some_pkg",)))

    assert found.names == {"some_pkg.deep.good.A.benchmark_b": ""}
    assert found.problems == {"some_pkg.leaves": "ImportError: too old"}


@pytest.mark.parametrize(
    ("module", "owner", "reason"),
    [
        ("no_such.mod", "Class", "there is no module 'no_such', needed for 'no_such.mod'"),
        ("bench_endings.sub", "Class", "there is no module 'bench_endings.sub'"),
        ("bench_needs", "Class", "module 'bench_needs' needs 'not_installed_anywhere'"),
        ("bench_endings", "Ending", "There is no class in module bench_endings named 'Ending'"),
        ("bench_endings", "signal", "bench_endings.signal is no class"),
    ],
)
def test_a_name_that_leads_nowhere_says_which_part_is_wrong(module, owner, reason):
    with pytest.raises((EndingError, UsageError)) as refused:
        class_of(Method(module, owner, "method"))

    assert str(refused.value).startswith(reason)
