"""Why two results differ."""

from __future__ import annotations

from contextlib import closing

import pytest

import assay
from assay.core.errors import UsageError
from assay.core.records import Environment, Query
from assay.core.registry import open_store
from tests.commands.history.test_history import HERE, keep_series
from tests.stores.test_sqlite import stored


@pytest.fixture
def store(home):
    with closing(open_store(home)) as opened:
        yield opened


def two(store, **fields) -> list[str]:
    return [result.id for result in keep_series(store, [0.02, 0.04], **fields)]


def test_the_likeliest_reason_comes_first_beside_the_numbers(store):
    def environment(night: int) -> Environment:
        packages = {"jax": ("0.9.0", "0.10.2")[night], "click": ("8.1", "8.2")[night]}
        return Environment(machine=HERE, packages=packages)

    found = assay.explain(*two(store, environment=environment))

    assert [one.what for one in found.changed] == ["jax", "click"]
    (step,) = [one for one in found.metrics if one.metric == "step_time"]
    assert step.ratio == pytest.approx(2.0)
    assert step.apart


def test_metrics_stand_in_the_order_of_the_summary(store):
    before, after = two(store)

    names = [change.metric for change in assay.explain(before, after).metrics]

    (reading,) = assay.read_results(Query(ids=(before,)))
    assert names == [name for name in reading.summary.quantities if name in names]
    assert names[0] == "step_time"


def test_where_nothing_differs_noise_is_named(store):
    found = assay.explain(*two(store))

    assert found.changed == ()
    assert "nothing that assay records differs" in found.notes[-1]


@pytest.mark.real("jax")
def test_operations_of_two_profiles_are_compared():
    for units in (8, 512):
        assay.profile(f"mnist-mlp:units={units}@jax", steps=2)
    first, second = (reading.result.id for reading in assay.read_results())

    found = assay.explain(first, second)

    assert found.changed[0].what == "units"
    assert found.operations
    sizes = [abs(one.after - one.before) for one in found.operations]
    assert sizes == sorted(sizes, reverse=True)


def test_a_run_of_several_results_has_to_be_narrowed(store):
    made = stored(store, 2)

    with pytest.raises(UsageError, match="has 2 results, but explain needs exactly one"):
        assay.explain(made[0].run, made[0].id)
    with pytest.raises(UsageError, match=f"Both are {made[0].id}"):
        assay.explain(made[0].id, made[0].id)
