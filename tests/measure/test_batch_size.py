"""The search for the largest batch."""

from __future__ import annotations

import pytest

from assay.commands.run import api
from assay.core.executor import CaseDir
from assay.core.records import Procedure
from assay.measure import batch_size
from assay.measure.case import HeatEntry, OpenCase
from assay.measure.result_builder import ResultBuilder
from tests.backends.opened import case


@pytest.mark.parametrize("limit", [1, 2, 15, 16, 17, 31, 32, 100, 1000, 12_345])
def test_the_search_ends_at_the_largest_that_fits_or_a_little_below(limit):
    tried = []

    def fits(size: int) -> bool:
        tried.append(size)
        return size <= limit

    found = batch_size.find_largest(fits, start=16)

    assert limit - limit // batch_size.RESOLUTION <= found <= limit
    assert len(tried) == len(set(tried)) < 20


def test_where_nothing_fits_nothing_is_found():
    assert batch_size.find_largest(lambda size: False, start=16) == 0


def test_the_search_has_an_end_where_everything_fits():
    assert batch_size.find_largest(lambda size: True, start=16, most=100) == 64


def test_only_the_batch_size_may_be_max():
    assert case("vgg16:batch_size=max@torch").params["batch_size"] == "max"
    with pytest.raises(Exception, match="image_size of vgg16 is 'max'"):
        case("vgg16:image_size=max@torch")


@pytest.mark.real("torch")
def test_a_size_beyond_the_memory_bound_ends_as_out_of_memory(tmp_path):
    asked = case("mnist-mlp:batch_size=4000000,units=1,hidden=1@torch")
    procedure, case_dir = Procedure(), CaseDir("run/001", tmp_path / "try")
    builder = ResultBuilder(asked, procedure, case_dir)
    trial = OpenCase(HeatEntry("try", asked, case_dir), procedure, lambda _: None, builder)

    assert batch_size._ending(trial, 2**31) == "out-of-memory"


@pytest.mark.real("torch")
def test_the_result_has_the_size_found_and_tells_the_search(monkeypatch):
    monkeypatch.setattr(batch_size, "_ending", lambda trial, *_: _fits_up_to(40, trial.case))

    (result,) = api.run(
        "mnist-mlp:units=4,batch_size=max@torch", procedure=Procedure(samples=1, budget=0.1)
    )

    assert result.status == "ok"
    assert result.items == result.case.params["batch_size"] == 40
    assert result.case.key == "mnist-mlp:batch_size=max,units=4@torch"
    assert result.facts["batch_size_search"].startswith("32 ok, 64 out-of-memory, 48")


def _fits_up_to(limit, case):
    return "ok" if case.params["batch_size"] <= limit else "out-of-memory"


def test_a_trial_is_interrupted_and_its_process_ends(tmp_path, endings):
    class Interrupted(OpenCase):
        def open(self):
            raise KeyboardInterrupt

    asked = case(f"{endings}:fine@python")
    case_dir = CaseDir("run/001", tmp_path / "try")
    builder = ResultBuilder(asked, Procedure(), case_dir)
    trial = Interrupted(HeatEntry("try", asked, case_dir), Procedure(), lambda _: None, builder)

    with pytest.raises(KeyboardInterrupt):
        batch_size._ending(trial, 0)

    assert (trial.status, trial._worker) == ("interrupted", None)
