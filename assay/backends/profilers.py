"""The frameworks' profilers, each as a context manager that writes its trace to a folder.

It yields a function that marks a step for viewers.
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
        # calls of Python functions would hide the operations
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

    activities = [torch.profiler.ProfilerActivity.CPU]
    if torch.cuda.is_available():
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    with torch.profiler.profile(
        activities=activities, experimental_config=_record_all_threads()
    ) as profile:
        # the name that torch's own schedule uses
        yield lambda number: torch.profiler.record_function(f"ProfilerStep#{number}")
    folder.mkdir(parents=True, exist_ok=True)
    # the name for TensorBoard's plugin for torch: WORKER.TIME.pt.trace.json.gz
    profile.export_chrome_trace(str(folder / f"assay.{time.time_ns()}.pt.trace.json.gz"))


def _record_all_threads() -> Any:
    """Profile all threads, not only the one that starts the profiler."""
    from torch._C._profiler import _ExperimentalConfig

    try:
        return _ExperimentalConfig(profile_all_threads=True)
    except TypeError:  # an older torch has no such option
        return None


PROFILERS: dict[str, Profiler] = {"jax": _jax, "tensorflow": _tensorflow, "torch": _torch}
