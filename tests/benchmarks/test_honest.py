"""benchmarks/honest.py: honest cases are neither refused nor named."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.real("torch")
def test_honest_cases_have_no_doubt():
    words = [sys.executable, str(ROOT / "benchmarks" / "honest.py"), "--quick"]

    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, check=True)

    assert re.match(r"4 cases, 0 refused, 0 named\n", done.stdout), done.stdout + done.stderr
