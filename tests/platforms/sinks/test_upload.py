"""assay.upload: kept on the disk until it has arrived, and sent once."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable

import pytest

import assay
from assay.core import outbox, settings
from assay.core.errors import UsageError
from assay.platforms.sinks import bigquery
from tests.kept_runs import CASE, OTHER
from tests.platforms.services import Tables, serving

TABLE = "p:nightly.results"


@pytest.fixture
def service(monkeypatch):
    store = Tables()
    monkeypatch.setattr(bigquery.time, "sleep", lambda _: None)
    with serving(store) as (faulty, address):
        monkeypatch.setenv(bigquery.EMULATOR, address)
        faulty.store = store
        yield faulty


@pytest.mark.real("google.cloud.bigquery")
def test_a_run_goes_to_every_sink_and_a_second_time_nowhere(keep, home, tmp_path, service):
    run = keep((CASE, 0.01, "ok"), (OTHER, 0.02, "failed"))
    places = dict(bigquery=TABLE, objects=str(tmp_path / "o"), metrics=str(tmp_path / "m.jsonl"))

    sent = assay.upload(run, store=home, **places)
    again = assay.upload(run, store=home, **places)

    assert (sent.status, again.status) == (0, 0)
    assert [(one.sink, one.sent, one.known) for one in again.uploads if one.sink != "objects"] == [
        ("bigquery", 0, 2),
        ("metrics", 0, 2),
    ]
    rows = service.store.rows["nightly.results"]
    assert [row["id"] for row in rows] == [f"{run}/001", f"{run}/002"]
    assert [row["status"] for row in rows] == ["ok", "failed"]
    kept = settings.home(home) / "runs" / run / "001" / "result.json"
    assert (tmp_path / "o" / run / "001" / "result.json").read_bytes() == kept.read_bytes()
    lines = [json.loads(text) for text in (tmp_path / "m.jsonl").read_text().splitlines()]
    described = lines[0]["_aws"]["CloudWatchMetrics"][0]
    assert {"Name": "step_time", "Unit": "Seconds"} in described["Metrics"]
    assert lines[0]["step_time"] == pytest.approx(0.01, rel=0.02)
    assert described["Dimensions"] == [["case", "host"]]
    assert list(outbox.entries(home)) == []


@pytest.mark.real("google.cloud.bigquery")
def test_what_a_service_did_not_take_is_kept_and_sent_later(keep, home, service):
    run = keep((CASE, 0.01, "ok"))
    service.faults = [503] * 40

    away = assay.upload(run, bigquery=TABLE, store=home)
    still = assay.upload(pending=True, store=home)
    service.faults = ["cut-after"]
    service.only = "insertAll"
    later = assay.upload(pending=True, store=home)

    assert (away.status, still.status, later.status) == (1, 1, 0)
    assert "It is kept to be sent later" in away.uploads[0].text
    assert [row["id"] for row in service.store.rows["nightly.results"]] == [f"{run}/001"]
    assert assay.upload(pending=True, store=home).uploads == ()


def test_settings_send_every_run(keep, home, tmp_path):
    from assay.platforms.sinks.upload import after_run

    run = keep((CASE, 0.01, "ok"))
    assert after_run(run, home) is None
    (home / "sinks.toml").write_text(f'metrics = "{tmp_path}/m.jsonl"\n')

    assert after_run(run, home).uploads[0].text == "1 row sent"


def test_two_processes_that_send_at_once_send_once(keep, home, tmp_path):
    """The second waits for the lock of the first, and finds nothing left to send."""
    runs = [keep((CASE, 0.01, "ok")) for _ in range(3)]
    sent = tmp_path / "m.jsonl"
    begin, ready = os.pipe()  # they must not have the lock from us
    senders = [
        _forked(lambda: os.read(begin, 1) and assay.upload(*runs, metrics=str(sent), store=home))
        for _ in range(2)
    ]
    with outbox.only_sender(home):
        os.write(ready, b"go")
        _until(lambda: len(list(outbox.entries(home))) == 1)
        assert not sent.exists()  # both wait for us
    ended = [os.waitstatus_to_exitcode(os.waitpid(one, 0)[1]) for one in senders]

    assert ended == [0, 0]
    assert len(sent.read_text().splitlines()) == 3
    assert list(outbox.entries(home)) == []


def test_a_parcel_that_is_being_written_or_was_sent_is_not_waiting(home, monkeypatch):
    folder = settings.home(home) / outbox.FOLDER
    folder.mkdir(parents=True)
    (folder / ".330-half.json").write_bytes(b'{"na')
    (folder / "gone.json").write_bytes(b"{}")
    read = outbox.read_plain

    def sent_meanwhile(path, max_bytes):
        path.unlink()
        return read(path, max_bytes)

    monkeypatch.setattr(outbox, "read_plain", sent_meanwhile)

    assert list(outbox.entries(home)) == []


def _forked(work: Callable[[], object]) -> int:
    child = os.fork()
    if child:
        return child
    try:
        work()
        os._exit(0)
    finally:
        os._exit(1)


def _until(holds: Callable[[], bool]) -> None:
    for _ in range(3000):
        if holds():
            return
        time.sleep(0.01)
    raise AssertionError("it never came")


@pytest.mark.real("fsspec")
def test_a_packed_run_is_sent_with_its_files(keep, home, tmp_path):
    run = keep((CASE, 0.01, "ok"))
    before = sorted(path.name for path in (home / "runs" / run / "001").iterdir())
    assert assay.pack("2100", store=home).runs == 1

    assert assay.upload(run, objects=str(tmp_path / "there"), store=home).status == 0
    assert sorted(path.name for path in (tmp_path / "there" / run / "001").iterdir()) == before


@pytest.mark.parametrize(
    "given, sentence",
    [
        ({}, "No place was given"),
        ({"bigquery": "p:d.t;DROP"}, "is not a table of BigQuery"),
        ({"bigquery": TABLE, "table": "mine"}, "no table named 'mine'"),
        ({"objects": "gs://$(id)"}, "is not a location for objects"),
    ],
)
def test_what_is_wrong_is_refused_before_anything_is_sent(keep, home, given, sentence):
    run = keep((CASE, 0.01, "ok"))

    with pytest.raises(UsageError, match=sentence):
        assay.upload(run, store=home, **given)
    assert list(outbox.entries(home)) == []


def test_no_run_and_wrong_settings_are_said(keep, home):
    from assay.platforms.sinks.upload import sinks_from_settings

    with pytest.raises(UsageError, match="exactly one of them"):
        assay.upload(metrics="x", store=home)
    keep((CASE, 0.01, "ok"))
    (home / "sinks.toml").write_text("bigqery = 'x'\n")
    with pytest.raises(UsageError, match="unknown field `bigqery`"):
        sinks_from_settings(home)
