"""A real cluster of two nodes: cases spread, a node lost, a driver lost, and what is refused."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

import assay as package
from assay.core.records import Query
from assay.core.registry import open_store
from tests.platforms import ray_nodes
from tests.platforms.ray_nodes import ADDRESS

pytestmark = pytest.mark.real("ray", "ip")
QUICK = ("--samples", "3", "--steps-per-sample", "1")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Nodes `one` and `two`, and `old` with another assay; the first test takes the second away."""
    with ray_nodes.running() as nodes:
        home = {"ASSAY_HOME": str(tmp_path_factory.mktemp("node-home"))}
        nodes.start("one", home)
        nodes.launch("two", home)
        nodes.launch("old", {"PYTHONPATH": str(another_version(tmp_path_factory.mktemp("other")))})
        nodes.wait_for("two")
        nodes.wait_for("old")
        yield nodes


def another_version(folder: Path) -> Path:
    """A copy of assay that says it is 0.0.1."""
    copy, ignored = folder / "assay", shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(package.__file__).parent, copy, ignore=ignored)
    text = (copy / "__init__.py").read_text()
    (copy / "__init__.py").write_text(text.replace(package.__version__, "0.0.1"))
    return folder


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


def test_cases_are_spread_over_nodes_of_this_version_and_those_of_a_lost_one_run_again(
    cluster, endings, home
):
    driver = cluster.assay(*sweep(endings, 20), home=home)
    heard = until(driver, "at once, this on two", 1)
    heard += until(driver, " ok, ", 7 - heard.count(" ok, "))
    cluster.kill("two")
    _, err = driver.communicate(timeout=200)

    assert driver.returncode == 0, err
    found = results(home)
    assert [result.status for result in found] == ["ok"] * 20
    assert {result.case.params["size"] for result in found} == set(range(1, 21))
    hosts = Counter(result.environment.system["hostname"] for result in found)
    assert hosts["one"] > 10
    assert hosts["two"] >= 2
    assert hosts.keys() == {"one", "two"}
    assert heard.count("old is not used: it has assay 0.0.1") == 1
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

    assert driver.returncode in {0, 6}, err  # decided, or not by two pairs
    assert len(json.loads(out)["pairs"]) == 2
    nodes = {(one.tags["pair"], one.environment.system["hostname"]) for one in results(home)}
    assert len(nodes) == len({pair for pair, _ in nodes}) == 2


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


# The process that Ray's head starts for a client ends at once, the first time.
ENDS_ONCE = """
import os, sys
if "--mode=specific-server" in sys.orig_argv and not os.path.exists(os.environ["ENDED"]):
    open(os.environ["ENDED"], "w").close()
    os._exit(1)
"""


@pytest.mark.long
def test_a_client_whose_process_ended_at_once_tries_again(endings, home, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(ENDS_ONCE)
    ended = tmp_path / "ended"
    with ray_nodes.running() as nodes:
        nodes.start("one", {"PYTHONPATH": str(tmp_path), "ENDED": str(ended)})
        driver = nodes.assay(*sweep(endings, 1), home=home)
        _, err = driver.communicate(timeout=280)

    assert ended.exists()
    assert driver.returncode == 0, err


@pytest.mark.long
@pytest.mark.parametrize("address", ["127.0.0.1:6379", "ray"])
def test_a_machine_of_the_cluster_is_a_driver_itself(cluster, endings, home, address):
    words = [address if word == ADDRESS else word for word in sweep(endings, 2)]
    found = {"RAY_ADDRESS": "127.0.0.1:6379"} if address == "ray" else {}
    driver = cluster.assay(*words, home=home, variables=found)
    _, err = driver.communicate(timeout=200)

    assert driver.returncode == 0, err
    assert [result.status for result in results(home)] == ["ok", "ok"]


WITHOUT_A_CLUSTER = """
from assay.core.errors import NotPossibleError
from assay.platforms.cluster._connection import RayLink, ray
try:
    RayLink().versions(["0" * 56])
except NotPossibleError as error:
    print(error, ray.is_initialized())
"""


def test_no_cluster_is_started_here_where_the_one_asked_is_gone():
    """Ray would, as soon as it is asked anything: one that listens on every address."""
    own = [] if os.geteuid() == 0 else ["--map-root-user"]
    words = ["unshare", *own, "--net", sys.executable, "-c", WITHOUT_A_CLUSTER]

    ended = subprocess.run(words, capture_output=True, text=True, check=False)

    assert "The Ray cluster does not answer any more" in ended.stdout, ended.stderr
    assert ended.stdout.endswith(" False\n")


def test_what_a_cluster_said_is_told_by_its_last_line():
    from assay.platforms.cluster._connection import unusable_reason

    said = "Initialization failure from server:\nTraceback (most recent call last):\n  File …\n"
    said += "RuntimeError: Starting Ray client server failed. See ray_client_server_1.err.\n"
    found = unusable_reason(ADDRESS, ConnectionError(said))

    assert "(RuntimeError: Starting Ray client server failed." in str(found)
    assert "perhaps out of memory" in found.hint
