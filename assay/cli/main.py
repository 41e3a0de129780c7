"""The command line: each command is a module that is loaded when it is called."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Iterable
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

import click

from assay import __version__
from assay.core.errors import AssayError, UsageError, unknown_name_error

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class Command(NamedTuple):
    module: str  # its `command` is the click command
    line: str
    common: bool = False  # in `assay --help`; `assay help all` shows the others too


GROUPS = {
    "Measure": {
        "run": Command("assay.commands.run.cli", "Measure a model on one backend or on all.", True),
        "task": Command(
            "assay.commands.task.cli", "Benchmark any command; metrics are read from its log.", True
        ),
        "bench": Command(
            "assay.commands.bench.cli", "Run benchmark classes, and compare their runs."
        ),
        "study": Command(
            "assay.commands.study.cli", "Measure a matrix of options, and show what each one gains."
        ),
        "scale": Command(
            "assay.commands.scale.cli", "Measure training on 1, 2, 4 … devices: how well it scales."
        ),
        "evaluate": Command(
            "assay.commands.evaluate", "Measure the accuracy of a trained network."
        ),
        "train": Command(
            "assay.commands.train.cli", "Train a network by a recipe, and test its accuracy."
        ),
        "profile": Command(
            "assay.commands.profile", "Profile a model: its slowest operations, and a trace.", True
        ),
        "doctor": Command(
            "assay.commands.doctor", "Check this machine: devices, noise, peak rates.", True
        ),
    },
    "Decide": {
        "ab": Command(
            "assay.commands.ab.cli",
            "Compare two cases or commands: which is faster, how sure.",
            True,
        ),
        "compare": Command(
            "assay.commands.compare.cli",
            "Compare two sets of results, or files of other tools.",
            True,
        ),
        "repro": Command(
            "assay.commands.repro.cli", "Measure a stored result again: is it the same?"
        ),
        "bisect": Command(
            "assay.commands.bisect.cli", "Find the commit or version that changed the speed.", True
        ),
        "explain": Command("assay.commands.explain", "Explain why two results differ.", True),
    },
    "Watch": {
        "check": Command(
            "assay.commands.check.cli", "Check all series for regressions: the gate for CI.", True
        ),
        "history": Command(
            "assay.commands.history.cli",
            "Show a case over time: shifts, drift, what changed.",
            True,
        ),
        "schedule": Command(
            "assay.commands.schedule.cli", "Run a plan file regularly, and show missed runs."
        ),
    },
    "Make faster": {
        "race": Command(
            "assay.commands.race.cli", "Find the fastest configuration of a workload.", True
        ),
        "tune": Command(
            "assay.commands.tune.cli",
            "Make a network faster, within a stated loss of accuracy.",
            True,
        ),
        "compile": Command(
            "assay.commands.compile.cli", "Compile a Keras or ONNX model to a native program."
        ),
        "export-onnx": Command("assay.commands.export_onnx", "Write a Keras model as ONNX."),
        "configs": Command(
            "assay.commands.configs", "Check, explain or sort HPVM's configuration files."
        ),
    },
    "Share": {
        "list": Command(
            "assay.commands.list.cli", "List runs, results, workloads, backends, benchmarks.", True
        ),
        "show": Command("assay.commands.show", "Show stored results.", True),
        "plot": Command("assay.commands.plot.cli", "Plot samples, or memory and CPU over time."),
        "serve": Command("assay.web.serve", "Show results in a browser: the dashboard.", True),
        "report": Command("assay.web.report", "Write a run as one HTML file."),
        "publish": Command("assay.web.publish", "Write the dashboard as a static site."),
        "results": Command("assay.commands.results.cli", "Label, tag or remove stored results."),
        "store": Command("assay.commands.store", "Copy results from one store to another."),
        "data": Command("assay.commands.data", "List or download datasets."),
        "import": Command(
            "assay.commands.import_", "Import run folders, and files of other tools."
        ),
        "export": Command("assay.commands.export", "Write results as files of other tools."),
        "upload": Command(
            "assay.commands.upload", "Send results to BigQuery, object stores, CloudWatch."
        ),
    },
    "Machines": {
        "image": Command(
            "assay.commands.image", "Build container images with a framework, and measure there."
        ),
        "cloud": Command(
            "assay.commands.cloud.cli",
            "Create, list, start, stop and delete Google Cloud machines.",
        ),
    },
    "Other tools": {
        "hpvm": Command("assay.compat.hpvm.cli", "HPVM's Keras benchmark scripts."),
        "keras-benchmarks": Command(
            "assay.compat.keras_benchmarks", "keras-benchmarks' run_benchmark.py."
        ),
        "vgg16": Command("assay.compat.vgg16", "The VGG16 study's main.py."),
        "driver": Command("assay.compat.driver", "The AWS benchmark driver."),
        "perfzero": Command("assay.compat.perfzero.cli", "PerfZero's benchmark.py."),
        "perfzero-setup": Command("assay.compat.perfzero.setup", "PerfZero's setup.py."),
        "perfzero-cloud": Command("assay.compat.perfzero.cloud", "PerfZero's cloud_manager.py."),
    },
}
COMMANDS = {name: command for group in GROUPS.values() for name, command in group.items()}


def load(name: str) -> ModuleType:
    """The module of a command; NotPossibleError for one that measures, elsewhere than on Linux."""
    if name not in READING and sys.platform != "linux":
        from assay.core.systems import linux_error

        raise linux_error(f"assay {name}")
    return importlib.import_module(COMMANDS[name].module)


# They run on macOS and Windows too.
READING = {
    *("list", "show", "history", "check", "compare", "explain", "plot", "serve", "report"),
    *("publish", "results", "store", "import", "export", "upload", "configs", "data"),
}


class CommandGroup(click.Group):
    """Commands by name, imported when used; help lists them by group."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        if ctx and ctx.resilient_parsing:  # a word is being completed
            from assay.cli.complete import load_numpy_later

            load_numpy_later()
        command: click.Command = load(name).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise unknown_command(args[0], COMMANDS)
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`assay help VERB` is `assay VERB --help`; `assay help all` shows every command."""
        if args[:1] == ["help"]:
            ctx.meta["all commands"] = args[1:] == ["all"]
            args = ["--help"] if ctx.meta["all commands"] else [*args[1:], "--help"]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Commands from their table: click's own would load every one of them."""
        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        from click.shell_completion import CompletionItem

        known = {verb: about.line for verb, about in COMMANDS.items()}
        known["help"] = "Show help of a command, or of all."
        return [
            CompletionItem(verb, help=line)
            for verb, line in known.items()
            if verb.startswith(incomplete)
        ]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for name, group in GROUPS.items():
            rows = [
                (v, a.line) for v, a in group.items() if a.common or ctx.meta.get("all commands")
            ]
            if rows:
                with formatter.section(name):
                    formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Start with"):
            formatter.write_dl(
                [
                    ("assay run mnist-mlp", "Measure a small model on every backend."),
                    ("assay help all", f"Show all {len(COMMANDS)} commands."),
                    ("assay help ab", "Show the options of a command, with examples."),
                ]
            )


