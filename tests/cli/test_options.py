"""How the texts of options are read, and where messages go."""

from __future__ import annotations

import pytest

from assay.cli import options
from assay.core.errors import UsageError


def test_pairs_are_split_at_the_first_equals_sign():
    found = options.pairs(["units=512", "note=a=b", "empty="], "--set")

    assert found == {"units": "512", "note": "a=b", "empty": ""}


@pytest.mark.parametrize("text", ["units", "=3", ""])
def test_a_text_that_is_no_pair_is_refused_with_its_flag(text):
    with pytest.raises(UsageError, match=f"--set got '{text}', but takes NAME=VALUE") as caught:
        options.pairs(["a=1", text], "--set")

    assert caught.value.hint == "--set a=1"


def test_two_names_in_one_text_are_refused():
    with pytest.raises(UsageError, match="takes one NAME at a time") as caught:
        options.pairs(["units=3,hidden=2"], "--set")

    assert "--set a=1 --set b=2" in caught.value.hint


def test_quotes_keep_a_comma_and_a_name_within_one_value():
    assert options.pairs(["file='a,b=c'"], "--set") == {"file": "'a,b=c'"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("32", ["32"]),
        ("32,64", ["32", "64"]),
        ("a,'b,c',d", ["a", "b,c", "d"]),
        ("''", [""]),
        ("", [""]),
    ],
)
def test_values_are_set_apart_by_commas_outside_of_quotes(text, found):
    assert options.values(text) == found


def test_what_is_said_goes_to_standard_error(capsys):
    options.print_message("one", "two")

    out, err = capsys.readouterr()
    assert (out, err) == ("", "one\ntwo\n")


@pytest.mark.parametrize("written", ["", "=True", "=true", "=1", "=False", "=false", "=0"])
@pytest.mark.parametrize(
    ("tool", "flag", "complaint"),
    [
        ("keras-benchmarks", "dry_run", "several GPUs"),
        *(("vgg16", flag, "has to be NHWC") for flag in ("run_keras", "use_XLA", "use_bn")),
        *(
            ("perfzero", flag, "No benchmark method")
            for flag in ("debug", "use_cached_site_packages")
        ),
    ],
)
def test_booleans_are_written_as_old_scripts_wrote_them(assay, tool, flag, written, complaint):
    """The rest of each line is refused once its flags are read, so that nothing is run."""
    words = {"keras-benchmarks": ("--mode=multi_gpu_config",), "vgg16": ("--data_format=HWC",)}

    _, _, error = assay(tool, f"--{flag}{written}", *words.get(tool, ()))

    assert complaint in error


@pytest.mark.parametrize(("text", "value"), [("", True), ("=True", True), ("=0", False)])
def test_a_boolean_means_what_it_says(text, value):
    from assay.compat.keras_benchmarks import command

    context = command.make_context("keras-benchmarks", [f"--dry_run{text}"])

    assert context.params["dry_run"] is value
    assert command.make_context("keras-benchmarks", []).params["dry_run"] is False


def test_a_boolean_that_is_neither_is_refused(assay):
    status, _, error = assay("keras-benchmarks", "--dry_run=perhaps")

    assert status == 2
    assert "--dry_run got 'perhaps', but takes True or False" in error
