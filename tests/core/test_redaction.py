"""Nothing secret is stored."""

import pytest

from assay.core.redaction import (
    MAX_LENGTH,
    REDACTED,
    safe_message,
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
        ("--config", f'{{"password": "{SECRET}", "steps": 3}}'),
        ("--config", f"{{'api_key': '{SECRET}'}}"),
        ("--config", f'{{"db": {{"passwd": "a\\"{SECRET}"}}}}'),
        ("--pass", SECRET),
        (f"--pass={SECRET}",),
        (f"DB_PASS={SECRET}",),
        (f"DBPASS={SECRET}",),
        (f"dbPass={SECRET}",),
        ("--token", "--", SECRET),
        ("-u", f"user:{SECRET}"),
        (f"-uuser:{SECRET}",),
        ("--user", f"user:{SECRET}"),
        (f"--proxy-user=user:{SECRET}",),
        (f"https://host/blob?sv=2024&sig={SECRET}&se=2026",),
        (f"https://host/object?X-Amz-Signature={SECRET}",),
        (f"https://host/object?X-Amz-Credential={SECRET}&X-Amz-Date=3",),
        (f"https://hooks.slack.com/services/T01/B02/{SECRET}",),
        (
            "bash",
            "-c",
            f"DB_PASS={SECRET} python train.py --token {SECRET} -u me:{SECRET} --epochs 3",
        ),
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
        "AIza" + "SyD3" * 9,
        "ASIA" + "A1B2C3D4E5F6G7H8",
        "npm_" + "a1" * 18,
        "pypi-AgEIcHlwaS5vcmc" + "Cj4" * 20,
        "sk_live_" + "4e" * 12,
        "dckr_pat_" + "x7-" * 9,
        "ya29.a0" + "Ae4l" * 8,
        "nvapi-" + "Qw3" * 20,
        "glpat-" + "d4" * 10,
        "xoxb-123456789012-abcDEF",
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
        "mnist-mlp:tokens=128:key_dim=64@keras-jax",
        "--passes=3",
        "bypass=1",
        "BYPASS=1",
        "max_tokens=4096",
        "keypoints=body",
        "docker run -u 1000:1000 image",
        "docker run --user 1000:1000 image",
        "curl -u https://host/path",
        "--signature=serving_default",
        "pypi-mirror-of-our-company",
        '{"optimizer": {"name": "adam", "lr": 0.1}, "tokens": 128}',
    ],
)
def test_ordinary_words_are_kept(word):
    assert safe_text(word) == word


@pytest.mark.parametrize(
    "words",
    [
        ("train.py", "--passes", "3", "--num-tokens", "128"),
        ("docker", "run", "-u", "1000:1000", "image"),
        ("python", "-u", "train.py"),
        ("kubectl", "exec", "pod", "--", "python", "train.py"),
    ],
)
def test_an_ordinary_command_is_kept(words):
    assert safe_words(words) == words


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        (
            f"DB_PASS={SECRET} train.py --token {SECRET} --epochs 3",
            f"DB_PASS={REDACTED} train.py --token {REDACTED} --epochs 3",
        ),
        (
            f'--config {{"password": "{SECRET}", "steps": 3}}',
            f'--config {{"password": "{REDACTED}", "steps": 3}}',
        ),
        (f"my_token: {SECRET} and more --epochs 3", f"my_token: {REDACTED} --epochs 3"),
        (f"curl -u me:{SECRET} https://host", f"curl -u me:{REDACTED} https://host"),
        (f"https://h/?sig={SECRET}&se=3", f"https://h/?sig={REDACTED}&se=3"),
        (
            f"https://hooks.slack.com/services/T01/B02/{SECRET}",
            f"https://hooks.slack.com/{REDACTED}",
        ),
    ],
)
def test_the_rest_of_a_text_stays_readable(text, safe):
    assert safe_text(text) == safe


@pytest.mark.parametrize(
    "text",
    [
        f"connection failed: password={SECRET}",
        f"GET https://host/?sig={SECRET} gave 403",
        f'bad request: {{"password": "{SECRET}"}}',
        f"command failed: train.py --pass {SECRET}",
    ],
)
def test_no_form_of_a_secret_stays_in_an_error(text):
    assert SECRET not in safe_message(text)


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

    assert safe_message(f"KeyError: 'a' with {token}") == f"KeyError: 'a' with {REDACTED}"


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
        'key="',
        '"key":"\\',
        "key: ",
        "-u a:",
        "?sig=",
        "-----BEGIN PRIVATE KEY-----",
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
        safe_message,
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
