"""assay hpvm: HPVM's Keras benchmark scripts, word by word."""

from __future__ import annotations

import os
from pathlib import Path

import click

from assay.cli import options, printing
from assay.cli.interrupts import handle_signals
from assay.cli.progress import LiveLine
from assay.compat import hpvm as old


@click.command(
    epilog="""\b
Examples:
  assay hpvm alexnet2 keras_reload
  assay hpvm lenet train keras_dump
  assay hpvm vgg16_cifar10.py hpvm_reload
  assay hpvm examples/my_benchmark.py:Digits train"""
)
@click.argument("name")
@click.argument("words", nargs=-1, metavar="WORD…")
@click.option("--keras_backend", default="", help="jax, tensorflow or torch; else KERAS_BACKEND.")
@options.home
def command(name: str, words: tuple[str, ...], keras_backend: str, home: str | None) -> int:
    """HPVM's scripts: load the weights of NAME or train it, evaluate it, write final_accuracy.

    The first WORD is hpvm_reload, keras_reload or train; a second may be keras_dump. frontend,
    compile and compile_tuner are HPVM's own; use assay compile. It differs from the old scripts in
    that a failure has a status, training works, and final_accuracy is never half written.
    """
    handle_signals()
    request = old.read_words(name, words)
    line = LiveLine()
    engine = keras_backend or os.environ.get("KERAS_BACKEND") or "tensorflow"
    result = old.carried_out(request, engine, home, line)
    line.done(result)
    printing.put(*old.lines(result))
    accuracy = old.percent(result)
    if accuracy is None:
        return 3 if result.status == "skipped" else 1
    old.write_accuracy(accuracy, Path.cwd())
    options.say(f"written: final_accuracy; kept as {result.id}")
    return 0
