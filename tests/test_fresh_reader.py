"""What the README says first works as written: install, first table, first ab, first page."""

from __future__ import annotations

import os
import re
import subprocess
import urllib.request
from pathlib import Path

import pytest

pytestmark = [pytest.mark.long, pytest.mark.real("jax"), pytest.mark.timeout(1800)]
ROOT = Path(__file__).parent.parent


def install_block(readme: str) -> list[str]:
    (block,) = re.findall(r"## Install\n.*?```\n(.*?)```", readme, re.DOTALL)
    return block.splitlines()


def test_a_reader_of_the_readme_gets_a_table_a_verdict_and_a_page(tmp_path):
    clone = tmp_path / "assay"
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    *commands, serve = install_block((clone / "README.md").read_text())
    inherited = {name: os.environ[name] for name in os.environ if not name.startswith("PYTHON")}
    environment = {
        **inherited,
        "ASSAY_HOME": str(tmp_path / "home"),
        "PIP_REQUIRE_VIRTUALENV": "1",  # nothing is installed outside of the clone
    }

    shell = ["bash", "-e", "-c", "\n".join(commands)]
    ended = subprocess.run(shell, cwd=clone, env=environment, capture_output=True, text=True)

    assert ended.returncode in (0, 6), ended.stderr  # 6: undecided, on a busy machine
    assert re.search(r"^mnist-mlp@jax .* ok$", ended.stdout, re.MULTILINE), ended.stdout
    assert re.search(r"^(faster|slower|same|cannot-tell): ", ended.stdout, re.MULTILINE)
    dashboard = subprocess.Popen(
        [".venv/bin/assay", *serve.split()[1:], "--port", "0"],
        cwd=clone,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        address = dashboard.stdout.readline().split()[0]
        with urllib.request.urlopen(address) as page:
            assert "mnist-mlp@jax" in page.read().decode()
    finally:
        dashboard.terminate()
        dashboard.wait()
