"""Names are found, wrong plugins are refused by name, outsiders come in by entry point."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import assay
from assay.core import registry
from assay.core.errors import UsageError

PLUGIN = """
from assay import Job

class Sum:
    summary, source, version = "adds numbers", "a test", "1"
    params = {"batch_size": 4, "seed": 0, "size": 100}

    @property
    def kinds(self):
        return {"python": lambda size, **_: Job(model=lambda: sum(range(size)))}

class Half:
    summary = "is not all there"

THING, BROKEN = Sum(), Half()
"""


BACKEND = """
from contextlib import contextmanager
from assay.core.contracts import Option

class Session:
    items = 1
    def __init__(self, call, case):
        self.step, self.case = call, case
    def wait(self): pass
    def facts(self): return {"speed": self.case.options["speed"]}

class Slow:
    summary, accepts = "calls, fast or slow", frozenset({"python"})
    options = {"speed": Option(default="slow", choices=("slow", "fast")),
               "precision": Option(default="float8", choices=("float8",))}
    def missing(self): return ""
    def refuses(self, case): return ""
    def variables(self, case, folder): return {}
    @contextmanager
    def open(self, build, case):
        yield Session(build().model, case)

SLOW = Slow()
"""


@pytest.fixture
def outsider(tmp_path, monkeypatch):
    """A package that extends assay, installed on the path of this process and of its workers."""

    def install(entry: str) -> None:
        place = tmp_path / "site"
        info = place / "assay_extra-1.0.dist-info"
        info.mkdir(parents=True)
        (place / "assay_extra.py").write_text(PLUGIN)
        (info / "entry_points.txt").write_text(
            f"[console_scripts]\nx = y:z\n\n[assay.workloads]\n{entry}\n\n"
            "[assay.backends]\nturtle = assay_extra_backend:SLOW\n"
        )
        (place / "assay_extra_backend.py").write_text(BACKEND)
        monkeypatch.syspath_prepend(str(place))
        monkeypatch.setenv("PYTHONPATH", str(place))
        sys.modules.pop("assay_extra", None)
        sys.modules.pop("assay_extra_backend", None)
        registry._entry_points.cache_clear()
        registry._third_party_targets.cache_clear()

    yield install
    registry._entry_points.cache_clear()
    registry._third_party_targets.cache_clear()


def test_unknown_name_suggests_the_nearest():
    with pytest.raises(UsageError, match="no workload named 'mnist-mpl'") as caught:
        registry.workload("mnist-mpl")
    assert caught.value.hint == "Did you mean 'mnist-mlp'?"


@pytest.mark.parametrize("name", ["theano", "keras-theano", "cntk", "keras-cntk"])
def test_backends_that_ended_are_explained(name):
    with pytest.raises(UsageError, match="any more") as caught:
        registry.backend(name)
    assert "Use" in caught.value.hint or "heir" in caught.value.hint


def test_an_outsiders_workload_runs(outsider):
    outsider("extra-sum = assay_extra:THING")

    (result,) = assay.run("extra-sum@python", procedure=assay.Procedure(samples=3))

    assert (result.status, result.items) == ("ok", 4)


def test_options_of_an_outsiders_backend_and_workload_are_typed_as_those_of_assay(outsider, assay):
    outsider("extra-sum = assay_extra:THING")
    words = ("--set", "size=50", "--option", "speed=slow,fast", "--samples", "3")

    status, out, error = assay("run", "extra-sum@turtle", *words, "--format", "json")

    results = json.loads(out)["results"]
    assert status == 0, error
    assert [(row["case"]["key"], row["facts"]["speed"]) for row in results] == [
        ("extra-sum:size=50@turtle", "slow"),
        ("extra-sum:size=50@turtle:speed=fast", "fast"),
    ]


def test_values_of_an_outsiders_backend_are_completed(outsider):
    outsider("extra-sum = assay_extra:THING")
    lines = ("--precision float8", "--backend turt", "extra-s")

    offers = {line: completion(f"run {line}") for line in lines}

    assert offers == {
        "--precision float8": "plain,float8",
        "--backend turt": "plain,turtle",
        "extra-s": "plain,extra-sum",
    }


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--option", "speed=medium"), "speed of turtle is 'medium', but has to be one of"),
        (("--option", "sped=fast"), "no option of turtle named 'sped'"),
        (("--set", "sise=3"), "no parameter of extra-sum named 'sise'"),
    ],
)
def test_wrong_options_of_an_outsider_are_refused(outsider, assay, words, complaint):
    outsider("extra-sum = assay_extra:THING")

    status, out, error = assay("run", "extra-sum@turtle", *words)

    assert (status, out) == (2, "")
    assert complaint in error


def completion(words: str) -> str:
    """What bash gets for an unfinished line."""
    variables = {
        "COMP_WORDS": f"assay {words}",
        "COMP_CWORD": str(len(words.split())),
        "_ASSAY_COMPLETE": "bash_complete",
    }
    code = "import sys; sys.argv[0] = 'assay'; from assay.__main__ import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_a_wrong_plugin_is_refused_by_name_with_what_it_lacks(outsider):
    outsider("half = assay_extra:BROKEN")

    with pytest.raises(
        UsageError, match="'half' from assay_extra:BROKEN is no workload: missing kinds"
    ):
        registry.workload("half")


@pytest.mark.parametrize("target", ["no_such_module:X", "assay_extra:NOTHING"])
def test_a_plugin_that_cannot_be_loaded_spoils_nothing_else(outsider, assay, target):
    outsider(f"gone = {target}")

    status, out, err = assay("list", "workloads")

    assert status == 0
    assert "mnist-mlp" in out
    assert "'gone'" in err


def test_entry_points_of_other_tools_are_left_alone(outsider):
    outsider("extra-sum = assay_extra:THING")

    assert all(group.startswith("assay.") for group, _, _ in registry._entry_points())


def test_a_users_file_is_read_and_not_run(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "raise SystemExit\ndef net(units=64, *, depth=2, name='x'):\n    import keras\n"
    )

    workload = registry.workload(f"{file}:net")

    assert workload.params == {"batch_size": 32, "seed": 0, "units": 64, "depth": 2, "name": "x"}
    assert tuple(workload.kinds) == ("keras",)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("nowhere.py:net", "cannot be read"),
        ("{endings}:fien", "no function or class"),
        ("{endings}:Neither", "none of the methods"),
        ("{broken}:net", "is not Python"),
    ],
)
def test_a_users_file_that_does_not_fit_is_explained(text, complaint, endings, tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("def net(:")

    with pytest.raises(UsageError, match=complaint):
        registry.workload(text.format(endings=endings, broken=broken))


def test_a_class_in_a_users_file_names_its_kinds(endings):
    (result,) = assay.run(f"{endings}:Both", procedure=assay.Procedure(samples=3))

    assert (result.status, result.case.backend) == ("ok", "python")
