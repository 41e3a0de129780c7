"""Text is compared by its tokens: time to the first, time of each after it, tokens a second."""

from __future__ import annotations

from contextlib import closing

import pytest

import assay
from assay.core.errors import UsageError
from assay.core.records import Query
from assay.core.registry import open_store
from assay.measure.case import NO_GENERATION_HINT
from tests.backends.test_first_token import TINY

TEXT = f"transformer-decoder:task=generate,{TINY}"


@pytest.mark.real("jax", "torch")
def test_two_makings_are_compared_by_their_first_token(home):
    cases = (f"{TEXT}@jax", f"{TEXT}@torch")
    *_, found = assay.ab(*cases, metric="time_to_first_token", pairs=1, budget=60)

    assert found.metric == "time_to_first_token" and found.unit == "s"
    assert found.ratio.n == 1 and found.pairs[0].turns >= 7
    assert not found.failures
    with closing(open_store()) as store:
        results = list(store.results(Query(ids=(found.run,))))
    assert len(results) == 2
    for result in results:
        assert result.tags["order"] == "in turns"
        assert len(result.values("time_to_first_token")) >= 7
        assert len(result.values("time_per_output_token")) >= 7


def test_what_makes_no_text_has_no_tokens(endings):
    cases = (f"{endings}:fine", f"{endings}:fine:size=9")
    *_, found = assay.ab(*cases, metric="decode_throughput", pairs=1, budget=20)

    assert found.ended == "stopped, because a contender failed"
    assert NO_GENERATION_HINT.format(metric="decode_throughput") in found.failures[0]


def test_a_race_knows_the_times_that_it_can_be_for():
    with pytest.raises(UsageError, match="no metric named 'first_token'") as caught:
        assay.race("transformer-decoder:task=generate", metric="first_token")
    assert caught.value.hint == (
        "It has: item_time, time_to_first_token, time_per_output_token, token_time."
    )
