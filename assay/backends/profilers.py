"""The frameworks' own profilers, each as a context that leaves its trace in a folder.

In it one gets a function that marks a step, so that a viewer can tell steps apart.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

Mark = Callable[[int], AbstractContextManager[Any]]
Profiler = Callable[[Path], AbstractContextManager[Mark]]


@contextmanager
def _jax(folder: Path) -> Iterator[Mark]:
    import jax

    options: dict[str, Any] = {}
    if hasattr(jax.profiler, "ProfileOptions"):  # an older JAX has none
        options["profiler_options"] = jax.profiler.ProfileOptions()
        # every call of a Python function is no operation, and would bury those that are
        options["profiler_options"].python_tracer_level = 0
    with jax.profiler.trace(folder, **options):
        yield lambda number: jax.profiler.StepTraceAnnotation("step", step_num=number)


@contextmanager
def _tensorflow(folder: Path) -> Iterator[Mark]:
    import tensorflow as tf

    profiler = tf.profiler.experimental
    with profiler.Profile(str(folder)):
        yield lambda number: profiler.Trace("step", step_num=number, _r=1)


@contextmanager
def _torch(folder: Path) -> Iterator[Mark]:
    import torch

    wanted = [torch.profiler.ProfilerActivity.CPU]
    if torch.cuda.is_available():
        wanted.append(torch.profiler.ProfilerActivity.CUDA)
    with torch.profiler.profile(activities=wanted, experimental_config=_all_threads()) as seen:
        # the name torch's own schedule gives its steps
        yield lambda number: torch.profiler.record_function(f"ProfilerStep#{number}")
    folder.mkdir(parents=True, exist_ok=True)
    # as TensorBoard's plugin for torch wants it: WORKER.TIME.pt.trace.json.gz
    seen.export_chrome_trace(str(folder / f"assay.{time.time_ns()}.pt.trace.json.gz"))


def _all_threads() -> Any:
    """Not only the thread that starts the profiler, which may be one of our own."""
    from torch._C._profiler import _ExperimentalConfig

    try:
        return _ExperimentalConfig(profile_all_threads=True)
    except TypeError:  # an older torch, whose profiler sees the thread that starts it
        return None


PROFILERS: dict[str, Profiler] = {"jax": _jax, "tensorflow": _tensorflow, "torch": _torch}
