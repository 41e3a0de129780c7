"""Tab completion, asked as bash asks: in a fresh process, which loads nothing slow."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# What a shell's script runs, and then what was loaded.
CODE = """
import sys
sys.argv[0] = "assay"
from assay.cli.main import main
try: main()
finally: print(*sys.modules, file=sys.stderr)
"""
SLOW = {"numpy._core", "keras", "jax", "torch", "tensorflow", "sqlite3"}


def completed(*words: str) -> list[str]:
    """What is offered for the last of these words."""
    line = {"COMP_WORDS": " ".join(("assay", *words)), "COMP_CWORD": str(len(words))}
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        env=os.environ | line | {"_ASSAY_COMPLETE": "bash_complete"},
        capture_output=True,
        text=True,
    )
    assert not SLOW & set(done.stderr.split()), done.stderr
    return [line.partition(",")[2] for line in done.stdout.split()]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("ra",), ["race"]),
        (("he",), ["help"]),
        (("run", "mnist"), ["mnist-mlp"]),
        (("run", "mnist-mlp@keras-j"), ["mnist-mlp@keras-jax"]),
        (("run", "mnist-mlp:units=8@keras-j"), ["mnist-mlp:units=8@keras-jax"]),
        (("run", "mnist-mlp", "@", "keras-j"), ["keras-jax"]),  # bash ends a word at @
        (("ab", "mnist-mlp@jax", "lstm@keras-j"), ["lstm@keras-jax"]),
        (("race", "mnist-mlp@to"), ["mnist-mlp@torch"]),
        (("run", "nothing@keras-j"), []),
        (("run", "mnist-mlp", "-b", "keras-jax,tor"), ["keras-jax,torch"]),
        (("run", "mnist-mlp", "--prec"), ["--precision"]),
        (("run", "mnist-mlp", "--precision", "float32,bf"), ["float32,bfloat16"]),
        (("run", "--suite", "tod"), ["today"]),
        (("study", "vg"), ["vgg16"]),
        (("list", "work"), ["workloads"]),
        (("run", "./"), ["./"]),
        (("show", "l"), []),
    ],
)
def test_a_word_is_completed(words, offered):
    assert completed(*words) == offered


def test_an_at_alone_offers_every_backend_that_can_open_it():
    found = completed("run", "mnist-mlp", "@")

    assert {"jax", "torch", "keras-jax"} <= set(found)
    assert "python" not in found


def test_runs_and_their_results_are_offered_newest_first(home):
    for name in ("20261115-101500-aaaa", "20261116-101500-bbbb"):
        (home / "runs" / name / "001").mkdir(parents=True)

    assert completed("show", "") == ["last", "20261116-101500-bbbb", "20261115-101500-aaaa"]
    assert completed("run", "--resume", "20261115") == ["20261115-101500-aaaa"]
    assert completed("plot", "20261115-101500-aaaa/") == ["20261115-101500-aaaa/001"]
