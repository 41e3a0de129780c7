"""A PostgreSQL store whose logs and traces lie in Google Cloud Storage or S3, by emulators."""

from __future__ import annotations

from contextlib import closing

import pytest

from assay.core.errors import StoreError
from assay.core.records import Plan, Query
from assay.core.registry import open_store
from tests.platforms.services import forwarding, serving
from tests.stores.test_sqlite import CASE, result

TRACE = bytes(range(256)) * 40_000  # several pieces


@pytest.fixture
def gs(storage_emulator, monkeypatch):
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{storage_emulator}")
    return "gs://bench"


@pytest.mark.parametrize(
    "bucket",
    [
        pytest.param("gs", marks=pytest.mark.real("gcsfs", "postgresql", "psycopg")),
        pytest.param(
            "s3",
            marks=[pytest.mark.real("s3fs", "postgresql", "psycopg"), pytest.mark.long],
        ),
    ],
)
def test_logs_and_traces_lie_in_the_bucket_and_come_back(
    database, bucket, request, tmp_path, monkeypatch
):
    url = f"{database}&files={request.getfixturevalue(bucket)}/store"
    with closing(open_store(url)) as store:
        run = store.new_run(Plan(cases=(CASE,)))
        (run / "001" / "profile").mkdir(parents=True)
        (run / "001" / "worker.log").write_bytes(b"printed\n")
        (run / "001" / "profile" / "trace").write_bytes(TRACE)
        store.append(result(run.name))
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "another-machine"))

    with closing(open_store(url)) as store:
        folder = store.folder(run.name)

        assert folder.is_relative_to(tmp_path / "another-machine")
        assert (folder / "001" / "worker.log").read_bytes() == b"printed\n"
        assert (folder / "001" / "profile" / "trace").read_bytes() == TRACE
        store.delete("last")
    with closing(open_store(url)) as store:
        assert store.count(Query()) == 0


@pytest.mark.real("gcsfs", "postgresql", "psycopg")
def test_a_bucket_without_permission_is_said(database, storage_emulator, monkeypatch):
    with serving(forwarding("127.0.0.1", storage_emulator)) as (faulty, address):
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", address)
        faulty.faults = [403] * 9
        with closing(open_store(f"{database}&files=gs://bench/store")) as store:
            run = store.new_run(Plan(cases=(CASE,)))
            (run / "001").mkdir()
            (run / "001" / "worker.log").write_bytes(b"printed\n")
            with pytest.raises(StoreError, match="You have no permission for gs://bench/store"):
                store.append(result(run.name))
