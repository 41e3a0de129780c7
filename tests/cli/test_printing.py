"""What is shown: on standard output, in the chosen format, as wide as there is room."""

from __future__ import annotations

import json

from assay.cli import printing
from assay.core.findings import Output, Table

TABLE = Table(columns=("name", "words"), rows=(("a", "one two three four five six seven"),))


def widest(text: str) -> int:
    return max(map(len, text.splitlines()))


def test_a_table_is_printed_in_the_chosen_format(capsys):
    printing.show_table(TABLE, "json")

    out, err = capsys.readouterr()
    assert json.loads(out)["rows"] == [{"name": "a", "words": TABLE.rows[0][1]}]
    assert err == ""


def test_nothing_to_show_prints_nothing(capsys):
    printing.show(Output(), "text")

    assert capsys.readouterr().out == ""


def test_a_terminal_has_the_columns_it_has(terminal):
    screen = terminal("stdout", columns=24)

    printing.show_table(TABLE, "text", in_file=120)

    assert widest(screen.getvalue()) <= 24


def test_a_file_has_as_much_room_as_it_takes(capsys):
    printing.show_table(TABLE, "text")

    assert TABLE.rows[0][1] in capsys.readouterr().out


def test_a_file_may_be_given_a_width(capsys):
    printing.show_table(TABLE, "text", in_file=24)

    assert widest(capsys.readouterr().out) <= 24
