"""What tests of several commands share: stored runs, and a folder of users of the AWS driver."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from assay.core.records import Case, Plan
from assay.core.registry import open_store

LOG = """\
INFO:root:Epoch[0] Batch [49]\tSpeed: 829.012392 samples/sec\taccuracy=0.172578
INFO:root:Epoch[0] Batch [99]\tSpeed: 844.157227 samples/sec\taccuracy=0.206563
INFO:root:Epoch[0] Batch [149]\tSpeed: 835.582445 samples/sec\taccuracy=0.230781
INFO:root:[Epoch 0] training: accuracy=0.248027
INFO:root:[Epoch 0] time cost: 69.030488
INFO:root:[Epoch 0] validation: accuracy=0.296484
INFO:root:Epoch[1] Batch [49]\tSpeed: 797.687061 samples/sec\taccuracy=0.322344
INFO:root:Epoch[1] Batch [99]\tSpeed: 821.444257 samples/sec\taccuracy=0.329883
INFO:root:Epoch[1] Batch [149]\tSpeed: 810.339386 samples/sec\taccuracy=0.342969
INFO:root:[Epoch 1] training: accuracy=0.351983
INFO:root:[Epoch 1] time cost: 61.266612
INFO:root:[Epoch 1] validation: accuracy=0.393930
"""
TEMPLATE = r"""
[documented]
patterns = ['Speed: NUMBER samples/sec', 'training: accuracy=NUMBER',
    'validation: accuracy=NUMBER', 'time cost: NUMBER']
metrics = ['speed', 'training_acc', 'validation_acc', 'total_training_time']
compute_method = ['average', 'last', 'last', 'total']
command_to_execute = cat train.log --gpus 8 --epochs 20
num_gpus = 8

[fails]
patterns = ['speed (\d+)']
metrics = ['speed']
compute_method = ['last']
command_to_execute = sh -c 'echo speed 3; exit 4'
num_gpus = 0

[lacks_one]
patterns = ['speed (\d+)', 'loss (\d+)']
metrics = ['speed', 'loss']
compute_method = ['last', 'last']
command_to_execute = echo speed 3
num_gpus = 0

[a_policy]
patterns = ['speed (\d+)']
metrics = ['speed']
compute_method = ['average']
"""
TEMPLATE = TEMPLATE.replace("NUMBER", r"(\d+\.\d+|\d+)")


@pytest.fixture
def kept(assay, endings) -> str:
    """One kept run of one case; its id."""
    status, _, error = assay(
        *("run", f"{endings}:fine@python", "--samples", "3", "--steps-per-sample", "1"),
        *("--label", "first", "--tag", "gpu=none"),
    )
    assert status == 0
    return error.partition("kept as ")[2].partition(";")[0]


@pytest.fixture
def begun(home) -> Callable[[str], str]:
    """A command → the id of a run that it has begun, of which nothing is measured yet."""
    tags = {"race": {"race": "w"}, "study": {"study": "vgg16", "size": "small", "rounds": "1"}}
    case = Case(workload="w", backend="b", key="w@b")

    def begin(verb: str) -> str:
        with closing(open_store(home)) as store:
            return store.new_run(Plan(cases=(case,), verb=verb, tags=tags.get(verb, {}))).name

    return begin


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch) -> Callable[[str, int], Terminal]:
    """A terminal of so many columns in the place of stdout or stderr, from the call on."""

    def open_terminal(stream: str, columns: int) -> Terminal:
        opened = Terminal()
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr(sys, stream, opened)
        return opened

    return open_terminal


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A folder as the old driver's users have it; `cat` stands for the training script."""
    monkeypatch.chdir(tmp_path)
    Path("train.log").write_text(LOG)
    script = "import sys, time; sys.stdout.write(open('train.log').read()); time.sleep(0.5)"
    command = f'{sys.executable} -c "{script}"'
    Path("task_config_template.cfg").write_text(TEMPLATE.replace("cat train.log", command))
    return tmp_path


@pytest.fixture
def documented() -> dict[str, float]:
    """What the driver's own papers say of the log in that folder."""
    return {
        "speed": 823.037128,
        "training_acc": 0.351983,
        "validation_acc": 0.39393,
        "total_training_time": 130.2971,
    }
