"""A table looks right in every form."""

from __future__ import annotations

from assay.findings import Table
from assay.views import render

TABLE = Table(
    columns=("case", "time"),
    rows=(("a|b", "1 ms"), ("名前", "10 ms")),
    numeric=frozenset({"time"}),
    title="Times",
    notes=("a doubt",),
)


def test_text_is_aligned_also_with_wide_letters():
    assert render.text(TABLE).splitlines() == [
        "Times",
        "case   time",
        "────  ─────",
        "a|b    1 ms",
        "名前  10 ms",
        "  note: a doubt",
    ]


def test_markdown_escapes_its_own_sign():
    assert render.markdown(TABLE).splitlines() == [
        "### Times",
        "",
        "| case | time |",
        "| --- | ---: |",
        "| a\\|b | 1 ms |",
        "| 名前 | 10 ms |",
        "",
        "- a doubt",
    ]


def test_csv_quotes_what_needs_it():
    table = Table(columns=("a", "b"), rows=(("1,5", 'say "x"'),))

    assert render.comma_separated(table) == 'a,b\n"1,5","say ""x"""'


def test_an_empty_table_shows_its_columns():
    assert render.text(Table(columns=("id",), rows=())) == "id\n──"


def test_a_table_wider_than_the_terminal_is_wrapped():
    table = Table(columns=("name", "words"), rows=(("a", "one two three four five six seven"),))

    lines = render.text(table, width=24).splitlines()

    assert max(len(line) for line in lines) <= 24
    assert " ".join(" ".join(lines[2:]).split()) == "a one two three four five six seven"


def test_a_long_note_is_wrapped_under_itself():
    table = Table(columns=("a",), rows=(("1",),), notes=("word " * 20,))

    assert render.text(table, width=40).splitlines()[4].startswith("        word")
