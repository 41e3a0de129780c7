"""A store with some of everything, without measuring: results as workers would have made them."""

from __future__ import annotations

from assay.core.executor import CaseDir
from assay.core.records import Case, Environment, Plan, Procedure, Result, Samples
from assay.core.registry import open_store
from assay.stats import stored_summary
from assay.stores import folders

CASE = Case(workload="mnist-mlp", backend="jax", params={"units": 64}, key="mnist-mlp@jax")
OTHER = Case(workload="mnist-mlp", backend="torch", params={"units": 64}, key="mnist-mlp@torch")


def made_result(
    place: CaseDir, case: Case, middle: float, started: str, status: str = "ok", **more
) -> Result:
    values = tuple(middle * (1 + 0.01 * ((7 * n) % 11 - 5) / 5) for n in range(60))
    samples = (
        Samples(metric="step_time", unit="s", phase="warmup", values=(3 * middle,), starts=(0.5,)),
        Samples(
            metric="step_time",
            unit="s",
            phase="steady",
            values=values,
            starts=tuple(1 + n * middle for n in range(60)),
        ),
    )
    return Result(
        id=place.id,
        case=case,
        procedure=Procedure(),
        status=status,
        started=started,
        seconds=5.0,
        samples=samples if status == "ok" else (),
        items=32,
        environment=Environment(
            machine={"cpu": "Test CPU", "cpus": 2}, git={"commit": more.pop("commit", "c0ffee")}
        ),
        **more,
    )


def keep_run(home, *wanted, label="", started="2026-11-01T10:00:00Z", **more) -> str:
    """Keep a run of results, each a case with its seconds and its status; the run's name."""
    store = open_store(home)
    run = store.new_run(Plan(cases=tuple(case for case, *_ in wanted), label=label))
    for case, middle, status in wanted:
        place = folders.new_case(run)
        result = made_result(place, case, middle, started, status, label=label, **more)
        store.append(result)
        stored_summary.read(store, result)
    store.close()
    return run.name
