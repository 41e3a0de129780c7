"""A wrong value is refused by the same sentence on the command line and in Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import assay as lab
from assay.core.errors import UsageError

WRONG: dict[str, tuple[tuple[str, ...], Any]] = {
    "run, unit": (
        ("run", "mnist-mlp@jax", "--budget", "5 parsecs"),
        lambda: lab.run("mnist-mlp@jax", budget="5 parsecs"),
    ),
    "run, budget": (
        ("run", "mnist-mlp@jax", "--budget", "-2.5"),
        lambda: lab.run("mnist-mlp@jax", budget=np.float32(-2.5)),
    ),
    "run, share": (
        ("run", "mnist-mlp@jax", "--target", "200%"),
        lambda: lab.run("mnist-mlp@jax", target=np.int64(2)),
    ),
    "run, processes": (
        ("run", "mnist-mlp@jax", "--processes", "0"),
        lambda: lab.run("mnist-mlp@jax", processes=np.int64(0)),
    ),
    "run, samples": (
        ("run", "mnist-mlp@jax", "--samples", "-1"),
        lambda: lab.run("mnist-mlp@jax", samples=-1),
    ),
    "ab, unit": (
        ("ab", "mnist-mlp@jax", "lstm@jax", "--timeout", "later"),
        lambda: lab.ab("mnist-mlp@jax", "lstm@jax", timeout="later"),
    ),
    "ab, effect": (
        ("ab", "mnist-mlp@jax", "lstm@jax", "--min-effect", "0"),
        lambda: lab.ab("mnist-mlp@jax", "lstm@jax", min_effect=np.float64(0)),
    ),
    "race, unit": (
        ("race", "mnist-mlp", "--budget", "x"),
        lambda: lab.race("mnist-mlp", budget="x"),
    ),
    "study, rounds": (
        ("study", "vgg16", "--rounds", "0"),
        lambda: lab.study("vgg16", rounds=np.int32(0)),
    ),
    "check, most": (("check", "--most", "0"), lambda: lab.check(most=np.int64(0))),
    "check, level": (("check", "--level", "2"), lambda: lab.check(level=2)),
    "repro, processes": (
        ("repro", "last", "--processes", "1"),
        lambda: lab.repro("last", processes=1),
    ),
    "repro, within": (("repro", "last", "--within", "x"), lambda: lab.repro("last", within="x")),
    "prune, keep": (("results", "prune", "--keep", "-1"), lambda: lab.old_results(keep=-1)),
    "train, epochs": (
        ("train", "lenet@keras-jax", "--epochs", "-1"),
        lambda: lab.train("lenet@keras-jax", epochs=np.int64(-1)),
    ),
    "train, first": (
        ("train", "lenet@keras-jax", "--first", "-1"),
        lambda: lab.train("lenet@keras-jax", first=-1),
    ),
    "train, until": (
        ("train", "lenet@keras-jax", "--until", "101"),
        lambda: lab.train("lenet@keras-jax", until=np.float64(101)),
    ),
    "evaluate, first": (
        ("evaluate", "lenet@keras-jax", "--first", "-1"),
        lambda: lab.evaluate("lenet@keras-jax", first=np.int64(-1)),
    ),
    "hpvm, threads": (
        ("hpvm", "run", "a.cc", "--threads", "0"),
        lambda: lab.run_hpvm("a.cc", threads=0),
    ),
    "hpvm, images": (
        ("hpvm", "run", "a.cc", "-t", "tes"),
        lambda: lab.run_hpvm("a.cc", images=np.str_("tes")),  # type: ignore[arg-type]
    ),
    "history, order": (
        ("history", "last", "--by", "tim"),
        lambda: lab.history("last", order=Path("tim")),  # type: ignore[arg-type]
    ),
    "plot, series": (
        ("plot", "last", "--series", "sample", "-o", "a.png"),
        lambda: lab.plot("last", np.str_("sample"), "a.png"),  # type: ignore[arg-type]
    ),
    "configs, gain": (
        ("configs", "sort", "a.txt", "--by", "speed", "-o", "b.txt"),
        lambda: lab.sort_configs("a.txt", "b.txt", "speed"),  # type: ignore[arg-type]
    ),
    "compile, kernels": (
        ("compile", "alexnet2", "-o", "a", "--kernels", "fast"),
        lambda: lab.compile_model("alexnet2", "a", kernels="fast"),  # type: ignore[arg-type]
    ),
    "tune, objective": (
        ("tune", "alexnet2", "-o", "a", "--objective", "speed"),
        lambda: lab.tune("alexnet2", "a", objective="speed"),  # type: ignore[arg-type]
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_python_and_the_command_line_refuse_a_value_by_one_sentence(assay, tmp_path, name):
    words, call = WRONG[name]

    status, out, error = assay(*words)
    with pytest.raises(UsageError) as caught:
        call()

    assert (status, out) == (2, "")
    assert error.splitlines()[0] == f"error: {caught.value}"


@pytest.mark.parametrize("value", [Path("5s"), [5], b"5s"])
def test_what_is_no_duration_at_all_is_a_usage_error_too(value):
    with pytest.raises(UsageError, match=r"budget is .*, which is no number and no text"):
        lab.run("mnist-mlp@jax", budget=value)


def test_scalars_of_numpy_are_stored_as_numbers_and_texts(endings):
    (result,) = lab.run(
        f"{endings}:fine@python",
        params={"size": np.int64(64)},
        budget=np.float32(0.5),
        samples=np.int64(3),
        latency=np.bool_(True),
        label="numpy",
    )
    (stored,) = lab.read_results(lab.Query(label="numpy"))

    assert stored.result.case.key == result.case.key
    assert result.case.params["size"] == 64 and type(result.case.params["size"]) is int
    assert len(stored.result.samples) > 0
