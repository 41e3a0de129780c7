"""The command line: one short file a verb, loaded when it is called."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys

import click

from assay import __version__
from assay.errors import AssayError, unknown

# verb → (group of the help page, one line). The file of a verb is assay/cli/VERB.py.
VERBS = {
    "run": ("Measure", "Measure a model on one backend or on all."),
    "study": ("Measure", "Run a matrix of options fairly, and tell what each bought."),
    "bench": ("Measure", "Run benchmark classes, and compare their runs."),
    "evaluate": ("Measure", "Find how often a trained network is right."),
    "train": ("Measure", "Train a network by a recipe, and test it."),
    "profile": ("Measure", "Show where the time of a model goes, and keep the trace."),
    "doctor": ("Measure", "Show what this machine is, how noisy now, and how fast at best."),
    "task": ("Measure", "Run any command; its metrics are read from its log."),
    "ab": ("Decide", "Say which of two is faster, by how much, how sure."),
    "race": ("Decide", "Find the fastest configuration of a workload here."),
    "compile": ("Native", "Make a Keras model a program for this machine."),
    "export-onnx": ("Native", "Write a Keras model as ONNX."),
    "list": ("Keep and see", "Show what there is: workloads, backends, results."),
    "show": ("Keep and see", "Show results again, as a table or as JSON."),
    "plot": ("Keep and see", "Draw results: their samples, or memory and CPU over time."),
    "data": ("Keep and see", "Show or fetch datasets."),
    "import": ("Keep and see", "Take in run folders from elsewhere."),
    "hpvm": ("The older tools' doors", "HPVM's Keras benchmark scripts, word by word."),
    "keras-benchmarks": ("The older tools' doors", "run_benchmark.py of keras-benchmarks."),
    "vgg16": ("The older tools' doors", "main.py of the VGG16 study."),
    "driver": ("The older tools' doors", "The AWS benchmark driver, flag by flag."),
    "perfzero": ("The older tools' doors", "PerfZero's benchmark.py, flag by flag."),
}
# What no module may be named.
FILES = {
    "export-onnx": "export_onnx",
    "import": "import_",
    "keras-benchmarks": "keras_benchmarks",
}


class Verbs(click.Group):
    """Verbs by name, imported only when asked for; help shows them by group."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in VERBS:
            return None
        module = importlib.import_module(f"assay.cli.{FILES.get(name, name)}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            raise unknown("command", args[0], VERBS, hint="assay --help lists them.")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups = dict.fromkeys(group for group, _ in VERBS.values())
        for group in groups:
            with formatter.section(group):
                formatter.write_dl([(v, line) for v, (g, line) in VERBS.items() if g == group])


@click.command(
    cls=Verbs,
    epilog="A newcomer needs only:  assay run mnist-mlp",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, message="assay %(version)s")
def assay() -> None:
    """How fast is this model, really? Did it change? How much faster can it go?"""


def main() -> None:
    """The entry point. Catches a user's mistakes here, and nowhere else."""
    try:
        status = assay.main(standalone_mode=False)
        sys.stdout.flush()
    except AssayError as error:
        _complain(f"error: {error}", f"hint:  {error.hint}" if error.hint else "")
        status = error.status
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        status = 2
    except click.ClickException as error:
        _complain(f"error: {' '.join(error.format_message().split())}", _help_of(error))
        status = 2
    except (KeyboardInterrupt, click.Abort):
        status = 130
    except BrokenPipeError:  # the reader, say head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 0
    sys.exit(status if isinstance(status, int) else 0)


def _help_of(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    return f"hint:  {context.command_path} --help shows what it takes." if context else ""


def _complain(*lines: str) -> None:
    with contextlib.suppress(OSError):  # the terminal may be gone
        for line in filter(None, lines):
            click.echo(line, err=True)
