"""The backend tests of the onnx package through the importer, and what the check of a file costs.

    python benchmarks/onnx_suite.py            # counts, refusals and skips by reason, seconds
    python benchmarks/onnx_suite.py a.onnx …   # seconds that the check adds to a run, for each file

The first check of a file is in another process, which loads ONNX Runtime; a cached one reads the
digests of the file and of the build.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))


def main() -> None:
    if sys.argv[1:]:
        _print_checks(sys.argv[1:])
    else:
        _print_suite()


def _print_suite() -> None:
    from tests.native.onnx_suite import counts, refusals, run_suite

    start = time.perf_counter()
    outcomes = run_suite()
    seconds = time.perf_counter() - start
    skips = Counter(each.reason for each in outcomes.values() if each.status == "skipped")
    for status, reasons in (("refused", refusals(outcomes)), ("skipped", skips)):
        for reason, count in reasons.most_common():
            print(f"{count:5} {status}: {reason}")
    totals = ", ".join(f"{count} {status}" for status, count in counts(outcomes).items())
    print(f"{len(outcomes)} tests: {totals}; {seconds:.1f} s for import and reference")


def _print_checks(paths: list[str]) -> None:
    from assay.backends.captured._onnx_check import check_once
    from assay.native.compile import compile_graph
    from assay.native.onnx.read import import_onnx
    from assay.native.toolchain import toolchain

    print("| file | first check (s) | cached (s) | outcome |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            built = compile_graph(import_onnx(path).graph, toolchain()).built
            seconds = []
            for _ in range(2):
                start = time.perf_counter()
                outcome = check_once(path, {}, built, "auto", Path(folder))
                seconds.append(f"{time.perf_counter() - start:.3f}")
            print(f"| {Path(path).name} | {' | '.join(seconds)} | {outcome} |", flush=True)


if __name__ == "__main__":
    main()
