"""One battery per contract, run over every registered thing."""

from __future__ import annotations

import re

import pytest

from assay import plan, registry
from assay.contracts import Backend, Option, Workload
from assay.records import Case
from assay.stores.sql import SqlStore

WORKLOADS = registry.names("workloads")
BACKENDS = registry.names("backends")
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@pytest.mark.parametrize("name", WORKLOADS)
class TestWorkload:
    def test_fulfils_the_contract(self, name):
        assert isinstance(registry.workload(name), Workload)

    def test_has_a_name_that_can_be_typed(self, name):
        assert NAME.fullmatch(name)

    def test_says_what_it_is_and_whence(self, name):
        workload = registry.workload(name)

        assert workload.summary
        assert workload.source
        assert workload.version

    def test_has_a_batch_size_and_a_seed(self, name):
        assert {"batch_size", "seed"} <= set(registry.workload(name).params)

    def test_is_opened_by_some_backend(self, name):
        assert plan.opening(registry.workload(name))


@pytest.mark.parametrize("name", BACKENDS)
class TestBackend:
    def test_fulfils_the_contract(self, name):
        assert isinstance(registry.backend(name), Backend)

    def test_has_a_name_that_can_be_typed(self, name):
        assert NAME.fullmatch(name)

    def test_every_default_is_a_value_it_accepts(self, name):
        for option in registry.backend(name).options.values():
            assert isinstance(option, Option)
            fits = option.pattern and re.fullmatch(option.pattern, str(option.default))
            assert option.default in option.choices or fits

    def test_takes_another_interpreter_and_a_thread_count(self, name):
        assert {"python", "threads"} <= set(registry.backend(name).options)

    def test_what_is_missing_comes_with_a_remedy(self, name):
        missing = registry.backend(name).missing()

        assert missing == "" or "pip install" in missing

    def test_refuses_a_thread_count_this_machine_has_not(self, name):
        case = case_for(name, threads="100000")

        assert "100000" in registry.backend(name).refuses(case)

    def test_its_world_is_text(self, name, tmp_path):
        world = registry.backend(name).world(case_for(name), tmp_path)

        assert all(isinstance(word, str) for pair in world.items() for word in pair)


def case_for(backend: str, **options: str) -> Case:
    """Any case a backend can open."""
    kinds = registry.backend(backend).accepts
    fitting = [w for w in WORKLOADS if kinds & set(registry.workload(w).kinds)]
    workload = fitting[0] if fitting else "tests/data/endings.py:fine"
    return plan.resolve(Case(workload=workload, backend=backend, options=dict(options)))


def test_every_store_can_append_find_and_close():
    for name in registry.names("stores"):
        store = registry._built_in("stores")[name]
        assert {"append", "results", "close"} <= set(dir(store))
    assert SqlStore in registry._built_in("stores").values()
