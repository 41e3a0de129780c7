"""Schedules: cron's line, systemd's units, a workflow; no name becomes a command in them."""

from __future__ import annotations

import shlex
import subprocess

import pytest

from assay.commands.schedule.timers import Scheduled, calendar, files, parse_time
from assay.core.errors import UsageError

NASTY = "/srv/a b;$(touch x)%n/plan's.toml"


def scheduled(every="night", plan=NASTY) -> Scheduled:
    return Scheduled(
        name="nightly",
        every=every,
        hour=2,
        minute=30,
        command=("/usr/bin/python3", "-m", "assay", "run", "--plan", plan, "--every", every),
        folder="/tmp",
        plan=plan,
        secrets=("ASSAY_WEBHOOK",),
    )


@pytest.mark.parametrize(
    "every, place", [("hour", "30 * * * *"), ("night", "30 2 * * *"), ("week", "30 2 * * 0")]
)
def test_a_line_of_cron_runs_the_very_words(every, place, tmp_path):
    (text,) = files("cron", scheduled(every)).values()
    line = text.splitlines()[-1]
    assert line.startswith(place + " ")

    command = line.removeprefix(place).replace(r"\%", "%")  # as cron hands it to the shell
    shown = command.replace("/usr/bin/python3", "printf '%s\\n'", 1)
    ran = subprocess.run(["sh", "-c", shown], capture_output=True, text=True, cwd=tmp_path)

    assert ran.stdout.splitlines() == list(scheduled(every).command[1:])
    assert "%" not in line.replace(r"\%", "")


@pytest.mark.real("systemd-analyze")
@pytest.mark.parametrize("every", ["hour", "night", "week"])
def test_systemd_takes_the_units_and_the_calendar(every, tmp_path):
    for name, text in files("systemd", scheduled(every)).items():
        (tmp_path / name).write_text(text)
    units = [str(tmp_path / name) for name in files("systemd", scheduled(every))]

    verified = subprocess.run(["systemd-analyze", "verify", *units], capture_output=True, text=True)
    timed = subprocess.run(
        ["systemd-analyze", "calendar", calendar(scheduled(every))], capture_output=True, text=True
    )

    assert [line for line in verified.stderr.splitlines() if "nightly" in line] == []
    assert timed.returncode == 0, timed.stderr


def test_a_unit_quotes_what_systemd_would_expand():
    service = files("systemd", scheduled())["assay-nightly.service"]
    (line,) = [line for line in service.splitlines() if line.startswith("ExecStart=")]

    assert '"/srv/a b;$$(touch x)%%n/plan\'s.toml"' in line


@pytest.mark.real("yaml")
def test_a_workflow_is_yaml_whose_step_runs_the_plan():
    import yaml

    ((name, text),) = files("github-actions", scheduled()).items()
    found = yaml.safe_load(text)
    (job,) = found["jobs"].values()

    assert name == ".github/workflows/assay-nightly.yml"
    assert found[True]["schedule"] == [{"cron": "30 2 * * *"}]  # `on` is true to YAML 1.1
    assert shlex.split(job["steps"][-1]["run"]) == [
        *("assay", "run", "--plan", NASTY, "--every", "night")
    ]
    assert job["env"]["ASSAY_WEBHOOK"] == "${{ secrets.ASSAY_WEBHOOK }}"


@pytest.mark.parametrize("kind", ["cron", "systemd", "github-actions"])
def test_a_new_line_in_a_name_is_refused(kind):
    with pytest.raises(UsageError, match="control characters"):
        files(kind, scheduled(plan="a\n* * * * * root reboot"))


@pytest.mark.parametrize("every, at", [("fortnight", "2:00"), ("night", "25:00"), ("night", "2")])
def test_a_wrong_time_is_refused(every, at):
    with pytest.raises(UsageError):
        parse_time(every, at)


def test_an_unknown_kind_suggests_one():
    with pytest.raises(UsageError, match="kind of schedule"):
        files("at", scheduled())
