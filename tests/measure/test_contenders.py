"""What was asked to be compared becomes two contenders."""

import subprocess
import sys
from pathlib import Path

import pytest

from assay.core.errors import UsageError
from assay.measure import contenders
from assay.measure.git import run_git


@pytest.fixture
def repository(tmp_path):
    """A workload at two commits: the second does twice the work."""
    folder = tmp_path / "repository"
    (folder / "bench").mkdir(parents=True)
    run_git("init", "-q", "-b", "main", str(folder))
    for name, size in (("first", 1000), ("second", 2000)):
        (folder / "bench" / "work.py").write_text(
            f"def work():\n    return lambda: sum(range({size}))\n"
        )
        run_git("add", "-A", folder=folder)
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        run_git(*identity, "commit", "-q", "-m", name, folder=folder)
        run_git("tag", name, folder=folder)
    return folder


def test_two_cases_are_named_by_their_keys(endings):
    first, second = contenders.pair_from_cases(
        [f"{endings}:fine@python", f"{endings}:fine:size=9@python"], (), ()
    )
    assert first.name.endswith(":fine@python")
    assert second.case.params["size"] == 9


def test_one_case_in_two_environments(endings, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        (tmp_path / name / "bin").mkdir(parents=True)
        (tmp_path / name / "bin" / "python").symlink_to(sys.executable)
    pair = contenders.pair_from_cases([f"{endings}:fine@python"], [str(tmp_path / "a"), "b"], ())
    assert [one.case.options["python"] for one in pair] == [
        str(tmp_path / "a"),
        str(Path("b").absolute()),
    ]


@pytest.mark.parametrize(
    ("cases", "more"),
    [
        ([], {}),
        (["fine"], {}),
        (["fine", "fine", "fine"], {}),
        (["fine"], {"pythons": ["a"]}),
        (["fine", "fine"], {"pythons": ["a", "b"]}),
        (["fine"], {"pythons": ["a", "b"], "commits": ["a", "b"]}),
    ],
)
def test_anything_but_two_is_refused(endings, cases, more):
    texts = [f"{endings}:{name}@python" for name in cases]
    with pytest.raises(UsageError):
        contenders.pair_from_cases(texts, more.get("pythons", ()), more.get("commits", ()))


def test_the_largest_batch_is_no_fixed_contender(endings):
    texts = [f"{endings}:fine:batch_size=max@python", f"{endings}:fine@python"]
    with pytest.raises(UsageError, match="contenders need a fixed one"):
        contenders.pair_from_cases(texts, (), ())


def test_a_commit_that_is_not_there_is_refused_before_anything_runs(repository):
    with pytest.raises(UsageError, match=r"There is no commit 'third' in .*repository\."):
        contenders.pair_from_cases(
            [f"{repository}/bench/work.py:work@python"], (), ("first", "third")
        )


def test_each_commit_has_a_folder_of_its_own_that_goes_at_the_end(repository):
    text = f"{repository}/bench/work.py:work@python"
    pair = contenders.pair_from_cases([text], (), ("first", "second"))

    with contenders.check_out_pair(pair) as moved:
        files = [Path(one.case.workload.rpartition(":")[0]) for one in moved]
        texts = [file.read_text() for file in files]

    assert ["1000" in texts[0], "2000" in texts[1]] == [True, True]
    assert [one.case.key for one in moved] == [one.case.key for one in pair]
    assert not any(file.exists() for file in files)
    assert run_git("worktree", "list", folder=repository).count("\n") == 0


def test_a_file_that_a_commit_lacks_is_said(repository):
    (repository / "bench" / "new.py").write_text("def new():\n    return lambda: 1\n")
    pair = contenders.pair_from_cases(
        [f"{repository}/bench/new.py:new@python"], (), ("first", "second")
    )
    with (
        pytest.raises(UsageError, match="does not exist at first"),
        contenders.check_out_pair(pair),
    ):
        pass


def test_the_interpreter_of_a_checkout_finds_its_packages_first(tmp_path):
    """Also before those of the folder one stands in."""
    for place, value in (("tree", 3), ("here", 4)):
        (tmp_path / place / "thing").mkdir(parents=True)
        (tmp_path / place / "thing" / "__init__.py").write_text(f"value = {value}\n")

    python = contenders._with_path(tmp_path / "tree", sys.executable)

    found = subprocess.run(
        [python, "-c", "import thing; print(thing.value)"],
        capture_output=True,
        text=True,
        cwd=tmp_path / "here",
    )
    assert found.stdout == "3\n"


def test_commands_are_tasks_with_the_metric_asked_for():
    first, second = contenders.pair_from_commands(
        ["python old.py", "./serve"], ("rate", r"(\d+) items/s"), 9.0
    )
    assert [first.case.workload, second.case.workload] == ["old", "serve"]
    assert first.task.metrics[0].name == "rate"
    assert first.task.timeout == 9.0


def test_an_environment_that_is_not_there_is_refused(endings, tmp_path):
    with pytest.raises(UsageError, match="no Python interpreter at /nope"):
        contenders.pair_from_cases([f"{endings}:fine@python"], [sys.executable, "/nope"], ())


def test_one_case_alone_is_named_with_its_backend(endings):
    with pytest.raises(UsageError, match=r"1 given: .*:fine@python\."):
        contenders.pair_from_cases([f"{endings}:fine@python"], (), ())


@pytest.mark.parametrize("command", ["a | b", "a > b", "a && b", "a; b", "a ; b", "a 'x' | b"])
def test_a_command_that_needs_a_shell_is_refused_with_the_way_to_one(command):
    with pytest.raises(UsageError, match="without a shell") as caught:
        contenders.pair_from_commands([command, "true"], ("wall_time", ""), 9.0)
    assert "sh -c " in caught.value.hint


@pytest.mark.parametrize(
    "command", ["sh -c 'a | b'", 'grep "a | b" c', "grep --for='a > b' c", r"find . \;"]
)
def test_what_is_quoted_needs_no_shell(command):
    first, _ = contenders.pair_from_commands([command, "true"], ("wall_time", ""), 9.0)
    assert first.name == command


def test_an_empty_command_is_refused():
    with pytest.raises(UsageError, match="empty"):
        contenders.pair_from_commands(["", "true"], ("wall_time", ""), 9.0)
