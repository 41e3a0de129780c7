"""A real cluster of two nodes: cases spread, a node lost, a driver lost, and what is refused."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

import assay as package
from assay.core.records import Query
from assay.registry import open_store
from tests.platforms import ray_nodes
from tests.platforms.ray_nodes import ADDRESS

pytestmark = pytest.mark.real("ray", "ip")
QUICK = ("--samples", "3", "--steps-per-sample", "1")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Two nodes, `one` and `two`; the first test takes the second away."""
    with ray_nodes.running() as nodes:
        home = str(tmp_path_factory.mktemp("node-home"))
        nodes.start("one", {"ASSAY_HOME": home})
        nodes.start("two", {"ASSAY_HOME": home})
        yield nodes


def sweep(endings: str, count: int) -> tuple[str, ...]:
    sizes = ",".join(str(size) for size in range(1, count + 1))
    return ("run", f"{endings}:fine@python", "--set", f"size={sizes}", *QUICK, "--on", ADDRESS)


def results(home: Path):
    with closing(open_store(home)) as store:
        return list(store.results(Query()))


def until(driver, text: str, times: int) -> str:
    """What the driver says until it has said something so often."""
    heard = ""
    while heard.count(text) < times:
        line = driver.stderr.readline()
        assert line, heard
        heard += line
    return heard


def test_cases_are_spread_and_those_of_a_lost_node_run_elsewhere(cluster, endings, home):
    driver = cluster.assay(*sweep(endings, 20), home=home)
    heard = until(driver, " ok, ", 7)
    cluster.kill("two")
    _, err = driver.communicate(timeout=200)

    assert driver.returncode == 0, err
    assert "at once, this on two" in heard
    found = results(home)
    assert [result.status for result in found] == ["ok"] * 20
    assert {result.case.params["size"] for result in found} == set(range(1, 21))
    hosts = Counter(result.environment.system["hostname"] for result in found)
    assert hosts["one"] > 10
    assert hosts["two"] >= 2
    assert (home / "runs" / found[0].id / "worker.log").exists()


def test_a_killed_driver_resumes_without_measuring_again(cluster, endings, home):
    driver = cluster.assay(*sweep(endings, 6), home=home)
    until(driver, " ok, ", 2)
    driver.kill()
    driver.communicate(timeout=60)
    before = {result.id: result.started for result in results(home)}

    again = cluster.assay("run", "--resume", "last", "--on", ADDRESS, home=home)
    _, err = again.communicate(timeout=200)

    assert again.returncode == 0, err
    found = results(home)
    assert 2 <= len(before) < 6
    assert sorted(result.case.params["size"] for result in found) == [1, 2, 3, 4, 5, 6]
    assert {r.id: r.started for r in found if r.id in before} == before


@pytest.mark.long
def test_contenders_of_a_pair_are_on_one_node(cluster, home):
    words = ("--cmd", "true", "--cmd", "sleep 0.02", "--pairs", "2", "--budget", "30s")
    driver = cluster.assay("ab", *words, "--on", ADDRESS, "--format", "json", home=home)
    out, err = driver.communicate(timeout=200)

    assert driver.returncode == 0, err
    assert json.loads(out)["verdict"] == "slower"
    nodes = {(one.tags["pair"], one.environment.system["hostname"]) for one in results(home)}
    assert len(nodes) == len({pair for pair, _ in nodes}) == 2


def test_a_node_with_another_version_of_assay_is_left_out(cluster, endings, home, tmp_path):
    other = tmp_path / "other" / "assay"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(package.__file__).parent, other, ignore=ignored)
    text = (other / "__init__.py").read_text()
    (other / "__init__.py").write_text(text.replace(package.__version__, "0.0.1"))
    cluster.start("old", {"PYTHONPATH": str(other.parent)})
    try:
        driver = cluster.assay(*sweep(endings, 2), home=home)
        _, err = driver.communicate(timeout=200)
    finally:
        cluster.kill("old")

    assert driver.returncode == 0, err
    assert "old is left out: it has assay 0.0.1" in err
    hosts = {result.environment.system["hostname"] for result in results(home)}
    assert hosts and hosts <= {"one", "two"}  # the second, unless a test before this killed it


@pytest.mark.parametrize(
    ("words", "token", "sentences"),
    [
        (("--need", "gpus=1,accelerator=H100"), "", ("1 GPU and an accel", "one (1 CPU)")),
        pytest.param(
            *((), "0" * 32, ("cannot be used", "RAY_AUTH_TOKEN")),
            marks=pytest.mark.long,  # Ray tries for half a minute
        ),
    ],
)
def test_what_a_cluster_cannot_do_is_said(cluster, endings, home, words, token, sentences):
    given = {"RAY_AUTH_TOKEN": token} if token else {}
    driver = cluster.assay(*sweep(endings, 1), *words, home=home, variables=given)
    _, err = driver.communicate(timeout=200)

    assert driver.returncode == 3, err
    assert all(sentence in err for sentence in sentences), err
    assert "Traceback" not in err
    assert not (home / "runs").exists()


@pytest.mark.long
def test_a_race_is_run_heat_by_heat_on_a_node(cluster, home):
    words = ("mnist-mlp:units=8,hidden=1", "-b", "jax,torch", "--budget", "60s")
    driver = cluster.assay("race", *words, "--on", ADDRESS, "--format", "json", home=home)
    out, err = driver.communicate(timeout=280)

    assert json.loads(out)["heats"] >= 1, err
    assert {result.environment.system["hostname"] for result in results(home)} == {"one"}
