"""A tuning in the store: a result for each point, and the front beside them."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec.structs import replace

from assay.commands.tune.request import TuneRequest
from assay.core.errors import AssayError
from assay.core.records import Case, Plan, Procedure, Result, Samples, Value
from assay.core.settings import Home
from assay.measure import plan
from assay.measure.machine.environment import here
from assay.measure.recorder import new_run
from assay.native.tuner.records import TunedPoint, Tuning
from assay.stores.runs import TUNING


def kept(request: TuneRequest, found: Tuning, home: Home) -> Tuning:
    """With the run that it is in."""
    config = next((path for path in found.files if path.endswith("confs.txt")), "")
    cases = [_case(request, point, config) for point in found.points]
    made = Plan(cases=tuple(cases), label=request.label, verb="tune")
    with new_run(made, home) as run:
        whole = replace(found, run=run.name)
        results = [
            _result(run.new_case().id, case, point, whole)
            for case, point in zip(cases, found.points, strict=True)
        ]
        for _ in run.keep([("", results)]):
            pass
        run.keep_document(TUNING, whole)
    return whole


def _case(request: TuneRequest, point: TunedPoint, config: str) -> Case:
    """As `assay run` would take it, where it can; else its name alone."""
    options: dict[str, Value] = {"threads": 1}
    if config and point.knobs and point.promised:
        options["config"] = f"{config}:{point.name}"
    try:
        parsed = plan.parse_case(request.model)
        params = {**parsed.params, **request.own_params(), "batch_size": request.batch}
        case = Case(workload=parsed.workload, backend="native", params=params, options=options)
        return plan.resolve(case)
    except AssayError:  # a model that no workload makes
        key = f"{request.model}@native:{point.name}"
        return Case(workload=request.model, backend="native", key=key)


def _result(number: str, case: Case, point: TunedPoint, found: Tuning) -> Result:
    steps = tuple(found.batch * seconds for seconds in point.samples)
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
        items=found.batch,
        samples=(Samples(metric="step_time", unit="s", phase="steady", values=steps),),
        facts=facts,
        environment=here(),
    )
