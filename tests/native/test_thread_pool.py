"""A thread pool runs each part once, waits only for started parts, and leaves nothing running."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from assay.native.build import RUNTIME
from assay.native.toolchain import SANITIZE_FLAGS, toolchain
from tests.native.conftest import RACES

pytestmark = pytest.mark.real("compiler")

RULES = ("even", "slow helpers", "slow caller", "more than cores", "alone")
RULES += ("unbegun", "sleep", "ending", "throws")


@pytest.fixture(scope="module", params=[SANITIZE_FLAGS, RACES], ids=["memory", "races"])
def rules(request, tmp_path_factory):
    """The program of tests/native/thread_pool.cpp; it stops at the first report of a sanitizer."""
    program = tmp_path_factory.mktemp("pool") / "pool"
    flags = ["-std=c++17", "-pthread", *request.param, f"-I{RUNTIME}"]
    source = Path(__file__).with_name("thread_pool.cpp")
    command = [*toolchain("portable").command, *flags, str(source), "-o", str(program)]
    subprocess.run(command, check=True)
    return program


@pytest.mark.parametrize("rule", RULES)
def test_a_thread_pool_keeps_its_promise(rule, rules):
    ended = subprocess.run(
        [str(rules), rule], capture_output=True, text=True, check=False, timeout=120
    )

    assert (ended.returncode, ended.stderr) == (0, "")
