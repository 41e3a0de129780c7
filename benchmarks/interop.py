"""One torch model measured by several tools, in turns, and compared in one table.

    python benchmarks/interop.py [--python VENV] [--rounds 4] > interop.json

VENV, or else this interpreter, has torch and those of the tools that are to be compared: pyperf,
pytest-benchmark, optimum-benchmark. What is not there is left out, and named. For all of them:

    pip install optimum-benchmark 'transformers<4.56' 'huggingface_hub<1' 'datasets<5' \
        'diffusers<0.36' 'peft<0.18' pyperf pytest pytest-benchmark msgspec

A round is one fresh process of each tool, in an order that rotates: a forward pass (of a small
BERT, as optimum-benchmark takes it, or without that of a plain encoder), one thread, three passes
to warm up and twenty that count. The files that the tools write are imported as they are,
and each tool is compared to assay over all rounds. The table is told as it grows on standard error;
JSON is on standard output.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import assay
from assay.commands.compare.api import compare_results
from assay.core.records import Query
from assay.core.units import human
from assay.stats.compare_sets import Difference

NEEDED = {  # module → tool
    "pyperf": "pyperf",
    "pytest_benchmark": "pytest-benchmark",
    "optimum_benchmark": "optimum-benchmark",
}
WARMUP, COUNTED = 3, 20
# One thread by the variable: intra_op_num_threads of optimum-benchmark 0.6 sets another number.
VARIABLES = {"OMP_NUM_THREADS": "1", "USE_TF": "0", "HF_HUB_OFFLINE": "1"}
BERT = '''\
"""The model that all of them measure."""
import os

SHAPE = {"batch_size": 4, "sequence_length": 64}
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bert")
WARMUP, COUNTED = 3, 20


def save():
    from transformers import BertConfig, BertForSequenceClassification

    sizes = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4}
    config = BertConfig(intermediate_size=1024, vocab_size=1000, **sizes)
    BertForSequenceClassification(config).save_pretrained(FOLDER)


def forward():
    """A function that runs the model once."""
    import torch
    from transformers import BertForSequenceClassification

    torch.set_num_threads(1)
    model = BertForSequenceClassification.from_pretrained(FOLDER).eval()
    shape = tuple(SHAPE.values())
    tokens = torch.randint(0, 1000, shape)
    mask, kinds = torch.ones(shape, dtype=torch.long), torch.zeros(shape, dtype=torch.long)

    def step():
        with torch.inference_mode():
            return model(input_ids=tokens, attention_mask=mask, token_type_ids=kinds)

    return step
'''
ENCODER = '''\
"""The model that all of them measure."""
WARMUP, COUNTED = 3, 20


def forward():
    """A function that runs the model once."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 4, enable_nested_tensor=False).eval()
    batch = torch.randn(4, 64, 256)

    def step():
        with torch.inference_mode():
            return model(batch)

    return step
