"""Every reader of files that may come from elsewhere, each with a file it likes."""

from __future__ import annotations

import contextlib
import io
import json
import multiprocessing
import pickle
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from assay.core.archives import unpack
from assay.core.errors import AssayError
from assay.datasets.pickles import load_arrays
from assay.formats.perfzero import proto, report
from assay.formats.traces import chrome
from assay.logs.files import read_tasks
from assay.measure.import_file import read_file
from assay.measure.task import parse_log_file, suggest_metrics
from assay.monitors.sources import series
from assay.weights import files as weights
from tests.faults.world import ROOT

TOML = """
[tasks.train]
command = "python train.py --epochs 3"
timeout = "10m"
repeats = 2
[tasks.train.metrics.speed]
pattern = 'speed: ([0-9.]+)'
compute = "average"
"""
CFG = r"""
[section]
patterns = ['Speed: (\d+) samples/sec', 'accuracy=(\d+)']
metrics = ['speed', 'accuracy']
compute_method = ['average', 'last']
command_to_execute = python train.py --gpus 8
num_gpus = 8
"""
HYPERFINE = {
    "results": [{"command": "sleep 1", "mean": 1.0, "stddev": 0.1, "times": [1.0, 1.1, 0.9]}]
}


def _tar() -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as tar:
        for name in ("folder/one", "folder/two", "three"):
            info = tarfile.TarInfo(name)
            info.size = 5
            tar.addfile(info, io.BytesIO(b"12345"))
    return data.getvalue()


def _zip() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as pack:
        for name in ("folder/one", "folder/two", "three"):
            pack.writestr(name, b"12345" * 100)
    return data.getvalue()


def _npz() -> bytes:
    data = io.BytesIO()
    np.savez(data, **{"conv2d_1/kernel": np.zeros((3, 3, 1, 2)), "conv2d_1/bias": np.zeros(2)})
    return data.getvalue()


def _h5(spare: Path) -> bytes:
    from assay.weights.h5 import write_h5

    path = spare / "made.weights.h5"
    write_h5(path, {"dense_1/kernel": np.zeros((2, 2)), "dense_1/bias": np.zeros(2)})
    return path.read_bytes()


def files(spare: Path) -> dict[str, bytes]:
    """Name of a file, whose ending says who reads it → what is in it."""
    logs = sorted((ROOT / "tests" / "logs" / "logs").glob("*.log"))
    return {
        "tasks.toml": TOML.encode(),
        "tasks.cfg": CFG.encode(),
        **{f"{log.stem}.log": log.read_bytes()[:20_000] for log in logs[:12]},
        "archive.tar.gz": _tar(),
        "archive.zip": _zip(),
        "weights.npz": _npz(),
        "made.h5": _h5(spare),
        "rows.pickle": pickle.dumps({b"data": np.zeros((2, 3), np.uint8), b"labels": [1, 2]}, 2),
        "entries.proto": (ROOT / "tests/golden/benchmark-entries-tf-2.21").read_bytes(),
        "trace.chrome": json.dumps(
            {"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 2, "pid": 1, "tid": 1}]}
        ).encode(),
        "hyperfine.json": json.dumps(HYPERFINE).encode(),
        "process.info": b'{"time": 0.1, "rss": 1.0, "vms": 2.0, "cpu_percent": 3.0}\n' * 3,
        "report.line": b'{"name": "a", "iters": 1, "wall_time": 0.5}',
    }


def _read_log(path: Path) -> None:
    parse_log_file(suggest_metrics(path), path)


def _read_h5(path: Path) -> None:
    """In a process of its own, as in assay: libhdf5 itself may crash over a damaged file."""
    reader = multiprocessing.get_context("fork").Process(target=_h5_or_error, args=(path,))
    reader.start()
    reader.join()
    assert reader.exitcode != 1, "it raised what nobody expects"


def _h5_or_error(path: Path) -> None:
    with contextlib.suppress(AssayError):
        weights.read(path)


def _read_line(path: Path) -> None:
    with contextlib.suppress(ValueError):  # as it promises
        report.read_line(path.read_bytes())


READERS: dict[str, Callable[[Path], object]] = {
    ".toml": read_tasks,
    ".cfg": read_tasks,
    ".log": _read_log,
    ".gz": lambda path: unpack(path, path.parent / "unpacked"),
    ".zip": lambda path: unpack(path, path.parent / "unpacked"),
    ".npz": weights.read,
    ".h5": _read_h5,
    ".pickle": load_arrays,
    ".proto": lambda path: proto.decode(path.read_bytes()),
    ".chrome": lambda path: list(chrome.events(path.read_bytes())),
    ".json": read_file,
    ".info": series.read,
    ".line": _read_line,
}
