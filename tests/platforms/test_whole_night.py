"""PerfZero's nightly job from end to end: every part is the real one, and on this machine."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

import assay
from assay.platforms.sinks import bigquery
from tests.platforms.services import serving

pytestmark = [pytest.mark.long, pytest.mark.real("google.cloud.bigquery")]
BENCH = """
import assay


class Sums(assay.Benchmark):
    def benchmark_small(self):
        self.report_benchmark(iters=1, wall_time={seconds} * (1 + 0.001 * (id(self) // 16 % 7)))
"""
PLAN = """
label = "{label}"
[bench]
methods = ["sums_bench.Sums.benchmark_small"]
repositories = ["{source};main"]
python_path = ["sums"]
trials = 12
[check]
since = "label:before"
fail_on = ["wall_time:5%"]
[sinks]
bigquery = "p:night.summary"
table = "perfzero"
[alerts]
to = ["env:NIGHT_WEBHOOK"]
"""


def commit(source: Path, seconds: float) -> None:
    source.mkdir(exist_ok=True)
    (source / "sums_bench.py").write_text(BENCH.format(seconds=seconds))
    name = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    if not (source / ".git").exists():
        subprocess.run(["git", "init", "-q", "-b", "main"], cwd=source, check=True)
    subprocess.run(["git", "add", "."], cwd=source, check=True)
    subprocess.run(["git", *name, "commit", "-q", "-m", str(seconds)], cwd=source, check=True)


def scheduled(plan: Path, home: Path, variables: dict[str, str]) -> subprocess.CompletedProcess:
    """As cron runs its line: by sh, with next to no environment."""
    (text,) = assay.schedule(plan, every="night", kind="cron", store=home).values()
    line = re.sub(r"^\S+ \S+ \S+ \S+ \S+ ", "", text.splitlines()[-1]).replace(r"\%", "%")
    few = {"PATH": "/usr/bin:/bin", "HOME": os.environ["HOME"], **variables}
    return subprocess.run(["/bin/sh", "-c", line], env=few, capture_output=True, text=True)


def test_a_night_from_plan_to_dashboard(tmp_path, home, bigquery_emulator, monkeypatch):
    told: list[dict] = []

    def webhook(method, path, headers, body):
        told.append(json.loads(body))
        return 200, b""

    source, plan = tmp_path / "sums", tmp_path / "nightly.toml"
    with serving(webhook) as (_, address):
        variables = {
            "NIGHT_WEBHOOK": address,
            bigquery.EMULATOR: f"http://127.0.0.1:{bigquery_emulator}",
        }
        commit(source, 0.5)
        plan.write_text(PLAN.format(label="before", source=source))
        first = scheduled(plan, home, variables)
        commit(source, 0.8)
        plan.write_text(PLAN.format(label="nightly", source=source))
        second = scheduled(plan, home, variables)

    assert first.returncode in (0, 6), first.stderr  # there is nothing to hold it against yet
    assert second.returncode == 5, second.stdout + second.stderr
    assert "wall_time" in second.stdout and "regression" in second.stdout

    alert = told[-1]
    assert "1 regression found" in alert["text"]
    (worse,) = [one for one in alert["assay"]["checked"]["found"] if one["metric"] == "wall_time"]
    assert 1.5 < worse["size"] < 1.7

    monkeypatch.setenv(bigquery.EMULATOR, variables[bigquery.EMULATOR])
    query = "SELECT execution_id, benchmark_result FROM `p.night.summary`"
    rows = {row[0]: json.loads(row[1]) for row in bigquery._client("p").query(query).result()}
    kept = {one.result.id.replace("/", "-"): one for one in assay.read_results(store=home)}
    assert rows.keys() == kept.keys() and len(rows) == 24
    for name, row in rows.items():
        assert row["wall_time"] == kept[name].result.values("wall_time")[0]

    site = assay.publish(tmp_path / "site", store=home)
    pages = {path: path.read_text() for path in site.rglob("*.html")}
    (newest,) = {one.result.run for one in kept.values() if one.result.label == "nightly"}
    shown = [str(path) for path, text in pages.items() if newest in text]
    assert any("sums_bench.Sums.benchmark_small" in pages[Path(path)] for path in shown)
    assert [line.status for line in assay.scheduled_runs(plan, "night", home)][-1] == 5
