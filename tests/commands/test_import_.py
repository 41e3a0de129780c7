"""Runs from elsewhere: copied whole into the store, and nowhere else."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from assay import read_results, resume
from assay.commands.import_ import import_run
from assay.core import codec
from assay.core.errors import StoreError, UsageError
from assay.core.records import Query
from assay.core.registry import open_store
from assay.stores import importing
from tests.stores.test_sqlite import stored


@pytest.fixture
def elsewhere(tmp_path) -> list[Path]:
    """Two run folders of another home, of two results each."""
    with closing(open_store(tmp_path / "elsewhere")) as store:
        return [store.folder(stored(store, 2)[0].run) for _ in range(2)]


def test_several_runs_are_taken_in_with_all_their_results(elsewhere):
    found = import_run(*elsewhere)

    assert found == [f"{run.name}/{number}" for run in elsewhere for number in ("001", "002")]
    assert {reading.result.id for reading in read_results()} == set(found)


def test_what_lies_beside_a_result_comes_with_it(elsewhere, home):
    (elsewhere[0] / "001" / "worker.log").write_text("what it printed")

    import_run(elsewhere[0])

    copied = home / "runs" / elsewhere[0].name / "001" / "worker.log"
    assert copied.read_text() == "what it printed"


def test_a_damaged_result_is_refused_and_nothing_of_its_run_is_copied(elsewhere, home):
    (elsewhere[0] / "002" / "result.json").write_text("{")

    with pytest.raises(StoreError, match=r"002/result\.json is not readable JSON"):
        import_run(elsewhere[0])

    assert list((home / "runs").iterdir()) == []


def test_a_folder_without_results_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"is no run folder: it has no NNN/result\.json"):
        import_run(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "../../escaped/001",
        "{absolute}/escaped/001",
        "run/../../escaped/001",
        "run\0/001",
        "run/001\n",
        "\x1b]0;title\x07/001",
        f"{'r' * 5000}/001",
        ".hidden/001",
        "run",
        "",
    ],
)
def test_a_result_whose_id_is_none_by_its_form_is_refused(elsewhere, home, tmp_path, text):
    rewritten(elsewhere[0] / "001", id=text.format(absolute=tmp_path))

    with pytest.raises(StoreError, match=r"but an id is RUN/NNN"):
        import_run(elsewhere[0])

    assert not list(tmp_path.rglob("escaped"))
    assert list((home / "runs").iterdir()) == []


def test_one_run_is_imported_at_a_time(elsewhere, home):
    rewritten(elsewhere[0] / "002", id=f"{elsewhere[1].name}/002")

    with pytest.raises(StoreError, match="results of several runs"):
        import_run(elsewhere[0])

    assert list((home / "runs").iterdir()) == []


def test_two_results_of_one_id_are_refused(elsewhere):
    rewritten(elsewhere[0] / "002", id=f"{elsewhere[0].name}/001")

    with pytest.raises(StoreError, match="two with the same id"):
        import_run(elsewhere[0])


@pytest.mark.parametrize(
    "text", ["[" * 200_000, '{"a":' * 200_000, "\0" * 10, "9" * 5000, '"\\ud800"', ""]
)
def test_a_file_that_no_parser_likes_is_refused_in_words(elsewhere, text):
    (elsewhere[0] / "001" / "result.json").write_text(text)

    with pytest.raises(StoreError, match=r"001/result\.json"):
        import_run(elsewhere[0])


@pytest.mark.parametrize(
    "make",
    [
        os.mkfifo,
        lambda path: os.symlink("/etc/passwd", path),
        lambda path: os.symlink("/dev/zero", path),
        lambda path: os.symlink(path.parent, path),
        lambda path: os.symlink(path, path),
    ],
)
def test_what_is_no_plain_file_is_left_out_and_said(elsewhere, home, make):
    make(elsewhere[0] / "001" / "strange")
    said = []

    found = import_run(elsewhere[0], say=said.append)

    assert len(found) == 2
    assert not os.path.lexists(home / "runs" / found[0] / "strange")
    assert said == [f"{elsewhere[0] / '001' / 'strange'} is no plain file, and was skipped."]


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: os.symlink("/dev/zero", path)])
def test_a_result_that_is_no_plain_file_is_not_read(elsewhere, make):
    (elsewhere[0] / "001" / "result.json").unlink()
    make(elsewhere[0] / "001" / "result.json")

    with pytest.raises(StoreError, match=r"001/result\.json cannot be used"):
        import_run(elsewhere[0])


@pytest.mark.parametrize(("name", "value"), [("MAX_FILES", 2), ("MAX_BYTES", 100)])
def test_too_much_is_refused_before_a_byte_is_copied(elsewhere, home, monkeypatch, name, value):
    monkeypatch.setattr(importing, name, value)

    with pytest.raises(UsageError, match=r"at most .* are imported"):
        import_run(elsewhere[0])

    assert list((home / "runs").iterdir()) == []


def test_folders_too_deep_are_left_out(elsewhere, home):
    (elsewhere[0] / "001" / "/".join("abcdefghij")).mkdir(parents=True)
    said = []

    (first, _) = import_run(elsewhere[0], say=said.append)

    assert len(said) == 1 and "is nested too deeply," in said[0]
    assert (home / "runs" / first / "result.json").is_file()


@pytest.mark.parametrize("name", ["comparison.json", "race.json", "request.json"])
def test_what_a_run_found_beside_its_results_comes_too(elsewhere, home, name):
    (elsewhere[0] / name).write_text("{}")

    import_run(elsewhere[0])

    assert (home / "runs" / elsewhere[0].name / name).read_text() == "{}"


def test_a_result_that_is_here_already_keeps_its_place_in_the_index(elsewhere, home):
    import_run(elsewhere[0])
    rewritten(elsewhere[0] / "001", label="forged")

    import_run(elsewhere[0])

    with closing(open_store(home)) as store:
        assert {row["label"] for row in store.rows(Query())} == {""}


def test_what_was_begun_elsewhere_is_shown_but_not_gone_on_with(elsewhere):
    """Its plan names files and commands that nobody here has chosen."""
    import_run(elsewhere[0])

    assert len(read_results(Query(ids=(elsewhere[0].name,)))) == 2
    with pytest.raises(UsageError, match="was imported"):
        list(resume(elsewhere[0].name))


def rewritten(case: Path, **fields: str) -> None:
    file = case / "result.json"
    file.write_bytes(codec.encode(msgspec.json.decode(file.read_bytes()) | fields))
