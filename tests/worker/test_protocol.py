"""What every child process does: it hears orders, says answers, and words its failures."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
from importlib import metadata

import msgspec
import pytest

from assay.core.errors import EndingError, UsageError
from assay.core.messages import (
    Calibrate,
    Close,
    Failed,
    Response,
    TakeSamples,
    TimedSteps,
    pack,
    unpack,
)
from assay.worker.protocol import failure, packages, send
from tests.measure.test_endings import gone

# Says which process it has started, that would live on; then the steps of every order to take some.
HEARING = """
import subprocess, sys
from assay.core.messages import Calibrated, TakeSamples
from assay.worker.protocol import read_requests, send

left = subprocess.Popen(["sleep", "1000"])
send(int(sys.argv[2]), Calibrated(steps=left.pid))
for order in read_requests(int(sys.argv[1])):
    if isinstance(order, TakeSamples):
        send(int(sys.argv[2]), Calibrated(steps=order.steps))
"""


class Hearing:
    """A process that hears orders, seen from its parent."""

    def __init__(self):
        hears, self.orders = os.pipe()
        self.answers, says = os.pipe()
        self.process = subprocess.Popen(
            [sys.executable, "-c", HEARING, str(hears), str(says)],
            pass_fds=(hears, says),
            start_new_session=True,
        )
        os.close(hears)
        os.close(says)
        self._heard = bytearray()
        self.child = self.steps()

    def steps(self):
        """Of the next answer."""
        while not (body := next(unpack(self._heard), b"")):
            data = os.read(self.answers, 1 << 16)
            assert data, "the process ended without an answer"
            self._heard += data
        return msgspec.msgpack.decode(body, type=Response).steps


@pytest.fixture
def hearing():
    started = Hearing()
    yield started
    started.process.kill()
    started.process.wait()
    os.close(started.answers)


def test_an_order_that_comes_in_pieces_is_heard_whole(hearing):
    order = pack(TakeSamples(steps=7, count=1, seconds=0.0))

    for piece in (order[:2], order[2:6], order[6:]):
        os.write(hearing.orders, piece)

    assert hearing.steps() == 7
    os.close(hearing.orders)


def test_orders_that_come_together_are_heard_one_after_the_other(hearing):
    first, second = (pack(TakeSamples(steps=n, count=1, seconds=0.0)) for n in (1, 2))

    os.write(hearing.orders, first + pack(Calibrate()) + second + pack(Close()))

    assert [hearing.steps(), hearing.steps()] == [1, 2]
    os.close(hearing.orders)


def test_when_the_parent_is_gone_the_whole_group_ends(hearing):
    os.close(hearing.orders)

    assert hearing.process.wait(30) == -9
    assert gone(hearing.child)


def test_an_answer_larger_than_the_pipe_is_said_whole_with_what_is_no_number():
    seconds = (math.nan, math.inf, *map(float, range(50_000)))
    answer = TimedSteps(starts=(), seconds=seconds, steps=1)
    source, sink = os.pipe()
    speaking = threading.Thread(target=send, args=(sink, answer))

    speaking.start()
    heard = bytearray()
    while not (found := list(unpack(heard))):
        heard += os.read(source, 1 << 16)
    speaking.join()

    assert repr(msgspec.msgpack.decode(found[0], type=Response)) == repr(answer)
    os.close(source)
    os.close(sink)


TENSORFLOW = (
    "\x1b[1mGraph execution error\x1b[0m:\n\n"
    '  File "train.py", line 3, in <module>\n'
    "OOM when allocating tensor"
)


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (EndingError("skipped", "no GPU here"), "skipped", "no GPU here"),
        (ValueError("no good"), "failed", "ValueError: no good"),
        (ValueError(), "failed", "ValueError: ValueError"),
        (MemoryError(), "out-of-memory", "MemoryError: MemoryError"),
        (RuntimeError("CUDA out of memory."), "out-of-memory", "RuntimeError: CUDA out of memory."),
        (ValueError("RESOURCE_EXHAUSTED: 2 GB"), "out-of-memory", "ValueError: RESOURCE_EXHAUST"),
        (
            UsageError("No such thing.", hint="Try another."),
            "failed",
            "No such thing. Try another.",
        ),
        (UsageError("No such thing."), "failed", "No such thing."),
        (RuntimeError(TENSORFLOW), "out-of-memory", "RuntimeError: Graph execution error:\nOOM wh"),
    ],
)
def test_every_error_is_an_ending_in_words(error, status, reason):
    found = failure(error)

    assert isinstance(found, Failed)
    assert found.status == status
    assert found.reason.startswith(reason)


def test_packages_are_those_loaded_and_a_pipe_needs_few_of_them():
    script = "from assay.worker.protocol import packages; print(*packages())"

    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert "msgspec" in ran.stdout.split()
    assert not {"numpy", "click", "pytest"} & set(ran.stdout.split())


def test_packages_are_as_the_standard_library_finds_them():
    loaded = {name.partition(".")[0] for name in sys.modules}
    owners = metadata.packages_distributions()
    expected = {owner for name in loaded for owner in owners.get(name, ())}

    assert packages() == {owner: metadata.version(owner) for owner in sorted(expected)}
