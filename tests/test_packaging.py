"""Files that other tools read: pins, hooks, workflows, templates, citation."""

from __future__ import annotations

import importlib.util
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

import assay

ROOT = Path(__file__).parent.parent
GITHUB = ROOT / ".github"
CACHES = ("PIP_CACHE_DIR", "ASSAY_APT_CACHE", "ASSAY_TEST_CACHE")


def read_yaml(path: Path):
    import yaml

    return yaml.safe_load(path.read_text())


def script(name: str):
    """A script of tools, as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def hook_entries() -> dict[str, str]:
    """Hooks of pre-commit that run in the environment of the user: id → command."""
    text = (ROOT / ".pre-commit-config.yaml").read_text()
    hooks = re.split(r"^ +- id: ", text, flags=re.MULTILINE)[1:]
    return {
        hook.split()[0]: re.search(r"entry: ([^#\n]+)", hook)[1].strip()
        for hook in hooks
        if "language: system" in hook
    }


@pytest.fixture
def checkout(tmp_path):
    """A copy of the sources without `.venv`, and a PATH with ruff, mypy and pytest only."""
    ignore = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "site", "results")
    shutil.copytree(ROOT, tmp_path / "checkout", ignore=ignore)
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("ruff", "mypy", "pytest"):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {name} "$@"\n')
        program.chmod(0o755)
    return tmp_path / "checkout", {"PATH": str(programs), "HOME": str(tmp_path)}


def test_pip_and_uv_have_the_same_pins():
    pins, project = script("pin_versions"), (ROOT / "pyproject.toml").read_text()
    versions = pins.pins((ROOT / "constraints.txt").read_text())
    constraints = tomllib.loads(project)["tool"]["uv"]["constraint-dependencies"]

    assert project == pins.with_uv_settings(project, versions)
    assert [line.partition("==")[0] for line in constraints] == sorted(versions)
    assert versions["torch"].endswith("+cpu")


@pytest.mark.real("packaging")
def test_what_builds_the_distributions_is_pinned_with_hashes():
    pins = script("pin_versions")
    versions = pins.pins((ROOT / "constraints.txt").read_text())
    text = (ROOT / "tools" / "build_requirements.txt").read_text()
    lines = [line for line in text.splitlines() if not line.startswith("#")]

    assert pins.pins(text) == {name: versions[name] for name in pins.BUILD | pins.FRONTEND}
    assert all(re.fullmatch(r"\S+==\S+ --hash=sha256:[0-9a-f]{64}", line) for line in lines)
    assert "--require-hashes -r tools/build_requirements.txt" in (ROOT / "Makefile").read_text()


@pytest.mark.real("yaml")
@pytest.mark.parametrize("name", ["test", "release"])
def test_actions_are_pinned_by_commit_and_may_only_read(name):
    document = workflow(name)
    steps = [step for job in document["jobs"].values() for step in job.get("steps", ())]
    actions = [step["uses"] for step in steps if "uses" in step]

    assert document["permissions"] == {"contents": "read"}
    assert actions and all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action) for action in actions)


@pytest.mark.real("packaging")
def test_every_dependency_is_pinned():
    pins = script("pin_versions")
    versions = pins.pins((ROOT / "constraints.txt").read_text())
    names = {re.split(r"[\[<>=~; ]", line)[0] for line in pins.requirements(ROOT)}

    assert names - versions.keys() == {"assay-hpvm"}  # of this repository


def test_hooks_name_programs_on_the_path():
    assert set(hook_entries()) == {"ruff-format", "ruff", "mypy", "layers"}
    assert {shlex.split(entry)[0] for entry in hook_entries().values()} == {
        *("ruff", "mypy", "pytest")
    }


@pytest.mark.parametrize(
    ("hook", "words"),
    [
        ("ruff-format", ["assay/__init__.py"]),
        ("ruff", ["assay/__init__.py"]),
        ("mypy", ["assay/core/clock.py"]),  # one file: its cache is empty
        ("layers", ["-k", "are_short", "-p", "no:timeout"]),
    ],
)
def test_a_hook_runs_without_a_virtual_environment_of_the_checkout(checkout, hook, words):
    folder, variables = checkout
    command = [*shlex.split(hook_entries()[hook]), *words]

    done = subprocess.run(
        command, cwd=folder, env=variables, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr


def test_make_adds_pip_to_an_environment_that_uv_has_created(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    venv.create(tmp_path / ".venv", with_pip=False, symlinks=True)

    subprocess.run(["make", ".venv/bin/pip"], cwd=tmp_path, capture_output=True, check=True)

    assert (tmp_path / ".venv" / "bin" / "pip").is_file()


def test_clang_format_of_the_hook_is_the_pinned_one():
    pin = re.search(r"^clang-format==\S+", (ROOT / "constraints.txt").read_text(), re.MULTILINE)

    assert f"[{pin[0]}]" in (ROOT / ".pre-commit-config.yaml").read_text()


@pytest.mark.real("yaml")
def test_the_citation_has_this_version():
    citation = read_yaml(ROOT / "CITATION.cff")
    day = re.search(
        rf"^## {re.escape(assay.__version__)} \((.+)\)",
        (ROOT / "CHANGELOG.md").read_text(),
        re.MULTILINE,
    )[1]

    assert citation["version"] == assay.__version__
    assert citation["date-released"] == day
    assert {"cff-version", "message", "title", "authors", "license"} <= citation.keys()


@pytest.mark.real("yaml")
@pytest.mark.parametrize(
    "path", sorted(GITHUB.glob("ISSUE_TEMPLATE/[!c]*.yml")), ids=lambda path: path.stem
)
def test_an_issue_form_has_what_github_requires(path):
    form = read_yaml(path)
    fields = [field for field in form["body"] if field["type"] != "markdown"]

    assert form["name"]
    assert form["description"]
    assert len({field["id"] for field in fields}) == len(fields)
    assert all(field["attributes"]["label"] for field in fields)


def test_the_sample_data_has_its_licences():
    text = (ROOT / "tests" / "data" / "LICENSES.md").read_text()
    files = (ROOT / "tests" / "data" / "pictures").rglob("*.npz")

    names = [str(path.relative_to(ROOT / "tests" / "data")) for path in files]
    assert [name for name in names if f"`{name}`" not in text] == []


def workflow(name: str) -> dict:
    return read_yaml(GITHUB / "workflows" / f"{name}.yml")


def commands(job: dict) -> list[str]:
    return [step["run"] for step in job["steps"] if "run" in step]


@pytest.mark.real("yaml")
def test_ci_has_a_lint_job_of_its_own_and_runs_the_gate():
    jobs = workflow("test")["jobs"]

    assert commands(jobs["lint"]) == ["make lint"]
    assert "needs" not in jobs["lint"]
    assert ".ci/run" in commands(jobs["test"])
    assert "make dist" in commands(jobs["dist"])
    assert (ROOT / ".ci" / "run").read_text().endswith("\nmake test\n")


@pytest.mark.real("yaml")
def test_ci_keeps_downloads_packages_and_native_runtimes_between_jobs():
    job = workflow("test")["jobs"]["test"]
    (cache,) = [
        step["with"] for step in job["steps"] if step.get("uses", "").startswith("actions/cache@")
    ]
    folders = {name: job["env"][name] for name in CACHES}

    assert all(folder.startswith(f"{cache['path']}/") for folder in folders.values())
    assert len(set(folders.values())) == len(CACHES)


@pytest.mark.real("yaml")
def test_a_release_is_published_without_a_token():
    jobs = workflow("release")["jobs"]
    uploads = {
        step["with"]["name"]
        for step in workflow("test")["jobs"]["dist"]["steps"]
        if step.get("uses", "").startswith("actions/upload-artifact@")
    }

    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert jobs["publish"]["needs"] == "test"
    assert set(jobs["publish"]["strategy"]["matrix"]["distribution"]) == uploads
    assert "secrets." not in (GITHUB / "workflows" / "release.yml").read_text()


@pytest.mark.parametrize(("tag", "status"), [(assay.__version__, 0), ("9.9.9", 1)])
def test_a_tag_that_is_not_the_version_is_not_released(tag, status):
    text = (GITHUB / "workflows" / "release.yml").read_text()
    command = re.search(r"run: (test .+)", text)[1]
    variables = {"GITHUB_REF_NAME": f"v{tag}", "PATH": "/usr/bin:/bin"}

    done = subprocess.run(["/bin/sh", "-c", command], cwd=ROOT, env=variables, check=False)

    assert done.returncode == status
