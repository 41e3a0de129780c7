"""Bad input: what is refused, with which words, and what is taken as it is."""

from __future__ import annotations

import json
import math

import pytest

from assay.core import codec, registry
from assay.core.errors import AssayError, UsageError
from assay.measure.import_file import read_file
from tests.formats.test_round_trips import reading

PYPERF = {
    "version": "1.0",
    "metadata": {"name": "sum", "unit": "second"},
    "benchmarks": [{"runs": [{"values": [1.0, 2.0]}]}],
}
GOOGLE = {
    "context": {"json_schema_version": 1},
    "benchmarks": [{"name": "a", "real_time": 1.0, "cpu_time": 1.0, "time_unit": "ns"}],
}
HYPERFINE = {"results": [{"command": "ls", "times": [0.5, 0.25]}]}
ASV = {
    "commit_hash": "abc",
    "version": 2,
    "result_columns": ["result", "params"],
    "results": {"b.time_a": [[1.0], []]},
}
PYTEST = {"machine_info": {}, "benchmarks": [{"name": "t", "stats": {"data": [1.0]}}]}


def at(tmp_path, document, name="it.json"):
    path = tmp_path / name
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def changed(document, *path_and_value):
    """A deep copy with one place changed."""
    *path, last, value = path_and_value
    copy = json.loads(json.dumps(document))
    place = copy
    for step in path:
        place = place[step]
    place[last] = value
    return copy


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        ({"hello": 1}, "is no file of a known kind"),
        ("just words", "is no file of a known kind"),
        ("", "is empty"),
        (json.dumps(PYPERF)[:60], "begins as JSON, but is cut off or damaged"),
        ("[" * 100_000, "begins as JSON, but is cut off or damaged"),
        (changed(PYPERF, "version", "2.0"), "has version 2.0 of pyperf's format"),
        (changed(GOOGLE, "context", "json_schema_version", 7), "has version 7 of google-bench"),
        (changed(ASV, "version", 3), "has version 3 of asv's result file"),
        (changed(ASV, "version", None), "has no version of asv's result file"),
        (changed(PYPERF, "metadata", "unit", "hour"), "has the unit 'hour'"),
        (changed(GOOGLE, "benchmarks", 0, "time_unit", "days"), "has the time unit 'days'"),
        (changed(PYPERF, "benchmarks", 0, "runs", 0, "values", [1, "a"]), "which is no number"),
        (changed(PYPERF, "benchmarks", 0, "runs", 0, "values", "abc"), "no list of numbers"),
        (changed(HYPERFINE, "results", 0, "times", [True]), "which is no number"),
        (changed(HYPERFINE, "results", []), "has no results"),
        (changed(GOOGLE, "benchmarks", []), "has no benchmarks"),
        (changed(ASV, "results", {}), "has no results"),
        (changed(PYTEST, "benchmarks", 0, "stats", 3), "that is no JSON object"),
    ],
)
def test_what_cannot_be_read_is_one_sentence_with_the_file_and_the_reason(
    tmp_path, document, complaint
):
    with pytest.raises(UsageError) as caught:
        read_file(at(tmp_path, document))

    assert str(caught.value).startswith(str(tmp_path / "it.json"))
    assert complaint in str(caught.value)
    assert caught.value.hint


def test_a_file_that_is_too_large_is_refused_without_being_read(tmp_path):
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate(2**30)

    with pytest.raises(UsageError, match=r"has 1\.00 GiB, but up to 64\.0 MiB are read"):
        read_file(path)


@pytest.mark.parametrize("path", ["/dev/zero", "/"])
def test_a_device_or_folder_is_no_file(path):
    with pytest.raises(AssayError, match=r"is no plain file|Is a directory"):
        read_file(path)


def test_values_that_are_not_finite_are_kept_as_they_are(tmp_path):
    text = '{"results": [{"command": "ls", "times": [0.5, NaN, Infinity, null, "nan"]}]}'

    (found,) = read_file(at(tmp_path, text)).results

    values = found.values("wall_time")
    assert values[:1] == (0.5,)
    assert math.isnan(values[1]) and math.isinf(values[2]) and math.isnan(values[3])


def test_units_are_told_apart_row_by_row(tmp_path):
    rows = [
        {"name": "a", "real_time": 1.5, "cpu_time": 1.0, "time_unit": unit}
        for unit in ("ns", "us", "ms", "s")
    ]

    (found,) = read_file(at(tmp_path, changed(GOOGLE, "benchmarks", rows))).results

    assert found.values("step_time") == pytest.approx((1.5e-9, 1.5e-6, 1.5e-3, 1.5))
    assert {part.unit for part in found.samples} == {"s"}


