from __future__ import annotations

import gzip
import json

import pytest

from assay.core.protobuf import DamagedError
from assay.formats.traces import chrome
from assay.formats.traces.chrome import Event

TORCH = {
    "traceEvents": [
        {"ph": "M", "name": "process_name", "pid": 7, "tid": 0, "args": {"name": "python"}},
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": 8, "ts": 2.5, "dur": 4},
        {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 3, "dur": 2},
        {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "x"},
        {"ph": "i", "name": "Record Window End", "pid": "", "tid": "", "ts": 9},
    ]
}


@pytest.mark.parametrize("packed", [bytes, gzip.compress])
def test_torch_tells_its_operations_by_category(packed):
    found = list(chrome.events(packed(json.dumps(TORCH).encode())))

    assert found == [
        Event("aten::mm", "7", "8", 2.5e-6, 4e-6, "host"),
        Event("gemm", "0", "7", 3e-6, 2e-6, "device"),
        Event("PyTorch Profiler (0)", "Spans", "x", 0.0, 0.0, ""),
    ]


def test_a_written_trace_has_named_lanes_and_microseconds():
    events = [
        Event("dot", "/host:CPU", "client", 2e-6, 3e-6, "host", "dense/dot_general"),
        Event("call", "/host:CPU", "python", 1e-6, 5e-6, ""),
    ]

    written = json.loads(gzip.decompress(chrome.document(events)))["traceEvents"]

    names = {one["args"]["name"] for one in written if one["ph"] == "M"}
    dot, call = (one for one in written if one["ph"] == "X")
    assert names == {"/host:CPU", "client", "python"}
    assert (dot["ts"], dot["dur"], dot["args"]) == (2.0, 3.0, {"source": "dense/dot_general"})
    assert dot["pid"] == call["pid"] and dot["tid"] != call["tid"]


@pytest.mark.parametrize("damaged", [b"", b"{", b"{}", gzip.compress(b"{}", mtime=0)[:-9], b"[1]"])
def test_what_is_no_trace_is_damaged(damaged):
    with pytest.raises(DamagedError):
        list(chrome.events(damaged))
