"""What comes from outside is shown on a terminal, never obeyed by it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import assay
from assay.core.findings import Output, Table
from assay.reporting.output import render
from assay.reporting.terminal import plain, short

TITLE, CLEAR, C1, TURNED = "\x1b]0;owned\x07", "\x1b[2J", "\x9b2J", "abc\u202edef"
HOSTILE = (TITLE, CLEAR, C1, TURNED, "\r", "\x08" * 3, "\x7f", "\x00", "\ud800")
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]")


@pytest.mark.parametrize("text", HOSTILE)
def test_a_control_character_is_written_out(text):
    assert not OBEYED.search(plain(f"a{text}b"))
    assert plain(f"a{text}b").startswith("a") and plain(f"a{text}b").endswith("b")


@pytest.mark.parametrize("text", ["größer – 名前 😀", "two\nlines\tand a tab", "± 1 %"])
def test_what_a_terminal_only_shows_is_left_as_it_is(text):
    assert plain(text) == text


def test_of_an_endless_word_the_middle_is_left_out():
    shown = short(f"'{'x' * 100_000}' is no workload; nearest: mnist-mlp.")

    assert len(shown) < 220
    assert "(100,002 characters)" in shown
    assert shown.endswith(" is no workload; nearest: mnist-mlp.")


def test_an_error_does_not_repeat_an_endless_word(assay):
    _, _, err = assay("run", "x" * 100_000)

    assert "error: " in err
    assert len(err) < 1000


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
@pytest.mark.parametrize("text", HOSTILE[:-1])
def test_no_format_for_a_terminal_lets_one_through(form, text):
    table = Table(columns=("id", f"c{text}"), rows=((f"a{text}", "b"),), notes=(f"n{text}",))
    output = Output(tables=(table,), page=f"page {text}" if form == "text" else "")

    assert not OBEYED.search(render(output, form))


def test_json_says_to_a_program_what_there_was():
    document = {"label": "".join(HOSTILE[:-1])}

    shown = render(Output(document=document), "json")

    assert json.loads(shown) == document
    assert not OBEYED.search(shown)


def test_a_row_stays_one_row_whatever_is_in_its_cells():
    table = Table(columns=("a", "b"), rows=(("x\n  note: forged", "y"),))

    assert len(render(Output(tables=(table,)), "text").splitlines()) == 3


def test_the_command_line_has_no_way_around_the_gate():
    """Whoever prints does it through printing.py, options.say, the live line or main."""
    package = Path(assay.__file__).parent
    files = [file for folder in ("cli", "commands") for file in package.glob(f"{folder}/**/*.py")]
    prints = re.compile(r"click\.echo\((?!plain)|\bprint\(|std(out|err)\.write\(")

    code = {file: re.sub(r"(?m)^ *(>>>|\.\.\.).*$", "", file.read_text()) for file in files}
    found = {file.name for file, text in code.items() if prints.search(text)}

    assert found <= {"main.py", "printing.py", "progress.py"}