'''
ASSAY = """\
def forward():
    import model

    return model.forward()
"""
PYPERF = """\
import time
import pyperf
import model

made = []


def timed(loops):
    if not made:
        made.append(model.forward())
    start = time.perf_counter()
    for _ in range(loops):
        made[0]()
    return time.perf_counter() - start


pyperf.Runner().bench_time_func("forward", timed)
"""
PYTEST = """\
import model


def test_forward(benchmark):
    step = model.forward()
    benchmark.pedantic(step, rounds=model.COUNTED, warmup_rounds=model.WARMUP, iterations=1)
"""
OPTIMUM = """\
import sys
from optimum_benchmark import Benchmark, BenchmarkConfig, InferenceConfig, InlineConfig
from optimum_benchmark import PyTorchConfig
import model

config = BenchmarkConfig(
    name="forward",
    launcher=InlineConfig(),
    backend=PyTorchConfig(
        model=model.FOLDER,
        device="cpu",
        task="text-classification",
        library="transformers",
    ),
    scenario=InferenceConfig(
        memory=False,
        latency=True,
        iterations=model.COUNTED,
        duration=0,
        warmup_runs=model.WARMUP,
        input_shapes=model.SHAPE,
    ),
)
Benchmark(config=config, report=Benchmark.launch(config)).save_json(sys.argv[1])
"""


class Place:
    """The folder of the model and the scripts, and the interpreter that runs them."""

    def __init__(self, folder: Path, python: str, home: str) -> None:
        self.folder, self.python, self.home = folder, python, home
        path = filter(None, (str(folder), os.environ.get("PYTHONPATH")))
        os.environ |= {**VARIABLES, "PYTHONPATH": os.pathsep.join(path)}
        asked = f"import importlib.util as u; print(*filter(u.find_spec, {list(NEEDED)}))"
        self.there = {NEEDED[name] for name in self.run("-c", asked).split()}
        texts = {"model": BERT if "optimum-benchmark" in self.there else ENCODER}
        texts |= {"with_assay": ASSAY, "with_pyperf": PYPERF}
        texts |= {"test_it": PYTEST, "with_optimum": OPTIMUM}
        for name, text in texts.items():
            (folder / f"{name}.py").write_text(text)
        if "optimum-benchmark" in self.there:
            self.run("-c", "import model; model.save()")

    def run(self, *words: str) -> str:
        interpreter = str(Path(self.python) / "bin" / "python") if self.python else sys.executable
        ended = subprocess.run(
            [interpreter, *words], cwd=self.folder, capture_output=True, text=True, check=False
        )
        if ended.returncode:
            raise SystemExit(f"{words[0]} failed:\n{(ended.stderr or ended.stdout)[-2000:]}")
        return ended.stdout

    def imported(self, name: str, label: str, *words: str) -> None:
        self.run(*words, str(self.folder / name))
        ids = assay.import_run(self.folder / name, label=label, store=self.home)
        assert ids, name


def with_pyperf(place: Place, number: int) -> None:
    counts = f"--processes=1 --warmups={WARMUP} --values={COUNTED} --loops=1".split()
    place.imported(f"pyperf-{number}.json", "pyperf", "with_pyperf.py", *counts, "-o")


def with_pytest(place: Place, number: int) -> None:
    name = f"pytest-{number}.json"
    save = (f"--benchmark-json={place.folder / name}", "--benchmark-save-data")
    place.run("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py", *save)
    assay.import_run(place.folder / name, label="pytest-benchmark", store=place.home)


def with_optimum(place: Place, number: int) -> None:
    place.imported(f"optimum-{number}.json", "optimum-benchmark", "with_optimum.py")


def with_assay(place: Place, number: int) -> None:
    case = assay.Case(
        workload=f"{place.folder / 'with_assay.py'}:forward",
        backend="python",
        params={"batch_size": 4},
        options={"threads": 1, **({"python": place.python} if place.python else {})},
    )
    (result,) = assay.run(case, samples=COUNTED, latency=True, label="assay", store=place.home)
    if result.status != "ok":
        raise SystemExit(f"assay: {result.reason}")


TOOLS: dict[str, Callable[[Place, int], None]] = {
    "assay": with_assay,
    "pyperf": with_pyperf,
    "pytest-benchmark": with_pytest,
    "optimum-benchmark": with_optimum,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default="", help="virtual environment; default: this one")
    parser.add_argument("--rounds", type=int, default=4)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        python = str(Path(given.python).absolute()) if given.python else ""
        place = Place(Path(folder), python, f"{folder}/home")
        names = [name for name in TOOLS if name == "assay" or name in place.there]
        for number in range(given.rounds):
            for turn in range(len(names)):
                TOOLS[names[(number + turn) % len(names)]](place, number)
            print(f"\nafter round {number + 1} of {given.rounds}", file=sys.stderr)
            rows = table(place.home, names)
        missing = [name for name in TOOLS if name not in names]
        print(json.dumps({"rounds": given.rounds, "tools": rows, "not here": missing}, indent=1))


def table(home: str, names: list[str]) -> list[dict[str, object]]:
    """What each tool says, and its ratio to what assay says."""
    heads = f"{'tool':18} {'processes':>9} {'values':>6} {'median':>9}"
    print(f"{heads}  ratio to assay, 95 % interval", file=sys.stderr)
    rows: list[dict[str, object]] = []
    for label in names:
        of_forward = [
            reading.result
            for reading in assay.read_results(Query(label=label), store=home)
            if reading.result.case.params.get("target", "forward") == "forward"
        ]
        values = sum(len(result.values("step_time")) for result in of_forward)
        found = _compared(of_forward, home)
        told = human(found.second.value, "s")
        ratio = f"{found.ratio:.3f} [{found.low:.3f}, {found.high:.3f}] {found.verdict}"
        line = f"{label:18} {found.second.n:9} {values:6} {told:>9}  {ratio}"
        print(line, file=sys.stderr, flush=True)
        rows.append(
            {
                "tool": label,
                "processes": found.second.n,
                "values": values,
                "seconds": found.second.value,
                "ratio": [found.ratio, found.low, found.high],
                "verdict": found.verdict,
            }
        )
    return rows


def _compared(results: list[assay.Result], home: str) -> Difference:
    baseline = [r.result for r in assay.read_results(Query(label="assay"), store=home)]
    (found,) = compare_results(baseline, results, ("assay", "tool")).differences
    return found


if __name__ == "__main__":
    main()
