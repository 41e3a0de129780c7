"""What the pages say is true: their Python runs, and the files and names they mention exist."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import assay

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")])
RUN = [page for page in PAGES if page.parent in (ROOT, ROOT / "docs")]
NOT_RUN = 0  # blocks with a comment `<!-- not run: why -->` above them
FRAMEWORKS = r"\b(keras|jax|torch|tensorflow)\b"
NEEDS = {".h5": "h5py", "assay.plot(": "matplotlib", "compile_model(": "compiler"}
GROUPS = {f"assay.{kind}" for kind in ("workloads", "backends", "monitors", "stores")}

# A file that a page shows, named in its first line → what is done with it.
USES = {
    "my.py": "assay.run('./my.py:MyNet@keras-jax', procedure=TINY)",
    "net.py": "assay.run('./net.py:Net@torch', procedure=TINY)",
    "nets.py": "assay.run('./nets.py:MyNet@keras-jax', './nets.py:MyNet@torch', procedure=TINY)",
    "add.py": "assay.run('./add.py:add', procedure=TINY)",
    "sorting.py": "assay.run('./sorting.py:sort_numbers', procedure=TINY)",
    "digits.py": "assay.evaluate('./digits.py:Digits@torch', first=50)",
    "my_pkg/bench.py": "assay.bench('my_pkg.bench.Matmul.benchmark_small')",
}
COMPARED = {"metric"}  # a part of a Procedure for what is compared; run and scale refuse it
USE = "import assay\n\nTINY = assay.Procedure(samples=3, timeout=200)\nassert list({use})\n"


class Block(NamedTuple):
    """A block of Python in a page."""

    page: str
    text: str
    not_run: str | None = None  # why, if a comment above it says so

    @property
    def file(self) -> str:
        """The file it shows, if it shows one."""
        named = re.match(r"# (\S+\.py)\n", self.text)
        return named[1] if named else ""

    @property
    def program(self) -> str:
        return USE.format(use=USES[self.file]) if self.file else self.text

    @property
    def needs(self) -> list[str]:
        found = set(re.findall(FRAMEWORKS, self.text + self.program))
        return sorted(found | {need for word, need in NEEDS.items() if word in self.text})


def blocks() -> list[Block]:
    """Of all pages that are run; what two pages show alike is there once."""
    pattern = r"(?:<!-- not run:(.*?)-->\n+)?^```python\n(.*?)^```"
    found: dict[str, Block] = {}
    for page in RUN:
        for match in re.finditer(pattern, page.read_text(), re.M | re.S):
            why, text = match.groups()
            found[text] = Block(str(page.relative_to(ROOT)), text, why and why.strip())
    return list(found.values())


def parameter(block: Block):
    name = f"{block.page}:{block.file or block.text.splitlines()[-1].strip()[:30]}"
    return pytest.param(block, id=name, marks=pytest.mark.real(*block.needs))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a reader of the pages has: the examples, a log, images, a file of weights."""
    place = tmp_path / "here"
    place.mkdir()
    (place / "examples").symlink_to(ROOT / "examples")
    (place / "old.log").symlink_to(ROOT / "tests" / "logs" / "logs" / "numpy_regression.log")
    np.savez(
        place / "lenet.npz",
        **{"dense_1/kernel": np.ones((3136, 2), "float32"), "dense_1/bias": np.ones(2, "float32")},
    )
    (place / "tuner_confs.txt").write_text("0\n+++++\nconf1 1 1 100 0\n1 cpu relu fp32 1\n-----\n")
    (shown,) = (block for block in blocks() if block.file == "my_pkg/bench.py")
    (place / "my_pkg").mkdir()
    (place / shown.file).write_text(shown.text)
    monkeypatch.setenv("ASSAY_DATA", str(ROOT / "tests" / "data" / "pictures"))
    for name, value in {"KERAS_BACKEND": "jax", "KERAS_HOME": str(tmp_path / "keras")}.items():
        monkeypatch.setenv(name, value)
    return place