@click.command(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="assay %(version)s")
@click.option(
    "--store", metavar="URL", help="Where results are stored, for any command: a folder or a URL."
)
def assay(store: str | None) -> None:
    """How fast is this model, really? Did it change? How much faster can it go?"""


def main() -> None:
    """The entry point, and the only place that catches an AssayError."""
    from assay.cli.stdio import safe_stdio

    with safe_stdio() as problem:
        status = _status()
    if problem.text and status in (0, None):
        _print_error(
            f"error: Standard output cannot be written ({problem.text}).",
            "hint:  What was measured is kept: assay list results",
        )
        status = 1
    sys.exit(status if isinstance(status, int) else 0)


def _status() -> object:
    try:
        _check_here()
        return assay.main(standalone_mode=False)
    except AssayError as error:
        _print_error(f"error: {error}", f"hint:  {error.hint}" if error.hint else "")
        return error.status
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
    except click.ClickException as error:
        _print_error(f"error: {' '.join(error.format_message().split())}", _help_of(error))
    except (KeyboardInterrupt, click.Abort):
        return 130
    return 2


def _check_here() -> None:
    """Raise if the current folder was deleted, or if an argument is not UTF-8, which could neither
    be stored nor sent to a worker."""
    for word in sys.argv:
        if not word.isascii() and any("\ud800" <= letter <= "\udfff" for letter in word):
            raise UsageError(f"'{word}' is not UTF-8 text.", hint="Use UTF-8 characters.")
    try:
        os.getcwd()
    except OSError as error:
        raise UsageError(
            f"The current folder is not there any more ({error.strerror}).", hint="cd to another."
        ) from None


