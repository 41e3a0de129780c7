"""A click command is made from the signature of a function, for every kind of option."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import click
import pytest
from click.testing import CliRunner

import assay
from assay.cli.command import Keywords, click_command, typed_flags
from assay.core.errors import UsageError
from assay.core.options import Argument, Backends, Flag, Need, Params, StoreUrl, Tags

if TYPE_CHECKING:
    from assay.no_such_module import Nothing


def public(
    *cases: str,
    count: Annotated[int, Flag("How many.", "N", flags="-n --count", min=1)] = 5,
    share: Annotated[float, Flag("A share.", max=1)] = 0.5,
    by: Annotated[Literal["time", "memory"], Flag("What counts.")] = "time",
    quiet: Annotated[bool, Flag("Say less.")] = False,
    outputs: Annotated[bool, Flag("Do not compare.", flags="--any-outputs")] = True,
    driver: Annotated[bool, Flag("Install it.", flags="--driver/--no-driver")] = True,
    words: Annotated[Sequence[str], Flag("Words.", flags="--word")] = (),
    debug: Annotated[bool, Flag("Older yes or no.", read="truth")] = False,
    tags: Tags = None,
    params: Params = None,
    backends: Backends = (),
    need: Need = None,
    store: StoreUrl = None,
    progress: object = None,
) -> Nothing:
    """The return annotation is for type checkers only."""
    raise NotImplementedError


def invoke(*line: str) -> dict[str, object]:
    """What a command made from `public` passes on, and which flags were typed."""
    seen: dict[str, object] = {}

    @click_command(public)
    def command(
        cases: Annotated[tuple[str, ...], Argument("CASE")],
        keywords: Keywords,
        *,
        gate: Annotated[bool, Flag("Fail.")] = False,
        count: int,
    ) -> int:
        seen.update(keywords, cases=cases, gate=gate, count_too=count, typed=typed_flags())
        return 0

    done = CliRunner().invoke(command, line, catch_exceptions=False)
    if done.exit_code:
        raise click.UsageError(done.output)
    return seen


def test_defaults_are_those_of_the_signature():
    seen = invoke()

    assert (seen["count"], seen["share"], seen["by"]) == (5, 0.5, "time")
    assert (seen["quiet"], seen["outputs"], seen["driver"], seen["debug"]) == (
        *(False, True, True, False),
    )
    assert (seen["words"], seen["tags"], seen["params"], seen["need"]) == ((), {}, {}, {})
    assert (seen["store"], seen["typed"], seen["cases"]) == (None, [], ())
    assert "progress" not in seen


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        (("-n", "7"), "count", 7),
        (("-n", "7"), "count_too", 7),
        (("--share", "0.25"), "share", 0.25),
        (("--by", "memory"), "by", "memory"),
        (("--quiet",), "quiet", True),
        (("--any-outputs",), "outputs", False),
        (("--no-driver",), "driver", False),
        (("--word", "a", "--word", "b"), "words", ("a", "b")),
        (("--debug",), "debug", True),
        (("--debug=False",), "debug", False),
        (("--tag", "a=1", "--tag", "b=2"), "tags", {"a": "1", "b": "2"}),
        (("--set", "a=1,2"), "params", {"a": ["1", "2"]}),
        (("-b", "x,y", "-b", "z"), "backends", ["x", "y", "z"]),
        (("--need", "cpus=2,gpus=1"), "need", {"cpus": "2", "gpus": "1"}),
        (("--home", "/a"), "store", "/a"),
        (("--store", "/a"), "store", "/a"),
        (("one", "two", "--gate"), "cases", ("one", "two")),
        (("--gate",), "gate", True),
        (("-n", "5", "--quiet"), "typed", ["--count", "--quiet"]),
    ],
)
def test_an_option_of_each_kind_is_read(line, name, value):
    assert invoke(*line)[name] == value


@pytest.mark.parametrize("line", [("-n", "x"), ("--share", "x"), ("--nothing",)])
def test_what_is_no_number_and_no_option_is_refused(line):
    with pytest.raises(click.UsageError):
        invoke(*line)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (("-n", "0"), "count is 0, but has to be 1 or more."),
        (("--share", "2"), "share is 2.0, but has to be 1 or less."),
        (("--by", "tim"), "by is 'tim', but has to be one of: time, memory."),
        (("--tag", "a"), "--tag got 'a', but takes NAME=VALUE."),
        (("--need", "cpus"), "--need got 'cpus', but takes NAME=VALUE."),
        (("--debug=maybe",), "--debug got 'maybe', but takes True or False."),
    ],
)
def test_a_mistake_is_one_sentence(line, sentence):
    with pytest.raises(UsageError) as caught:
        invoke(*line)

    assert str(caught.value) == sentence


def test_a_group_gets_the_command_and_an_option_can_be_left_out():
    @click.group()
    def group() -> None:
        """A group."""

    @click_command(public, group=group, name="part", without=("count", "store"))
    def part(keywords: Keywords) -> int:
        """A part."""
        print(sorted(keywords))
        return 0

    done = CliRunner().invoke(group, ["part"])

    assert "tags" in done.output and "count" not in done.output and "store" not in done.output


def test_an_optional_argument_has_its_default():
    seen: list[object] = []

    @click_command()
    def command(
        name: Annotated[str, Argument("[NAME]")] = "",
        limits: Annotated[Mapping[str, str] | None, Flag("Limits.", read="pairs")] = None,
    ) -> int:
        seen.append((name, limits))
        return 0

    CliRunner().invoke(command, [], catch_exceptions=False)
    CliRunner().invoke(command, ["x", "--limits", "a=b"], catch_exceptions=False)

    assert seen == [("", {}), ("x", {"a": "b"})]


def test_the_help_of_ab_loads_no_numpy_and_little_of_assay():
    code = (
        "import sys\nsys.argv = ['assay', 'ab', '--help']\nfrom assay.__main__ import main\n"
        "try: main()\nfinally: print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    names = done.stderr.split()

    assert "--min-effect" in done.stdout
    assert "numpy" not in names
    assert sum(name.partition(".")[0] == "assay" for name in names) <= 25


def test_only_this_file_takes_keywords_of_any_type():
    package = Path(assay.__file__).parent
    files = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.args.kwarg
        and isinstance(kind := node.args.kwarg.annotation, ast.Name)
        and kind.id == "Any"
    }

    assert files == {"cli/command.py"}
