"""Measure cases in fresh workers and store each result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from assay.core.case_text import CaseLike
from assay.core.errors import UsageError
from assay.core.options import (
    Axes,
    BackendOptions,
    Backends,
    Cluster,
    Communication,
    Flag,
    Label,
    Need,
    Params,
    Seconds,
    Share,
    StoreUrl,
    Sweep,
    Tags,
    Trust,
    accept_old_keywords,
)
from assay.core.progress import ProgressCallback, ignore
from assay.core.records import Procedure

if TYPE_CHECKING:
    from assay.measure.run_results import RunResults


@accept_old_keywords(home="store")
def run(
    *cases: CaseLike,
    suite: Annotated[
        str,
        Flag(
            "Measure a named set of cases: keras-benchmarks, today or accuracy.",
            "NAME",
            complete="suites",
        ),
    ] = "",
    first: Annotated[
        int, Flag("With --suite accuracy: evaluate only the first N images.", "N")
    ] = 0,
    on: Cluster = "",
    need: Need = None,
    backends: Backends = (),
    params: Params = None,
    options: BackendOptions = None,
    batch_size: Annotated[
        Sweep,
        Flag(
            "Items in one step; max searches for the largest batch that fits.",
            "A,B",
            complete="values:batch_size",
            read="sweep",
        ),
    ] = "",
    task: Annotated[
        Sweep,
        Flag(
            "Of transformer-decoder: train, generate.", "A,B", complete="values:task", read="sweep"
        ),
    ] = "",
    seed: Annotated[
        Sweep,
        Flag("Seed of the weights and the data.", "A,B", complete="values:seed", read="sweep"),
    ] = "",
    mode: Annotated[
        Sweep,
        Flag(
            "Training steps or inference: train, infer.",
            "A,B",
            complete="values:mode",
            read="sweep",
        ),
    ] = "",
    precision: Annotated[
        Sweep,
        Flag(
            "Arithmetic: float32, tf32, bfloat16, float16, pure-bfloat16.",
            "A,B",
            complete="values:precision",
            read="sweep",
        ),
    ] = "",
    compiler: Annotated[
        Sweep,
        Flag(
            "off, on (XLA or torch.compile), or a mode of torch.compile.",
            "A,B",
            complete="values:compiler",
            read="sweep",
        ),
    ] = "",
    cuda_graphs: Annotated[
        Sweep,
        Flag(
            "Replay steps as a CUDA graph (torch): off, on.",
            "A,B",
            complete="values:cuda_graphs",
            read="sweep",
        ),
    ] = "",
    data_format: Annotated[
        Sweep,
        Flag(
            "Layout of images: channels_last, channels_first.",
            "A,B",
            complete="values:data_format",
            read="sweep",
        ),
    ] = "",
    optimizer: Annotated[
        Sweep,
        Flag(
            "own (the workload's), sgd, momentum, rmsprop, adam.",
            "A,B",
            complete="values:optimizer",
            read="sweep",
        ),
    ] = "",
    threads: Annotated[
        Sweep,
        Flag("CPU threads: a number, or all.", "A,B", complete="values:threads", read="sweep"),
    ] = "",
    device: Annotated[
        Sweep,
        Flag("Where to run: auto, cpu, gpu:N.", "A,B", complete="values:device", read="sweep"),
    ] = "",
    devices: Annotated[
        Sweep,
        Flag(
            "How many devices share each training batch.",
            "A,B",
            complete="values:devices",
            read="sweep",
        ),
    ] = "",
    python: Annotated[
        Sweep,
        Flag(
            "Virtual environment or interpreter to measure in.",
            "A,B",
            complete="values:python",
            read="sweep",
        ),
    ] = "",
    inputs: Annotated[
        Sweep,
        Flag(
            "Inputs of the steps: same (one batch, the default), fresh (a ring of 8 batches), cold "
            "(a ring larger than the cache).",
            "A,B",
            complete="values:inputs",
            read="sweep",
        ),
    ] = "",
    method: Annotated[
        Sweep,
        Flag(
            "Keras only: time single steps (step) or one call of fit() (fit).",
            "A,B",
            complete="values:method",
            read="sweep",
        ),
    ] = "",
    epochs: Annotated[
        Sweep,
        Flag("With --method fit: number of epochs.", "A,B", complete="values:epochs", read="sweep"),
    ] = "",
    budget: Annotated[Seconds, Flag("Sampling time per case.")] = "10s",
    target: Annotated[
        Share, Flag("Stop when the 95 % interval is within this share of the median.")
    ] = "1%",
    timeout: Annotated[Seconds, Flag("Limit for one case, start-up included.")] = "10m",
    processes: Annotated[
        int,
        Flag("Fresh processes per case; with several, the interval covers their differences."),
    ] = 1,
    samples: Annotated[int, Flag("Take exactly this many samples per process.")] = 0,
    steps_per_sample: Annotated[int, Flag("Time exactly this many steps per sample.")] = 0,
    latency: Annotated[bool, Flag("Time each step by itself, and show percentiles.")] = False,
    communication: Communication = False,
    quick: Annotated[
        bool,
        Flag("A rough answer in about 10 s: the cases for which there is time, 1.5 s of samples."),
    ] = False,
    cold: bool = False,
    metric: str = "",
    procedure: Procedure | None = None,
    trust: Trust = False,
    label: Label = "",
    tags: Tags = None,
    model: Any = None,
    example: Any = None,
    loss: Any = None,
    targets: Any = None,
    name: str = "",
    store: StoreUrl = None,
    progress: ProgressCallback = ignore,
) -> RunResults:
    """Measure every combination of these; each result is stored, then yielded.

    A case is a text, a `Case`, or a function of a file; `model` is an object, with what `live`
    takes beside it: example, loss, targets. Several values of a parameter or option make a sweep.
    How each case is measured is a `procedure`, or its parts. `on` is the address of a Ray cluster,
    whose nodes measure, and `need` what a node has to have.

    >>> results = assay.run("mnist-mlp", budget="5s")
    >>> print(results, results.best.case.key)  # a table; measuring ends first
    >>> print(assay.run("mnist-mlp", quick=True))  # about ten seconds, a rough interval
    >>> for result in assay.run("mnist-mlp", backends=["keras-jax"]):  # each one when it is ready
    ...     print(result.case.key, assay.summarize(result).quantities["step_time"])
    """
    from assay.measure import inputs as forms
    from assay.measure.plan import make_plan
    from assay.measure.quick import QUICK_BUDGET, QUICK_TAG, TimeLimit
    from assay.measure.recorder import run_cases
    from assay.measure.remote import executor
    from assay.measure.run_results import RunResults

    model_parts = dict(example=example, loss=loss, targets=targets, name=name or None)
    cases = _with_model(cases, model, model_parts, on, store)
    machines = executor(on, need)
    params = _join_cases(params, batch_size=batch_size, task=task, seed=seed)
    more: dict[str, Sweep] = dict(mode=mode, precision=precision, compiler=compiler, method=method)
    more |= dict(cuda_graphs=cuda_graphs, data_format=data_format, optimizer=optimizer)
    more |= dict(threads=threads, device=device, devices=devices, python=python, epochs=epochs)
    more |= dict(inputs=inputs)
    options = _join_cases(options, **more)
    limit = TimeLimit() if quick else None
    if quick:
        _check_quick(budget, processes, samples, on)
        budget, tags = QUICK_BUDGET, {**(tags or {}), **QUICK_TAG}
    parts: dict[str, Any] = dict(budget=budget, target=target, timeout=timeout, cold=cold)
    parts |= dict(processes=processes, samples=samples, steps_per_sample=steps_per_sample)
    parts |= dict(latency=latency, communication=communication, metric=metric)
    plan = make_plan(
        *cases,
        suite=suite,
        backends=backends,
        params=params,
        options=options,
        procedure=forms.procedure(procedure, parts),
        label=label,
        tags=tags,
        first=first,
        trust=trust,
    )
    return RunResults(run_cases(plan, store, progress, machines, limit))


@accept_old_keywords(home="store")
def resume(
    run: str,
    store: StoreUrl = None,
    progress: ProgressCallback = ignore,
    on: str = "",
    need: Mapping[str, str] | None = None,
) -> RunResults:
    """Measure the missing cases of an interrupted run, here or on a cluster."""
    from assay.measure.recorder import resume_cases
    from assay.measure.remote import executor
    from assay.measure.run_results import RunResults

    return RunResults(resume_cases(run, "run", store, progress, executor(on, need)))


def _check_quick(budget: Seconds, processes: int, samples: int, on: str) -> None:
    """Reject what asks for more time than a quick run has."""
    more = {"budget": budget != "10s", "processes": processes != 1, "samples": samples != 0}
    if names := [name for name, is_set in (more | {"on": bool(on)}).items() if is_set]:
        raise UsageError(
            f"quick was given with {', '.join(names)}, but it has its own.",
            hint="Leave out one of the two; without --quick, --budget 2s is short too.",
        )


def _with_model(
    cases: tuple[CaseLike, ...], model: Any, parts: Mapping[str, Any], on: str, store: StoreUrl
) -> tuple[CaseLike, ...]:
    """The cases, and that of a model that is an object."""
    parts = {key: value for key, value in parts.items() if value is not None}
    if model is None and parts:
        raise UsageError(
            f"{' and '.join(parts)} was given without a model.",
            hint="As in: assay.run(model=net, example=torch.rand(8, 3, 32, 32))",
        )
    if model is None:
        return cases
    if on:
        raise UsageError(
            "A model that is an object of this session cannot go to a cluster: its file is here.",
            hint="Write a function that builds it into a file that every node has: './net.py:Net'.",
        )
    from assay.measure.from_object import case_from_object

    return (*cases, case_from_object(model, store=store, **parts))


def _join_cases(axes: Axes | None, **more: Sweep) -> Axes | None:
    """Axes of keywords, overridden by `axes`."""
    named = {name: value for name, value in more.items() if value != ""}
    return {**named, **axes} if named and isinstance(axes, Mapping) else axes or named
