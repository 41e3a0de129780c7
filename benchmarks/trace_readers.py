"""Do the traces open elsewhere, and do others read the same times from them? Slow.

    python benchmarks/trace_readers.py PYTHON > docs/results/profiles.md

PYTHON is an interpreter with xprof, TensorBoard's reader of profiles; it need not be this one.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import assay
from assay.commands.profile import Profile
from assay.formats.traces import read as traces

CASES = [
    f"{workload}@{backend}"
    for workload in ("mnist-mlp", "cifar10-cnn")
    for backend in ("jax", "tensorflow", "keras-jax", "keras-tensorflow", "torch", "keras-torch")
]
TOOLS = ("overview_page", "framework_op_stats", "trace_viewer")
READ = f"""
import json, sys
from xprof.convert.raw_to_tool_data import xspace_to_tool_data
from importlib.metadata import version
found = {{tool: xspace_to_tool_data([sys.argv[1]], tool, {{}})[0] for tool in {TOOLS}}}
events = [one for one in json.loads(found["trace_viewer"])["traceEvents"] if one]
spans = [(one["name"], one["dur"]) for one in events if one.get("ph") == "X"]
sizes = {{tool: len(data) for tool, data in found.items()}}
print(json.dumps({{"version": version("xprof"), "sizes": sizes, "spans": spans}}))
"""
HEAD = """# Profiles, read by others

Written by `benchmarks/trace_readers.py`: five steps of each case under `assay profile`. For JAX and
TensorFlow, xprof (TensorBoard's reader) converts the trace, and the time of every operation that
assay lists is summed from xprof's trace viewer and from assay's own decoder; the largest relative
difference is shown. For torch the Chrome trace itself is read with Python's `json`.

| case | read by | events there | operations | largest difference | top operation | share |
|---|---|---:|---:|---:|---|---:|"""


def main() -> None:
    print(HEAD)
    for case in CASES:
        found = assay.profile(case)
        spaces = list(Path(found.folder).rglob("*.xplane.pb"))
        print(by_xprof(found, spaces[0]) if spaces else by_json(found), flush=True)


def by_xprof(found: Profile, space: Path) -> str:
    command = [sys.argv[1], "-c", READ, str(space)]
    told = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert all(told["sizes"].values()), told["sizes"]
    return row(found, f"xprof {told['version']}", told["spans"])


def by_json(found: Profile) -> str:
    events = json.loads(gzip.decompress(Path(found.trace).read_bytes()))["traceEvents"]
    kept = {"cpu_op", "kernel", "gpu_memcpy", "gpu_memset"}
    spans = [(one["name"], one["dur"]) for one in events if one.get("cat") in kept]
    return row(found, "json", spans)


def row(found: Profile, reader: str, spans: Iterable[tuple[str, float]]) -> str:
    """Whole times are compared, with what other operations did inside: all readers have those."""
    theirs: Counter[str] = Counter()
    count = 0
    for name, microseconds in spans:
        theirs[name] += microseconds / 1e6  # type: ignore[assignment]
        count += 1
    ours: Counter[str] = Counter()
    for event in traces.events(Path(found.folder)):
        if event.place == found.operations[0].place:
            # xprof shows an operation of TensorFlow, NAME:TYPE, by its type
            name = event.name if event.name in theirs else event.name.rpartition(":")[2]
            ours[name] += event.seconds  # type: ignore[assignment]
    worst = max(abs(theirs[name] / length - 1) for name, length in ours.items() if length > 0)
    top = found.operations[0]
    name = f"{top.name} ({top.source})" if top.source else top.name
    return (
        f"| {found.result.case.key} | {reader} | {count} | {len(found.operations)} | "
        f"{worst:.2%} | `{name}` | {top.share:.1%} |"
    )


if __name__ == "__main__":
    main()