@pytest.mark.parametrize("block", [parameter(b) for b in blocks() if b.not_run is None])
def test_python_in_the_pages_runs(block, folder, home):
    shown = folder / (block.file or "block.py")
    shown.parent.mkdir(exist_ok=True)
    shown.write_text(block.text)
    program = folder / "program.py"
    program.write_text(block.program)

    command = [sys.executable, program.name]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=280)

    assert ended.returncode == 0, ended.stderr
    found = [reading.result for reading in assay.read_results(store=home)]
    assert [(one.case.key, one.reason) for one in found if one.status != "ok"] == []


def test_blocks_that_are_not_run_say_why():
    reasons = [block.not_run for block in blocks() if block.not_run is not None]

    assert all(reasons) and len(reasons) == NOT_RUN


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_named_in_a_page_exist(page):
    named = re.findall(r"`((?:[a-z0-9_]+/)+[a-z0-9_.]*)`", page.read_text())
    tops = {part.name for folder in (ROOT, ROOT / "assay") for part in folder.iterdir()}

    lacking = [path for path in named if path.split("/")[0] in tops and not is_file(path)]

    assert lacking == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_names_of_assay_in_a_page_exist(page):
    named = set(re.findall(r"\bassay(?:\.[A-Za-z_]\w*)+", page.read_text())) - GROUPS

    assert [name for name in sorted(named) if not is_name(name)] == []


@pytest.mark.parametrize("page", RUN, ids=lambda page: str(page.relative_to(ROOT)))
def test_calls_in_a_page_fit_the_functions(page):
    texts = re.findall(r"`(assay\.\w+\([^`]*)`", page.read_text())
    parts = [part for text in texts for part in ast.walk(ast.parse(text))]

    for call in (part for part in parts if isinstance(part, ast.Call)):
        named = {word.arg: None for word in call.keywords}
        bound = inspect.signature(getattr(assay, call.func.attr)).bind(*call.args, **named)
        assert named.keys() <= bound.arguments.keys() | bound.kwargs.keys()


def test_the_page_for_python_has_every_name_with_its_whole_signature_and_an_example():
    page = (ROOT / "docs" / "api.md").read_text()
    calls = [
        ast.parse(text, mode="eval").body for text in re.findall(r"`(assay\.\w+\(.*?\))`", page)
    ]
    shown = {call.func.attr: {word.arg for word in call.keywords} for call in calls}
    examples = "".join(block.text for block in blocks() if block.page == "docs/api.md")

    assert shown.keys() == set(assay.__all__)
    for name, words in shown.items():
        known = keywords(getattr(assay, name))
        known -= COMPARED if name in {"run", "scale"} else set()
        assert words == known or (not words and "Benchmark" in name), name
    used = {name for name in assay.__all__ if f"assay.{name}" in examples + bench_page()}
    assert used == set(assay.__all__)


def keywords(*functions) -> set[str]:
    """Those with a default, or of a record; without what stands for more of them."""
    found = [part for each in functions for part in inspect.signature(each).parameters.values()]
    return {
        part.name
        for part in found
        if part.kind is part.KEYWORD_ONLY
        or (part.kind is part.POSITIONAL_OR_KEYWORD and part.default is not part.empty)
    }


def bench_page() -> str:
    return (ROOT / "docs" / "bench.md").read_text()


def is_file(path: str) -> bool:
    """Of the project, or of the package, as the design pages have it; a module without its .py."""
    names = (path, f"{path}.py")
    return any((at / name).exists() for at in (ROOT, ROOT / "assay") for name in names)


def is_name(name: str) -> bool:
    """A module, which is not loaded as it may be a worker's, or a name in one."""
    module, _, last = name.rpartition(".")
    try:
        known = hasattr(importlib.import_module(module), last)
        return known or importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False
