"""The table of a profile: whole names for programs, short ones for people."""

from __future__ import annotations

import pytest

from assay.commands import profile
from assay.commands.profile import Profile
from assay.core.records import Case, Procedure, Result
from assay.formats.traces.operations import Operation
from assay.reporting.output import render

KERNEL = "void cutlass::Kernel2<" + "cutlass_80_tensorop_s1688gemm, " * 20 + "NumericArray>(Params)"
RESULT = Result(
    id="r/001", case=Case(workload="w", backend="b"), procedure=Procedure(), status="ok"
)


@pytest.fixture
def output():
    found = [
        Operation(name=name, seconds=0.1, share=0.5, count=3, place="device", source=source)
        for name, source in ((KERNEL, "model/layer/" * 20 + "conv"), ("gemm", ""))
    ]
    return profile.output(Profile(result=RESULT, operations=tuple(found)), top=5)


@pytest.mark.parametrize("width", [80, 120, 200])
def test_names_are_cut_in_the_middle_to_fit(output, width):
    text = render(output, "text", width)

    lines = text.splitlines()
    assert len(lines) == 4
    assert max(map(len, lines)) == width
    assert lines[2].startswith("void cutlass")
    assert "…" in lines[2] and "Params)  " in lines[2]


@pytest.mark.parametrize("form", ["json", "csv", "markdown"])
def test_programs_get_whole_names(output, form):
    assert KERNEL in render(output, form, 80)


def test_names_that_fit_are_left_whole(output):
    assert KERNEL in render(output, "text", 2000)
    assert KERNEL in render(output, "text", 0)
