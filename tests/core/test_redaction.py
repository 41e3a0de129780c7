"""Nothing secret is stored."""

import pytest

from assay.core.redaction import HIDDEN, safe_text, safe_values, safe_words
from assay.machine import environment

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
    assert safe_text(f"--note {word} end") == f"--note {HIDDEN} end"


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

    assert safe_values(given) == {"api_key": HIDDEN, "host": "https://h/", "note": "fine"}


def test_only_relevant_variables_are_stored():
    given = {"OMP_NUM_THREADS": "2", "HOME": "/root", "TF_API_TOKEN": SECRET, "LD_PRELOAD": "x.so"}

    assert environment.variables(given) == {
        "LD_PRELOAD": "x.so",
        "OMP_NUM_THREADS": "2",
        "TF_API_TOKEN": HIDDEN,
    }
