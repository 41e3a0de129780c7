"""How much of a step several devices spend in communication: some steps more, under the profiler.

After the samples, in the same process; the samples themselves are taken without a profiler.
"""

from __future__ import annotations

from pathlib import Path

from assay.core import registry
from assay.core.contracts import ProfilingBackend
from assay.core.messages import LateFacts, ProfileSteps
from assay.core.progress import Progress, ProgressCallback
from assay.core.protobuf import DamagedError
from assay.core.records import Case, Samples
from assay.formats.traces import read as traces
from assay.formats.traces.communication import shares
from assay.measure.sampling import Pieces, Worker

METRIC = "communication_share"
STEPS = 5
UNTOLD = "communication"  # the fact that says why there is none


def measured(worker: Worker, case: Case, folder: Path, progress: ProgressCallback) -> Pieces:
    """The share of each step, in percent; the trace stays in the folder."""
    if int(case.options.get("devices", 1)) == 1:
        return
    if not isinstance(registry.backend(case.backend), ProfilingBackend):
        yield LateFacts(facts={UNTOLD: f"unknown: {case.backend} has no profiler"})
        return
    progress(Progress(case=case, phase="steady", note="profiling …"))
    list(worker.ask(ProfileSteps(folder=str(folder.absolute()), steps=STEPS)))
    try:
        found = shares(traces.events(folder))
    except DamagedError as error:
        yield LateFacts(facts={UNTOLD: f"unknown: the trace cannot be read ({error})"})
        return
    if not found:
        yield LateFacts(facts={UNTOLD: "unknown: the trace names no collective operation"})
        return
    values = tuple(100 * share for share in found)
    yield Samples(metric=METRIC, unit="%", phase="steady", values=values)
