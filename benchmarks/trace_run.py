"""How much of assay one run goes through, and how its source is cut: figures to compare over time.

    python benchmarks/trace_run.py [--runs 5]     of an older tree: copied into its benchmarks/

**Traced**: `assay run CASE --samples 5` of a case of plain Python, in an empty store, its parent
process under `sys.setprofile`; the median of the runs. What counts is a call of a named function of
assay (a generator that goes on is a call too; module and class bodies, lambdas and comprehensions
are not), unless a module of assay is being imported meanwhile.

- files entered: files of which a function is called.
- file switches, folder switches: pairs of consecutive calls in different files or folders. They
  depend on how often the parent wakes while it waits, and differ by some 10 % from run to run.
- once a path: the same over calls whose whole stack has not been there before. Loops count once, so
  that it hardly depends on time: this is what a test can hold.
- files on the stack while waiting: the most different files of assay there are on the stack when
  the parent is in `select`, `poll` or `epoll` of measure/process.py, where it waits for what a
  worker says. `__main__.py`, which only loads the command line, is not counted.

**Source**: every `.py` file below `assay/`.

- one importer: files that exactly one other file of assay imports, anywhere in it, for types only
  included; of these, those in the same folder as their importer; of these, those below 100 lines.
- named by a participle: functions whose names end in `ed` or `en`.
- bindings of `found`: where a variable of that name is assigned, parameters not counted.
- `given["…"]`: subscripts of `given` by a text.

**Loaded**: modules of assay in `sys.modules` after `assay --help` and `assay ab --help`.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1] / "assay"
CASE = (
    "def add():\n    return lambda: sum(range(20_000))\n\n\n"
    "def multiply():\n    return lambda: [number * number for number in range(20_000)]\n"
)
RUN = ("run", "case.py:add@python", "--samples", "5")
AB = ("ab", "case.py:add@python", "case.py:multiply@python", "--budget", "4s")
IN_WORKER = """
import importlib.util, os, sys

if "assay.worker" in sys.orig_argv:
    spec = importlib.util.spec_from_file_location("trace_run", os.environ["TRACE_RUN"])
    module = importlib.util.module_from_spec(spec)
    sys.modules["trace_run"] = module
    spec.loader.exec_module(module)
    module.trace_worker()
"""
WAITS = {"select", "poll.poll", "epoll.poll"}
LAUNCHERS = {"__main__.py", "core/start.py", "worker/__main__.py"}
WAITING = "measure/process.py"  # waits for a worker; other waits are for programs such as git
UNDECIDED = 6  # exit status of `assay ab`
SHORT = 100  # lines of a file that is called short
PARTICIPLE = re.compile(r"(ed|en)_*$")

Figures = dict[str, float]
Call = tuple[str, bool]  # file, whether its whole stack is new


def main() -> None:
    parser = argparse.ArgumentParser(description="Figures of one run, and of the source.")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--inside", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        _trace_here(options.inside)
        return
    for name, value in {**run_figures(options.runs), **source_figures(), **loaded()}.items():
        print(f"{name:46} {value:8.0f}", flush=True)


def run_figures(runs: int = 1) -> Figures:
    """Of a traced run of one case; the median of several."""
    traces = [trace_figures(traced_run()) for _ in range(runs)]
    return {name: statistics.median(trace[name] for trace in traces) for name in traces[0]}


class Trace(NamedTuple):
    """Of one run; files are named below `assay/`."""

    calls: list[Call]
    waits: list[list[str]]  # files on the stack, each time
    entries: dict[str, str]  # file → the function it is entered by first, in order
    worker: dict[str, str]  # the same of the workers


def trace_figures(trace: Trace) -> Figures:
    files = [file for file, _ in trace.calls]
    once = [file for file, new in trace.calls if new]
    return {
        "files entered": len(set(files)),
        "calls": len(files),
        "file switches": switches(files),
        "folder switches": switches([_folder(file) for file in files]),
        "file switches, once a path": switches(once),
        "folder switches, once a path": switches([_folder(file) for file in once]),
        "files on the stack while waiting": max((len(set(w)) for w in trace.waits), default=0),
    }


def switches(places: Sequence[str]) -> int:
    return sum(before != after for before, after in pairwise(places))


def _folder(file: str) -> str:
    return file.rpartition("/")[0]


def traced_run(words: Sequence[str] = RUN) -> Trace:
    """Trace a command, by default `assay run`, in a process and a store of its own."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "case.py").write_text(CASE)
        (Path(folder) / "sitecustomize.py").write_text(IN_WORKER)
        script = [sys.executable, str(Path(__file__).resolve()), "--inside", *words]
        variables = os.environ | {
            "ASSAY_HOME": f"{folder}/home",
            "TRACE": f"{folder}/trace.json",
            "TRACE_RUN": str(Path(__file__).resolve()),
            "PYTHONPATH": os.pathsep.join((str(ROOT.parent), folder)),
        }
        variables.pop("ASSAY_STORE", None)
        subprocess.run(script, cwd=folder, env=variables, check=True, capture_output=True)
        plain = json.loads((Path(folder) / "trace.json").read_text())
        worker = (Path(folder) / "trace.json.worker").read_text().splitlines()
    calls = [(file, new) for file, new in plain["calls"]]
    return Trace(calls, plain["waits"], plain["entries"], dict(map(str.split, worker)))


