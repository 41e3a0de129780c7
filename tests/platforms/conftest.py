"""Emulators, started once for all tests that ask for them."""

from __future__ import annotations

import socket

import pytest

from tests.platforms import emulators


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.fixture(scope="session")
def storage_emulator():
    """Google Cloud Storage; its port. It has the bucket `bench`."""
    port = free_port()
    program = emulators.environment("gcp-storage-emulator", emulators.STORAGE)
    words = [program / "gcp-storage-emulator", "start", "--port", str(port), "-M", "-q"]
    words += ["--default-bucket", "bench", "-H", "127.0.0.1"]
    with emulators.running(words, f"http://127.0.0.1:{port}/", {}):
        yield port


@pytest.fixture(scope="session")
def bigquery_emulator(tmp_path_factory):
    """BigQuery; its port. Its environment is half a gigabyte: for long tests only."""
    port = free_port()
    programs = emulators.environment("bqemulator", emulators.BIGQUERY)
    variables = emulators.with_spatial(programs, tmp_path_factory.mktemp("duckdb"))
    words = [programs / "bqemulator", "start", "--rest-port", str(port), "--grpc-port", "0"]
    with emulators.running(
        [*words, "--log-level", "error"], f"http://127.0.0.1:{port}/", variables
    ):
        yield port


@pytest.fixture(scope="session")
def s3_emulator():
    port = free_port()
    programs = emulators.environment("moto", emulators.S3)
    words = [programs / "moto_server", "-H", "127.0.0.1", "-p", str(port)]
    with emulators.running(words, f"http://127.0.0.1:{port}/", {}):
        yield port


@pytest.fixture
def s3(s3_emulator, monkeypatch):
    """The URL of a bucket."""
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{s3_emulator}",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    import fsspec

    fsspec.filesystem("s3", skip_instance_cache=True).makedirs("bench-bucket", exist_ok=True)
    return "s3://bench-bucket"
