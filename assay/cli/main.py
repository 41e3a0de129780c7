"""The command line: one short file a command, loaded when it is called."""

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
    group: str  # of the help page
    module: str  # its `command` is the click command
    line: str


COMMANDS = {
    "run": Command(
        "Measure", "assay.commands.run.cli", "Measure a model on one backend or on all."
    ),
    "study": Command(
        "Measure",
        "assay.commands.study.cli",
        "Measure a matrix of options, and show what each one gains.",
    ),
    "bench": Command(
        "Measure", "assay.commands.bench.cli", "Run benchmark classes, and compare their runs."
    ),
    "scale": Command(
        "Measure",
        "assay.commands.scale.cli",
        "Measure training on 1, 2, 4 … devices: how well it scales.",
    ),
    "evaluate": Command(
        "Measure", "assay.commands.evaluate", "Measure the accuracy of a trained network."
    ),
    "train": Command(
        "Measure", "assay.commands.train.cli", "Train a network by a recipe, and test its accuracy."
    ),
    "profile": Command(
        "Measure",
        "assay.commands.profile",
        "Profile a model: its slowest operations, and a trace.",
    ),
    "doctor": Command(
        "Measure",
        "assay.commands.doctor",
        "Check this machine: devices, noise, peak rates.",
    ),
    "task": Command(
        "Measure",
        "assay.commands.task.cli",
        "Benchmark any command; metrics are read from its log.",
    ),
    "ab": Command(
        "Decide",
        "assay.commands.ab.cli",
        "Compare two cases or commands: which is faster, how sure.",
    ),
    "compare": Command(
        "Decide",
        "assay.commands.compare.cli",
        "Compare two sets of kept results, or files of other tools.",
    ),
    "repro": Command(
        "Decide",
        "assay.commands.repro.cli",
        "Measure a kept result again: does it come out the same?",
    ),
    "race": Command(
        "Decide", "assay.commands.race.cli", "Find the fastest configuration of a workload here."
    ),
    "history": Command(
        "Decide",
        "assay.commands.history.cli",
        "Show a case over time: shifts, drift, what changed there.",
    ),
    "check": Command(
        "Decide", "assay.commands.check.cli", "Check whether anything got worse: the gate for a CI."
    ),
    "schedule": Command(
        "Decide",
        "assay.commands.schedule.cli",
        "Schedule a plan file, and see whether it was kept to.",
    ),
    "bisect": Command(
        "Decide", "assay.commands.bisect.cli", "Find the commit or version that changed the speed."
    ),
    "explain": Command("Decide", "assay.commands.explain", "Explain why two results differ."),
    "compile": Command(
        "Native", "assay.commands.compile.cli", "Compile a Keras model to a native program."
    ),
    "tune": Command(
        "Native",
        "assay.commands.tune.cli",
        "Make a network faster, within a stated loss of accuracy.",
    ),
    "export-onnx": Command("Native", "assay.commands.export_onnx", "Write a Keras model as ONNX."),
    "configs": Command(
        "Native",
        "assay.commands.configs",
        "Check, explain or sort HPVM's configuration files.",
    ),
    "list": Command(
        "Keep and see",
        "assay.commands.list",
        "List workloads, backends, results, tasks, benchmarks.",
    ),
    "show": Command("Keep and see", "assay.commands.show", "Show kept results."),
    "plot": Command(
        "Keep and see", "assay.commands.plot.cli", "Plot samples, or memory and CPU over time."
    ),
    "serve": Command(
        "Keep and see", "assay.web.serve", "Show results in a browser: the dashboard."
    ),
    "report": Command("Keep and see", "assay.web.report", "Write a run as one HTML file."),
    "publish": Command(
        "Keep and see", "assay.web.publish", "Write the dashboard as a static site."
    ),
    "results": Command(
        "Keep and see", "assay.commands.results.cli", "Label, tag or remove kept results."
    ),
    "store": Command(
        "Keep and see", "assay.commands.store", "Copy results from one store to another."
    ),
    "data": Command("Keep and see", "assay.commands.data", "List or fetch datasets."),
    "import": Command(
        "Keep and see",
        "assay.commands.import_",
        "Import run folders, and files of other tools.",
    ),
    "export": Command(
        "Keep and see", "assay.commands.export", "Write results as files of other tools."
    ),
    "upload": Command(
        "Keep and see",
        "assay.commands.upload",
        "Send results to BigQuery, to objects, to CloudWatch.",
    ),
    "image": Command(
        "Elsewhere",
        "assay.commands.image",
        "Build images with a framework in them, and measure there.",
    ),
    "cloud": Command(
        "Elsewhere",
        "assay.commands.cloud.cli",
        "Make, see, start, stop and delete machines of Google Cloud.",
    ),
    "hpvm": Command("Compatibility", "assay.compat.hpvm.cli", "HPVM's Keras benchmark scripts."),
    "keras-benchmarks": Command(
        "Compatibility",
        "assay.compat.keras_benchmarks",
        "keras-benchmarks' run_benchmark.py.",
    ),
    "vgg16": Command("Compatibility", "assay.compat.vgg16", "The VGG16 study's main.py."),
    "driver": Command("Compatibility", "assay.compat.driver", "The AWS benchmark driver."),
    "perfzero": Command("Compatibility", "assay.compat.perfzero.cli", "PerfZero's benchmark.py."),
    "perfzero-setup": Command(
        "Compatibility", "assay.compat.perfzero.setup", "PerfZero's setup.py."
    ),
    "perfzero-cloud": Command(
        "Compatibility",
        "assay.compat.perfzero.cloud",
        "PerfZero's cloud_manager.py.",
    ),
}


def load(name: str) -> ModuleType:
    """The module of a command."""
    return importlib.import_module(COMMANDS[name].module)


class CommandGroup(click.Group):
    """Commands by name, imported only when asked for; help shows them by group."""

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
        """`assay help VERB` is `assay VERB --help`."""
        if args[:1] == ["help"]:
            args = [*args[1:], "--help"]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Commands from their table: click's own would load every one of them."""
        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        from click.shell_completion import CompletionItem

        known = {verb: about.line for verb, about in COMMANDS.items()}
        known["help"] = "Show help of a command."
        return [
            CompletionItem(verb, help=line)
            for verb, line in known.items()
            if verb.startswith(incomplete)
        ]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups = dict.fromkeys(about.group for about in COMMANDS.values())
        for group in groups:
            with formatter.section(group):
                formatter.write_dl([(v, a.line) for v, a in COMMANDS.items() if a.group == group])


@click.command(
    cls=CommandGroup,
    epilog="A newcomer needs only:  assay run mnist-mlp",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, message="assay %(version)s")
@click.option(
    "--store", metavar="URL", help="Where results are stored, for any command: a folder or a URL."
)
def assay(store: str | None) -> None:
    """How fast is this model, really? Did it change? How much faster can it go?"""


def main() -> None:
    """The entry point. Catches a user's mistakes here, and nowhere else."""
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
    """A folder that was deleted under us has no path, which all that is asked for would need; and
    words that are no text could be neither stored nor sent to a worker."""
    for word in sys.argv:
        if not word.isascii() and any("\ud800" <= letter <= "\udfff" for letter in word):
            raise UsageError(f"'{word}' is not UTF-8 text.", hint="Name it in letters.")
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
    from assay.reporting.terminal import plain, short

    with contextlib.suppress(OSError):  # the terminal may be gone
        for line in filter(None, lines):
            click.echo(short(plain(line)), err=True)


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
    **dict.fromkeys(("ls", "log", "runs"), "list results"),
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
    return unknown_name_error("command", word, verbs, hint="assay --help lists them.")
