"""A key file: used while something runs, checked, never left behind."""

from __future__ import annotations

import json
import os

import pytest

from assay.core.errors import UsageError
from assay.platforms.sinks import credentials
from tests.platforms.services import serving

KEY = {
    "type": "service_account",
    "client_email": "a@b.iam.example.org",
    "private_key": "-----BEGIN PRIVATE KEY-----\nnone\n",
    "token_uri": "https://oauth2.example.org/token",
}


@pytest.fixture(autouse=True)
def unset(monkeypatch):
    monkeypatch.delenv(credentials.VARIABLE, raising=False)


def test_a_local_key_is_used_where_it_lies(tmp_path):
    path = tmp_path / "key.json"
    path.write_text(json.dumps(KEY))

    with credentials.use_key(str(path)):
        assert os.environ[credentials.VARIABLE] == str(path)
    with credentials.use_key(f"file://{path}"):
        assert os.environ[credentials.VARIABLE] == str(path)
    assert credentials.VARIABLE not in os.environ


def test_a_fetched_key_is_its_owner_s_alone_and_gone_afterwards():
    with serving(lambda *_: (200, json.dumps(KEY).encode())) as (_, address):
        with credentials.use_key(f"{address}/key.json?signature=abc"):
            place = os.environ[credentials.VARIABLE]
            assert os.stat(place).st_mode & 0o77 == 0

        assert not os.path.exists(place)


@pytest.mark.parametrize("text", ["", "[]", "no json", json.dumps({**KEY, "type": "user"})])
def test_what_is_no_key_is_said_without_its_contents(tmp_path, text):
    path = tmp_path / "key.json"
    path.write_text(text)

    with (
        pytest.raises(UsageError, match="not a key of a service") as caught,
        credentials.use_key(str(path)),
    ):
        pass
    assert "PRIVATE" not in str(caught.value) + caught.value.hint


def test_what_cannot_be_had_is_said_without_its_signature(tmp_path):
    with (
        serving(lambda *_: (404, b"")) as (_, address),
        pytest.raises(UsageError, match="cannot be fetched") as caught,
        credentials.use_key(f"{address}/k?signature=abc"),
    ):
        pass
    assert "abc" not in str(caught.value)
    with (
        pytest.raises(UsageError, match="cannot be read"),
        credentials.use_key(str(tmp_path / "none")),
    ):
        pass
    with pytest.raises(UsageError, match="scheme ftp"), credentials.use_key("ftp://x/key"):
        pass
