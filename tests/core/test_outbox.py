"""The outbox: entries that are listed, forgotten, damaged or too old."""

from __future__ import annotations

import time

import pytest

import assay as lab
from assay.core import outbox
from assay.core.errors import UsageError
from assay.core.outbox import PendingEntry
from tests.kept_runs import CASE


def _metrics(tmp_path, name: str, **fields: object) -> PendingEntry:
    place = str(tmp_path / name / "m.jsonl")
    return PendingEntry(sink="metrics", place=place, rows=[{"id": name}], id=name, **fields)


def test_a_run_whose_upload_arrives_exits_with_0_beside_older_failures(keep, home, tmp_path):
    (tmp_path / "away").touch()  # a file where a folder is expected
    run = keep((CASE, 0.01, "ok"))
    outbox.enqueue([_metrics(tmp_path, "away")], home)

    sent = lab.upload(run, metrics=str(tmp_path / "m.jsonl"), store=home)
    pending = lab.upload(pending=True, store=home)

    assert (sent.status, pending.status) == (0, 1)
    assert [(one.arrived, one.earlier) for one in sent.uploads] == [(False, True), (True, False)]
    assert all("\n" not in one.line for one in sent.uploads)


def test_pending_uploads_are_listed_with_their_reason_and_forgotten(assay, home, tmp_path):
    (tmp_path / "away").touch()
    outbox.enqueue([_metrics(tmp_path, "away")], home)
    lab.upload(pending=True, store=home)

    status, out, _ = assay("upload", "--list-pending")
    assert status == 0 and "cannot be written" in out and "away" in out

    status, _, err = assay("upload", "--forget", "nope")
    assert status == 2 and "nope" in err and "away" in err
    assert assay("upload", "--forget", "away")[0] == 0
    assert lab.upload(list_pending=True, store=home).uploads == ()


def test_uploads_expire_after_a_last_attempt(home, tmp_path):
    old = time.time() - (outbox.EXPIRY_DAYS + 1) * 86_400
    (tmp_path / "away").touch()
    outbox.enqueue(
        [_metrics(tmp_path, "away", since=old), _metrics(tmp_path, "fine", since=old)], home
    )

    uploads = {one.id: one for one in lab.upload(pending=True, store=home).uploads}

    assert uploads["fine"].arrived and (tmp_path / "fine" / "m.jsonl").is_file()
    assert "expired after 30 days" in uploads["away"].text
    assert list(outbox.entries(home)) == []


def test_a_failure_does_not_make_an_upload_younger(home, tmp_path):
    old = time.time() - 86_400
    entry = _metrics(tmp_path, "one", since=old)
    outbox.enqueue([entry], home)
    outbox.note_failure(entry, "away", home)

    (noted,) = outbox.entries(home)
    assert (noted.since, noted.reason) == (old, "away")


def test_a_damaged_file_blocks_no_other_and_can_be_forgotten(home, tmp_path):
    outbox.enqueue([_metrics(tmp_path, "fine")], home)
    (home / outbox.FOLDER / "damaged.json").write_bytes(b"{")

    uploads = {one.id: one for one in lab.upload(pending=True, store=home).uploads}

    assert uploads["fine"].arrived and "cannot be read" in uploads["damaged"].text
    lab.upload(forget="damaged", store=home)
    assert list(outbox.entries(home)) == []


@pytest.mark.parametrize("words", [{}, {"pending": True, "list_pending": True}])
def test_one_action_is_expected(home, words):
    with pytest.raises(UsageError, match="exactly one"):
        lab.upload(store=home, **words)
