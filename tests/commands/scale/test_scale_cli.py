"""assay scale on the command line."""

from __future__ import annotations

import json

import pytest

from assay.measure.modes import STEPS


@pytest.mark.real("jax")
def test_virtual_devices_are_shown_with_their_efficiency(assay):
    case = "mnist-mlp:batch_size=4,units=8,hidden=1@jax:device=cpu"
    status, out, err = assay(
        *("scale", case, "--devices", "1,2", "--budget", "200ms"),
        *("--communication", "--format", "json"),
    )

    first, second = json.loads(out)["points"]
    assert status == 0, err
    assert (first["devices"], second["devices"], second["items"]) == (1, 2, 8)
    assert second["efficiency"]["low"] <= second["efficiency"]["value"]
    assert first["communication"] is None
    assert 0 < second["communication"]["value"] <= 100
    assert second["communication"]["n"] == STEPS
    shown = assay("scale", "--resume", "last")[1]
    assert "2 devices shared" in shown
    assert f"{second['communication']['value']:.1f}%" in shown


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "scale takes one case, or --resume"),
        (("mnist-mlp@jax", "--devices", "two"), "--devices got 'two'"),
        (("mnist-mlp", "--devices", "1"), "scale takes one case with its backend"),
        (("mnist-mlp@jaxx",), "There is no backend named 'jaxx'"),
    ],
)
def test_what_is_wrong_is_said(assay, words, sentence):
    status, _, err = assay("scale", *words)

    assert (status, sentence in err) == (2, True), err
