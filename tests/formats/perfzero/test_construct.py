from __future__ import annotations

import pytest

from assay.core.errors import UsageError
from assay.formats.perfzero.construct import arguments, read_arguments

OFFERED = {"output_dir": "/out", "root_data_dir": "/data", "tpu": None}


class Nothing:
    pass


class Perfzero:
    def __init__(self, output_dir, root_data_dir, tpu=None):
        pass


class Readme:
    def __init__(self, output_dir, data_dir, **kwargs):
        pass


class Anything:
    def __init__(self, **kwargs):
        pass


class Agents:
    def __init__(self, output_dir=None):
        pass


@pytest.mark.parametrize(
    ("owner", "expected"),
    [
        (Nothing, {}),
        (Perfzero, OFFERED),
        (Readme, {"output_dir": "/out", "data_dir": "/data", "tpu": None}),
        (Anything, OFFERED),
        (Agents, {"output_dir": "/out"}),
    ],
)
def test_a_constructor_gets_what_its_signature_asks_for(owner, expected):
    assert arguments(owner, OFFERED, {}) == expected


def test_the_users_own_arguments_are_given_always_and_win():
    assert arguments(Agents, OFFERED, {"output_dir": "/mine", "x": 1}) == {
        "output_dir": "/mine",
        "x": 1,
    }


@pytest.mark.parametrize("text", ['{"a": ', "[1]", "3"])
def test_arguments_that_are_no_json_object_are_refused(text):
    with pytest.raises(UsageError, match="--flag is"):
        read_arguments(text, "--flag")


def test_no_arguments_are_an_empty_object():
    assert read_arguments("", "--flag") == {}
    assert read_arguments('{"a": [1]}', "--flag") == {"a": [1]}
