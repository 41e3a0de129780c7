"""Plan files: what they hold, and what is said of one that is wrong."""

from __future__ import annotations

import pytest

from assay.commands.schedule import plan_file
from assay.core.errors import UsageError

WHOLE = """
label = "nightly"
tags = {team = "vision"}

[run]
cases = ["mnist-mlp"]
backends = ["keras-jax", "torch"]
params = {batch_size = [32, 64]}

[procedure]
budget = "2s"

[bench]
methods = ["my_pkg.bench.Resnet.benchmark_small"]
repositories = ["https://example.org/my_pkg.git;main"]
python_path = ["my_pkg"]

[check]
fail_on = ["step_time:3%"]

[alerts]
to = ["env:ASSAY_TEST_WEBHOOK", "cmd:logger"]
"""


def written(tmp_path, text, name="nightly.toml"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_a_plan_has_the_name_of_its_file_and_all_its_parts(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_TEST_WEBHOOK", "https://hooks.example.org/T0")

    plan = plan_file.read(written(tmp_path, WHOLE))

    assert plan.name == "nightly"
    assert plan.run.params == {"batch_size": (32, 64)}
    assert plan.bench.trials == 1
    assert plan_file.alert_places(plan) == ("https://hooks.example.org/T0", "cmd:logger")


@pytest.mark.parametrize(
    "text, sentence, hint",
    [
        ("", r"neither \[run\] nor \[bench\]", "nothing|cases"),
        ("[run]\ncase = ['mnist-mlp']", r"\[run\] of the plan file has no 'case'", "'cases'"),
        ("[runs]", "has no 'runs'", "'run'"),
        ("[run]\n[procedure]\nbugdet = 1", r"\[procedure\].*no 'bugdet'", "'budget'"),
        ("[run]\ncases = 'mnist-mlp'", "run.cases: Expected `array`, got `str`", ""),
        ("[run\n", "is no TOML", ""),
        ("name = '$(reboot)'\n[run]", "name is '\\$\\(reboot\\)'", "nightly"),
        ("name = 'a/../b'\n[run]", "name is", ""),
    ],
)
def test_a_wrong_plan_is_refused_with_what_is_wrong(tmp_path, text, sentence, hint):
    with pytest.raises(UsageError, match=sentence) as caught:
        plan_file.read(written(tmp_path, text))

    assert not hint or any(word in caught.value.hint for word in hint.split("|"))


def test_no_file_and_a_folder_are_said(tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        plan_file.read(tmp_path / "none.toml")
    with pytest.raises(UsageError, match="cannot be read"):
        plan_file.read(tmp_path)


def test_an_alert_to_a_variable_that_is_not_set_is_refused(tmp_path, monkeypatch):
    monkeypatch.delenv("ASSAY_TEST_WEBHOOK", raising=False)

    with pytest.raises(UsageError, match="ASSAY_TEST_WEBHOOK, which is not set"):
        plan_file.alert_places(plan_file.read(written(tmp_path, WHOLE)))
