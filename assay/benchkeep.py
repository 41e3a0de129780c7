"""Benchmark methods, trial after trial, into one run folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from assay.benches.asked import Benched, Setting
from assay.benches.names import Method
from assay.benchrun import Outputs, case_of, in_its_folder, run_once
from assay.errors import UsageError
from assay.records import Plan, Procedure
from assay.stores import folders
from assay.stores.sql import SqlStore

Watch = Callable[[Method, int], None]  # called when a method begins, with its trial


def plan_of(
    methods: Sequence[Method], setting: Setting, trials: int, label: str, tags: dict[str, str]
) -> Plan:
    if trials < 1:
        raise UsageError(
            f"{trials} trials were asked for, but one is the least.", hint="--trials 5"
        )
    return Plan(
        cases=tuple(case_of(method, setting) for method in methods),
        procedure=Procedure(timeout=setting.timeout),
        label=label,
        tags=tags,
        verb="bench",
    )


def keep(
    methods: Sequence[Method],
    setting: Setting,
    trials: int,
    plan: Plan,
    store: SqlStore,
    watch: Watch,
    outputs: Outputs = in_its_folder,
) -> Iterator[Benched]:
    """Run all and keep each result before it is yielded; closes the store at the end."""
    run = store.new_run(plan)
    try:
        with folders.locked(run):
            for trial, method in _each(methods, trials):
                watch(method, trial)
                benched = run_once(method, trial, setting, folders.new_case(run), outputs)
                yield _kept(benched, plan, store)
                if benched.result.status == "interrupted":
                    raise KeyboardInterrupt(benched.result.reason)
    finally:
        store.close()


def _each(methods: Sequence[Method], trials: int) -> Iterator[tuple[int, Method]]:
    """The whole list once, then again, as PerfZero does it: slow drift hits all alike."""
    for trial in range(1, trials + 1):
        for method in methods:
            yield trial, method


def _kept(benched: Benched, plan: Plan, store: SqlStore) -> Benched:
    result = msgspec.structs.replace(benched.result, label=plan.label, tags=plan.tags)
    store.append(result)
    return msgspec.structs.replace(benched, result=result)
