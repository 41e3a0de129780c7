from __future__ import annotations

from pathlib import Path

import pytest

from assay.core.errors import UsageError
from assay.logs.aws import read_aws, result_key
from assay.logs.files import find_task
from assay.logs.reader import LogReader

DOCUMENTED = r"""
 [resnet50_cifar10_imperative]
 patterns = ['Speed: (\d+\.\d+|\d+) samples/sec', 'training: accuracy=(\d+\.\d+|\d+)', 'validation: accuracy=(\d+\.\d+|\d+)', 'time cost: (\d+\.\d+|\d+)']
 metrics = ['speed', 'training_acc', 'validation_acc', 'total_training_time']
 compute_method = ['average', 'last', 'last', 'total']
 command_to_execute = python image_classification/image_classification.py --model resnet50_v1 --dataset cifar10 --gpus 8 --epochs 20 --log-interval 50
 num_gpus = 8
"""  # noqa: E501
GOOD = """\
[policy]
patterns = ['a (\\d+)', 'b (\\d+)']
metrics = ['a', 'b']
compute_method = ['average',
    'last']
"""


def test_the_documented_section_reads_as_it_stands():
    task = read_aws(DOCUMENTED, "task_config_template.cfg")["resnet50_cifar10_imperative"]
    assert [metric.name for metric in task.metrics] == [
        "speed",
        "training_acc",
        "validation_acc",
        "total_training_time",
    ]
    assert [metric.compute for metric in task.metrics] == ["average", "last", "last", "total"]
    assert task.metrics[0].pattern == r"Speed: (\d+\.\d+|\d+) samples/sec"
    assert task.command.endswith("--gpus 8 --epochs 20 --log-interval 50")
    assert (task.num_gpus, task.shell) == (8, False)


def test_the_documented_log_gives_the_documented_numbers_under_the_old_keys():
    name = "resnet50_cifar10_imperative"
    task = read_aws(DOCUMENTED, "task_config_template.cfg")[name]
    with LogReader(task.metrics) as reader:
        reader.feed((Path(__file__).parent / "logs" / "mxnet_documented.log").read_bytes())
        found = reader.finish(returncode=0).metrics
    assert {result_key(name, one.metric.name): one.value for one in found} == pytest.approx(
        {
            f"{name}.speed": 823.037128,
            f"{name}.training_acc": 0.351983,
            f"{name}.validation_acc": 0.39393,
            f"{name}.total_training_time": 130.2971,
        },
        rel=1e-12,
    )


def test_a_section_without_a_command_is_a_policy():
    policy = read_aws(GOOD, "f")["policy"]
    assert policy.command == ""
    assert [metric.compute for metric in policy.metrics] == ["average", "last"]


def test_percent_signs_work_bare_doubled_and_as_references():
    text = (
        "[DEFAULT]\nlog_interval = 50\n[mms]\npatterns = ['50% (\\d+)', '90\\% (\\d+)']\n"
        "metrics = ['a', 'b']\ncompute_method = ['last', 'last']\n"
        "command_to_execute = run --date +%%Y --every %(log_interval)s --load 5%\n"
    )
    task = read_aws(text, "f")["mms"]
    assert task.command == "run --date +%Y --every 50 --load 5%"
    with LogReader(task.metrics) as reader:
        reader.feed(b"50% 12\n90% 34\n")
        assert [found.value for found in reader.finish().metrics] == [12.0, 34.0]


def test_commands_that_need_a_shell_get_one():
    text = GOOD + "command_to_execute = cd x && python a.py\n"
    assert read_aws(text, "f")["policy"].shell


def test_of_equal_names_the_last_keeps_it_and_none_is_lost():
    task = read_aws(GOOD.replace("'b']", "'a']", 1), "f")["policy"]
    assert [metric.name for metric in task.metrics] == ["a#1", "a"]
    assert "more than once" in task.notes[0]


@pytest.mark.parametrize(
    ("wrong", "right", "sentence", "hint"),
    [
        ("['a']", "['a', 'b']", r"line 2: \[policy\] has 2 patterns, 1 metrics and 2", "order"),
        ("'lst'", "'last'", r"line 5: There is no compute method named 'lst'", "last"),
        ("'b (\\d+'", "'b (\\d+)'", r"line 2: In the metric 'b': The pattern 'b \(\\d\+' is", ""),
        ("['a', b]", "['a', 'b']", r"line 3: metrics of \[policy\] is no Python list", ""),
        ("['a', 1]", "['a', 'b']", r"line 3: metrics of \[policy\] is no Python list", ""),
        pytest.param(
            "-" * 100_000 + "1",
            "['a', 'b']",
            r"line 3: metrics of \[policy\] is no Python",
            "",
            id="minus-signs",
        ),
        ("patterns ['x']\n#", "patterns =", r"line 2: this is no task file .* has no =", ""),
        ("", "[policy]\n", r"line 1: this is no task file .* no \[section\]", ""),
    ],
)
def test_a_mistake_is_one_sentence_with_file_and_line(wrong, right, sentence, hint):
    with pytest.raises(UsageError, match=f"^t.cfg, {sentence}") as caught:
        read_aws(GOOD.replace(right, wrong), "t.cfg")
    assert hint in caught.value.hint
    assert "\n" not in str(caught.value)


def test_a_section_that_comes_twice_is_told_with_its_line():
    with pytest.raises(UsageError, match=r"^t.cfg, line 6: .* already is a section \[policy\]"):
        read_aws(GOOD + GOOD, "t.cfg")


def test_a_number_of_gpus_that_is_none_is_told_with_its_line():
    with pytest.raises(UsageError, match=r"line 6: num_gpus of \[policy\] is 'two'"):
        read_aws(GOOD + "num_gpus = two\n", "t.cfg")


def test_keys_of_the_old_result_file():
    assert result_key("z_slow", "speed", "mxnet", "nightly.p3") == "mxnet.z_slow.speed.nightly.p3"
    assert result_key("resnet50", "speed") == "resnet50.speed"


@pytest.mark.parametrize(
    "bad",
    [
        "[bad]\npatterns = ['a (']\nmetrics = ['a']\ncompute_method = ['last']\n",
        "[bad]\npatterns = ['a']\nmetrics = []\ncompute_method = []\n",
        "[bad]\nthis line has no equals sign\n",
        "[bad]\nnum_gpus = 1\nnum_gpus = 2\n",
        "[bad]\nnum_gpus = 1\n[bad]\nnum_gpus = 2\n",
    ],
)
def test_a_bad_section_is_told_only_when_it_is_asked_for(tmp_path, bad):
    file = tmp_path / "t.cfg"
    file.write_text(bad + GOOD + bad.replace("[bad]", "[worse]"))

    assert len(find_task(file, "policy").metrics) == 2
    with pytest.raises(UsageError, match=r"t.cfg, line \d"):
        find_task(file, "bad")


def test_defaults_and_line_numbers_stay_when_one_section_is_read(tmp_path):
    file = tmp_path / "t.cfg"
    file.write_text("[DEFAULT]\nn = 3\n[x]\nnope\n[policy]\nnum_gpus = %(n)s\npatterns = 1\n")

    with pytest.raises(UsageError, match=r"line 7: patterns of \[policy\]"):
        find_task(file, "policy")