def test_escapes_in_names_are_spelled_out(tmp_path):
    name = "\x1b[31mred\x1b[0m\r\n\u202egnp.exe"
    document = changed(HYPERFINE, "results", 0, "command", name)

    (found,) = read_file(at(tmp_path, document)).results

    assert found.case.key == "\\x1b[31mred\\x1b[0m\\x0d\\x0a\\x202egnp.exe@hyperfine"


def test_a_name_of_a_million_letters_is_cut(tmp_path):
    document = changed(HYPERFINE, "results", 0, "command", "x" * 10**6)

    (found,) = read_file(at(tmp_path, document)).results

    assert len(found.case.workload) == 300


def test_a_kind_that_was_given_has_to_fit(tmp_path):
    with pytest.raises(UsageError, match="is no file of pyperf"):
        read_file(at(tmp_path, HYPERFINE), "pyperf")
    with pytest.raises(UsageError, match="There is no format named 'hyperfin'") as caught:
        read_file(at(tmp_path, HYPERFINE), "hyperfin")
    assert caught.value.hint == "Did you mean 'hyperfine'?"


def test_what_looks_secret_is_not_taken_over(tmp_path):
    command = "curl https://me:hunter2@host/ --header token=abc"
    document = changed(
        HYPERFINE, "results", 0, {"command": command, "times": [1.0], "api_key": "k"}
    )

    (found,) = read_file(at(tmp_path, document)).results

    told = f"{found.case} {found.facts}"
    assert not [secret for secret in ("hunter2", "abc", "'k'") if secret in told]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_parameter_that_is_not_finite_is_a_text(tmp_path, value):
    (found,) = read_file(
        at(tmp_path, changed(HYPERFINE, "results", 0, "parameters", {"n": value}))
    ).results

    assert found.case.params == {"n": str(value)}


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_memory_that_is_not_finite_is_left_out_of_hyperfines_file(tmp_path, value):
    rows = changed(HYPERFINE, "results", 0, "memory_usage_byte", [value, 5])
    (found,) = read_file(at(tmp_path, rows)).results

    written = json.loads(registry.file_format("hyperfine").write([reading(found)]))

    assert written["results"][0]["memory_usage_byte"] == [5]


@pytest.mark.parametrize(
    "document",
    [
        changed(HYPERFINE, "results", 0, "times", [10**400]),
        changed(HYPERFINE, "results", 0, "parameters", {"n": 10**400}),
        changed(GOOGLE, "benchmarks", 0, "iterations", math.inf),
        changed(GOOGLE, "benchmarks", 0, "iterations", math.nan),
        changed(GOOGLE, "context", "json_schema_version", math.inf),
        changed(ASV, "version", -math.inf),
    ],
)
def test_a_number_that_cannot_be_kept_is_refused(tmp_path, document):
    with pytest.raises(UsageError, match=r"too large|more than a number|no count|no version"):
        read_file(at(tmp_path, document))


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        (changed(GOOGLE, "benchmarks", 0, "time_unit", {"s": 1}), "has the time unit"),
        (changed(PYPERF, "metadata", "unit", ["second"]), "has the unit"),
        (changed(PYPERF, "benchmarks", 0, "runs", 0, "warmups", [[1]]), "has a warm-up that"),
        (changed(HYPERFINE, "results", 0, "command", {"a": 1}), "command of \"{'a': 1}\""),
        (changed(HYPERFINE, "results", 0, "exit_codes", 1), "has exit_codes that is no list"),
        (changed(ASV, "results", "b.time_a", 1, [["1"] * 50] * 50), "combinations of params"),
        (changed(ASV, "result_columns", 0, ["result"]), "is no list of names"),
    ],
)
def test_a_value_of_another_type_is_named(tmp_path, document, complaint):
    with pytest.raises(UsageError) as caught:
        read_file(at(tmp_path, document))

    assert complaint in str(caught.value)


@pytest.mark.parametrize("date", ["Infinity", "0001-01-01T00:00:00+14:00", 1e300, "9" * 5000])
def test_a_date_that_is_none_leaves_the_time_of_the_file(tmp_path, date):
    text = json.dumps(changed(GOOGLE, "context", "date", date)).replace('"Infinity"', "Infinity")

    (found,) = read_file(at(tmp_path, text)).results

    assert found.started.startswith("20")


def test_integers_beyond_64_bits_and_lone_surrogates_can_be_stored(tmp_path):
    document = changed(HYPERFINE, "results", 0, "note", "\ud800")
    document["results"][0]["big"] = 10**30

    (found,) = read_file(at(tmp_path, document)).results

    assert found.facts["hyperfine.note"] == "\ufffd"
    assert found.facts["hyperfine.big"] == 1e30
    assert codec.encode(found)
