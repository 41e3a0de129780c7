"""Files really written by other tools, each a small benchmark of a sum."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.platforms.emulators import environment

OPTIMUM_PACKAGES = (
    "optimum-benchmark==0.6.0",
    *("transformers<4.56", "huggingface_hub<1", "datasets<5", "diffusers<0.36", "peft<0.18"),
)
OPTIMUM = """\
import sys, tempfile
from optimum_benchmark import Benchmark, BenchmarkConfig, InferenceConfig, InlineConfig
from optimum_benchmark import PyTorchConfig
from transformers import BertConfig, BertForSequenceClassification

sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
with tempfile.TemporaryDirectory() as folder:
    config = BertConfig(intermediate_size=64, vocab_size=100, **sizes)
    BertForSequenceClassification(config).save_pretrained(folder)
    config = BenchmarkConfig(
        name="forward",
        launcher=InlineConfig(),
        backend=PyTorchConfig(
            model=folder, device="cpu", task="text-classification", library="transformers"
        ),
        scenario=InferenceConfig(
            memory=True, iterations=5, duration=0, warmup_runs=1,
            input_shapes={"batch_size": 2, "sequence_length": 8},
        ),
    )
    Benchmark(config=config, report=Benchmark.launch(config)).save_json(sys.argv[1])
"""
OPTIMUM_READS = """\
import json, sys
from optimum_benchmark import Benchmark

report = Benchmark.from_json(sys.argv[1]).report
print(json.dumps({name: target.latency.values for name, target in vars(report).items()}))
"""
PYTEST = """\
import pytest

@pytest.mark.parametrize("n", [10, 100])
def test_sum(benchmark, n):
    benchmark.extra_info["colour"] = "red"
    benchmark.pedantic(lambda: sum(range(n)), rounds=7, iterations=3)
"""
GOOGLE = """\
import google_benchmark as benchmark

@benchmark.register(name="sum")
def of_thousand(state):
    while state:
        sum(range(1000))
    state.counters["things"] = 3.5

@benchmark.register
@benchmark.option.unit(benchmark.kMillisecond)
@benchmark.option.arg_name("n")
@benchmark.option.arg(100)
def custom(state):
    while state:
        sum(range(state.range(0)))

@benchmark.register
def refused(state):
    state.skip_with_error("no such thing")

benchmark.main()
"""
ASV = """\
class Sums:
    params = [[10, 100], ["a", "b"]]
    param_names = ["n", "kind"]
    number, repeat, rounds, sample_time = 5, 3, 1, 0.001

    def time_sum(self, n, kind):
        sum(range(n))

    def track_n(self, n, kind):
        return n

def peakmem_list():
    return [0] * 1000

def time_bad():
    raise ValueError
"""
MLLOG = """\
from mlperf_logging import mllog
mllog.config(filename="mlperf.log")
log = mllog.get_mllogger()
log.event("submission_benchmark", "tiny")
log.event("global_batch_size", 32)
log.start("run_start")
for epoch in range(3):
    log.event("eval_accuracy", 0.5 + epoch / 8, metadata={"epoch_num": epoch})
log.end("run_stop", metadata={"status": "success"})
"""


def pyperf(folder: Path) -> Path:
    words = "timeit -p 3 -n 2 -w 1 -l 10 --name sum -o pyperf.json sum(range(1000))"
    return _made(folder, "pyperf.json", sys.executable, "-m", "pyperf", *words.split())


def pytest_benchmark(folder: Path) -> Path:
    (folder / "test_sums.py").write_text(PYTEST)
    words = "-q -p no:cacheprovider --rootdir . -c /dev/null"
    save = ("--benchmark-json=pytest.json", "--benchmark-save-data", "test_sums.py")
    return _made(folder, "pytest.json", sys.executable, "-m", "pytest", *words.split(), *save)


def google_benchmark(folder: Path) -> Path:
    (folder / "google.py").write_text(GOOGLE)
    words = "google.py --benchmark_out=google.json --benchmark_repetitions=2"
    return _made(
        folder, "google.json", sys.executable, *words.split(), "--benchmark_min_time=0.001s"
    )


def hyperfine(folder: Path) -> Path:
    words = "-N --runs 3 --export-json hyperfine.json --parameter-list n 1,2"
    return _made(folder, "hyperfine.json", "hyperfine", *words.split(), "echo {n}")


def asv(folder: Path) -> Path:
    """In a git repository of its own; without one asv does not measure."""
    place = folder / "asv"
    (place / "benchmarks").mkdir(parents=True)
    (place / "benchmarks" / "__init__.py").touch()
    (place / "benchmarks" / "sums.py").write_text(ASV)
    (place / "asv.conf.json").write_text(
        '{"version": 1, "project": "p", "repo": ".", "environment_type": "existing"}'
    )
    who = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    for words in (("init", "-q", "."), ("add", "-A"), (*who, "commit", "-qm", "sums")):
        _run(place, "git", *words)
    commit = _run(place, "git", "rev-parse", "HEAD").strip()
    program = f"{Path(sys.executable).parent}/asv"
    _run(place, program, "machine", "--yes", home=folder)
    words = f"run --python=same --record-samples --set-commit-hash {commit}"
    _run(place, program, *words.split(), home=folder, status=2)  # 2: one benchmark raises
    (found,) = place.glob("results/*/*-*.json")
    return found


def mllog(folder: Path) -> Path:
    return _made(folder, "mlperf.log", sys.executable, "-c", MLLOG)


def _made(folder: Path, name: str, *command: str) -> Path:
    _run(folder, *command)
    return folder / name


def _run(folder: Path, *command: str, home: Path | None = None, status: int = 0) -> str:
    variables = {**os.environ, "HOME": str(home or folder), "PYTEST_ADDOPTS": ""}
    for name in [name for name in variables if name.startswith(("PYTEST_XDIST", "COV_"))]:
        del variables[name]
    ended = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True)
    assert ended.returncode in (0, status), ended.stdout + ended.stderr
    return ended.stdout


def optimum(folder: Path) -> Path:
    """A forward pass of a small BERT, measured by optimum-benchmark in its own environment."""
    script, path = folder / "with_optimum.py", folder / "optimum.json"
    script.write_text(OPTIMUM)
    _optimum(str(script), str(path))
    return path


def optimum_reads(path: Path) -> dict[str, list[float]]:
    """Target → latencies, as the tool's own classes read them from a file."""
    found: dict[str, list[float]] = json.loads(_optimum("-c", OPTIMUM_READS, str(path)))
    return found


def _optimum(*words: str) -> str:
    python = environment("optimum", OPTIMUM_PACKAGES, borrowed=True) / "python"
    variables = {"OMP_NUM_THREADS": "1", "USE_TF": "0", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [python, *words], capture_output=True, text=True, env={**os.environ, **variables}
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()[-1] if done.stdout else ""
