"""Type checkers, editors and Python see the signatures of the public functions."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import assay

ROOT = Path(__file__).parents[2]
FUNCTIONS = {
    name: function for name in assay.__all__ if inspect.isfunction(function := getattr(assay, name))
}
OLDER_KEYWORDS = [
    (name, older, newer)
    for name, function in FUNCTIONS.items()
    for older, newer in getattr(function, "__older_keywords__", {}).items()
]


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


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_unknown_keyword_is_a_type_error(name):
    with pytest.raises(TypeError, match="unexpected keyword argument 'stroe'"):
        FUNCTIONS[name](stroe="results")


@pytest.mark.parametrize(("name", "older", "newer"), OLDER_KEYWORDS)
def test_an_older_keyword_is_renamed_with_a_warning(name, older, newer):
    with (
        pytest.warns(DeprecationWarning, match=rf"{name}\({older}=…\) is now {name}\({newer}=…\)"),
        pytest.raises(TypeError, match="unexpected keyword argument 'stroe'"),
    ):
        FUNCTIONS[name](**{older: None}, stroe="results")

    assert newer in inspect.signature(FUNCTIONS[name]).parameters


def test_the_older_keywords_of_ab_are_home_minimum_and_same():
    assert [part[1:] for part in OLDER_KEYWORDS if part[0] == "ab"] == [
        ("home", "store"),
        ("minimum", "min_effect"),
        ("same", "aa"),
    ]
