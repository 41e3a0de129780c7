"""What f7cfc39 kept is read, shown, compared and explained as f7cfc39 did it."""

import json
import re
import shutil

import pytest

from tests.frozen import inside, outputs

DOCUMENTS = sorted(path for name in inside.DOCUMENTS for path in outputs.STORE.rglob(name))
LINES = [line for path in outputs.STORE.rglob("nights.jsonl") for line in path.open("rb")]


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    with outputs.copied_store(tmp_path_factory.mktemp("frozen")) as home:
        yield home


@pytest.fixture
def kept(copy, monkeypatch):
    """The store, of which these tests only read: one copy does for all."""
    monkeypatch.setenv("ASSAY_HOME", str(copy))
    monkeypatch.chdir(copy.parent)
    return copy


@pytest.mark.parametrize("name", outputs.commands())
def test_a_command_says_what_it_said(kept, assay, name):
    record = outputs.recorded(name)

    assert outputs.call(assay, tuple(record["words"])) == record


def test_every_record_is_compared():
    files = {path.stem for path in outputs.OUTPUTS.glob("*.json")}

    assert files == outputs.commands().keys()


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(outputs.STORE)))
def test_a_document_is_read_and_written_again_to_the_same_bytes(path):
    data = path.read_bytes()

    assert shortened(inside.written_again(path.name, data)) == shortened(data)


def shortened(data):
    """A number that was whole when it was kept is read as a float: 0 is written again as 0.0.
    A field of Task that f7cfc39 did not have is written with its default."""
    data = re.sub(rb',\s*"unnamed": false', b"", data)
    return re.sub(rb"(?<=\d)\.0(?=[,}\]\n])", b"", data)


@pytest.mark.parametrize("line", LINES)
def test_a_line_of_the_log_of_nights_is_read_and_written_again_to_the_same_bytes(line):
    assert inside.written_again("nights.jsonl", line.rstrip(b"\n")) == line.rstrip(b"\n")


def test_the_store_has_every_kind_of_document_and_ending():
    results = [json.loads(path.read_bytes()) for path in outputs.STORE.rglob("result.json")]

    assert {path.name for path in DOCUMENTS} == set(inside.DOCUMENTS)
    assert {one["status"] for one in results} == {
        *("ok", "failed", "crashed", "timeout", "interrupted")
    }
    assert {one["case"]["backend"] for one in results} >= {
        *("python", "jax", "torch", "keras-jax", "keras-torch", "native", "command", "hyperfine")
    }


def test_nothing_in_the_store_names_the_machine_it_was_measured_on():
    results = [json.loads(path.read_bytes()) for path in outputs.STORE.rglob("result.json")]
    where = [one["environment"] for one in results]

    assert {one["system"].get("hostname", "frozen") for one in where} == {"frozen"}
    assert {one["command"][0] for one in where if one["command"]} == {
        "/tmp/assay-frozen/assay/.venv/bin/assay"
    }


def test_an_interrupted_run_is_resumed(tmp_path, home, assay, monkeypatch):
    shutil.copytree(outputs.STORE, home)
    shutil.copy(outputs.DATA / "cases.py", tmp_path)
    (tmp_path / "go").touch()  # what its second case waits for
    monkeypatch.chdir(tmp_path)
    run = outputs.RUNS["7cxa"]

    status, _, err = assay("run", "--resume", run)
    _, out, _ = assay("list", "results", "--label", "interrupted", "--format", "json")

    assert status == 0, err
    rows = [row for row in json.loads(out)["rows"] if row["id"].startswith(run)]
    results = {row["case"]: row["status"] for row in rows}
    assert results == {f"cases.py:{name}@python": "ok" for name in ("nap", "wait_for", "add")}


def test_a_comparison_is_resumed(tmp_path, home, assay, monkeypatch):
    shutil.copytree(outputs.STORE, home)
    shutil.copy(outputs.DATA / "cases.py", tmp_path)
    monkeypatch.chdir(tmp_path)
    run = outputs.RUNS["qwvz"]
    stored = json.loads((outputs.STORE / "runs" / run / "comparison.json").read_bytes())["pairs"]

    status, out, err = assay("ab", "--resume", run, "--format", "json")

    comparison = json.loads(out)
    assert (status, comparison["verdict"]) == (0, "slower"), err
    assert [pair["ratio"] for pair in comparison["pairs"]][:3] == [one["ratio"] for one in stored]
    assert len(comparison["pairs"]) == len(stored) + 1 == 4


@pytest.mark.long
@pytest.mark.real("jax")
@pytest.mark.real("torch")
def test_a_race_is_resumed(tmp_path, home, assay, monkeypatch):
    shutil.copytree(outputs.STORE, home)
    monkeypatch.chdir(tmp_path)
    run = outputs.RUNS["qeu7"]
    stored = json.loads((outputs.STORE / "runs" / run / "race.json").read_bytes())["places"]

    status, out, err = assay("race", "--resume", run, "--format", "json")

    places = json.loads(out)["places"]
    assert status in (0, 6), err
    assert {place["key"] for place in places} == {place["key"] for place in stored}
    assert sum(place["heats"] for place in places) > sum(place["heats"] for place in stored)
