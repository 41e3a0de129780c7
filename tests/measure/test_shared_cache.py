"""What the processes of one comparison share, and who shares nothing."""

from __future__ import annotations

from contextlib import closing

import pytest

import assay
from assay.core.case_text import parse_case
from assay.core.progress import ignore
from assay.core.records import Plan, Procedure, Query
from assay.core.registry import open_store
from assay.measure import shared_cache
from assay.measure.case import HeatEntry, OpenCase
from assay.measure.plan import resolve
from assay.measure.result_builder import ResultBuilder
from assay.stores.folders import new_case

CASE = resolve(parse_case("mnist-mlp@jax"))


@pytest.mark.parametrize(
    ("verb", "cold", "shared"),
    [("ab", False, True), ("race", False, True), ("ab", True, False), ("run", False, False)],
)
def test_a_cache_is_there_while_a_run_that_shares_is_measured(tmp_path, verb, cold, shared):
    plan = Plan(cases=(CASE,), procedure=Procedure(cold=cold), verb=verb)

    with shared_cache.shared_cache_dir(tmp_path, plan):
        found = shared_cache.variables(tmp_path / "001")
        assert (shared_cache.SHARED_CACHE in found) == shared
        assert ("TORCHINDUCTOR_FORCE_DISABLE_CACHES" in found) != shared

    assert not (tmp_path / shared_cache.NAME).exists()


@pytest.mark.parametrize(
    ("cases", "processes", "cold", "shared"),
    [(1, 1, False, False), (2, 1, False, True), (1, 2, False, True), (2, 2, True, False)],
)
def test_weights_are_shared_where_a_net_is_opened_again(tmp_path, cases, processes, cold, shared):
    procedure = Procedure(processes=processes, cold=cold)
    other = resolve(parse_case("mnist-mlp:batch_size=8@torch"))
    plan = Plan(cases=(CASE, other)[:cases], procedure=procedure, verb="run")

    with shared_cache.shared_cache_dir(tmp_path, plan):
        for folder in (tmp_path / "001", tmp_path / "001" / "process-1"):
            found = shared_cache.variables(folder)
            assert (shared_cache.CACHED_WEIGHTS in found) == shared
            assert shared_cache.SHARED_CACHE not in found

    assert not (tmp_path / shared_cache.WEIGHTS).exists()


@pytest.mark.real("jax")
def test_a_comparison_shares_what_it_compiles_and_says_so(endings, home):
    *_, found = assay.ab("mnist-mlp:units=8,batch_size=4@jax", aa=True, pairs=1, budget=30)
    with closing(open_store()) as store:
        results = sorted(store.results(Query()), key=lambda result: result.id)

    assert shared_cache.SHARED_NOTE in found.notes
    assert [result.facts["compiled_code"] for result in results] == ["shared"] * 2
    for result in results:
        assert sum(result.phases.values()) == pytest.approx(result.seconds, abs=0.05)
    assert "checks" in results[0].phases and "sampling" in results[0].phases


def test_what_an_earlier_process_showed_is_not_found_out_again(endings, tmp_path):
    case = resolve(parse_case(f"{endings}:fine@python"))
    entry = HeatEntry("a", case, new_case(tmp_path), known={"outputs": "1 2"})
    builder = ResultBuilder(case, Procedure(), entry.case_dir, entry.known)
    one = OpenCase(entry, Procedure(), ignore, builder)
    one.start()
    one.open()
    one.get_outputs()
    one.close()

    assert one.outputs is None
    assert one.result().facts["outputs"] == "1 2"
    assert one.result().facts["threads"] > 0


def test_the_phases_of_a_case_add_up_to_its_time(endings):
    (result,) = assay.run(f"{endings}:fine", samples=3, budget=0.1)

    assert sum(result.phases.values()) == pytest.approx(result.seconds, abs=0.02)
    assert {"start", "first step", "warm-up", "sampling", "end"} <= set(result.phases)


def test_the_time_of_a_build_that_fails_is_building(endings):
    (result,) = assay.run(f"{endings}:fails_to_build")

    assert result.status == "failed"
    assert {"start", "build"} <= set(result.phases) and "end" not in result.phases


def test_who_asks_for_the_first_step_gets_it_cold(endings):
    *_, found = assay.ab(f"{endings}:fine", aa=True, metric="first_step", pairs=1, budget=5)

    assert shared_cache.SHARED_NOTE not in found.notes
