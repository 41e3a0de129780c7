"""The first token alone is the first of all those that a step makes, of the same weights."""

from __future__ import annotations

import numpy as np
import pytest

from assay.core import messages, registry
from assay.worker import timing
from tests.backends.opened import case

TINY = "layers=1,width=8,heads=2,vocabulary=20,length=16,prompt=4,generated=3,batch_size=2"


@pytest.mark.real("keras", "jax")
def test_of_keras_on_jax(keras):
    asked = case(f"transformer-decoder:task=generate,{TINY}@keras-jax")
    backend, workload = registry.backend("keras-jax"), registry.workload("transformer-decoder")

    with backend.open(lambda: workload.kinds["keras"](**asked.params), asked) as session:
        session.step()
        session.first_token()
        whole, first = session.outputs(), session._first.outputs()
        order = messages.TimeTokens(seconds=0.0, warm_up=1, least=2)
        times = {one.metric: one.values for one in timing.time_tokens(session, order)}

    assert (session.tokens, session.sees_tokens) == (3, False)
    assert whole.shape == (2, 3) and first.shape == (2, 1)
    assert np.array_equal(whole[:, :1], first)
    assert {metric: len(values) for metric, values in times.items()} == {
        "time_to_first_token": 2,
        "time_per_output_token": 2,
    }
