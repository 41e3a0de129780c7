from __future__ import annotations

import pytest

from assay.logs.reader import classify_exit

RAISED = 'Traceback (most recent call last):\n  File "a.py"\nValueError: wrong shape\n'


@pytest.mark.parametrize(
    ("tail", "returncode", "status", "reason"),
    [
        ("CUDA out of memory, trying a smaller batch\n", 0, "ok", ""),
        (RAISED, 0, "ok", ""),
        (RAISED, 1, "failed", "the command ended with exit status 1: ValueError: wrong shape"),
        ("one\ntwo\n", 3, "failed", "the command ended with exit status 3: two"),
        ("", 3, "failed", "the command ended with exit status 3: it printed nothing"),
        ("one\n", -11, "crashed", "the command was ended by SIGSEGV: one"),
        (
            "std::bad_alloc\n",
            -6,
            "out-of-memory",
            "the command was ended by SIGABRT: std::bad_alloc",
        ),
        ("one\n", None, "ok", ""),
        (RAISED, None, "failed", "the log ends with: ValueError: wrong shape"),
        ("x\nMemoryError\n", None, "out-of-memory", "the log ends with: MemoryError"),
        (RAISED + "going on\n" * 9, None, "ok", ""),
    ],
)
def test_the_exit_status_decides_and_the_log_explains(tail, returncode, status, reason):
    assert classify_exit(tail, returncode) == (status, reason)
