"""The version of the analysis goes up whenever a summary changes: kept ones are then rebuilt.

After a change that is meant: raise ANALYSIS in assay/core/findings.py, then write the golden file
again with `python -m tests.stats.test_version`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from assay.core import codec
from assay.core.findings import ANALYSIS_VERSION
from assay.core.records import Result, Samples
from assay.stats.summary import summarize
from tests.stats.test_summary import noisy, result, steady

GOLDEN = Path(__file__).parents[1] / "golden"
FILE = GOLDEN / "summaries.json"


def results() -> dict[str, Result]:
    """Made ones, of every kind that analysis treats in its own way, and those of golden runs."""
    processes = [steady(noisy(0.01 + 0.0004 * at, seed=at), process=at) for at in range(5)]
    single = Samples(metric="speed", unit="items/s", phase="steady", values=(3.0,))
    slowly = noisy(count=300) * (1 + 0.03 * np.exp(-np.arange(300) / 150))
    modes = noisy() * np.resize([1.0, 1.5, 1.0], 200)
    means = msgspec.structs.replace(steady(modes.reshape(-1, 20).mean(axis=1)), steps=20)
    found = {
        "noisy": result(steady(noisy())),
        "drifting": result(steady([0.01 + 1e-5 * at for at in range(200)])),
        "warming": result(steady(slowly[:150], phase="warmup"), steady(slowly[150:])),
        "means of steps": result(steady(modes, phase="warmup"), means),
        "five processes": result(*processes, processes=5),
        "latency": result(steady(noisy(spread=0.2, count=2000)), latency=True),
        "few": result(steady([0.1, 0.2, 0.3])),
        "one": result(steady([2.0])),
        "told by a session": result(single),
        "told by a log": msgspec.structs.replace(
            result(single, steady([0.1, 0.2], metric="step_time"), steady([1.0], metric="loss")),
            facts={"metric speed": "", "metric step_time": "", "metric loss": ""},
        ),
    }
    for file in sorted(GOLDEN.glob("runs/*/*/result.json")):
        found[f"{file.parent.parent.name}/{file.parent.name}"] = codec.decode(
            file.read_bytes(), Result, str(file)
        )
    return found


def golden() -> dict[str, Any]:
    summaries = {name: plain(summarize(one)) for name, one in results().items()}
    return {"analysis": ANALYSIS_VERSION, "summaries": summaries}


def plain(summary: object) -> Any:
    """Numbers to nine digits: another processor may round the last ones otherwise."""
    return rounded(json.loads(codec.encode(msgspec.to_builtins(summary))))


def rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, dict):
        return {name: rounded(item) for name, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list) else value


def test_a_summary_that_changed_has_a_new_version_of_the_analysis():
    kept, now = json.loads(FILE.read_text()), golden()

    changed = [
        name for name in now["summaries"] if kept["summaries"].get(name) != now["summaries"][name]
    ]

    assert changed == [], "raise ANALYSIS, then: python -m tests.stats.test_version"
    assert kept["analysis"] == ANALYSIS_VERSION, (
        "write it again: python -m tests.stats.test_version"
    )


if __name__ == "__main__":
    before = json.loads(FILE.read_text()) if FILE.exists() else {"analysis": 0, "summaries": {}}
    made = golden()
    if made["analysis"] == before["analysis"] and made["summaries"] != before["summaries"]:
        raise SystemExit("Summaries changed, but ANALYSIS did not: raise it first.")
    FILE.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n")
