"""What a Python caller gives is taken in any form that can be meant, or refused in one sentence."""

from __future__ import annotations

import functools
import importlib.util
import math
import sys

import pytest

import assay
from assay.core.errors import UsageError
from assay.core.records import Procedure
from assay.measure import inputs


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A user's module, loaded as an import would."""
    file = tmp_path / "adding.py"
    file.write_text(
        "def add(size=10):\n    return lambda: sum(range(size))\n\n"
        "class Net:\n    def python(self):\n        return lambda: 1\n    def other(self): ...\n\n"
        "short = lambda: 1\n"
        "def inner():\n    def local(): ...\n    return local\n"
    )
    spec = importlib.util.spec_from_file_location("adding", file)
    loaded = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "adding", loaded)
    spec.loader.exec_module(loaded)
    return loaded


@pytest.mark.parametrize("name", ["add", "Net"])
def test_a_function_or_class_of_a_file_is_named_by_it(module, name):
    case = inputs.case_from_callable(getattr(module, name))

    assert (case.workload, case.backend) == (f"{module.__file__}:{name}", "?")


def test_a_file_below_this_folder_is_named_from_here(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert inputs.case_from_callable(module.add).workload == "adding.py:add"


def test_what_a_fresh_process_cannot_find_is_refused(module):
    for thing in (module.short, module.inner(), module.Net.other, len, math.sqrt):
        with pytest.raises(UsageError, match="cannot be imported") as caught:
            inputs.case_from_callable(thing)
        assert "FILE.py:NAME" in caught.value.hint


def test_an_object_is_refused_with_what_to_do_instead(module):
    for thing in (module.Net(), functools.partial(module.add, 3), 7, None):
        with pytest.raises(UsageError, match="is no case") as caught:
            inputs.case_from_callable(thing)
        assert "assay.case_from_object(model, example=…), or put a function" in caught.value.hint


def test_a_list_of_cases_is_no_case():
    with pytest.raises(UsageError, match="A list was given as one case"):
        inputs.case_from_callable(["mnist-mlp"])


@pytest.mark.parametrize(
    ("names", "found"),
    [("jax", ["jax"]), ("jax, torch", ["jax", "torch"]), (["jax"], ["jax"]), ((), [])],
)
def test_backends_are_a_text_or_a_list(names, found):
    assert list(inputs.backend_names(names)) == found


@pytest.mark.parametrize(
    ("value", "found"),
    [(64, [64]), ("a,b", ["a,b"]), ([1, 2], [1, 2]), (range(2), [0, 1]), (True, [True])],
)
def test_a_single_value_needs_no_list(value, found):
    assert {name: list(each) for name, each in inputs.axes({"x": value}, "params").items()} == {
        "x": found
    }


@pytest.mark.parametrize(
    ("axes", "complaint"), [([("x", 1)], "has to be a dict"), ({"x": []}, "x has no value")]
)
def test_what_is_no_axis_is_refused(axes, complaint):
    with pytest.raises(UsageError, match=complaint):
        inputs.axes(axes, "params")


def test_a_procedure_is_given_whole_or_by_its_parts():
    whole = Procedure(budget=2)

    assert inputs.procedure(whole, {}) is whole
    assert inputs.procedure(None, {"budget": "2s"}) == whole
    assert inputs.procedure(None, {}) == Procedure()
    with pytest.raises(UsageError, match="Both procedure and budget, target were given"):
        inputs.procedure(whole, {"budget": 2, "target": 0.1})


@pytest.mark.parametrize("call", ["run", "scale"])
def test_a_metric_is_only_for_what_is_compared(call):
    with pytest.raises(UsageError, match="metric is 'p99', but here all") as caught:
        getattr(assay, call)("mnist-mlp@jax", procedure=Procedure(metric="p99"))
    assert "assay.ab and assay.race" in caught.value.hint
    with pytest.raises((TypeError, UsageError), match="metric"):
        getattr(assay, call)("mnist-mlp@jax", metric="p99")
