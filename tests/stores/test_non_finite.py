"""Parameters that are not finite, and stores whose index an older assay made unreadable by them."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from assay.core.records import Query
from assay.core.registry import open_store
from assay.core.series import series_of
from assay.stores import folders
from tests.kept_runs import CASE, made_result
from tests.needs import with_needs
from tests.stores import poison
from tests.stores.poison import GOOD, NOT_FINITE, RECORD, SERIES, kept_ids, poisoned
from tests.web.clients import web_client

WEB = pytest.mark.real("starlette", "jinja2", "httpx2")
DATABASE = pytest.param("postgresql", marks=pytest.mark.real("postgresql", "psycopg"))
BAD_KEY = NOT_FINITE[1].key
NEEDS = {
    ("plot", "{bad}", "-o", "out.svg"): ("matplotlib",),
    ("report", "{badrun}", "-o", "out.html"): ("jinja2",),
    ("publish", "site"): ("jinja2",),
    ("upload", "{bad}", "--objects", "objects"): ("fsspec",),
}
COMMANDS = [
    ("list", "results"),
    ("list", "results", "--format", "json"),
    ("list", "results", "--machine", "Test"),
    ("show", "{bad}"),
    ("show", "{bad}", "--format", "json"),
    ("show", "{run}", "--results"),
    ("compare", "{run}", "{other}"),
    ("compare", "{bad}", "{run}/001", "--anyway"),
    ("compare", "{bad}", "{last}", "--across", "lr"),
    ("history", CASE.key),
    ("history", BAD_KEY),
    ("history", "mnist-mlp"),
    ("check",),
    ("check", "--format", "json"),
    ("check", "--since", "2026-09-15"),
    ("explain", "{run}/001", "{bad}"),
    ("export", "--all", "--as", "csv", "-o", "out.csv"),
    ("export", "--all", "--as", "hyperfine", "-o", "out.json"),
    ("export", "--all", "--as", "pyperf", "-o", "out.json"),
    ("export", "{bad}", "--as", "pytest-benchmark", "-o", "out.json"),
    ("export", "{bad}", "--as", "mllog", "-o", "out.log"),
    ("plot", "{bad}", "-o", "out.svg"),
    ("report", "{badrun}", "-o", "out.html"),
    ("publish", "site"),
    ("repro", "{bad}", "--check"),
    ("results", "label", "{bad}", "night"),
    ("results", "tag", "{bad}", "a=b"),
    ("results", "rm", "{bad}"),
    ("results", "prune", "--keep", "5"),
    ("store", "copy", "{place}", "copy"),
    ("upload", "{bad}", "--metrics", "out.jsonl"),
    ("upload", "{bad}", "--objects", "objects"),
]
PAGES = [
    *("/", "/runs", "/runs/{badrun}", "/runs/{bad}", "/runs/{run}", "/history", "/check"),
    *("/compare", "/compare?before={run}&after={other}"),
    *("/tradeoffs", "/accuracy"),
]


@pytest.fixture(scope="module", params=["sqlite", DATABASE])
def store(request, tmp_path_factory):
    """Made once, poisoned again by each test."""
    home = tmp_path_factory.mktemp("poisoned") / "home"
    if request.param == "sqlite":
        return poisoned(home, poison.folder_index(home))
    server = request.getfixturevalue("postgres")
    server.empty()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_HOME", str(home))
        return poisoned(server.url, poison.database_index(server))


@pytest.fixture
def small(request, home):
    """One of a test's own, which it may change."""

    def make(kind: str) -> poison.PoisonedStore:
        if kind == "sqlite":
            return poisoned(home, poison.folder_index(home), days=2)
        url = request.getfixturevalue("database")
        index = poison.database_index(request.getfixturevalue("postgres"))
        return poisoned(url, index, days=2)

    return make


def names(store) -> dict[str, str]:
    run = store.bad[0].partition("/")[0]
    known = {"place": store.place, "bad": store.bad[1], "last": store.bad[2], "badrun": run}
    return {**known, "run": store.runs[0], "other": store.runs[-1]}


@pytest.mark.parametrize("words", with_needs(COMMANDS, NEEDS), ids=" ".join)
def test_every_command_reads_a_poisoned_store(store, words, assay, tmp_path, monkeypatch):
    store.poison()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_STORE", store.place)

    status, _, err = assay(*(word.format(**names(store)) for word in words))

    assert status == (3 if words[0] == "repro" else 0), err  # its packages are not here
    assert "damaged" not in err and "cannot be read" not in err
    results, points = kept_ids(store.place)
    assert len(results) == len(points) == GOOD + len(store.bad)


@WEB
@pytest.mark.parametrize("path", PAGES)
def test_every_page_shows_a_poisoned_store(store, path):
    store.poison()
    client = web_client(store.place)
    address = path.format(**names(store))

    page = client.get(address)
    twin = client.get(address, params={"format": "json"} if "?" not in address else None)

    assert page.status_code == 200, page.text
    assert twin.status_code == 200
    assert "cannot be read" not in page.text


