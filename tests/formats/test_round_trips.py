"""A result written in a format and read again has its values, and every file is of one kind."""

from __future__ import annotations

import json

import msgspec
import pytest

from assay.core import registry
from assay.core.errors import AssayError, UsageError
from assay.core.findings import SummarizedResult
from assay.core.formats import Content
from assay.core.records import Case, Environment, Procedure, Result, Samples
from assay.stats.summary import summarize

WRITTEN = sorted(n for n, form in registry.all_plugins("formats")[0].items() if form.write)
READ = sorted(n for n, form in registry.all_plugins("formats")[0].items() if form.read)
SUMMARIES = {"bmf", "github-action", "perfzero"}  # one value a metric: what the summary says
VALUES = (0.00101, 0.00102, 0.00103, 0.00104, 0.00105)


def part(values, process, phase="steady", steps=4) -> Samples:
    return Samples(
        metric="step_time", unit="s", phase=phase, values=values, process=process, steps=steps
    )


RESULT = Result(
    id="20261116-000000-abcd/001",
    case=Case(
        workload="mnist-mlp",
        backend="jax",
        params={"batch_size": 32, "units": 64},
        options={"precision": "float32"},
        key="mnist-mlp@jax",
    ),
    procedure=Procedure(),
    status="ok",
    started="2026-11-16T18:06:46.800+00:00",
    seconds=2.0,
    samples=(part((0.002,), 0, "warmup"), part(VALUES, 0), part(VALUES[::-1], 1)),
    items=32,
    peaks={"max_rss": 25e6},
    environment=Environment(
        machine={"cpu": "some", "cpus": 2, "architecture": "x86_64"},
        system={"hostname": "vm", "platform": "Linux-6"},
        python={"version": "3.11.7"},
        packages={"jax": "0.10.2"},
        git={"commit": "0123456789abcdef0123456789abcdef01234567"},
    ),
)


def reading(result: Result = RESULT) -> SummarizedResult:
    return SummarizedResult(result=result, summary=summarize(result))


def content(kind: str, *results: Result) -> Content:
    write = registry.file_format(kind).write
    return Content(origin="it", data=write(reading(result) for result in results or (RESULT,)))


def needs(kind: str):
    return pytest.param(kind, marks=pytest.mark.real("pyarrow") if kind == "parquet" else [])


@pytest.mark.parametrize("kind", [needs(kind) for kind in WRITTEN])
def test_values_come_back(kind):
    (found,) = registry.file_format(kind).read(content(kind))

    metric = "step_time" if found.values("step_time") else "wall_time"
    expected = [summarize(RESULT).quantities["step_time"].value]
    if kind not in SUMMARIES:
        expected = sorted(RESULT.values("step_time"))
    assert sorted(found.values(metric)) == pytest.approx(expected, rel=1e-15)
    assert found.status == "ok"
    assert "mnist-mlp@jax" in found.case.key


@pytest.mark.parametrize("kind", [needs(kind) for kind in WRITTEN])
def test_what_was_imported_from_a_tool_is_written_for_it_under_its_own_name(kind):
    (once,) = registry.file_format(kind).read(content(kind))
    (twice,) = registry.file_format(kind).read(content(kind, once))

    assert twice.case == once.case
    assert twice.values("step_time") == pytest.approx(once.values("step_time"), rel=1e-15)


@pytest.mark.parametrize("kind", [needs(kind) for kind in WRITTEN])
def test_a_file_is_of_its_kind_alone(kind):
    written = content(kind)
    formats = registry.all_plugins("formats")[0]

    assert [name for name in READ if formats[name].matches(written)] == [kind]


@pytest.mark.parametrize("kind", [needs(kind) for kind in WRITTEN])
def test_nothing_to_write_is_said(kind):
    with pytest.raises(UsageError, match="None of these results has a value"):
        registry.file_format(kind).write(iter(()))


@pytest.mark.parametrize("kind", ["csv", needs("parquet")])
def test_our_own_tables_keep_the_case_and_where_it_was_measured(kind):
    (found,) = registry.file_format(kind).read(content(kind))

    assert found.case == RESULT.case
    assert found.samples == RESULT.samples
    assert found.environment.packages == RESULT.environment.packages
    assert found.environment.git == RESULT.environment.git


@pytest.mark.parametrize("kind", ["csv", "conbench", "mllog", "perfzero"])
def test_a_failure_is_exported_as_one(kind):
    failed = msgspec.structs.replace(RESULT, status="failed", reason="no room", samples=())

    (found,) = registry.file_format(kind).read(content(kind, failed))

    assert found.status == "failed"


def test_a_file_of_asv_is_of_one_commit():
    other = msgspec.structs.replace(RESULT, environment=Environment(git={"commit": "f" * 40}))

    with pytest.raises(UsageError, match="is of one commit, but these results are of 2"):
        content("asv", RESULT, other)


def test_a_file_of_optimum_is_of_one_model():
    other = msgspec.structs.replace(RESULT, case=Case(workload="a", backend="b", key="a@b"))

    with pytest.raises(UsageError, match="is of one model, but these are 2 results"):
        content("optimum", RESULT, other)


@pytest.mark.parametrize("kind", ["csv", needs("parquet")])
def test_a_table_that_is_damaged_is_refused(kind):
    data = content(kind).data
    cut = data[:-20] if kind == "csv" else data[:200] + b"\0" * 40 + data[240:]

    with pytest.raises(AssayError):
        registry.file_format(kind).read(Content(origin="it", data=cut))


def test_bencher_gets_nanoseconds_with_an_interval():
    latency = json.loads(content("bmf").data)["mnist-mlp@jax"]["latency"]

    assert latency["value"] == pytest.approx(1.03e6)
    assert latency["lower_value"] <= latency["value"] <= latency["upper_value"]
