"""No command stores what looks secret, and none runs what merely lies about."""

from __future__ import annotations

import pytest

import assay
from assay.commands.ab import api
from assay.core.errors import UsageError
from assay.logs.task import Task

SECRET = "s3cr3t-value"
QUICK = {"samples": 2, "steps_per_sample": 1}


def stored(home) -> str:
    """All that lies in the store's run folders and index, but for what programs printed."""
    files = (file for file in home.rglob("*") if file.is_file())
    kept = [file for file in files if file.name not in {"worker.log", "log.gz"}]
    assert kept
    return "".join(file.read_bytes().decode("latin-1") for file in kept)


def test_labels_tags_and_variables_are_stored_without_secrets(endings, home, monkeypatch):
    monkeypatch.setenv("JAX_FOO", f"Bearer {SECRET}")
    monkeypatch.setenv("TF_API_TOKEN", SECRET)

    list(
        assay.run(
            f"{endings}:fine@python",
            label=f"api_key={SECRET}",
            tags={"note": f"--password {SECRET}", f"token={SECRET}": "x"},
            **QUICK,
        )
    )

    assert SECRET not in stored(home)


def test_the_command_of_a_task_is_stored_without_secrets(home):
    assay.run_task(Task(name="t", command=("echo", "--password", SECRET)))

    assert SECRET not in stored(home)


def test_a_comparison_of_commands_is_stored_without_secrets_and_then_not_gone_on_with(home):
    commands = [f"true --password {SECRET}", f"true --verbose --password {SECRET}"]
    found = list(assay.ab(commands=commands, pairs=1, budget=5))

    assert SECRET not in stored(home)
    assert SECRET not in str(found)
    with pytest.raises(UsageError, match="what looked secret in its command was not stored"):
        api.resume(found[-1].run)


def test_files_of_the_current_folder_do_not_run_in_workers(tmp_path, monkeypatch):
    """Nor do those beside the user's file take the place of a library; its neighbours are found."""
    monkeypatch.chdir(tmp_path)
    for name in ("json", "random", "torch", "msgspec"):
        (tmp_path / f"{name}.py").write_text("open('ran', 'w').close()\nraise SystemExit(9)")
    (tmp_path / "neighbour.py").write_text("SIZE = 10")
    (tmp_path / "mine.py").write_text(
        "import json, random\nfrom neighbour import SIZE\n\n\n"
        "def work():\n    return lambda: json.dumps([random.random()] * SIZE)\n"
    )

    (result,) = assay.run("./mine.py:work@python", **QUICK)

    assert (result.status, result.reason) == ("ok", "")
    assert not (tmp_path / "ran").exists()
