"""After the samples: whether steps did the work that they were timed for.

A step with inputs that it has not seen has to give other outputs and take as long, and nothing may
run on after the wait. What is suspicious becomes a fact; `stats/doubts/implausible.py` words it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import median
from typing import Any, NamedTuple

from assay.core.clock import Clock, clock
from assay.core.fingerprint import sample_values
from assay.core.records import Value
from assay.core.sessions import (
    Calling,
    CountsAgain,
    HasStepOutput,
    Session,
    Stepped,
    TakesInputs,
)

SECONDS = 0.1  # of comparisons with fresh inputs, if steps are short
LONG_STEP = 0.05  # seconds; of longer steps only two are compared
MIN_TIMES, MAX_TIMES = 4, 8  # fresh batches whose step is timed
LONG_TIMES = 2  # of long steps
ABOVE = 1.2  # minimum ratio of the fastest step with fresh inputs to the slowest that repeats them
SLOWER = 2.0  # minimum ratio of the fastest step with fresh inputs to those that repeat them
LONGER = 2e-5  # seconds by which it has to be longer, too: timers and caches cost some
LESS = 0.95  # of the multiply-adds at first
IDLE, LOOKS = 0.02, 5  # seconds between looks at threads of Python, which should be idle
BUSY = 0.002  # seconds that a thread may compute nevertheless
PATIENCE = 0.2  # seconds to wait for threads that a step left
MAX_DIFFERENCE = {"float32": 1e-3}  # relative, of the first and a steady output
USUAL_DIFFERENCE = 0.05  # in shorter types
SETTINGS = ("tf32", "matmul_precision", "threads", "compute_dtype", "parameter_dtype")
EMPTY_CALLS = 5  # a step of fewer empty calls computes nothing
MANY = 1000  # calls, to time short ones

Sample = tuple[tuple[int, ...], Any]  # shape, and sampled values in numpy


class Observed(NamedTuple):
    """What is known from before the samples."""

    facts: Mapping[str, Value]  # of the opened session
    inputs: tuple[Any, ...] = ()  # sampled values of its batch, in numpy
    macs: float = 0.0  # multiply-adds of the batch, as counted
    first: Sample | None = None  # output of the first step


class WorkWatch:
    """Remembers what a session showed before its samples, and checks it after them."""

    def __init__(self, session: Session, precision: str) -> None:
        """Called before anything is computed."""
        self._precision = precision
        self._observed = Observed({})
        self._stepped, self._error = False, ""
        with self._noting_errors():
            if isinstance(session, TakesInputs):
                self._observed = Observed({}, input_samples(session))

    def see_facts(self, session: Session, facts: Mapping[str, Value]) -> None:
        counted = float(facts.get("counted_multiply_adds", 0)) * session.items
        self._observed = self._observed._replace(facts=facts, macs=counted)

    def see_step(self, session: Session) -> None:
        """Called after steps; the first counts."""
        infers = self._observed.facts.get("mode") == "infer"
        if not self._stepped and infers and isinstance(session, HasStepOutput):
            with self._noting_errors():
                self._observed = self._observed._replace(first=session.step_output())
        self._stepped = True

    def check(self, session: Session, clock: Clock = clock) -> dict[str, Value]:
        facts: dict[str, Value] = {}
        with self._noting_errors():
            if isinstance(session, Stepped) and not self._error:
                facts = check_work(session, self._observed, self._precision, clock)
        return {**facts, "unchecked": self._error} if self._error else facts

    @contextmanager
    def _noting_errors(self) -> Iterator[None]:
        """The samples count although the check is not possible."""
        try:
            yield
        except Exception as error:  # a user's model may raise anything for other inputs
            self._error = f"{type(error).__name__}: {str(error)[:200]}"


def check_work(
    session: Stepped, observed: Observed, precision: str, clock: Clock = clock
) -> dict[str, Value]:
    """Facts about what is suspicious; none of an honest session."""
    facts = _check_left(session)
    if isinstance(session, Calling):
        facts |= _check_call(session, clock)
    elif isinstance(session, TakesInputs) and observed.facts.get("devices", 1) == 1:
        facts |= _Comparison(session, observed, precision, clock).facts()
        facts |= _check_settings(session, observed.facts)
    return facts


class _Comparison:
    """Steps with inputs that repeat, and with fresh ones."""

    def __init__(
        self, session: Any, observed: Observed, precision: str, clock: Clock = clock
    ) -> None:
        self._session, self._observed, self._clock = session, observed, clock
        self._precision = precision
        self._step = type(session).step.__get__(session)  # without a ring of inputs
        self._number = 1000  # of the last fresh batch; a ring has smaller numbers

    def facts(self) -> dict[str, Value]:
        batch = self._session.fresh_inputs(0)
        changed = not all(map(_same_values, input_samples(self._session), self._observed.inputs))
        try:
            self._timed(batch)  # back to this batch
            usual = self._timed(batch)
            outputs = self._outputs(batch) if self._shows_outputs else {}
            facts = outputs | self._times(batch, usual)
            return {"inputs_changed": True} if changed else facts
        finally:
            self._session.set_inputs(batch)

    @property
    def _shows_outputs(self) -> bool:
        infers = self._observed.facts.get("mode") == "infer"
        return infers and isinstance(self._session, HasStepOutput)

    def _outputs(self, batch: Any) -> dict[str, Value]:
        same = self._output()
        facts = self._first_difference(same)
        fresh = self._fresh()
        self._timed(fresh)
        if not _equal(self._output(), same):
            return facts
        self._timed(fresh)
        if not _equal(self._output(), same):
            return {"outputs_late": True}
        for _ in range(2):  # one batch may give the same by chance
            self._timed(self._fresh())
            if not _equal(self._output(), same):
                return facts
        return {**facts, "outputs_repeat": True}

    def _first_difference(self, same: Sample) -> dict[str, Value]:
        """Only of a deterministic step that computes less than at first: a cache of keys and values
        changes outputs, too."""
        first = self._observed.first
        self._step()
        self._session.wait()
        if first is None or not _equal(self._output(), same) or not self._computes_less():
            return {}
        difference = _difference(first, same)
        limit = MAX_DIFFERENCE.get(self._precision, USUAL_DIFFERENCE)
        return {"first_output_difference": difference} if difference > limit else {}

    def _computes_less(self) -> bool:
        """In operations or in dtypes; where a pass cannot be counted again, it may."""
        if not isinstance(self._session, CountsAgain) or not self._observed.macs:
            return True
        macs, dtypes = self._session.count_again()
        before = str(self._observed.facts.get("product_dtypes", ""))
        return macs < LESS * self._observed.macs or set(dtypes.split()) != set(before.split())

    def _times(self, batch: Any, usual: float) -> dict[str, Value]:
        """Steps with fresh inputs, in turns with steps that repeat the usual ones."""
        fresh, same = [], []
        least, most = (LONG_TIMES, LONG_TIMES) if usual > LONG_STEP else (MIN_TIMES, MAX_TIMES)
        end = self._clock() + SECONDS
        for number in range(most):
            inputs = self._fresh()
            if usual <= LONG_STEP:
                self._timed(batch)  # preparing inputs cools the caches
            fresh.append(self._timed(inputs))
            self._timed(batch)  # a cache of the last inputs computes them again
            same.append(self._timed(batch))
            if number + 1 >= least and self._clock() > end:
                break
        low, middle = min(fresh), median(same)
        if low > max(SLOWER * middle, ABOVE * max(same), middle + LONGER):
            return {"fresh_step_ratio": low / max(middle, 1e-9)}
        return {}

    def _timed(self, inputs: Any) -> float:
        self._session.set_inputs(inputs)
        start = self._clock()
        self._step()
        self._session.wait()
        return self._clock() - start

    def _fresh(self) -> Any:
        self._number += 1
        return self._session.fresh_inputs(self._number)

    def _output(self) -> Sample:
        sample: Sample = self._session.step_output()
        return sample


def _check_settings(session: Stepped, before: Mapping[str, Value]) -> dict[str, Value]:
    """Settings that the model changed while it was measured."""
    now = session.facts()
    changed = [
        f"{name} {before[name]} → {now[name]}"
        for name in SETTINGS
        if name in before and name in now and now[name] != before[name]
    ]
    return {"settings_changed": ", ".join(changed)} if changed else {}


def _check_left(session: Stepped) -> dict[str, Value]:
    """Threads of Python that a step left, which are waited for, or that compute without a step."""
    before = set(threading.enumerate())
    session.step()
    session.wait()
    left = [thread for thread in threading.enumerate() if thread not in before]
    start = time.monotonic()
    for thread in left:
        thread.join(max(0.0, start + PATIENCE - time.monotonic()))
    if left:
        return {"left_running": time.monotonic() - start}
    used = _cpu_seconds()
    for _ in range(LOOKS if used else 0):
        time.sleep(IDLE)
        most = max(now - used.get(ident, now) for ident, now in (_cpu_seconds() or used).items())
        if most > BUSY:
            return {"left_running": most}
    return {}


def _cpu_seconds() -> dict[int, float]:
    """Of every other thread of Python; not of the frameworks' own, which spin for a while."""
    times: dict[int, float] = {}
    for thread in threading.enumerate():
        if thread.ident and thread is not threading.current_thread():
            try:
                times[thread.ident] = time.clock_gettime(time.pthread_getcpuclockid(thread.ident))
            except OSError:  # it has ended meanwhile
                continue
    return times