def _trace_here(words: Sequence[str]) -> None:
    """The command line in this process; the trace goes to the file $TRACE."""
    from assay.__main__ import main as obey

    tracer = Tracer(f"{ROOT}{os.sep}")
    sys.argv = ["assay", *words]
    sys.setprofile(tracer.look)
    try:
        obey()
    except SystemExit as left:
        if left.code not in (None, 0, UNDECIDED):
            raise
    finally:
        sys.setprofile(None)
    parts = {"calls": tracer.calls, "waits": tracer.waits, "entries": tracer.entries}
    Path(os.environ["TRACE"]).write_text(json.dumps(parts))


def trace_worker() -> None:
    """Write each file that a worker enters, and its first function, as soon as it is entered: a
    worker may end at once."""
    file = open(f"{os.environ['TRACE']}.worker", "a", buffering=1)  # noqa: SIM115
    tracer = Tracer(f"{ROOT}{os.sep}", lambda entry, name: print(entry, name, file=file))
    sys.setprofile(tracer.look)


class Tracer:
    """What a profile function sees of the files below a folder, in the thread it is set in."""

    def __init__(
        self, root: str, report: Callable[[str, str], object] = lambda file, name: None
    ) -> None:
        self.calls: list[Call] = []
        self.waits: list[list[str]] = []
        self.entries: dict[str, str] = {}  # file → the function it is entered by first
        self._report = report
        self._root = root
        self._stacks: set[tuple[str, ...]] = set()

    def look(self, frame: FrameType, event: str, what: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(self._root):
            self._called(frame)
        elif event == "c_call" and getattr(what, "__qualname__", "") in WAITS:
            files = [file for file, _ in self._stack(frame) if file not in LAUNCHERS]
            if files and files[0] == WAITING:
                self.waits.append(files)

    def _called(self, frame: FrameType) -> None:
        if not frame.f_code.co_name.isidentifier():  # <module>, <lambda>, <genexpr>
            return
        stack = list(self._stack(frame))
        if any(name == "<module>" for file, name in stack if file not in LAUNCHERS):
            return
        names = tuple(f"{file}:{name}" for file, name in stack)
        self.calls.append((stack[0][0], names not in self._stacks))
        if stack[0][0] not in self.entries:
            self.entries[stack[0][0]] = stack[0][1]
            self._report(*stack[0])
        self._stacks.add(names)

    def _stack(self, frame: FrameType | None) -> Iterator[tuple[str, str]]:
        """File and function of each frame of ours, the innermost first."""
        while frame is not None:
            file = frame.f_code.co_filename
            if file.startswith(self._root):
                yield file.removeprefix(self._root), frame.f_code.co_name
            frame = frame.f_back


def source_figures(root: Path = ROOT) -> Figures:
    texts = {path: path.read_text() for path in sorted(root.rglob("*.py"))}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    lines = [line for text in texts.values() for line in text.splitlines()]
    return {
        "files": len(texts),
        "lines": len(lines),
        "top folders": len(
            {path.relative_to(root).parts[0] for path in texts if path.parent != root}
        ),
        **_importers(root, trees, {path: len(text.splitlines()) for path, text in texts.items()}),
        "noqa": sum("# noqa" in line for line in lines),
        "noqa of ANN401": sum(bool(re.search(r"# noqa:.*ANN401", line)) for line in lines),
        **{name: sum(map(counts, nodes)) for name, counts in COUNTED.items()},
    }


def _importers(root: Path, trees: Mapping[Path, ast.Module], lines: Mapping[Path, int]) -> Figures:
    modules = {_module(root, path): path for path in trees}
    importers: dict[Path, set[Path]] = {path: set() for path in trees}
    for path, tree in trees.items():
        for name in imported(tree, modules.keys()):
            importers[modules[name]].add(path)
    single = {path: min(by) for path, by in importers.items() if len(by - {path}) == 1}
    same = [path for path, importer in single.items() if path.parent == importer.parent]
    return {
        "one importer": len(single),
        "… in the same folder": len(same),
        f"… and below {SHORT} lines": sum(lines[path] < SHORT for path in same),
    }


def _module(root: Path, path: Path) -> str:
    parts = path.relative_to(root.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(tree: ast.AST, modules: Collection[str]) -> set[str]:
    """Modules of these that a file imports, anywhere in it; of a package's name, its file."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                names.add(full if full in modules else node.module)
    return {name for name in names if name in modules}


def _is_participle(node: ast.AST) -> bool:
    return isinstance(node, FUNCTIONS) and bool(PARTICIPLE.search(node.name))


def _takes_any(node: ast.AST) -> bool:
    if not isinstance(node, FUNCTIONS) or node.args.kwarg is None:
        return False
    rest, annotation = node.args.kwarg, node.args.kwarg.annotation
    return rest.arg == "given" and isinstance(annotation, ast.Name) and annotation.id == "Any"


def _binds_found(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "found" and isinstance(node.ctx, ast.Store)


def _is_given(node: ast.AST) -> bool:
    return isinstance(node, ast.arg) and node.arg == "given"


def _looks_up_given(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id == "given"
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
    )


def loaded() -> Figures:
    """Modules of assay that a help page loads, and whether numpy is among the rest."""
    figures: Figures = {}
    for words in ("--help", "ab --help"):
        script = [sys.executable, "-c", LOOK, *words.split()]
        variables = os.environ | {"PYTHONPATH": str(ROOT.parent)}
        ran = subprocess.run(script, env=variables, check=True, capture_output=True, text=True)
        names = ran.stderr.split()
        tops = Counter(name.partition(".")[0] for name in names)
        figures[f"modules of assay {words} loads"] = tops["assay"]
        figures[f"numpy loaded by {words}"] = "numpy" in tops
    return figures


LOOK = """
import sys
from assay.__main__ import main
sys.argv[0] = "assay"
try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
COUNTED: dict[str, Callable[[ast.AST], bool]] = {
    "functions with **given: Any": _takes_any,
    'uses of given["…"]': _looks_up_given,
    "functions": lambda node: isinstance(node, FUNCTIONS),
    "functions named by a participle": _is_participle,
    "bindings of found": _binds_found,
    "parameters given": _is_given,
}

if __name__ == "__main__":
    main()
