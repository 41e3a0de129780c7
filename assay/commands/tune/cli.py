"""assay tune: make a network faster within a stated loss of accuracy."""

from __future__ import annotations

from assay.cli import options, printing
from assay.cli.command import Keywords, click_command
from assay.cli.finish import handle_signals, print_saved
from assay.cli.progress import ProgressLine
from assay.commands.tune import api
from assay.core.options import Format


@click_command(
    api.tune,
    epilog="""\b
Examples:
  assay tune vgg16-cifar10 --max-loss 1.0 --budget 10m
  assay tune ./my.py:MyNet --data my.npz --max-loss 0.5 -o tuned/
  assay tune alexnet2 --batch 64 --objective memory
  assay tune vgg16-cifar10 -o tuned/ --resume
  assay compile vgg16-cifar10 --set weights=trained --config tuned/best.txt -o build/
  assay run vgg16-cifar10@native:config=tuned/best.txt vgg16-cifar10@openvino --mode infer""",
)
def command(model: str, output: str, keywords: Keywords, format: Format = "text") -> int:
    """Find the fastest way to compute MODEL that loses at most --max-loss points of accuracy.

    Every layer gets a knob: int8, perforation, sampling, a lower rank, or none. Time is measured
    layer by layer on this machine, the loss on tuning images; the best points are confirmed on
    other images, and reported on test images that played no part in the choice. Exit status 1:
    nothing faster stays within the loss.
    """
    from assay.commands.tune import view

    handle_signals()
    line = ProgressLine()
    try:
        tuning = api.tune(**keywords, progress=line)
    except KeyboardInterrupt:
        line.put_line(
            f"to continue: assay tune {model} -o {output} --resume, with the same options"
        )
        raise
    line.clear()
    printing.show(view.output(tuning), format)
    options.print_message(*(f"written: {path}" for path in tuning.files))
    print_saved(tuning.run)
    return 0 if tuning.best.knobs else 1
