"""Fixtures that many tests share, and the rule for tests that need something real."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from assay.cli import main

if TYPE_CHECKING:
    from tests.postgres import PostgresServer

pytest_plugins = ("tests.commands.fixtures",)

_PROGRAMS = {
    "chromium": ("chromium",),
    "postgresql": ("pg_ctlcluster",),
    "compiler": ("g++", "c++"),
}
_PROGRAMS |= {"hyperfine": ("hyperfine",), "qemu": ("qemu-x86_64",), "clang": ("clang++",)}
_PROGRAMS |= {name: (name,) for name in ("buildah", "mmdebstrap", "ip")}
_skipped: Counter[str] = Counter()
# XLA compiles in a third of the time, here and in every process that a test starts; what it makes
# is slow, but computes the same.
_QUICK = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
if _QUICK not in os.environ.get("XLA_FLAGS", ""):  # of the process that has started this one
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_QUICK}".strip()


def _is_here(need: str) -> bool:
    if need in _PROGRAMS:
        return any(shutil.which(program) for program in _PROGRAMS[need])
    try:
        return importlib.util.find_spec(need) is not None
    except ModuleNotFoundError:  # of a package that it would be in
        return False


def pytest_collection_finish(session: pytest.Session) -> None:
    """Where a test will want Keras, it is loaded now, on JAX and with settings of its own: the
    first to load it chooses the engine for all in the process. Others see nothing of this."""
    marks = [mark for item in session.items for mark in item.iter_markers("real")]
    wanted = {need for mark in marks for need in mark.args}
    if not {"keras", "jax"} <= wanted or not all(map(_is_here, ("keras", "jax"))):
        return
    if "keras" in sys.modules:
        raise pytest.UsageError("a test file imports keras at its top, which chooses its engine")
    with tempfile.TemporaryDirectory() as home, pytest.MonkeyPatch.context() as variables:
        for name, value in {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}.items():
            variables.setenv(name, value)
        variables.setenv("KERAS_HOME", home)
        importlib.import_module("keras")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test that needs what is not here is skipped, but fails in CI: there everything must run."""
    for mark in item.iter_markers("real"):
        for need in mark.args:
            if _is_here(need):
                continue
            if os.environ.get("CI"):
                pytest.fail(f"{need} is not installed, and in CI nothing may be skipped")
            pytest.skip(f"needs {need}")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and isinstance(report.longrepr, tuple):
        _skipped[report.longrepr[2]] += 1


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    counts = ", ".join(f"{count} x {reason}" for reason, count in _skipped.items())
    terminalreporter.write_line(f"skip count: {sum(_skipped.values())} ({counts or 'none'})")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test keeps its results in a folder of its own."""
    folder = tmp_path / "assay-home"
    monkeypatch.setenv("ASSAY_HOME", str(folder))
    return folder


@pytest.fixture
def keep(home: Path) -> Callable[..., str]:
    """Keep a run without measuring: `keep((case, seconds, status), …)` → its name."""
    from tests.kept_runs import keep_run

    return functools.partial(keep_run, home)


@pytest.fixture
def endings() -> str:
    """A user's file whose functions each end a worker in another way."""
    return str(Path(__file__).parent / "data" / "endings.py")


@pytest.fixture
def assay(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str, str]]:
    """The command line in this process: words → exit status, standard output, standard error."""

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["assay", *words])
        capfd.readouterr()
        with pytest.raises(SystemExit) as left:
            main.main()
        out, err = capfd.readouterr()
        return int(left.value.code or 0), out, err

    return call


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A real server, started when a test first wants it."""
    from tests.postgres import running

    with running() as server:
        yield server


@pytest.fixture
def database(postgres: PostgresServer) -> str:
    """The URL of a database without tables."""
    postgres.empty()
    return postgres.url


@pytest.fixture(scope="session")
def keras() -> ModuleType:
    """Keras in the test's own process: on JAX, as `pytest_collection_finish` has loaded it."""
    return importlib.import_module("keras")


@pytest.fixture(scope="session")
def cache_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For XDG_CACHE_HOME: what is compiled is kept for the whole session, and no longer."""
    base = tmp_path_factory.getbasetemp()
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cache"
