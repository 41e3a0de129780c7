"""What lies between two ends. Real bisections are in tests/verbs/test_bisect.py."""

from __future__ import annotations

import pytest

from assay.core.errors import UsageError
from assay.core.records import Case
from assay.engine import revisions
from tests.verbs.test_history import repository


def test_commits_between_are_in_order_with_both_ends(tmp_path):
    made = repository(tmp_path, 4)
    (tmp_path / "w.py").touch()
    case = Case(workload=f"{tmp_path}/w.py:work", backend="python")

    found = revisions.between(case, made[1], made[3])

    assert found == revisions.Revisions("commit", "", tuple(made[1:]))


def test_a_build_that_fails_says_its_last_line(tmp_path):
    revisions.build("touch here", tmp_path)
    assert (tmp_path / "here").exists()

    with pytest.raises(revisions.BuildError, match=r"Failed to build with .*: no good"):
        revisions.build("sh -c 'echo no good >&2; exit 1'", tmp_path)
    with pytest.raises(UsageError, match="'nosuchprogram' is not there"):
        revisions.build("nosuchprogram", tmp_path)
