"""The README stays short, its table is linked, and its recording can be made again."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.test_project import loaded

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
SVG = "{http://www.w3.org/2000/svg}"
COMMAND = "assay run mnist-mlp@jax --budget 1s"


def shown(image: Path) -> list[str]:
    """The lines of the last screen of a recording."""
    groups = ET.parse(image).getroot().iter(f"{SVG}g")
    last = [group for group in groups if group.get("visibility") != "hidden"]
    return ["".join(group.itertext()) for group in last]


def test_it_has_less_than_120_lines():
    assert len(README.splitlines()) < 120


def test_it_shows_ten_commands():
    (block,) = re.findall(r"## Ten commands\n\n```\n(.*?)```", README, re.DOTALL)
    lines = block.splitlines()

    assert len(lines) == 10
    assert all(line.startswith("assay ") for line in lines)
    assert max(map(len, lines)) <= 112


def test_every_cell_of_the_comparison_is_linked():
    rows = [line.strip("|").split("|") for line in README.splitlines() if line.startswith("| ")]
    cells = [cell.strip() for row in rows[1:] for cell in row[1:]]
    used = {match[1] for cell in cells if (match := re.fullmatch(r"\[[^]]+\]\[(\w+)\]", cell))}
    defined = re.findall(r"^\[(\w+)\]: (\S+)$", README, re.MULTILINE)

    assert len(cells) == 7 * 6
    assert [cell for cell in cells if not re.fullmatch(r"\[[^]]+\]\[\w+\]", cell)] == []
    assert used == {name for name, _ in defined}


def test_every_file_it_links_exists():
    links = re.findall(r"\]\(([^)#]+)\)|^\[\w+\]: (\S+)$", README, re.MULTILINE)
    files = [inline or defined for inline, defined in links]

    assert [file for file in files if "://" not in file and not (ROOT / file).exists()] == []


def test_the_recording_shows_the_commands_of_the_script():
    lines = shown(ROOT / "docs" / "images" / "terminal.svg")

    commands = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    assert commands == [*loaded("docs/record.py").COMMANDS]


@pytest.mark.real("jax")
def test_a_real_run_is_recorded(tmp_path):
    image = tmp_path / "terminal.svg"
    script = [sys.executable, ROOT / "docs" / "record.py", COMMAND, "-o", image]

    ended = subprocess.run(script, capture_output=True, text=True)

    assert ended.returncode == 0, ended.stderr
    lines = shown(image)
    assert lines[0] == f"$ {COMMAND}"
    assert any(line.startswith("mnist-mlp@jax ") and line.endswith(" ok") for line in lines)
    assert lines[-1].startswith("kept as ")
    animations = ET.parse(image).getroot().iter(f"{SVG}set")
    moments = {float(part.get("begin").removesuffix("s")) for part in animations}
    assert len(moments) > 3


def test_a_row_that_is_written_again_is_shown_from_then_on():
    record = loaded("docs/record.py")
    screen, rows = record.Screen(20), []

    screen.feed("\x1b[32mopening\x1b[0m")
    record._note_changes(rows, screen, 1.0)
    screen.feed("\r\x1b[Kok <1 s>\r\n")
    record._note_changes(rows, screen, 2.0)

    first, second = ET.fromstring(record.svg(rows)).iter(f"{SVG}g")
    assert (first.get("visibility"), second.get("visibility")) == ("hidden", None)
    assert ("".join(first.itertext()), "".join(second.itertext())) == ("opening", "ok <1 s>")
    assert "#57ab5a" in ET.tostring(first, encoding="unicode")
