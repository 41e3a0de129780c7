"""assay repro: what it prints, and with which status it leaves."""

from __future__ import annotations

import json

import pytest

from tests.commands.repro.test_repro import keep
from tests.commands.repro.test_setup import RESULT


def test_a_check_shows_what_it_takes(assay, kept):
    status, out, _ = assay("repro", kept, "--check")

    assert status == 0
    assert f"{kept}/001 can be measured again here" in out
    assert "repro id" in out
    assert "--samples 3 --steps-per-sample 1" in out


@pytest.mark.parametrize(("factor", "status"), [(1.0, 0), (2.0, 1)])
def test_the_status_tells_whether_it_was_reproduced(assay, factor, status):
    first, second = keep(RESULT), keep(RESULT, factor)

    found, out, _ = assay("repro", first, "--against", second, "--format", "json")

    document = json.loads(out)
    assert found == status
    assert (document["schema"], document["kind"]) == (1, "reproduction")
    assert document["ratio"]["value"] == pytest.approx(factor)


def test_what_cannot_be_is_status_3_and_a_mistake_2(assay, tmp_path):
    path = tmp_path / "it.json"
    path.write_text('{"results": [{"command": "ls", "times": [1.0]}]}')
    assay("import", str(path))

    status, out, _ = assay("repro", "last")
    mistake, _, error = assay("repro", "nobody")

    assert (status, mistake) == (3, 2)
    assert "missing" in out and "hyperfine is no backend" in out
    assert "There is no run named 'nobody'" in error
