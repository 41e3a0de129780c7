"""Annotations of command-line options, and the options that many commands share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Annotated, ParamSpec, TypeVar
from warnings import warn

import msgspec

P = ParamSpec("P")
R = TypeVar("R")


class Flag(msgspec.Struct, frozen=True):
    """An option of the command line, in the annotation of a parameter: `Annotated[int, Flag(…)]`.

    Its type and default are the parameter's. A `bool` that is True by default is turned off by the
    flag. `complete`, `choices` and `read` are names that `cli/command.py` looks up.
    """

    help: str
    metavar: str = ""
    flags: str = ""  # "-o --output", or "--on/--off"; "": --the-parameter
    complete: str = ""  # function of cli/complete.py, or values:OPTION
    choices: str = ""  # source of choices that are known only at run time
    read: str = ""  # parser: text, pairs, axes, several, list, needs, truth
    min: float | None = None
    max: float | None = None
    required: bool = False  # at the command line
    show_default: bool | None = None  # None: unless the default is empty
    envvar: str = ""


class Argument(msgspec.Struct, frozen=True):
    """A positional argument, in the annotation of a parameter."""

    metavar: str | None = None  # None: the parameter's name; "": not shown
    complete: str = ""
    required: bool | None = None  # None: if the parameter has no default


Seconds = float | str  # "5m" or 300.0; see units.as_seconds
Share = float | str  # "1%" or 0.01; see units.as_share
Value = str | int | float | bool
Sweep = Value | Sequence[Value]  # "" for the default
Axes = Mapping[str, Sweep]

StoreUrl = Annotated[
    str | Path | None,
    Flag(
        "Where results are kept: a folder, or postgresql://USER@HOST/DATABASE; default: "
        "$ASSAY_STORE, $ASSAY_HOME or ~/.assay.",
        "FOLDER|URL",
        flags="--home --store",
        read="store",
    ),
]
Format = Annotated[str, Flag("Format of the output.", flags="--format", choices="output_formats")]
Tags = Annotated[
    Mapping[str, str] | None,
    Flag("Tag to find results by; repeatable.", "NAME=VALUE", flags="--tag", read="pairs"),
]
Backends = Annotated[
    str | Sequence[str],
    Flag(
        "Backend to use. Repeat it or separate by commas; default: all installed.",
        flags="-b --backend",
        complete="backends",
        read="several",
    ),
]
Params = Annotated[
    Axes | None,
    Flag(
        "Parameter of the workload; several values make a sweep.",
        "NAME=A,B",
        flags="--set",
        read="axes",
    ),
]
BackendOptions = Annotated[
    Axes | None,
    Flag(
        "Option of the backend; several values make a sweep.",
        "NAME=A,B",
        flags="--option",
        read="axes",
    ),
]
Columns = Annotated[
    Sequence[str],
    Flag(
        "Columns of the table, such as memory,p50,p99,energy; a wrong one lists them all.",
        "A,B",
        read="list",
    ),
]
Label = Annotated[str, Flag("Name to find the results by.")]
Cold = Annotated[bool, Flag("Disable the compilation cache shared between processes.")]
Communication = Annotated[
    bool,
    Flag("Then profile 5 steps, for the share of communication between several devices."),
]
Trust = Annotated[bool, Flag("Load a .pt2 file although loading it can run code in it.")]
Strict = Annotated[bool, Flag("Fail if backends do not do the same work.")]
Cluster = Annotated[
    str,
    Flag(
        "Measure on a Ray cluster: ray://HOST:10001, HOST:6379, or ray for the one here.", "ADDRESS"
    ),
]
Need = Annotated[
    Mapping[str, str] | None,
    Flag(
        "With --on: what a node has to have: cpus=N, gpus=N, accelerator=TYPE.",
        "k=v,…",
        read="needs",
    ),
]

WorkloadFilter = Annotated[str, Flag("Only results of this workload.", flags="--workload")]
BackendFilter = Annotated[str, Flag("Only results of this backend.", flags="--backend")]
LabelFilter = Annotated[str, Flag("Only results with this label.", flags="--label")]
Since = Annotated[str, Flag("Only results from this day on.", "DATE", flags="--since")]
Until = Annotated[str, Flag("Only results up to this day.", "DATE", flags="--until")]
Weights = Annotated[str | Path, Flag("File of trained weights.", "FILE", flags="--weights")]


def accept_old_keywords(**names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Accept older keywords, with a DeprecationWarning: `@accept_old_keywords(home="store")`."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            for older in names.keys() & kwargs.keys():
                _rename(function.__name__, kwargs, older, names[older])
            return function(*args, **kwargs)

        call.__older_keywords__ = names  # type: ignore[attr-defined]
        return call

    return decorate


def _rename(function: str, keywords: dict[str, object], older: str, newer: str) -> None:
    if newer in keywords:
        raise TypeError(f"{function}() got '{older}', the older name of '{newer}', beside it")
    warn(f"{function}({older}=…) is now {function}({newer}=…)", DeprecationWarning, stacklevel=3)
    keywords[newer] = keywords.pop(older)
