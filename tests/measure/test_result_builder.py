"""A result as it grows: samples of one kind are joined, and time is given to its phase."""

from __future__ import annotations

import pytest

from assay.core.executor import CaseDir
from assay.core.records import Case, Environment, Procedure, Samples
from assay.measure import result_builder
from assay.measure.result_builder import ResultBuilder

CASE = Case(workload="fake", backend="fake", key="fake@fake")


@pytest.fixture
def builder(tmp_path, monkeypatch):
    monkeypatch.setattr(result_builder, "_environment", lambda case, folder: Environment())
    return ResultBuilder(CASE, Procedure(), CaseDir("run/001", tmp_path))


def test_values_of_one_kind_are_joined_whatever_came_between(builder):
    for metric, value in [("epoch_time", 1.0), ("loss", 9.0), ("epoch_time", 2.0), ("loss", 8.0)]:
        builder.add(Samples(metric=metric, unit="", phase="steady", values=(value,)))

    assert [(part.metric, part.values) for part in builder.samples] == [
        ("epoch_time", (1.0, 2.0)),
        ("loss", (9.0, 8.0)),
    ]


def test_an_ending_has_its_status_reason_and_time(builder):
    builder.begin("build")

    result = builder.finish("crashed", "SIGSEGV")

    assert (result.status, result.reason) == ("crashed", "SIGSEGV")
    assert set(result.phases) == {"build"}


def test_turns_are_kept_apart(builder):
    for turn in (1, 2):
        part = Samples(metric="step_time", unit="s", phase="steady", values=(float(turn),))
        builder.add(part, turn=turn)

    assert [part.values for part in builder.samples] == [(1.0,), (2.0,)]


def test_the_first_ending_counts(builder):
    first = builder.finish("timeout", "not finished after 1 s")

    assert builder.finish() == builder.finish("crashed", "SIGSEGV") == first
