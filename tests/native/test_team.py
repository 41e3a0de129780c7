"""A team does every part once, waits for nobody who has not begun, and leaves nothing running."""

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
    """The program of tests/native/team.cpp, which stops at the first thing a sanitizer sees."""
    program = tmp_path_factory.mktemp("team") / "team"
    flags = ["-std=c++17", "-pthread", *request.param, f"-I{RUNTIME}"]
    source = Path(__file__).with_name("team.cpp")
    command = [*toolchain("portable").command, *flags, str(source), "-o", str(program)]
    subprocess.run(command, check=True)
    return program


@pytest.mark.parametrize("rule", RULES)
def test_a_team_keeps_its_promise(rule, rules):
    ended = subprocess.run(
        [str(rules), rule], capture_output=True, text=True, check=False, timeout=120
    )

    assert (ended.returncode, ended.stderr) == (0, "")