def _help_of(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    return f"hint:  {context.command_path} --help shows what it takes." if context else ""


def _print_error(*lines: str) -> None:
    from assay.reporting.colors import color_verdicts, has_color
    from assay.reporting.terminal import plain, short

    with contextlib.suppress(OSError):  # the terminal may be gone
        for line in filter(None, lines):
            text = short(plain(line))
            click.echo(color_verdicts(text) if has_color(sys.stderr) else text, err=True)


# word → what to type after `assay`
SYNONYMS = {
    **dict.fromkeys(("versus", "vs", "duel"), "ab"),
    **dict.fromkeys(("diff", "comparison"), "compare"),
    **dict.fromkeys(("benchmark", "measure", "time", "timeit", "latency", "speed"), "run"),
    **dict.fromkeys(("sweep", "matrix", "grid", "ablation"), "study"),
    **dict.fromkeys(("fastest", "best"), "race"),
    **dict.fromkeys(("autotune", "optimize", "quantize", "approximate"), "tune"),
    **dict.fromkeys(("accuracy", "eval", "validate", "test"), "evaluate"),
    **dict.fromkeys(("fit", "learn"), "train"),
    **dict.fromkeys(("prof", "trace", "profiler", "flamegraph"), "profile"),
    **dict.fromkeys(("trend", "timeline", "series", "changepoints"), "history"),
    **dict.fromkeys(("regression", "regressions", "gate", "ci"), "check"),
    **dict.fromkeys(("why", "because", "reason"), "explain"),
    **dict.fromkeys(("blame", "culprit"), "bisect"),
    **dict.fromkeys(("env", "environment", "info", "machine", "system"), "doctor"),
    **dict.fromkeys(("cmd", "command", "exec", "script"), "task"),
    **dict.fromkeys(("build", "native"), "compile"),
    **dict.fromkeys(("convert", "onnx"), "export-onnx"),
    **dict.fromkeys(("graph", "chart", "figure", "draw"), "plot"),
    **dict.fromkeys(("view", "cat", "get", "summary"), "show"),
    **dict.fromkeys(("dataset", "datasets", "download", "fetch"), "data"),
    **dict.fromkeys(("load", "adopt"), "import"),
    **dict.fromkeys(("ls", "log", "runs"), "list"),
    **dict.fromkeys(("models", "networks", "workloads"), "list workloads"),
    **dict.fromkeys(("backend", "backends", "frameworks"), "list backends"),
    "benchmarks": "list benchmarks",
    "tasks": "list tasks",
    "resume": "run --resume last",
    "continue": "run --resume last",
}
REMOVE_WORDS = {"rm", "remove", "delete", "del", "clean", "purge"}


def unknown_command(word: str, verbs: Iterable[str]) -> UsageError:
    """The error for a word that is no command."""
    plain = word.lower().replace("-", "").replace("_", "")
    if plain in REMOVE_WORDS:
        return UsageError(
            f"There is no command named '{word}'.",
            hint="To remove results: assay results rm ID, or assay results prune.",
        )
    if plain in SYNONYMS:
        meant = SYNONYMS[plain]
        return UsageError(
            f"There is no command named '{word}'.",
            hint=f"Did you mean '{meant}'? To see how: assay {meant.split()[0]} --help",
        )
    return unknown_name_error("command", word, verbs, hint="assay help all lists them.")