@WEB
@pytest.mark.parametrize("case", NOT_FINITE, ids=lambda case: case.params["lr"])
def test_each_number_has_a_page_of_its_series(store, case):
    store.poison()
    client = web_client(store.place)
    series = series_of(made_result(folders.CaseDir("a/001", None), case, 1.0, "")).id

    every, page = client.get("/history"), client.get(f"/history/{series}/step_time")

    assert f"/history/{series}/step_time" in every.text
    assert page.status_code == 200


def test_a_poisoned_index_is_repaired_without_losing_a_result(store):
    store.poison()
    results, points = kept_ids(store.place)

    with closing(open_store(store.place)) as again:
        series = {
            kept.series.params["lr"]
            for kept in again.series(Query(workload="mnist-mlp"))
            if "lr" in kept.series.params
        }
        problems = again.problems

    assert len(results) == len(points) == GOOD + len(store.bad)
    assert series == {"nan", "inf", "-inf"}
    assert problems == []


@pytest.mark.parametrize("kind", ["sqlite", DATABASE])
@pytest.mark.parametrize("reader", ["entries", "series", "points_of"])
def test_a_row_of_an_unreadable_result_is_passed_over_and_said_once(small, kind, reader):
    made = small(kind)
    victim = made.bad[1]
    with closing(open_store(made.place)) as store:
        damage(store, victim)
    made.poison()

    with closing(open_store(made.place)) as store:
        read = getattr(store, reader)
        rows = [read(Query()) for _ in range(3)][-1]
        whole = [result.id for result in store.results(Query())]
        problems = [problem for problem in store.problems if victim in problem]

    ids = {getattr(row, "id", getattr(getattr(row, "point", None), "id", "")) for row in rows}
    assert victim not in ids and victim not in whole
    assert len(whole) == 12
    assert len(problems) == len(store.problems) == 1
    assert "not readable JSON" in problems[0]


def damage(store, result_id: str) -> None:
    run, _, number = result_id.partition("/")
    store.keep_document(run, f"{number}/result.json", b"{")


@pytest.mark.real("postgresql", "psycopg")
def test_who_may_only_read_sees_the_other_rows(small, postgres):
    made = small("postgresql")
    postgres.execute("DROP ROLE IF EXISTS reader")
    postgres.execute("CREATE ROLE reader LOGIN")
    postgres.execute("GRANT USAGE ON SCHEMA assay TO reader")
    postgres.execute("GRANT SELECT ON ALL TABLES IN SCHEMA assay TO reader")

    with closing(open_store(made.place.replace("tester@", "reader@"))) as store:
        entries, again = store.entries(Query()), store.entries(Query())
        results = list(store.results(Query()))
        problems = store.problems
    postgres.execute("DROP OWNED BY reader; DROP ROLE reader")

    assert len(entries) == len(again) == 10
    assert len(results) == 13
    assert len(problems) == 1
    assert "Rows of 3 results cannot be read or repaired" in problems[0]


@pytest.mark.parametrize("kind", ["sqlite", DATABASE])
@pytest.mark.parametrize(
    "words, left",
    [
        (("results", "rm", "{bad}", "--yes"), 12),
        (("results", "rm", "{badrun}", "--yes"), 10),
        (("results", "prune", "--keep", "1", "--yes"), 5),
    ],
    ids=["one", "run", "prune"],
)
def test_what_is_removed_from_a_poisoned_store_is_gone(small, kind, words, left, assay):
    made = small(kind)

    status, _, err = assay(*(w.format(**names(made)) for w in words), "--store", made.place)

    assert status == 0, err
    assert len(kept_ids(made.place)[0]) == left


def test_packing_keeps_results_of_poisoned_rows(small, assay):
    made = small("sqlite")

    status, _, err = assay("results", "pack", "--before", "2100")
    made.poison()

    assert status == 0, err
    assert [len(ids) for ids in kept_ids(made.place)] == [13, 13]


def test_a_repaired_index_is_as_one_made_from_the_results_alone(small):
    made = small("sqlite")
    assert (SERIES, RECORD) in made.execute("SELECT id, record FROM series")

    with closing(open_store(made.place)) as store:
        repaired = {entry.id: entry.series for entry in store.entries(Query())}
    for file in Path(made.place).glob("index.sqlite*"):
        file.unlink()
    with closing(open_store(made.place)) as store:
        anew = {entry.id: entry.series for entry in store.entries(Query())}

    assert repaired == anew
    assert len(anew) == 13


@pytest.mark.parametrize("record", ["{", "null", '{"workload":1}', RECORD, '{"a":' * 5000])
def test_any_unreadable_record_of_a_series_is_made_anew(home, record):
    made = poisoned(home, poison.folder_index(home), days=1)
    made.execute(f"UPDATE series SET record = '{record}'")

    with closing(open_store(home)) as store:
        entries, series = store.entries(Query()), store.series(Query())
        problems = store.problems

    assert len(entries) == 8
    assert {one.series.backend for one in series} == {"jax", "torch"}
    assert problems == []


@pytest.mark.parametrize("tags", ["{", "[]", '{"a":null}'])
def test_unreadable_tags_of_a_row_are_made_anew(home, tags):
    made = poisoned(home, poison.folder_index(home), days=1)
    made.execute(f"UPDATE results SET tags = '{tags}' WHERE id = '{made.runs[0]}/001'")

    with closing(open_store(home)) as store:
        entries = store.entries(Query())

    assert len(entries) == 8
    assert entries[0].tags == {}
