"""A study of any workload or own model: every combination of the values of chosen axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.core import registry
from assay.core.errors import UsageError
from assay.core.records import Case, Value
from assay.measure import plan

Axes = Mapping[str, Sequence[Value]]


def check_over(extras: Sequence[str], size: str) -> None:
    named = [*(f"--{extra}" for extra in extras), *(["--size"] if size else [])]
    if named:
        raise UsageError(
            f"--over was given with {' '.join(named)}, which belong to a named study.",
            hint="Vary a parameter instead, as in --over batch_size=8,32.",
        )


def cases_over(
    name: str, backends: Sequence[str], over: Axes, options: Mapping[str, Value], trust: bool
) -> tuple[Case, ...]:
    """Cases of every backend that has these options; parameters of the workload are axes too."""
    case = plan.as_case(name, trust)
    plan.check_duplicates([case], backends)
    params = registry.workload(case.workload).params
    names = plan.backends_of(case, backends, [*over.get("mode", ())])
    axes = {axis: values for axis, values in over.items() if axis not in params}
    fitting = [each for each in names if axes.keys() <= registry.backend(each).options.keys()]
    if not fitting or (backends and len(fitting) < len(names)):
        raise _unknown_axis(case, [each for each in names if each not in fitting], axes)
    requested = [case] if case.backend != "?" else [_on(case, each) for each in fitting]
    cases = plan.expand_cases(
        requested,
        (),
        {axis: values for axis, values in over.items() if axis in params},
        {**axes, **{option: (value,) for option, value in options.items()}},
        trust,
    )
    if len(cases) < 2:
        raise UsageError(
            "A study needs two cases or more, but --over names one value of each.",
            hint="As in --over precision=float32,bfloat16.",
        )
    return cases


def _on(case: Case, backend: str) -> Case:
    return Case(workload=case.workload, backend=backend, params=case.params, options=case.options)


def _unknown_axis(case: Case, backends: Sequence[str], axes: Axes) -> UsageError:
    """Lists what the workload and a backend offer."""
    backend = backends[0]
    options = registry.backend(backend).options
    axis = next(axis for axis in axes if axis not in options)
    params = registry.workload(case.workload).params
    return UsageError(
        f"'{axis}' is no parameter of {case.workload} and no option of {backend}.",
        hint=f"Parameters of {case.workload}: {', '.join(params) or 'none'}. "
        f"Options of {backend}: {', '.join(options)}.",
    )
