"""Type checkers and editors see the signatures of the public functions."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import assay

ROOT = Path(__file__).parents[2]


def test_right_calls_pass_mypy_and_wrong_ones_are_errors():
    words = [sys.executable, "-m", "mypy", "--strict", "tests/typing/use.py"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT)

    assert done.returncode == 0, done.stdout


def test_every_public_name_is_imported_for_type_checkers():
    tree = ast.parse(Path(assay.__file__).read_text())
    (block,) = (
        part
        for part in tree.body
        if isinstance(part, ast.If) and ast.unparse(part.test) == "TYPE_CHECKING"
    )
    names = {
        alias.name: part.module
        for part in block.body
        if isinstance(part, ast.ImportFrom)
        for alias in part.names
    }

    assert names == assay._FROM


def test_assay_says_that_it_is_typed():
    assert (Path(assay.__file__).parent / "py.typed").is_file()
