from __future__ import annotations

import pytest

from assay.core.errors import UsageError
from assay.logs.overrides import arguments, fill, needs_shell, override


@pytest.mark.parametrize(
    ("command", "gpus", "expected"),
    [
        ("python a.py --gpus 8 --x 1", 3, "python a.py --gpus 3 --x 1"),
        ("python a.py --gpus 16", 4, "python a.py --gpus 4"),
        ("python a.py --gpus=16 -v", 4, "python a.py --gpus=4 -v"),
        ("python a.py --gpus 1,0,2,3", 4, "python a.py --gpus 1,0,2,3"),
        ("python a.py --gpus 1,0,2,3", 2, "python a.py --gpus 1,0"),
        ("python a.py --gpus 1,0,2,3 -v", 0, "python a.py -v"),
        ("python a.py --gpus 16 -v", 0, "python a.py -v"),
        ("cd x && python a.py --gpus 8; echo '--gpus 8'", 2, None),
    ],
)
def test_gpus_are_changed_by_whole_arguments(command, gpus, expected):
    changed = override(command, {"num_gpus": gpus}).command
    assert changed == (expected or "cd x && python a.py --gpus 2; echo '--gpus 8'")


def test_a_list_of_devices_too_short_is_an_error_not_a_guess():
    with pytest.raises(UsageError, match="devices 1,0, fewer than the requested 4"):
        override("a --gpus 1,0", {"num_gpus": 4})


def test_each_option_is_known_by_its_usual_names():
    command = "a --num-epochs 80 --kv-store local --dtype float32"
    changed = override(command, {"epochs": 3, "kvstore": "device", "dtype": "float16"})
    assert changed.command == "a --num-epochs 3 --kv-store device --dtype float16"
    assert changed.unused == ()


def test_an_override_that_found_nothing_is_told():
    changed = override("a --epochs 2", {"dtype": "float16", "epochs": 1})
    assert changed.command == "a --epochs 1"
    assert changed.unused == ("dtype",)


def test_a_list_of_arguments_is_changed_the_same_way():
    command = ("a b", "--epochs", "20", "--gpus=1,0", "--dtype")
    changed = override(command, {"epochs": 3, "num_gpus": 0, "dtype": "x"})
    assert changed.command == ("a b", "--epochs", "3", "--dtype")
    assert changed.unused == ("dtype",)


def test_a_value_cannot_smuggle_in_another_command():
    assert override("a --dtype float32", {"dtype": "x; touch y"}).command == (
        "a --dtype 'x; touch y'"
    )
    assert fill("a {dtype}", {"dtype": "x; touch y"}) == "a 'x; touch y'"


def test_only_known_placeholders_are_filled():
    assert fill("a {num_gpus} {other} {}", {"num_gpus": 2}) == "a 2 {other} {}"
    assert fill(("a", "--n={num_gpus}"), {"num_gpus": 2}) == ("a", "--n=2")


@pytest.mark.parametrize(
    ("command", "needed"),
    [
        ("python a.py --x 'a; b' \"c d\"", False),
        ("python a.py && b", True),
        ("A=1 python a.py", True),
        ("cd x", True),
        ("python a.py > log", True),
        ("echo $HOME", True),
        ('echo "$HOME"', True),
        ("echo '$HOME'", False),
        ("python a.py *.rec", True),
        ("echo '[x]' a\\;b", False),
    ],
)
def test_a_shell_is_needed_only_for_what_only_a_shell_understands(command, needed):
    assert needs_shell(command) is needed


def test_a_command_with_an_open_quote_is_told():
    with pytest.raises(UsageError, match="cannot be split into arguments"):
        arguments("python 'a")
    assert arguments("python 'a b'") == ("python", "a b")
