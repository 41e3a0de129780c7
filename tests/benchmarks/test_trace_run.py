"""benchmarks/trace_run.py counts what its docstring says."""

import ast
import importlib.util
import sys
from pathlib import Path

import pytest

FILE = Path(__file__).parents[2] / "benchmarks" / "trace_run.py"


@pytest.fixture(scope="module")
def trace_run():
    spec = importlib.util.spec_from_file_location("benchmarks_trace_run", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def package(tmp_path):
    """Three files: `b` is imported by its neighbour `a` alone, `sub/c` by another folder."""
    files = {
        "__init__.py": "",
        "a.py": "from package.b import opened\nfrom package.sub import c\n",
        "b.py": "def opened(**given: Any):  # noqa: ANN401\n    found = given['x']\n",
        "sub/__init__.py": "",
        "sub/c.py": "def close(found, given):\n    return found\n",
    }
    for name, text in files.items():
        (tmp_path / "package" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "package" / name).write_text(text)
    return tmp_path / "package"


def test_the_source_is_counted_by_the_definitions(trace_run, package):
    figures = trace_run.source_figures(package)

    assert figures == {
        "files": 5,
        "lines": 6,
        "top folders": 1,
        "one importer": 2,
        "… in the same folder": 1,
        "… and below 100 lines": 1,
        "noqa": 1,
        "noqa of ANN401": 1,
        "functions with **given: Any": 1,
        'uses of given["…"]': 1,
        "functions": 2,
        "functions named by a participle": 1,
        "bindings of found": 1,
        "parameters given": 2,
    }


def test_what_is_imported_is_a_module_or_the_package_of_a_name(trace_run):
    tree = ast.parse("import p.x\nfrom p import y, name\nfrom other import z")

    assert trace_run.imported(tree, {"p", "p.x", "p.y"}) == {"p", "p.x", "p.y"}


def test_a_switch_is_a_change_from_one_call_to_the_next(trace_run):
    assert trace_run.switches(["a", "a", "b", "b", "a"]) == 2
    assert trace_run.switches([]) == 0


def test_a_loop_counts_once_a_path(trace_run, tmp_path):
    (tmp_path / "inner.py").write_text("def step():\n    return [n for n in range(3)]\n")
    (tmp_path / "outer.py").write_text("def loop(step):\n    for _ in range(4):\n        step()\n")
    spaces = {}
    for name in ("inner", "outer"):
        path = tmp_path / f"{name}.py"
        exec(compile(path.read_text(), str(path), "exec"), spaces)
    tracer = trace_run.Tracer(f"{tmp_path}/")

    before = sys.getprofile()
    sys.setprofile(tracer.look)
    spaces["loop"](spaces["step"])
    sys.setprofile(before)

    figures = trace_run.trace_figures(trace_run.Trace(tracer.calls, tracer.waits, {}, {}))
    assert [file for file, _ in tracer.calls] == ["outer.py", *["inner.py"] * 4]
    assert [new for _, new in tracer.calls] == [True, True, False, False, False]
    assert (figures["files entered"], figures["file switches"], figures["calls"]) == (2, 1, 5)


def test_a_run_stays_within_the_limits_of_its_path(trace_run):
    """docs/design/architecture.md: main, the command, recorder, case, sampling, process."""
    figures = trace_run.run_figures()

    assert 1 < figures["files on the stack while waiting"] <= 6
    assert figures["files entered"] <= 110  # 98 before colors and stores of other systems
    assert figures["folder switches, once a path"] <= 370  # 345 to 355 seen, by what monitors cost
    assert figures["folder switches"] <= figures["file switches"] < figures["calls"]
    assert figures["file switches, once a path"] <= figures["file switches"]


def test_help_loads_little_and_no_numpy(trace_run):
    figures = trace_run.loaded()

    assert figures["modules of assay --help loads"] < figures["modules of assay ab --help loads"]
    assert not figures["numpy loaded by --help"]
