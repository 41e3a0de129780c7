"""assay vgg16: the flags and the output of main.py of the VGG16 study (2017)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from assay.cli import printing
from assay.cli.command import Keywords, click_command
from assay.core.errors import UsageError
from assay.core.options import Flag, StoreUrl
from assay.core.records import Procedure, Result

LAYOUTS = {"NHWC": "channels_last", "NCHW": "channels_first"}


def cases(
    run_keras: Annotated[bool, Flag("Run the Keras benchmark.", read="truth")] = False,
    run_tensorflow: Annotated[
        bool, Flag("Run the pure TensorFlow benchmark.", read="truth")
    ] = False,
    run_pytorch: Annotated[bool, Flag("Run the pure PyTorch benchmark.", read="truth")] = False,
    batch_size: Annotated[int, Flag("")] = 16,
    use_xla: Annotated[bool, Flag("Use the compiler.", flags="--use_XLA", read="truth")] = False,
    data_format: Annotated[str, Flag("NHWC or NCHW.")] = "NCHW",
    use_bn: Annotated[
        bool, Flag("Batch normalization after each convolution.", read="truth")
    ] = False,
    use_fused: Annotated[bool, Flag("Fused batch normalization.", read="truth")] = False,
    bn_mode: Annotated[
        Literal["0", "2"],
        Flag("Mode of batch normalization: 0 or 2.", show_default=False),
    ] = "2",
    keras_backend: Annotated[str, Flag("")] = "tensorflow",
    image_size: Annotated[int, Flag("Width and height of the images (not in the old tool).")] = 224,
) -> list[str]:
    """Cases for a command line of main.py, in its order: Keras, TensorFlow, PyTorch."""
    if data_format not in LAYOUTS:
        raise UsageError(
            f"--data_format is '{data_format}', but has to be NHWC or NCHW.",
            hint="NHWC is channels last, NCHW channels first.",
        )
    if use_fused and not use_bn:
        raise UsageError(
            "--use_fused was given without --use_bn, which the old tool passed over in silence.",
            hint="Add --use_bn, or leave --use_fused out.",
        )
    norm = (f",bn=mode{bn_mode}" if use_bn else "") + (",fused=true" if use_fused else "")
    workload = f"vgg16:batch_size={batch_size},image_size={image_size}{norm}"
    layout = f"data_format={LAYOUTS[data_format]}"
    options = f"{layout},compiler={'on' if use_xla else 'off'}"
    selection = {
        f"{workload}@keras-{keras_backend}:{layout}": run_keras,
        f"{workload}@tensorflow:{options}": run_tensorflow,
        f"{workload}@torch:{options}": run_pytorch,
    }
    if not any(selection.values()):
        raise UsageError(
            "None of --run_keras, --run_tensorflow and --run_pytorch was given.",
            hint="Try: assay vgg16 --run_keras --keras_backend jax",
        )
    return [case for case, is_selected in selection.items() if is_selected]


def procedure(n_trials: int) -> Procedure:
    """One timer around all trials, as in main.py."""
    if n_trials < 1:
        raise UsageError(
            f"--n_trials is {n_trials}, but has to be 1 or more.", hint="100 is the default."
        )
    return Procedure(samples=1, steps_per_sample=n_trials, timeout=3600)


def lines(result: Result) -> Iterator[str]:
    """The output of main.py; for a failed case, its status and reason."""
    yield f"{result.case.key}"
    backend = str(result.case.backend).split("-")  # torch, tensorflow, or keras and its engine
    for name in sorted(result.environment.packages):
        if name.replace("-", "_").removesuffix("_cpu") in backend:
            yield f"{name} version: {result.environment.packages[name]}"
    times = result.values("step_time")
    if times:
        yield f"Mean Time per update: {1e3 * sum(times) / len(times):7.3f} ms"
    else:
        yield f"{result.status}: {result.reason}"


@click_command(
    cases,
    separator="_",
    epilog="""\b
Examples:
  assay vgg16 --run_tensorflow --data_format NHWC --use_XLA --batch_size 16 --n_trials 100
  assay vgg16 --run_keras --keras_backend tensorflow""",
)
def command(
    keywords: Keywords,
    *,
    n_trials: Annotated[int, Flag("Steps that are timed together.")] = 100,
    store: StoreUrl = None,
) -> int:
    """The VGG16 study: the mean of N_TRIALS training steps under one timer.

    It differs from the old tool in data that is not zero, a softmax that is not taken twice, and a
    exit status that shows failure; --keras_backend, which only its README had, works.
    """
    from assay.cli.finish import handle_signals
    from assay.cli.progress import ProgressLine
    from assay.commands.run import api

    timing = procedure(n_trials)
    handle_signals()
    line, status = ProgressLine(), 0
    for result in api.run(*cases(**keywords), procedure=timing, store=store, progress=line):
        line.done(result)
        printing.put(*lines(result))
        status = status if result.status == "ok" else 1
    return status
