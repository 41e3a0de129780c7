"""Programs and packages that marked tests need, and a report of those that are missing."""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import importlib.util
import os
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest

# need → programs of which one is enough, and the package of Debian that has it
PROGRAMS = {
    "buildah": (("buildah",), "buildah"),
    "chromium": (("chromium",), "chromium"),
    "clang": (("clang++",), "clang"),
    "compiler": (("g++", "c++"), "g++"),
    "hyperfine": (("hyperfine",), "hyperfine"),
    "ip": (("ip",), "iproute2"),
    "mmdebstrap": (("mmdebstrap",), "mmdebstrap debian-archive-keyring"),
    "postgresql": (("pg_ctlcluster",), "postgresql"),
    "qemu": (("qemu-x86_64",), "qemu-user"),
    "systemd-analyze": (("systemd-analyze",), "systemd"),
}
NOT_APPLICABLE = "not applicable: "  # begins the reason of a skip that CI accepts
_skipped: defaultdict[str, Counter[str]] = defaultdict(Counter)  # reason → file → tests


@functools.cache
def is_installed(need: str) -> bool:
    if need == "root":
        return os.geteuid() == 0
    if need in PROGRAMS:
        return any(shutil.which(program) for program in PROGRAMS[need][0])
    with contextlib.suppress(ModuleNotFoundError):  # of a package that it would be in
        if importlib.util.find_spec(need) is not None:
            return True
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return bool(importlib.metadata.version(need))
    return False


def install_hint(need: str) -> str:
    if need == "root":
        return "sudo make test"
    return f"apt-get install {PROGRAMS[need][1]}" if need in PROGRAMS else f"Python package {need}"


def with_needs(values: Iterable[Any], needs: Mapping[Any, tuple[str, ...]]) -> list[Any]:
    """Values of a parameter, of which some need something real."""
    return [
        pytest.param(value, marks=pytest.mark.real(*needs[value])) if value in needs else value
        for value in values
    ]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose needs are missing."""
    needs = dict.fromkeys(need for mark in item.iter_markers("real") for need in mark.args)
    missing = [need for need in needs if not is_installed(need)]
    if missing:
        hints = "; ".join(map(install_hint, missing))
        pytest.skip(f"needs {', '.join(missing)} ({hints})")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """In CI, where everything must run, a skipped test fails."""
    report = yield
    if os.environ.get("CI") and report.skipped and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if not reason.startswith(NOT_APPLICABLE):
            report.outcome = "failed"
            report.longrepr = f"{reason}, and in CI nothing may be skipped"
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        _skipped[reason][report.nodeid.partition("::")[0]] += 1


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    total = sum(files.total() for files in _skipped.values())
    if total:
        terminalreporter.section("skipped tests, by what is missing here")
    for reason, files in sorted(_skipped.items()):
        names = ", ".join(f"{file} ({count})" for file, count in sorted(files.items()))
        terminalreporter.write_line(f"{reason}: {names}")
    terminalreporter.write_line(f"skip count: {total}")
