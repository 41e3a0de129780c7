"""BigQuery through Google's own client: rows arrive once, whatever is cut on the way."""

from __future__ import annotations

import pytest

from assay.core.errors import AssayError, NotPossibleError, UsageError
from assay.core.objects import ServiceUnavailableError
from assay.platforms.sinks import bigquery, tables
from tests.platforms.services import Tables, serving

PLACE = bigquery.parse("my-project:nightly.results")
ROWS = [{"execution_id": str(n), "execution_timestamp": 1.0} for n in range(1200)]
TABLE = tables.get("perfzero")
pytestmark = pytest.mark.real("google.cloud.bigquery")


@pytest.fixture
def service(monkeypatch):
    store = Tables()
    with serving(store) as (faulty, address):
        monkeypatch.setenv(bigquery.EMULATOR, address)
        faulty.store = store
        yield faulty


def arrived(service) -> list[str]:
    return [row["execution_id"] for row in service.store.rows["nightly.results"]]


def test_a_table_is_made_and_rows_come_in_batches_and_never_twice(service):
    first = bigquery.deliver(PLACE, TABLE, ROWS[:700])
    again = bigquery.deliver(PLACE, TABLE, ROWS)

    assert (first, again) == ((700, 0), (500, 700))
    assert sorted(arrived(service)) == sorted(row["execution_id"] for row in ROWS)
    assert [f["name"] for f in service.store.schemas["nightly.results"]][:2] == [
        "execution_timestamp",
        "execution_id",
    ]


@pytest.mark.parametrize("only", ["insertAll", "jobs", "/tables"])
@pytest.mark.parametrize("fault", [503, 429, "cut-before", "cut-after", "slow"])
def test_what_is_cut_is_sent_again_but_never_twice(service, fault, only):
    bigquery.deliver(PLACE, TABLE, ROWS[:1])
    service.faults, service.only = [None, fault, None, fault], only
    pauses = []

    bigquery.deliver(PLACE, TABLE, ROWS[:1200], pauses.append)

    assert sorted(arrived(service)) == sorted(row["execution_id"] for row in ROWS)
    assert fault == "slow" or pauses[0] == 1.0


def test_a_service_that_stays_away_is_said_after_some_tries(service):
    service.faults = [503] * 20
    pauses = []

    with pytest.raises(ServiceUnavailableError, match="not reached in 4 tries") as caught:
        bigquery.deliver(PLACE, TABLE, ROWS[:2], pauses.append)

    assert pauses == [1.0, 2.0, 4.0]
    assert "assay upload --pending" in caught.value.hint


def test_nobody_listens(monkeypatch):
    monkeypatch.setenv(bigquery.EMULATOR, "http://127.0.0.1:9")

    with pytest.raises(ServiceUnavailableError):
        bigquery.deliver(PLACE, TABLE, ROWS[:2], lambda _: None)


def test_no_permission_is_said_at_once(service):
    service.faults = [403]

    with pytest.raises(NotPossibleError, match="no permission for my-project:nightly"):
        bigquery.deliver(PLACE, TABLE, ROWS[:2])
    assert len(service.seen) == 1


def test_a_table_with_other_columns_is_refused_and_left_alone(service):
    bigquery.deliver(PLACE, TABLE, ROWS[:2])

    with pytest.raises(UsageError, match="has no column id, run"):
        bigquery.deliver(PLACE, tables.get("assay"), [{"id": "a"}])
    assert len(arrived(service)) == 2


def test_rows_that_the_service_refuses_are_said(service, monkeypatch):
    bigquery.deliver(PLACE, TABLE, ROWS[:1])
    table = service.store._table

    def refuse(name, insert, given):
        problem = {"index": 0, "errors": [{"message": "no such field: x"}]}
        return (
            service.store._ok({"insertErrors": [problem]}) if insert else table(name, insert, given)
        )

    monkeypatch.setattr(service.store, "_table", refuse)
    with pytest.raises(AssayError, match="refused 1 of 1 rows: no such field: x"):
        bigquery.deliver(PLACE, TABLE, ROWS[1:2])


@pytest.mark.parametrize(
    "text",
    [
        *("", "dataset.table", "p:d", "p:d.t.u", "p:d.t`; DROP TABLE x", "p:d.t t", "P Q:d.t"),
        *("$(id):d.t", "p:d'.t", "p:d.t\n"),
    ],
)
def test_a_name_that_would_be_sql_is_no_table(text):
    with pytest.raises(UsageError, match="is not a table of BigQuery"):
        bigquery.parse(text)


def test_a_project_may_have_a_domain():
    assert bigquery.parse("example.org:perf:d.t") == ("example.org:perf", "d", "t")


def test_without_credentials_it_is_said(monkeypatch, tmp_path):
    monkeypatch.delenv(bigquery.EMULATOR, raising=False)
    wrong = tmp_path / "key.json"
    wrong.write_text("{}")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(wrong))

    with pytest.raises(NotPossibleError, match="no credentials of Google Cloud here"):
        bigquery.deliver(PLACE, TABLE, ROWS[:1])
