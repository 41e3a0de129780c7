"""The tiers of the tests, and the report of tests that a machine cannot run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiers import STAYS

ROOT = Path(__file__).parent.parent
NEEDS = """
import pytest

@pytest.mark.real("chromium")
@pytest.mark.parametrize("page", ["a", "b"])
def test_page(page):
    assert page

@pytest.mark.real("postgresql", "no_such_package")
def test_table():
    assert True

def test_plain():
    assert True
"""


@pytest.fixture
def run_tests(tmp_path):
    """Run a file of tests with the plugin of this project, on a machine without programs."""

    def run(text: str, *words: str, plugin: str = "tests.needs", **variables: str):
        (tmp_path / "test_it.py").write_text(text)
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "pytest.ini").write_text(
            "[pytest]\nmarkers =\n  real: needs\n  family: of models\n  long: takes long\n"
        )
        variables = {"PATH": str(tmp_path / "bin"), "PYTHONPATH": str(ROOT), **variables}
        command = [sys.executable, "-m", "pytest", "-q", "-p", plugin, "-p", "no:cacheprovider"]
        return subprocess.run(
            [*command, *words, "test_it.py"],
            cwd=tmp_path,
            env=variables,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_a_machine_without_root_and_apt_reports_each_need_once_and_passes(run_tests):
    packages = subprocess.run(
        ["/bin/sh", str(ROOT / "tools" / "system_packages.sh"), "chromium"],
        env={"PATH": "/nowhere"},
        capture_output=True,
        text=True,
        check=False,
    )
    done = run_tests(NEEDS)
    lines = done.stdout.splitlines()

    assert (packages.returncode, done.returncode) == (0, 0), done.stdout
    assert lines.count("needs chromium (apt-get install chromium): test_it.py (2)") == 1
    assert "needs postgresql, no_such_package (apt-get install postgresql; Python package" in (
        done.stdout
    )
    assert "skip count: 3" in lines
    assert done.stdout.count("apt-get install chromium") == 1


def test_in_ci_a_missing_program_fails_the_job(run_tests):
    done = run_tests(NEEDS, CI="true")

    assert done.returncode == 1
    assert (
        "needs chromium (apt-get install chromium), and in CI nothing may be skipped" in done.stdout
    )
    assert done.stdout.splitlines()[-1].startswith("1 passed, 3 errors")


@pytest.mark.parametrize(
    ("reason", "expected"),
    [("needs oneDNN", "1 error"), ("not applicable: an older CPU", "1 skipped")],
)
def test_in_ci_a_skip_passes_only_where_a_test_does_not_apply(run_tests, reason, expected):
    text = (
        f"import pytest\n@pytest.mark.skipif(True, reason={reason!r})\ndef test_it():\n    pass\n"
    )

    assert expected in run_tests(text, CI="true").stdout.splitlines()[-1]
    assert "1 skipped" in run_tests(text).stdout


def test_the_benchmark_of_tiers_records_every_test(run_tests, tmp_path):
    folder = tmp_path / "records"
    folder.mkdir()
    path = f"{ROOT}:{ROOT / 'benchmarks'}"

    run_tests(NEEDS, "-p", "tiers", PYTHONPATH=path, ASSAY_TIERS_FOLDER=str(folder))
    (lines,) = [file.read_text().splitlines() for file in folder.iterdir()]

    names = [json.loads(line)["id"].partition("::")[2] for line in lines]
    assert names == ["test_page[a]", "test_page[b]", "test_table", "test_plain"]


FAMILY = """
import pytest
from tests import tiers

tiers.STAYS = {"nets": frozenset({"small"})}

@pytest.mark.family(network="nets")
@pytest.mark.parametrize("network", [NAMES])
def test_network(network):
    assert network
"""
PLUGIN = """
import pytest
from tests.tiers import mark_tiers

@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    mark_tiers(items)
"""


@pytest.mark.parametrize(
    ("select", "expected"), [("not long", "1 passed"), ("long", "2 passed"), ("", "3 passed")]
)
def test_one_member_of_a_family_stays_and_the_others_are_long(
    run_tests, tmp_path, select, expected
):
    (tmp_path / "conftest.py").write_text(PLUGIN)
    text = FAMILY.replace("NAMES", '"small", "large", "huge"')

    done = run_tests(text, "-m", select)

    assert done.returncode == 0, done.stdout
    assert expected in done.stdout


def test_a_family_of_which_no_member_stays_is_an_error(run_tests, tmp_path):
    (tmp_path / "conftest.py").write_text(PLUGIN)

    done = run_tests(FAMILY.replace("NAMES", '"large", "huge"'), "-m", "not long")

    assert done.returncode == 4
    assert "test_network runs in no member in `make test`. List one in STAYS" in done.stderr


def test_every_family_that_is_listed_is_used():
    sources = "".join(path.read_text() for path in (ROOT / "tests").rglob("*.py"))
    families = set(re.findall(r'mark\.family\(\w+="(\w+)"', sources))

    assert STAYS.keys() <= families
