"""Make a Plan of names, sweeps and options, with all checks that need no machine."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec

from assay.core import registry
from assay.core.case_text import CaseLike, parse_case
from assay.core.contracts import (
    Backend,
    EvaluatingBackend,
    InferenceOnly,
    OnRequest,
    Option,
    WithChoices,
    Workload,
)
from assay.core.errors import UsageError, nearest_name, unknown_name_error
from assay.core.files import user_path
from assay.core.records import Case, Evaluation, Plan, Procedure, Value, comparable_value
from assay.core.registry import backends_for
from assay.measure import inputs
from assay.measure.inputs import Axes
from assay.measure.machine.environment import safe_tags
from assay.workloads import suites
from assay.workloads.accuracy import TRAINED

Sweep = Mapping[str, Sequence[Value]]

# Parameters that have to be positive.
SIZE_PARAMS = frozenset(
    {
        *("batch_size", "image_size", "length", "features", "patch"),
        *("units", "filters", "classes", "narrower"),
    }
)

_PLAIN = re.compile(r"[^,:@'\s]+")


def as_case(case_like: CaseLike, trust: bool = False) -> Case:
    """A case in any form that users may give, not completed yet."""
    if isinstance(case_like, Case):
        case = case_like
    else:
        case = (
            parse_case(case_like)
            if isinstance(case_like, str)
            else inputs.case_from_callable(case_like)
        )
    return msgspec.structs.replace(case, trust=True) if trust else case


def expand_cases(
    requested: Sequence[CaseLike],
    backends: str | Sequence[str] = (),
    params: Axes | None = None,
    options: Axes | None = None,
    trust: bool = False,
) -> tuple[Case, ...]:
    """Every requested combination, complete and checked, in the given order, without repeats."""
    names = inputs.backend_names(backends)
    sweeps = inputs.axes(params, "params"), inputs.axes(options, "options")
    cases: dict[str, Case] = {}
    request = [as_case(item, trust) for item in requested]
    check_duplicates(request, names)
    for item in request:
        for backend in backends_of(item, names, sweeps[1].get("mode", ())):
            for case in _combinations(item, backend, *sweeps):
                cases.setdefault(case.key, case)
    return tuple(cases.values())


def check_duplicates(request: Sequence[Case], backends: Sequence[str]) -> None:
    if backends and request and all(case.backend != "?" for case in request):
        raise UsageError(
            f"Backends were named twice: in the cases, and as {', '.join(backends)}.",
            hint="Leave out one of the two.",
        )


def resolve(case: Case) -> Case:
    """The case with every parameter and option filled in and checked, and with its key."""
    workload, backend = registry.workload(case.workload), registry.backend(case.backend)
    if not backend.accepts & set(workload.kinds):
        recommended = _recommended_backends(workload)
        raise UsageError(
            f"{case.backend} cannot open {case.workload}, which is made for "
            f"{', '.join(sorted(workload.kinds))}.",
            hint=f"It runs on: {', '.join(recommended) or 'no backend known here'}.",
        )
    params = dict(workload.params) | {
        name: _param(case.workload, workload, name, value) for name, value in case.params.items()
    }
    defaults = {name: option.default for name, option in backend.options.items()}
    options = defaults | {
        name: _option(case.backend, backend, name, value)
        for name, value in (_mode(case, workload, backend) | case.options).items()
    }
    key = (
        f"{case.workload}{_format_params(params, workload.params)}"
        f"@{case.backend}{_format_params(options, defaults)}"
    )
    return msgspec.structs.replace(case, params=params, options=options, key=key)


def _mode(case: Case, workload: Workload, backend: Backend) -> dict[str, Value]:
    """A model that cannot be trained defaults to inference."""
    why = workload.inference_only if isinstance(workload, InferenceOnly) else ""
    if not why or "mode" not in backend.options:
        return {}
    if case.options.get("mode") == "train":
        raise UsageError(f"mode of {case.workload} is train, but {why}.", hint="Use --mode infer.")
    return {"mode": "infer"}


def _recommended_backends(workload: Workload) -> list[str]:
    """Without backends that only infer: they support some layers only, and may refuse it."""
    return [name for name in backends_for(workload) if _offers(registry.backend(name), ())]


def backends_of(
    case: Case, names: Sequence[str], modes: Sequence[Value], on_request: bool = False
) -> Sequence[str]:
    """The backend of a case, else `names`, else all that are usable here in these modes.

    Those that take part on request are chosen if `on_request`, or if there are no others.
    """
    if case.backend != "?":
        return (case.backend,)
    if names:
        return names
    workload = registry.workload(case.workload)
    if isinstance(workload, InferenceOnly) and workload.inference_only:
        modes = modes or ("infer",)
    usable = tuple(
        name
        for name in backends_for(workload)
        if _offers(registry.backend(name), modes) and not registry.backend(name).missing()
    )
    if not usable:
        known = backends_for(workload)
        raise UsageError(
            f"No backend installed here can open {case.workload}.",
            hint=registry.backend(known[0]).missing() if known else "",
        )
    if on_request:
        return usable
    return [name for name in usable if not _on_request(name)] or usable


def describe_left_out(
    cases: Sequence[CaseLike], names: Sequence[str], mode: Value | Sequence[Value]
) -> str:
    """Which usable backends do not take part because they are not named, and how to name them."""
    modes = inputs.axes({"mode": mode} if mode else {}, "options").get("mode", ())
    for case in map(as_case, cases):
        usable = backends_of(case, names, modes, on_request=True)
        chosen = backends_of(case, names, modes)
        if left := [name for name in usable if name not in chosen]:
            why = _on_request(left[0])
            return f"{', '.join(left)} is left out ({why}); to include it: -b {','.join(usable)}"
    return ""


def _on_request(name: str) -> str:
    backend = registry.backend(name)
    return backend.on_request if isinstance(backend, OnRequest) else ""


def _offers(backend: Backend, modes: Sequence[Value]) -> bool:
    """A backend that only infers is chosen only if inference is requested."""
    if "mode" not in backend.options:
        return True
    return set(modes or ("train",)) <= set(backend.options["mode"].choices)


def _combinations(case: Case, backend: str, params: Sweep, options: Sweep) -> Iterator[Case]:
    axes = [(name, values, True) for name, values in params.items()]
    axes += [(name, values, False) for name, values in options.items()]
    for values in itertools.product(*(axis[1] for axis in axes)):
        chosen = list(zip(axes, values, strict=True))
        yield resolve(
            msgspec.structs.replace(
                case,
                backend=backend,
                params={axis[0]: value for axis, value in chosen if axis[2]} | case.params,
                options={axis[0]: value for axis, value in chosen if not axis[2]} | case.options,
            )
        )


def _check_amount(name: str, key: str, value: Value, default: Value) -> None:
    """Sizes are at least 1, unless their default is 0; other integers are not negative."""
    minimum = 1 if key in SIZE_PARAMS and default else 0
    if isinstance(value, int) and value < minimum:
        raise UsageError(
            f"{key} of {name} is {value}, but has to be {minimum} or more.", hint=f"{key}={minimum}"
        )


def _param(name: str, workload: Workload, key: str, value: Value) -> Value:
    if key not in workload.params:
        raise unknown_name_error(f"parameter of {name}", key, workload.params)
    default = workload.params[key]
    if key == "batch_size" and value == "max":
        return value  # resolved by batch_size.py when the case is measured
    typed = _convert_value(value, default)
    choices = workload.choices.get(key, ()) if isinstance(workload, WithChoices) else ()
    if typed is None or (choices and comparable_value(typed) not in map(comparable_value, choices)):
        expected = f"one of {', '.join(map(str, choices))}" if choices else _kind(default)
        raise UsageError(
            f"{key} of {name} is '{value}', but has to be {expected}.",
            hint=f"Its default is {default}.",
        )
    _check_amount(name, key, typed, default)
    return typed


def _option(name: str, backend: Backend, key: str, value: Value) -> Value:
    if key not in backend.options:
        raise unknown_name_error(f"option of {name}", key, backend.options)
    option = backend.options[key]
    for choice in option.choices:
        if str(choice) == str(value):
            return choice
    if option.pattern and re.fullmatch(option.pattern, str(value)):
        return int(value) if re.fullmatch(r"0|[1-9][0-9]*", str(value)) else value
    meant = _suggest_value(option, str(value))
    raise UsageError(
        f"{key} of {name} is '{value}', but has to be {_allowed_values(option)}.",
        hint=f"Did you mean '{meant}'?"
        if meant
        else f"{option.help or key} (default {option.default}).",
    )


def _suggest_value(option: Option, text: str) -> str:
    """The value that a wrong one probably means, or ""."""
    known = [str(choice) for choice in option.choices if choice != ""]
    lower = text.lower()
    meant = option.synonyms.get(lower, "")
    if meant in known or (meant and option.pattern and re.fullmatch(option.pattern, meant)):
        return meant
    return nearest_name(text, known, likeness=0.8)  # float8 is not float32 misspelled


def _allowed_values(option: Option) -> str:
    listed = ", ".join(str(choice) for choice in option.choices)
    if not option.pattern:
        return f"one of {listed}"
    like = option.like or str(option.default)
    return f"one of {listed}, or like {like}" if listed else f"like {like}"


def _convert_value(value: Value, default: Value) -> Value | None:
    """The value converted to the type of its default, or None if it cannot be."""
    text = str(value)
    if isinstance(default, bool):
        return {"true": True, "false": False, "1": True, "0": False}.get(text.lower())
    try:
        if isinstance(default, int):
            return int(text)
        if isinstance(default, float):
            return float(text)
    except ValueError:
        return None
    return text


def _kind(default: Value) -> str:
    return {bool: "true or false", int: "an integer", float: "a number"}.get(
        type(default), "a text"
    )


def _format_params(values: Mapping[str, Value], defaults: Mapping[str, Value]) -> str:
    text = ",".join(
        f"{name}={_quote(value)}"
        for name, value in values.items()
        if comparable_value(value) != comparable_value(defaults[name])  # nan differs from itself
    )
    return f":{text}" if text else ""


def _quote(value: Value) -> str:
    text = str(value)
    return text if _PLAIN.fullmatch(text) else "'" + text.replace("'", "''") + "'"


def suite_evaluation(suite: str, first: int) -> Evaluation | None:
    """The Evaluation of a suite's cases; None if they are timed."""
    if suite in suites.EVALUATED:
        return Evaluation(first=first)
    if first:
        raise UsageError(
            f"The first {first} examples were given, but speed is measured on a batch.",
            hint="Use it with --suite accuracy, or assay evaluate.",
        )
    return None


