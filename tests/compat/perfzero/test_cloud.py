"""PerfZero's cloud_manager.py: names, defaults, commands."""

from __future__ import annotations

import pytest

from assay.compat.perfzero import cloud as old
from assay.core.errors import UsageError


def test_a_machine_has_the_old_name_and_type():
    wanted = old.request("Me", 4, "nvidia-tesla-v100", "", "", "tf-ubuntu", 2, 0, False)

    assert (wanted.name, wanted.type) == ("perfzero-dev-me", "n1-standard-32")
    assert wanted.image == "global/images/tf-ubuntu"


@pytest.mark.parametrize("word", ["run_command", "subprocess", "", "create; id"])
def test_any_other_name_is_no_command(word):
    with pytest.raises(UsageError, match="is no command"):
        old.check_command(word)


def test_a_user_who_would_be_shell_is_refused():
    with pytest.raises(UsageError, match="is not a machine"):
        old.request("$(id)", 1, "", "", "", "", 0, 0, False)
