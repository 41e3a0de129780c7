"""Fixtures that many tests share, and the tiers of the tests."""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from assay.cli import main
from assay.core.files import user_path
from tests.tiers import mark_tiers

if TYPE_CHECKING:
    from tests.postgres import PostgresServer

pytest_plugins = ("tests.commands.fixtures", "tests.needs")

KEEP = 14 * 24 * 3600  # seconds after which a compiled runtime is compiled anew
# XLA compiles in a third of the time, here and in every process that a test starts; what it makes
# is slow, but computes the same.
_QUICK = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
if _QUICK not in os.environ.get("XLA_FLAGS", ""):  # of the process that has started this one
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_QUICK}".strip()


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_tiers(items)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Where a test will want Keras, it is loaded now, on JAX and with settings of its own: the
    first to load it chooses the engine for all in the process. Others see nothing of this."""
    from tests.needs import is_installed  # a plugin, which is imported after this file

    marks = [mark for item in session.items for mark in item.iter_markers("real")]
    wanted = {need for mark in marks for need in mark.args}
    if not {"keras", "jax"} <= wanted or not all(map(is_installed, ("keras", "jax"))):
        return
    if "keras" in sys.modules:
        raise pytest.UsageError("a test file imports keras at its top, which chooses its engine")
    with tempfile.TemporaryDirectory() as home, pytest.MonkeyPatch.context() as variables:
        for name, value in {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}.items():
            variables.setenv(name, value)
        variables.setenv("KERAS_HOME", home)
        importlib.import_module("keras")


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
    """For XDG_CACHE_HOME: models are cached for the session, the native runtime between runs."""
    base = tmp_path_factory.getbasetemp()
    home = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cache"
    native = home / "assay" / "native"
    native.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):  # by another process of this run
        (native / "runtime").symlink_to(shared_runtime(), target_is_directory=True)
    return home


def shared_runtime() -> Path:
    """Compiled runtimes of all runs; each is found by the digest of all that it depends on."""
    cache = os.environ.get("ASSAY_TEST_CACHE") or user_path("~/.cache/assay-tests")
    folder = Path(cache).absolute() / "runtime"
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        with contextlib.suppress(OSError):  # another process removed it
            if time.time() - path.stat().st_mtime > KEEP:
                shutil.rmtree(path, ignore_errors=True)
    return folder
