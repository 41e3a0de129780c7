"""Every option is completed as at f7cfc39 in bash, zsh and fish, and nothing slow is loaded."""

import pytest

from tests.frozen import completion
from tests.frozen import help as frozen

SLOW = {"keras", "jax", "torch", "tensorflow", "sqlite3"}


@pytest.fixture(scope="module")
def now(tmp_path_factory):
    return completion.record(tmp_path_factory.mktemp("home"))


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_every_flag_is_completed(now, shell):
    flags = [
        f"{words} {flag}"
        for words, command in frozen.recorded().items()
        for option in command["options"].values()
        for flag in (*option["face"]["flags"], *option["face"].get("off_flags", ()))
        if flag not in ("--help", "-h")
    ]

    assert len(flags) > 400
    for line in flags:
        assert f"plain {line.split()[-1]}" in now.offers[shell][line], line


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_the_same_values_are_offered(now, shell):
    assert completion.values(now.offers[shell]) == completion.recorded()


def test_values_are_recorded():
    values = completion.recorded()

    assert len(values) > 80
    assert "plain bfloat16" in values["assay run --precision "]
    assert "plain keras-jax" in values["assay race -b "]
    assert values["assay show "][-1] == "plain last"


def test_completion_loads_nothing_slow(now):
    assert not SLOW & now.modules
