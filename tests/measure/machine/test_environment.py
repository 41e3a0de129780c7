"""Where it was measured."""

import pytest

from assay.measure.machine import environment


@pytest.mark.parametrize(
    "told, state",
    [
        (
            "# branch.oid abc\n# branch.head main\n1 .M N... file",
            {"commit": "abc", "branch": "main", "dirty": True},
        ),
        (
            "# branch.oid abc\n# branch.head (detached)\n# branch.ab +1 -0",
            {"commit": "abc", "branch": "(detached)", "dirty": False},
        ),
        (
            "# branch.oid abc\n# branch.head password=s3cr3t",
            {"commit": "abc", "branch": "password=(not stored)", "dirty": False},
        ),
        ("", {}),
    ],
)
def test_commit_branch_and_dirt_come_from_one_answer(told, state):
    assert environment._git_state(told) == state


def test_here_is_told_without_failing():
    found = environment.current_environment()

    assert found.machine["cpus"] >= 1
    assert found.system["kernel"]
    assert found.python["version"]
