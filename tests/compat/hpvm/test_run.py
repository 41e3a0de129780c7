"""HPVM-C programs by a function: what cannot be is refused before anything is compiled."""

from __future__ import annotations

import pytest

import assay
from assay.core.errors import UsageError
from tests.native.hpvm.test_configs import PLAIN


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"images": "train"}, "images is 'train', but has to be one of: test, tune"),
        ({"data": "no-such-folder"}, "There is no folder no-such-folder"),
        ({}, "There is no program no.cc"),
    ],
)
def test_what_is_not_there_is_named(given, complaint):
    with pytest.raises(UsageError, match=complaint):
        assay.run_hpvm("no.cc", **given)


def test_a_configuration_that_is_not_in_the_file_is_named_before_anything_is_compiled(tmp_path):
    (tmp_path / "confs.txt").write_text(PLAIN)

    with pytest.raises(UsageError, match=r"confs.txt has no configuration named 'conf9'"):
        assay.run_hpvm("no.cc", configs=f"{tmp_path}/confs.txt:conf9")
