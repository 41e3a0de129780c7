"""The fixed computation that is timed beside each result."""

from __future__ import annotations

import platform

import assay
from assay.measure.machine import reference_load


def test_the_fastest_counts_and_the_python_is_told():
    assert reference_load.facts([3e-4, 2e-4, 5e-4]) == {
        "yardstick": 2e-4,
        "yardstick_spread": 1.5,
        "yardstick_python": platform.python_version(),
    }
    assert 0 < reference_load.seconds() < 1


def test_every_result_has_it(endings):
    (result,) = assay.run(f"{endings}:fine@python", samples=2, steps_per_sample=1)

    assert result.environment.machine["yardstick"] > 0