def _check_call(session: Calling, clock: Clock) -> dict[str, Value]:
    """A callable without inputs: whether it returns one object again, or takes no time."""
    start = clock()
    outputs = [session.call() for _ in range(2)]
    seconds = (clock() - start) / 2
    facts: dict[str, Value] = {}
    if outputs[0] is outputs[1] and _is_cached(outputs[0], session.call):
        facts["same_object"] = type(outputs[0]).__name__
    if seconds < 1e-5:
        empty = _per_call(lambda: None, clock)
        if _per_call(session.call, clock) < EMPTY_CALLS * empty:
            facts["empty_step"] = True
    return facts


def _per_call(call: Callable[[], object], clock: Clock) -> float:
    times = []
    for _ in range(5):
        start = clock()
        for _ in range(MANY):
            call()
        times.append((clock() - start) / MANY)
    return min(times)


def _is_cached(output: Any, call: Callable[[], Any]) -> bool:
    """Whether one object is an earlier result: an array that can be written is written first, as a
    computation in place would restore it. None, texts, small integers and other objects may be one
    for good reason."""
    if hasattr(output, "shape") and hasattr(output, "dtype"):
        copy = output.clone() if hasattr(output, "clone") else output.copy()
        try:
            output[...] = 0 * copy + 77
        except (TypeError, ValueError, RuntimeError):  # it cannot be written: it was not computed
            return True
        stays = bool((call() == 0 * copy + 77).all())
        output[...] = copy
        return stays
    is_large = isinstance(output, int) and abs(output) > 256 and not isinstance(output, bool)
    return is_large or (isinstance(output, float | complex | bytes | tuple) and bool(output))


