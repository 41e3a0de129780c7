"""assay tune, as it is typed."""

from __future__ import annotations

from click.testing import CliRunner

from assay.commands.tune.cli import command
from assay.core.errors import UsageError


def test_help_has_examples():
    said = CliRunner().invoke(command, ["--help"]).output

    assert "assay tune vgg16-cifar10 --max-loss 1.0 --budget 10m" in said


def test_a_loss_below_zero_is_refused(tmp_path):
    ended = CliRunner().invoke(command, ["lenet", "--max-loss", "-1", "-o", str(tmp_path)])

    assert isinstance(ended.exception, UsageError)
    assert "max_loss is -1 points" in str(ended.exception)
