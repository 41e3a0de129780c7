"""Nothing secret is stored."""

import pytest

from assay.core.redaction import (
    MAX_LENGTH,
    REDACTED,
    redact_tokens,
    safe_text,
    safe_value,
    safe_values,
    safe_words,
)
from assay.measure.machine import environment

SECRET = "s3cr3t-value"


@pytest.mark.parametrize(
    "words",
    [
        ("--password", SECRET),
        ("--api-key", SECRET),
        (f"--token={SECRET}",),
        ("--tag", f"api_key={SECRET}"),
        (f"--tag=api_key={SECRET}",),
        ("--tag", f"MY_SECRET={SECRET}"),
        ("-H", f"Authorization: Bearer {SECRET}"),
        (f"postgresql://user:{SECRET}@host/db",),
        (f"postgresql://user:p@{SECRET}@host/db",),
        (f"https://host/?token={SECRET}&x=1",),
        (f"net:session_cookie={SECRET}@torch",),
        ("--aws-credentials", SECRET),
    ],
)
def test_no_form_of_a_secret_stays_in_a_command(words):
    safe = safe_words(["assay", "run", *words])

    assert SECRET not in " ".join(safe)


@pytest.mark.parametrize(
    "word",
    [
        "ghp_" + "a1" * 18,
        "sk-" + "b2" * 20,
        "hf_" + "c3" * 17,
        "AKIA" + "A1B2C3D4E5F6G7H8",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-def",
    ],
)
def test_a_token_is_known_by_its_shape(word):
    assert safe_text(f"--note {word} end") == f"--note {REDACTED} end"


@pytest.mark.parametrize(
    "word",
    [
        "mnist-mlp:batch_size=32@keras-jax:compiler=on",
        "--budget=10s",
        "s3://bucket/folder/keys.txt",
        "https://host/path",
        "git@host:me/repo",
    ],
)
def test_ordinary_words_are_kept(word):
    assert safe_text(word) == word


def test_tags_and_variables_are_hidden_by_name():
    given = {"api_key": SECRET, "host": f"https://me:{SECRET}@h/", "note": "fine"}

    assert safe_values(given) == {"api_key": REDACTED, "host": "https://h/", "note": "fine"}


def test_only_relevant_variables_are_stored():
    given = {"OMP_NUM_THREADS": "2", "HOME": "/root", "TF_API_TOKEN": SECRET, "LD_PRELOAD": "x.so"}

    assert environment.variables(given) == {
        "LD_PRELOAD": "x.so",
        "OMP_NUM_THREADS": "2",
        "TF_API_TOKEN": REDACTED,
    }


@pytest.mark.parametrize(
    "text",
    [
        f"python train.py --password {SECRET} --epochs 3",
        f"python train.py --api-key '{SECRET} and more' --epochs 3",
        f"api_key={SECRET}",
        f"Bearer {SECRET}",
        "Basic dXNlcjpzM2NyM3QtdmFsdWU=",
        f"a fine label, my_token: {SECRET}",
    ],
)
def test_no_form_of_a_secret_stays_in_a_text_of_several_words(text):
    safe = safe_text(text)

    assert SECRET not in safe and "dXNlcj" not in safe
    assert REDACTED in safe


@pytest.mark.parametrize(
    "text",
    [
        "python train.py --tokenizer bert --author me --epochs 3",
        "a basic net",
        "python train.py --key-file --verbose",
    ],
)
def test_words_that_only_resemble_secret_names_hide_nothing(text):
    assert safe_text(text) == text


def test_an_error_keeps_its_words_and_loses_its_tokens():
    token = "hf_" + "c3" * 17

    assert redact_tokens(f"KeyError: 'a' with {token}") == f"KeyError: 'a' with {REDACTED}"


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "key",
        "key ",
        "--key ",
        "eyJ-",
        "eyJaaaaaaaaaa.",
        "://",
        "bearer ",
        "--key '",
        "-",
        "@:",
    ],
)
def test_a_text_of_any_length_is_done_with_quickly_and_stored_in_part(piece):
    """What is not cut off is 65,536 letters: a quadratic pattern takes longer than a test may."""
    safe = safe_text(piece * (1_000_000 // len(piece)))

    assert len(safe) <= MAX_LENGTH * 4


@pytest.mark.parametrize(
    "stored",
    [
        lambda name: str(safe_values({name: name})),
        lambda name: safe_value(name, name),
        lambda name: str(safe_words((f"--{name}", name))),
        redact_tokens,
    ],
    ids=["values", "value", "words", "error"],
)
@pytest.mark.parametrize("letters", ["a", "key", "-"])
def test_a_name_of_a_million_letters_is_done_with_quickly_and_stored_in_part(stored, letters):
    assert len(stored(letters * (1_000_000 // len(letters)))) <= MAX_LENGTH * 4


@pytest.mark.parametrize("text", ["a\ud800b", "a\udfffb", "a\udcffb"])
def test_what_is_no_text_is_replaced(text):
    assert safe_text(text) == "a\ufffdb"


def test_bytes_that_were_text_are_text_again():
    assert safe_text("gr\udcc3\udcbcn") == "gr\u00fcn"
