"""Emulators from the package index, each in an environment of its own below `.venvs`."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import sysconfig
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
# An emulator's packages; the last of BigQuery's is an extension that it would fetch otherwise.
BIGQUERY = ("bqemulator==1.4.0", "duckdb==1.5.5", "numpy", "duckdb-extension-spatial==1.5.5")
STORAGE = ("gcp-storage-emulator==2026.7.19",)
S3 = ("moto[s3,server]==5.2.5",)


def environment(name: str, packages: tuple[str, ...], borrowed: bool = False) -> Path:
    """Its folder of programs; made once, and kept for the next time. With `borrowed`, what it lacks
    is found among the packages of these tests, so that no framework is installed twice."""
    folder = ROOT / ".venvs" / name
    folder.parent.mkdir(exist_ok=True)
    with open(folder.parent / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        mark = folder / "made-of"
        if not mark.is_file() or mark.read_text() != " ".join(packages):
            subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
            if borrowed:
                (there,) = (folder / "lib").glob("python*/site-packages")
                (there / "borrowed.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
            pip = [folder / "bin" / "pip", "install", "--quiet", *packages]
            subprocess.run(pip, check=True, capture_output=True)
            mark.write_text(" ".join(packages))
    return folder / "bin"


@contextmanager
def running(words: list[str], address: str, variables: Mapping[str, str]) -> Iterator[None]:
    """The emulator's process, once it answers."""
    with subprocess.Popen(
        words,
        env={**os.environ, **variables},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            _wait(process, address)
            yield
        finally:
            process.terminate()
            process.wait(30)


def _wait(process: subprocess.Popen, address: str) -> None:
    while process.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"the emulator left with {process.returncode}")


def with_spatial(programs: Path, home: Path) -> dict[str, str]:
    """DuckDB looks for its extensions below HOME, and would fetch what is not there."""
    (source,) = programs.parent.glob("lib/*/site-packages/duckdb_extension_spatial/extensions/v*")
    target = home / ".duckdb" / "extensions" / source.name / "linux_amd64"
    target.mkdir(parents=True)
    (target / "spatial.duckdb_extension").symlink_to(source / "spatial.duckdb_extension")
    return {"HOME": str(home)}
