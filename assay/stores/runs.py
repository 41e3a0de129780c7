"""Properties of runs: command, documents, locks."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TypeVar

from assay.core import codec
from assay.core.contracts import SharedStore, Store
from assay.core.errors import StoreError, UsageError, unknown_name_error
from assay.core.records import Plan, Result
from assay.stores import folders

T = TypeVar("T")

RESUMABLE = ("run", "evaluate", "train", "ab", "race", "study", "bisect", "scale")
COMPARISON, RACE = "comparison.json", "race.json"  # documents of an ab and of a race
BISECTION, TUNING = "bisection.json", "tuning.json"
_WRITERS = {COMPARISON: "ab", RACE: "race", BISECTION: "bisect", TUNING: "tune"}
REQUEST = "request.json"  # request of an ab


def verb_of(store: Store, run: str) -> str:
    """The command of a run. Plans of early versions have "run" for several others."""
    try:
        plan = store.plan(run)
    except StoreError:  # results can be shown without a plan
        return "run"
    if plan.verb != "run":
        return plan.verb
    if store.document(run, COMPARISON) is not None:
        return "ab"
    if store.document(run, RACE) is not None or _is_race(plan):
        return "race"
    if {"study", "size", "rounds"} <= plan.tags.keys():
        return "study"
    return "train" if plan.training else "run"


def lock_run(store: Store, run: str) -> AbstractContextManager[None]:
    """Lock a run against other processes."""
    if isinstance(store, SharedStore):
        return store.taken(run)
    return folders.lock_run(store.folder(run))


def can_resume(store: Store, run: str) -> bool:
    verb = verb_of(store, run)
    lost = verb == "ab" and store.document(run, REQUEST) is None  # of the first version
    return verb in RESUMABLE and not lost


def how_to_resume(store: Store, run: str) -> str:
    """The command that resumes a run, or why there is none."""
    verb = verb_of(store, run)
    if not can_resume(store, run):
        return f"Runs of assay {verb} cannot be resumed: start it again."
    words = f"study {store.plan(run).tags.get('study', '')}" if verb == "study" else verb
    return f"assay {words} --resume {run}"


def tag_number(result: Result, tag: str) -> int:
    """The number of a result's pair or heat."""
    text = result.tags.get(tag, "")
    if not (text.isascii() and text.isdecimal()):
        raise StoreError(
            f"The result {result.id} has no number as its tag {tag}.",
            hint=f"It is damaged: assay show {result.run} --results",
        )
    return int(text[:9])


def _is_race(plan: Plan) -> bool:
    """Races of the first version have their workload as a tag."""
    tag = plan.tags.get("race", "")
    return bool(tag) and tag.startswith(plan.cases[0].workload)


def read_document(store: Store, text: str, name: str, kind: type[T]) -> T:
    """Read a document of a run."""
    run = store.find_run(text)
    data = store.document(run, name)
    if data is None and verb_of(store, run) == _WRITERS.get(name) and can_resume(store, run):
        raise UsageError(f"Run {run} has no {name}  yet.", hint=how_to_resume(store, run))
    if data is None:
        raise UsageError(
            f"Run {run} has no {name} .", hint=f"Its results: assay show {run} --results"
        )
    return codec.decode(data, kind, f"{run}/{name}")


def only_run(text: str, near: Sequence[str], known: Sequence[str]) -> str:
    """The only run in `near`; otherwise an error with suggestions from `known`."""
    if not known:
        raise UsageError("Nothing has been measured yet.", hint="Try: assay run mnist-mlp")
    if len(near) == 1:
        return near[0]
    if near:
        raise UsageError(
            f"'{text}' matches {len(near)} runs: {', '.join(near[:4])}.", hint="Use a longer part."
        )
    raise unknown_name_error("run", text, known, hint="assay list results shows all runs.")


def results_of(text: str, run: str, ids: Sequence[str]) -> list[str]:
    """All results of a run, or the one of `RUN/NNN`."""
    _, slash, number = text.partition("/")
    result_id = f"{run}/{number.zfill(3)}"
    if slash and result_id not in ids:
        raise unknown_name_error("result", text, ids)
    return [result_id] if slash else list(ids)
