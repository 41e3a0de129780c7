"""The machine's own speed, by the yardstick beside two results."""

from __future__ import annotations

import math

import msgspec
import pytest

from assay.stats.causes import differences
from assay.stats.machine_speed import format_change, machine_change
from tests.commands.repro.test_setup import RESULT


def beside(seconds: object, python: str = "3.11.2"):
    machine = {"yardstick": seconds, "yardstick_python": python}
    environment = msgspec.structs.replace(RESULT.environment, machine=machine)
    return msgspec.structs.replace(RESULT, environment=environment)


@pytest.mark.parametrize(
    ("old", "new", "change"),
    [
        (beside(2e-4), [beside(2.2e-4)], math.log(1.1)),
        (beside(2e-4), [beside(2.2e-4), beside(2.4e-4)], math.log(1.1 * 1.2) / 2),
        (beside(2e-4), [beside(2.02e-4)], 0.0),  # its own noise
        (beside(2e-4), [beside(2.2e-4, "3.12.1")], 0.0),  # another Python has another speed
        (RESULT, [beside(2.2e-4)], 0.0),  # an older result has none
        (beside(2e-4), [RESULT], 0.0),
        (beside(2e-4), [beside("fast")], 0.0),
    ],
)
def test_a_change_is_one_of_the_machine_where_both_were_timed(old, new, change):
    assert machine_change(old, new) == pytest.approx(change)


def test_explain_names_the_machine_that_became_slower_and_no_noise():
    (found,) = differences(beside(2e-4), beside(2.5e-4))

    assert (found.kind, found.what) == ("machine", "yardstick")
    assert "25.0 % slower" in found.why and format_change(-0.05) == "4.9 % faster"
    assert differences(beside(2e-4), beside(2.01e-4)) == []
