"""What a command shows looks right in every format."""

from __future__ import annotations

import json

import pytest

from assay.core.findings import Output, Table
from assay.reporting.output import FORMATS, render
from assay.reporting.output.text import _width, table_text

TABLE = Table(
    columns=("case", "time"),
    rows=(("a|b", "1 ms"), ("名前", "10 ms")),
    numeric=frozenset({"time"}),
    title="Times",
    notes=("a doubt",),
)
OUTPUT = Output(tables=(TABLE, TABLE))
WHOLE = Output(
    tables=(TABLE,),
    page="a page",
    document={"kind": "thing", "value": float("nan")},
    values=Table(columns=("a", "b"), rows=(("1,5", 'say "x"'),)),
)


def test_every_format_is_a_file():
    assert FORMATS == ("csv", "json", "markdown", "text")


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_shows_nothing_of_nothing(form):
    assert "error" not in render(Output(), form)


def test_text_is_aligned_also_with_wide_letters():
    assert table_text(TABLE).splitlines() == [
        "Times",
        "case   time",
        "────  ─────",
        "a|b    1 ms",
        "名前  10 ms",
        "  note: a doubt",
    ]


def test_tables_are_set_apart_by_an_empty_line():
    assert render(OUTPUT, "text").splitlines().count("") == 1


def test_a_page_takes_the_place_of_the_tables_in_text_alone():
    assert render(WHOLE, "text") == "a page"
    assert "| case |" in render(WHOLE, "markdown")


def test_markdown_escapes_its_own_sign():
    assert render(Output(tables=(TABLE,)), "markdown").splitlines() == [
        "### Times",
        "",
        "| case | time |",
        "| --- | ---: |",
        "| a\\|b | 1 ms |",
        "| 名前 | 10 ms |",
        "",
        "- a doubt",
    ]


def test_csv_has_the_plain_values_and_quotes_what_needs_it():
    assert render(WHOLE, "csv") == 'a,b\n"1,5","say ""x"""'


def test_json_is_the_document_with_nan_as_text():
    assert json.loads(render(WHOLE, "json")) == {"kind": "thing", "value": "nan"}


def test_json_of_tables_is_their_rows():
    assert json.loads(render(Output(tables=(TABLE,)), "json"))["rows"][0] == {
        "case": "a|b",
        "time": "1 ms",
    }


def test_an_empty_table_shows_its_columns():
    assert table_text(Table(columns=("id",), rows=())) == "id\n──"


def test_a_table_wider_than_the_terminal_is_wrapped():
    table = Table(columns=("name", "words"), rows=(("a", "one two three four five six seven"),))

    lines = table_text(table, width=24).splitlines()

    assert max(len(line) for line in lines) <= 24
    assert " ".join(" ".join(lines[2:]).split()) == "a one two three four five six seven"


def test_a_long_note_is_wrapped_under_itself():
    table = Table(columns=("a",), rows=(("1",),), notes=("word " * 20,))

    assert table_text(table, width=40).splitlines()[4].startswith("        word")


def test_wide_letters_are_cut_by_their_width():
    table = Table(columns=("name", "n"), rows=(("算" * 40, "1"),), shortened=frozenset({"name"}))

    row = table_text(table, 40).splitlines()[-1]

    assert row.startswith("算算") and "…算" in row
    assert _width(row) <= 40


def test_at_80_columns_a_number_keeps_its_unit_and_a_case_is_broken_after_a_comma_alone():
    case = "mnist-mlp:batch_size=16,units=32@torch:precision=bfloat16,compiler=on"
    interval = "1.15 ms – 1.44 ms"
    table = Table(
        columns=("case", "step time", "95 % interval", "items/s", "status"),
        rows=((case, "1.27 ms", interval, "12.6 k", "ok"),),
        numeric=frozenset({"step time", "95 % interval", "items/s"}),
    )

    lines = table_text(table, 80).splitlines()
    rule = next(number for number, line in enumerate(lines) if line.startswith("─"))
    first, *more = lines[rule + 1 :]

    assert interval in first and max(len(line) for line in (first, *more)) <= 80
    assert first.split()[0] + "".join(line.strip() for line in more) == case
    assert all(line.split()[0].endswith((",", "=on")) for line in (first, *more))


def test_an_id_is_never_broken():
    table = Table(columns=("id", "what"), rows=(("20261116-231934-u2hk/001", "word " * 9),))

    assert "20261116-231934-u2hk/001" in table_text(table, 30)