def _equal(left: Sample, right: Sample) -> bool:
    import numpy as np

    return left[0] == right[0] and bool(np.array_equal(left[1], right[1], equal_nan=True))


def _difference(left: Sample, right: Sample) -> float:
    """Relative, by the Euclidean norm; 1 for another shape."""
    import numpy as np

    if left[0] != right[0]:
        return 1.0
    size = float(np.linalg.norm(right[1]))
    difference = float(np.linalg.norm(np.subtract(left[1], right[1])))
    return difference / size if size > 0 else float(difference > 0)


def input_samples(session: TakesInputs) -> tuple[Any, ...]:
    arrays = map(_numpy, _arrays(session.fresh_inputs(0)))
    return tuple(sample_values(array)[1] for array in arrays if array.size)


def _same_values(left: Any, right: Any) -> bool:
    import numpy as np

    return bool(np.array_equal(left, right))


def _numpy(leaf: Any) -> Any:
    import numpy as np

    tensor = leaf.detach().float().cpu() if hasattr(leaf, "detach") else leaf
    return np.asarray(tensor)


def _arrays(tree: Any) -> Iterator[Any]:
    if isinstance(tree, Mapping):
        tree = list(tree.values())
    if isinstance(tree, Sequence) and not isinstance(tree, str):
        for part in tree:
            yield from _arrays(part)
    elif hasattr(tree, "shape") and hasattr(tree, "dtype"):
        yield tree