def prepare_for_evaluation(
    cases: Sequence[Case], named: Collection[str] = (), weights: str = ""
) -> tuple[Case, ...]:
    """The cases with these weights, or those beside the data, and with their backend's options for
    evaluation, except options `named` by the user."""
    if weights and not user_path(weights).exists():
        raise UsageError(f"There is no weights file {weights}.", hint="Give its path.")
    chosen = str(user_path(weights).absolute()) if weights else TRAINED
    return tuple(_prepare_case(case, named, chosen, bool(weights)) for case in cases)


def _prepare_case(case: Case, named: Collection[str], chosen: str, has_weights: bool) -> Case:
    if has_weights and "weights" not in case.params:
        raise UsageError(
            f"{case.workload} takes no file of weights.", hint="Leave out --weights for it."
        )
    weights = {"weights": chosen} if case.params.get("weights") == "" or has_weights else {}
    backend = registry.backend(case.backend)
    suits = backend.for_evaluation if isinstance(backend, EvaluatingBackend) else {}
    options = case.options | {name: suits[name] for name in suits if name not in named}
    return resolve(
        msgspec.structs.replace(case, params=case.params | weights, options=options, key="")
    )


def make_plan(
    *cases: CaseLike,
    suite: str = "",
    backends: str | Sequence[str] = (),
    params: Axes | None = None,
    options: Axes | None = None,
    procedure: Procedure | None = None,
    label: str = "",
    tags: Mapping[str, str] | None = None,
    first: int = 0,
    trust: bool = False,
) -> Plan:
    """The checked plan of `run`.

    Several values of a parameter or option are a sweep. A suite of accuracies is evaluated
    instead, on the `first` examples or on all. `trust` lets a `.pt2` file run code.
    """
    suite_cases = suites.suite(suite) if suite else ()
    complete = expand_cases((*suite_cases, *cases), backends, params, options, trust)
    evaluation = suite_evaluation(suite, first)
    return Plan(
        cases=prepare_for_evaluation(complete, options or ()) if evaluation else complete,
        procedure=inputs.procedure(procedure, {}),
        evaluation=evaluation,
        label=label,
        tags=safe_tags(dict(tags or {})),
        verb="run",
    )
