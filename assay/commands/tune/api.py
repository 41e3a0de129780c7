"""Tune a network: a knob for each layer, within a guaranteed loss of accuracy."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, get_args

from msgspec.structs import replace

from assay.commands.tune import view
from assay.commands.tune.request import TuneRequest
from assay.commands.tune.tuner import TunedModel, load_tuned_model
from assay.core import codec
from assay.core.case_text import parse_case
from assay.core.errors import AssayError, NotPossibleError
from assay.core.files import user_path, write_user_file
from assay.core.options import Argument, Flag, Label, Seconds, StoreUrl, accept_old_keywords
from assay.core.progress import ProgressCallback, ignore
from assay.core.records import Case, Plan, Procedure, Result, Samples, Value
from assay.core.settings import Home
from assay.core.units import as_choice
from assay.measure import plan
from assay.measure.machine.environment import current_environment
from assay.measure.recorder import new_run
from assay.native.hpvm.configs import write_configs
from assay.native.hpvm.tuned_configs import make_tuned_configs, unsupported_reason
from assay.native.knobs.calibration_file import save_items
from assay.native.toolchain import Kernels
from assay.native.tuner.records import Objective, TunedPoint, Tuning
from assay.stores.runs import TUNING

FRONT, CONFIGS, BEST = "front.json", "confs.txt", "best.txt"
FIGURES = ("front.svg", "front.png")


@accept_old_keywords(home="store")
def tune(
    model: Annotated[Any, Argument("MODEL", complete="cases")],
    output: Annotated[
        str | Path,
        Flag("Folder for configurations, JSON and figure.", "FOLDER", flags="-o --output"),
    ] = "tuned",
    weights: Annotated[
        str | Path,
        Flag("File of trained weights; default: those beside the data.", "FILE"),
    ] = "",
    params: Annotated[
        Mapping[str, Value] | None,
        Flag("Parameter of MODEL.", "NAME=VALUE", flags="--set", read="pairs"),
    ] = None,
    data: Annotated[
        str | Path,
        Flag(
            "Images and classes: inputs and labels, or inputs_tune, labels_tune, inputs_test "
            "and labels_test; default: the model's own.",
            "FILE.npz",
        ),
    ] = "",
    max_loss: Annotated[
        float,
        Flag("Maximum loss of accuracy in points, at 95 % confidence.", "POINTS"),
    ] = 1.0,
    budget: Annotated[Seconds, Flag("Total wall-clock time.")] = "10m",
    objective: Annotated[
        Objective, Flag("What to minimize: time, bytes of weights, or joules.")
    ] = "time",
    batch: Annotated[int, Flag("Items in one step.", "N")] = 1,
    seed: Annotated[int, Flag("Seed of the order of images.", show_default=True)] = 0,
    kernels: Annotated[
        Kernels,
        Flag("auto: oneDNN if installed, plus assay's own kernels; portable: only assay's own."),
    ] = "auto",
    resume: Annotated[bool, Flag("Continue the interrupted tuning in FOLDER.")] = False,
    label: Label = "",
    store: StoreUrl = None,
    progress: ProgressCallback = ignore,
) -> Tuning:
    """Choose a knob for each layer: the fastest network that loses at most `max_loss` points.

    The model is a workload, or a function, file or model of yours with `data`, an .npz of inputs
    and labels. The front goes to the folder `output`: configurations, JSON and a figure. The loss
    is guaranteed at 95 % confidence for images that the tuner did not use.

    >>> tuning = assay.tune("alexnet2", "tuned", max_loss=1.0, budget="3m")
    >>> tuning.best.speedup, tuning.best.test.points
    (2.9, 0.4)
    >>> assay.compile_model("alexnet2", "build", weights="trained", knobs="tuned/best.txt").program
    PosixPath('build/alexnet2')
    """
    kernels = as_choice(kernels, "kernels", get_args(Kernels))
    request = TuneRequest(
        model=model if isinstance(model, str) else str(model.name),
        output=str(user_path(output)),
        weights=str(weights),
        params=dict(params or {}),
        data=str(data),
        max_loss=max_loss,
        budget=budget,  # type: ignore[arg-type]  # a text is read where it is checked
        objective=objective,
        batch=batch,
        seed=seed,
        kernels=kernels,
        label=label,
    )
    tuned = load_tuned_model(request, model, resume, progress)
    written = _write_outputs(tuned, Path(request.output))
    tuning = load_tuning(request, written, store)
    write_user_file(Path(request.output) / FRONT, codec.encode(tuning, indent=2))
    tuned.state.close()
    return tuning


def _write_outputs(tuned: TunedModel, folder: Path) -> Tuning:
    """Write the files of a tuning; files that could not be written are notes."""
    tuning, files, notes = tuned.tuning, [FRONT], list(tuned.tuning.notes)
    if why := unsupported_reason(tuned.captured):
        notes.append(f"no configuration file was written: {why} The knobs are in {FRONT}.")
    else:
        exact, best = tuning.points[0], tuning.best
        others = [p for p in tuning.points if p.promised and p not in (exact, best)]
        pair = [exact, best] if best is not exact else [exact]
        write_configs(make_tuned_configs(tuned.captured, pair), folder / BEST)
        pair[1:1] = others
        write_configs(make_tuned_configs(tuned.captured, pair), folder / CONFIGS)
        files += [CONFIGS, BEST, save_items(folder, tuned.calibration).name]
    for name in FIGURES:
        if problem := _draw_chart(tuning, folder / name):
            notes.append(problem)
            break
        files.append(name)
    paths = tuple(str(folder / name) for name in files)
    return replace(tuning, files=paths, notes=tuple(notes))


def _draw_chart(tuning: Tuning, path: Path) -> str:
    try:
        view.figure(tuning, path)
    except NotPossibleError as error:
        return f"no figure was drawn: {error}"
    return ""


def load_tuning(request: TuneRequest, tuning: Tuning, home: Home) -> Tuning:
    """Store the tuning as a run."""
    config = next((path for path in tuning.files if path.endswith("confs.txt")), "")
    cases = [_case(request, point, config) for point in tuning.points]
    tune_plan = Plan(cases=tuple(cases), label=request.label, verb="tune")
    with new_run(tune_plan, home) as run:
        stored = replace(tuning, run=run.name)
        results = [
            _result(run.new_case().id, case, point, stored)
            for case, point in zip(cases, tuning.points, strict=True)
        ]
        for _ in run.record([("", results)]):
            pass
        run.save_document(TUNING, stored)
    return stored


def _case(request: TuneRequest, point: TunedPoint, config: str) -> Case:
    """The case as `assay run` takes it, if it can; else its name alone."""
    options: dict[str, Value] = {"threads": 1}
    if config and point.knobs and point.promised:
        options["config"] = f"{config}:{point.name}"
    try:
        parsed = parse_case(request.model)
        params = {**parsed.params, **request.effective_params(), "batch_size": request.batch}
        case = Case(workload=parsed.workload, backend="native", params=params, options=options)
        return plan.resolve(case)
    except AssayError:  # a model without a workload
        key = f"{request.model}@native:{point.name}"
        return Case(workload=request.model, backend="native", key=key)


def _result(number: str, case: Case, point: TunedPoint, tuning: Tuning) -> Result:
    steps = tuple(tuning.batch * seconds for seconds in point.samples)
    facts: dict[str, Value] = {
        "mode": "infer",
        "device": "cpu",
        "threads": 1,
        "configuration": point.name,
        "knobs": ", ".join(f"{layer}={knob}" for layer, knob in point.knobs.items()),
        "accuracy_percent": point.accuracy,
        "loss_points": point.test.points,
        "speedup": point.speedup,
        "weights_bytes": point.memory,
        "promised": point.promised,
    }
    return Result(
        id=number,
        case=case,
        procedure=Procedure(),
        status="ok",
        started=datetime.now(UTC).isoformat(timespec="milliseconds"),
        seconds=sum(steps),
        items=tuning.batch,
        samples=(Samples(metric="step_time", unit="s", phase="steady", values=steps),),
        facts=facts,
        environment=current_environment(),
    )
