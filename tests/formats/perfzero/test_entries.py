from __future__ import annotations

from assay.formats.perfzero.entries import (
    BenchmarkEntry,
    ReportedMetric,
    label_entries,
    main_entry,
    samples,
    texts,
)


def test_the_main_report_is_the_one_that_bears_the_methods_name():
    entries = (BenchmarkEntry(name="A.x"), BenchmarkEntry(name="A.b"))

    assert main_entry(entries, "A", "b") is entries[1]
    assert main_entry(entries, "A", "c") is entries[0]
    assert main_entry((), "A", "b") is None


def test_other_reports_put_their_name_before_their_numbers():
    entries = (
        BenchmarkEntry(name="A.b"),
        BenchmarkEntry(name="A.x"),
        BenchmarkEntry(name="A.x"),
        BenchmarkEntry(name="A.b"),
    )

    assert [prefix for prefix, _ in label_entries(entries, "A", "b")] == ["", "x/", "x#2/", "b#2/"]


def test_every_number_becomes_a_sample_and_every_text_a_fact():
    entry = BenchmarkEntry(
        name="A.b",
        iters=3,
        wall_time=0.5,
        metrics=(ReportedMetric(name="m", value=1.0),),
        extras={"e": 2.0, "t": "words", "j": '{"value": 7}'},
    )

    found = {part.metric: (part.unit, part.values) for part in samples([("", entry)])}

    assert found == {
        "wall_time": ("s", (0.5,)),
        "iters": ("", (3.0,)),
        "m": ("", (1.0,)),
        "e": ("", (2.0,)),
        "j": ("", (7.0,)),
    }
    assert texts([("x/", entry)]) == {"x/t": "words", "x/j": '{"value": 7}'}
