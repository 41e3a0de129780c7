"""HPVM-C programs by a function: what cannot be is refused before anything is compiled."""

from __future__ import annotations

import pytest

import assay
from assay.core.errors import UsageError
from tests.native.hpvm.test_configs import PLAIN


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"images": "train"}, "The images 'train' were asked for"),
        ({"data": "no-such-folder"}, "There is no folder no-such-folder"),
        ({}, "There is no program no.cc"),
    ],
)
def test_what_is_not_there_is_named(given, complaint):
    with pytest.raises(UsageError, match=complaint):
        assay.run_hpvm("no.cc", **given)


def test_a_configuration_that_is_not_executed_yet_is_said_so(tmp_path):
    (tmp_path / "confs.txt").write_text(PLAIN.replace("conv fp32 11", "conv samp 231"))

    with pytest.raises(UsageError, match=r"conf1 of .*confs.txt has samp, which is not executed"):
        assay.run_hpvm("no.cc", configs=tmp_path / "confs.txt")
