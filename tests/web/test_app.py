"""The dashboard's pages as a client sees them: HTML, JSON twins, refusals."""

from __future__ import annotations

import gzip
import json
import math
import re
import time
from contextlib import closing
from functools import partial

import msgspec
import pytest

from assay.commands.race.ranking import Place, Race
from assay.commands.study import api
from assay.core import codec
from assay.core.findings import Quantity
from assay.core.records import Case, Environment, Plan, Samples
from assay.core.registry import open_store
from assay.native.tuner.records import LossInterval, TunedPoint, Tuning
from assay.stats import stored_summary
from assay.stores import folders
from assay.stores.runs import RACE, TUNING
from tests.kept_runs import CASE, OTHER, keep_run, made_result
from tests.web.clients import web_client

pytestmark = pytest.mark.real("starlette", "jinja2", "httpx2")

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def client(home):
    return web_client(home)


def test_an_empty_store_says_what_to_do(client):
    page = client.get("/")

    assert page.status_code == 200
    assert "assay run mnist-mlp" in page.text


def test_the_navigation_has_the_pages_that_offer_a_title(client):
    links = re.findall(r'<a href="(/\w*)"[^>]*>([^<]+)</a>', client.get("/").text)

    assert links[:7] == [
        *(("/", "Overview"), ("/runs", "Runs"), ("/history", "History"), ("/check", "Check")),
        *(("/compare", "Compare"), ("/tradeoffs", "Trade-offs"), ("/accuracy", "Accuracy")),
    ]


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/runs", "/runs/{run}", "/runs/{run}/001", "/history", "/check", "/compare"),
        *("/tradeoffs", "/accuracy"),
    ],
)
def test_every_page_has_a_json_twin_at_its_address(path, client, keep):
    address = path.format(run=keep((CASE, 0.01, "ok"), (OTHER, 0.02, "failed")))

    page, twin = client.get(address), client.get(address, params={"format": "json"})
    asked = client.get(address, headers={"Accept": "application/json"})

    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    assert twin.json()["schema"] == 1
    assert twin.json()["kind"]
    assert asked.json() == twin.json()
    assert "<h1>" in page.text


@pytest.mark.real("postgresql", "psycopg")
def test_every_page_shows_a_store_in_a_database(database):
    run = keep_run(database, (CASE, 0.01, "ok"), (OTHER, 0.02, "failed"))
    keep_run(database, (CASE, 0.01, "ok"))
    client = web_client(database)

    series = client.get("/history?format=json").json()["series"]
    one = next(s for s in series if s["metric"] == "step_time")
    pages = ["/", "/runs", f"/runs/{run}", f"/runs/{run}/001", "/check", "/compare", "/accuracy"]
    pages += [f"/history/{one['id']}/step_time", f"/files/{run}/001/result.json"]

    assert [(page, client.get(page).status_code) for page in pages] == [(p, 200) for p in pages]
    assert one["points"] == 2
    assert run in client.get("/").text


def test_a_run_shows_its_cases_and_what_failed(client, keep):
    run = keep((CASE, 0.01, "ok"), (OTHER, 0.02, "failed"), reason="no memory left")

    text = client.get(f"/runs/{run}").text

    assert "mnist-mlp@jax" in text
    assert "no memory left" in text
    assert "1 of 2 results ended well" in text
    assert f"assay show {run}" in text


def test_a_result_says_where_the_time_went(client, keep):
    run = keep((CASE, 0.01, "ok"), phases={"import": 1.0, "sampling": 3.0})

    page = client.get(f"/runs/{run}/001").text

    assert "Where the time went" in page
    assert "75 %" in page


def test_a_run_that_is_going_on_says_what_is_missing(client, keep, home):
    run = keep((CASE, 0.01, "ok"), (OTHER, 0.02, "ok"))
    (home / "runs" / run / "002" / "result.json").unlink()

    assert "1 of 2 cases have none yet" in client.get(f"/runs/{run}").text


def test_a_name_that_is_markup_is_text(client, keep):
    case = Case(workload=HOSTILE, backend="x", key=f"{HOSTILE}@x")
    run = keep((case, 0.01, "ok"), (case, 0.01, "failed"), label=HOSTILE, reason=HOSTILE)

    for path in ("/", "/runs", f"/runs/{run}", f"/runs/{run}/001", "/history"):
        text = client.get(path).text
        assert HOSTILE not in text
        assert "&lt;script&gt;" in text


def test_a_log_is_shown_and_sent_as_text(client, keep, home):
    run = keep((CASE, 0.01, "ok"))
    (home / "runs" / run / "001" / "worker.log").write_text(f"{HOSTILE}\x1b[2J")

    page = client.get(f"/runs/{run}/001").text
    file = client.get(f"/files/{run}/001/worker.log")

    assert HOSTILE not in page
    assert file.headers["content-type"] == "text/plain; charset=utf-8"
    assert file.text.startswith(HOSTILE)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (gzip.compress(f"{HOSTILE} \x1b[2Jdone".encode()), "done"),
        (gzip.compress(b"x" * 100)[:-9], "the log is damaged"),
        (b"no gzip at all", "the log is damaged"),
    ],
    ids=["whole", "cut", "no gzip"],  # a packed file holds its time
)
def test_a_packed_log_is_shown_without_what_steers_a_terminal(data, words, client, keep, home):
    run = keep((CASE, 0.01, "ok"))
    (home / "runs" / run / "001" / "log.gz").write_bytes(data)

    page = client.get(f"/runs/{run}/001").text

    assert words in page
    assert HOSTILE not in page
    assert "\x1b" not in page


@pytest.mark.parametrize("path", ["../../index.sqlite", "..%2F..%2Findex.sqlite", "link", "none"])
def test_only_plain_files_of_a_result_are_sent(path, client, keep, home):
    run = keep((CASE, 0.01, "ok"))
    (home / "runs" / run / "001" / "link").symlink_to("/etc/hostname")

    assert client.get(f"/files/{run}/001/{path}").status_code == 404


def test_an_unknown_id_is_404_with_the_nearest(client, keep):
    run = keep((CASE, 0.01, "ok"))
    wrong = f"{run[:-1]}#".replace("#", "2" if run[-1] != "2" else "3")

    answer = client.get(f"/runs/{wrong}")

    assert answer.status_code == 404
    assert run in answer.text


def test_an_unknown_result_and_series_name_the_nearest(client, keep):
    run = keep((CASE, 0.01, "ok"))
    (series,) = client.get("/history", params={"format": "json"}).json()["series"]

    number = client.get(f"/runs/{run}/009")
    metric = client.get(f"/history/{series['id']}/step_tim")

    assert (number.status_code, metric.status_code) == (404, 404)
    assert f"{run}/001" in number.text
    assert f"{series['id']}/step_time" in metric.text


@pytest.mark.parametrize(
    "address",
    [
        *("/runs?since=nothing&until=%FF", "/runs?machine=%27%3B--&status=<script>", "/runs?=&&="),
        *(
            "/history?metric=nothing",
            "/history?label=%",
            "/check?fail_on=step_time",
            "/check?since=x",
        ),
        *("/compare?a=%00&b=1", "/compare?a=tag:&b=commit:", "/compare?a=day:x&b=run:"),
        *("/tradeoffs?of=<script>", "/accuracy?workload=%F0%9F", "/?format=xml", "/runs/%2e%2e"),
    ],
)
def test_a_malformed_query_is_answered_in_words(address, client, keep):
    keep((CASE, 0.01, "ok"))

    answer = client.get(address)

    assert answer.status_code in {200, 400, 404}
    assert "<h1>" in answer.text
    assert "<script>alert" not in answer.text
    assert "<script> " not in answer.text


@pytest.mark.parametrize("path", ["/nowhere", "/runs/x/y/z", "/static/none.css"])
def test_an_address_without_a_page_is_404(path, client):
    assert client.get(path).status_code == 404


def test_an_endless_query_is_refused_in_words(client):
    answer = client.get("/runs", params={"label": "x" * 5_000})

    assert answer.status_code == 400
    assert "longer than any" in answer.text


@pytest.mark.parametrize("method", ["post", "put", "delete", "patch"])
def test_the_dashboard_only_reads(method, client):
    assert getattr(client, method)("/").status_code == 405


def test_every_answer_forbids_what_it_does_not_need(client):
    from assay.web.guard import HEADERS

    for path in ("/", "/nowhere", "/static/assay.css"):
        answer = client.get(path)
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS


def test_a_foreign_host_name_is_refused(home):
    client = web_client(home, base_url="http://evil.example")

    assert client.get("/").status_code == 421


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "[::1].evil.example",
        "[::1]evil.example",
        "localhost:1@evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "localhost:x",
        "",
    ],
)
def test_a_host_header_that_only_resembles_loopback_is_refused(host, home):
    client = web_client(home)

    assert client.get("/", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("cookie", ["a/b=1", "a b=1; =", ";;;", 'x="', "assay_token"])
def test_a_malformed_cookie_is_ignored(cookie, home):
    client = web_client(home, token="secret", base_url="http://example.org")

    assert client.get("/", headers={"cookie": cookie}).status_code == 401
    both = {"cookie": f"{cookie}; assay_token=secret"}
    assert client.get("/", headers=both).status_code == 200


@pytest.mark.parametrize("host", ["localhost:8000", "127.0.0.1", "[::1]:8000"])
def test_names_of_this_machine_are_answered(host, home):
    client = web_client(home, base_url="http://127.0.0.1")

    assert client.get("/", headers={"host": host}).status_code == 200


def test_a_token_is_asked_for_once(home):
    client = web_client(home, token="secret", base_url="http://example.org")

    assert client.get("/").status_code == 401
    assert client.get("/", params={"token": "wrong"}).status_code == 401
    assert client.get("/", headers={"Authorization": "Bearer secret"}).status_code == 200
    first = client.get("/", params={"token": "secret", "a": "1"}, follow_redirects=False)
    assert first.headers["location"] == "/?a=1"
    assert client.get("/runs").status_code == 200


def test_a_store_of_a_newer_schema_is_said(client, keep, home):
    run = keep((CASE, 0.01, "ok"))
    path = home / "runs" / run / "001" / "result.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema": 99}))

    answer = client.get(f"/runs/{run}/001")

    assert answer.status_code in {400, 503}
    assert "schema 99" in answer.text


def test_the_first_page_says_what_became_slower(client, keep):
    for night in range(1, 25):
        seconds = (0.010 if night < 14 else 0.013) * (1 + 0.002 * (night * 7 % 5))
        keep((CASE, seconds, "ok"), started=f"2026-11-{night:02d}T03:00:00Z")

    page = client.get("/", params={"format": "json"}).json()

    assert page["lead"] == "1 series has become slower."
    [finding] = page["findings"]
    assert (finding["metric"], finding["worse"]) == ("step_time", True)
    assert finding["since"].startswith("2026-11-14")
    assert finding["change"] == pytest.approx(1.3, rel=0.01)


def told(metric: str, *values: float) -> Samples:
    return Samples(metric=metric, unit="", phase="steady", values=values)


def test_a_task_and_what_it_told_read_as_any_result(client, home):
    case = Case(workload="train", backend="command", key="train@command")
    run = keep_made(home, "task", [(case, {"facts": {"metric loss": "last of 3 values"}})])

    page, one = client.get(f"/runs/{run}").text, client.get(f"/runs/{run}/001").text

    assert "loss" in page
    assert f'href="/runs/{run}/001"' in page
    assert "Each repeat" in one
    assert "Distribution" not in one
    assert "python train.py" in one  # what was typed, to measure it again


def test_trials_of_a_benchmark_method_are_put_together(client, home):
    case = Case(workload="a.B.benchmark_c", backend="bench", key="a.B.benchmark_c@bench")
    run = keep_made(home, "bench", [(case, {}), (case, {})])

    page = client.get(f"/runs/{run}").text

    assert "Each metric over its trials" in page
    assert "Every trial" in page


def keep_made(home, verb, wanted):
    """A run of results that tell a loss and no step time."""
    with closing(open_store(home)) as store:
        run = store.new_run(Plan(cases=tuple(case for case, _ in wanted), verb=verb))
        for case, more in wanted:
            result = made_result(folders.new_case(run), case, 1.0, "2026-11-01T10:00:00Z", **more)
            here = Environment(command=("/bin/assay", "task", "run", "--", "python train.py"))
            samples = (told("loss", 3.0, 2.0, 1.0),)
            result = msgspec.structs.replace(result, samples=samples, environment=here)
            store.append(result)
            stored_summary.read(store, result)
    return run.name


def test_a_race_says_who_was_dropped_when_and_what_an_option_buys(client, keep, home):
    slow = Case(workload="mnist-mlp", backend="jax", key="mnist-mlp@jax:compiler=off")
    run = keep((CASE, 0.01, "ok"), (slow, 0.02, "ok"), tags={"heat": "1"})
    ratios = {CASE.key: 1.0, slow.key: 2.0, OTHER.key: math.nan}
    states = {CASE.key: "in", slow.key: "out", OTHER.key: "untried"}
    places = tuple(
        Place(
            key=key,
            state=states[key],
            ratio=Quantity(value=ratio, low=ratio, high=ratio, unit="", estimator="", n=1),
            heats=1,
            reason=f"slower than {CASE.key}" if key == slow.key else "",
        )
        for key, ratio in ratios.items()
    )
    found = Race(places=places, metric="item_time", minimum=0.02, heats=1, ended="decided: one")
    with closing(open_store(home)) as store:
        store.keep_document(run, RACE, codec.encode(found))

    page = client.get(f"/runs/{run}").text

    assert "Fastest: mnist-mlp@jax" in page
    assert "dropped after heat 1: slower than mnist-mlp@jax" in page
    assert "not tried" in page
    assert "compiler: on → off" in page


def test_a_tuning_shows_its_front(client, keep, home):
    run = keep((CASE, 0.01, "ok"))
    lost = LossInterval(points=0.4, low=0.1, high=0.7, pictures=5000, bound=0.6)
    point = partial(
        TunedPoint,
        predicted=0.3,
        confirmed=lost,
        test=lost,
        seconds=1e-3,
        promised=True,
        accuracy=84.6,
        accuracy_low=83.0,
        accuracy_high=86.0,
    )
    speeds = {"speedup": 2.2, "speedup_low": 2.1, "speedup_high": 2.3}
    exact = dict.fromkeys(speeds, 1.0)
    found = Tuning(
        model="net",
        objective="time",
        max_loss=1.0,
        seed=0,
        batch=1,
        points=(
            point(name="conf1", knobs={}, words="exact", **exact),
            point(name="conf2", knobs={"conv": 13}, words="1 int8", **speeds),
        ),
        chosen="conf2",
        pictures={"confirming": 3000, "test": 5000},
        seconds=60.0,
    )
    with closing(open_store(home)) as store:
        store.keep_document(run, TUNING, codec.encode(found))

    page = client.get(f"/runs/{run}").text

    assert "Conf2: 2.20 times as fast; it loses at most 0.60 points" in page
    assert "1 int8" in page and "times as fast as the exact network" in page


@pytest.mark.real("jax")
def test_a_study_says_what_each_option_buys(client, home):
    asked = api.request("vgg16", size="small", backends="jax")
    with closing(open_store(home)) as store:
        run = store.new_run(asked.plan)
        for case in asked.plan.cases:
            seconds = 0.01 if case.options["compiler"] == "on" else 0.02
            place = folders.new_case(run)
            store.append(made_result(place, case, seconds, "2026-11-01T10:00:00Z"))

    page = client.get(f"/runs/{run.name}").text

    assert "What each option buys, all else equal" in page
    assert "compiler" in page
    assert "x 0.50" in page or "x 2.00" in page


def test_trade_offs_name_who_is_beaten_by_nobody(client, keep):
    peaks = iter([{"max_rss": 3e8}, {"max_rss": 1e8}, {"max_rss": 4e8}])
    cases = [Case(workload=f"net{n}", backend="jax", key=f"net{n}@jax") for n in range(3)]
    for case, seconds in zip(cases, (0.01, 0.02, 0.03), strict=True):
        keep((case, seconds, "ok"), label="all", peaks=next(peaks))

    twin = client.get("/tradeoffs", params={"of": "all", "format": "json"}).json()
    page = client.get("/tradeoffs", params={"of": "all"}).text

    best = [one["name"] for one in twin["costs"]["memory"] if one["on_the_front"]]
    assert sorted(best) == ["net0@jax", "net1@jax"]
    assert "Speed against memory" in page


def test_very_many_series_are_not_checked_while_a_reader_waits(client, keep, monkeypatch):
    monkeypatch.setattr("assay.web.pages.check.MAX_CHECKED", 1)
    keep((CASE, 0.01, "ok"), (OTHER, 0.02, "ok"))

    assert "2 series are too many for one page" in client.get("/check").text


def test_two_labels_are_compared_case_by_case(client, keep):
    keep((CASE, 0.010, "ok"), (OTHER, 0.020, "ok"), label="before")
    keep((CASE, 0.012, "ok"), (OTHER, 0.020, "ok"), label="after")

    twin = client.get("/compare", params={"a": "before", "b": "after", "format": "json"}).json()
    page = client.get("/compare", params={"a": "before", "b": "after"}).text

    assert {one["key"]: round(one["ratio"], 3) for one in twin["differences"]} == {
        "mnist-mlp@jax": 1.2,
        "mnist-mlp@torch": 1.0,
    }
    assert "geometric mean" in page


def test_very_many_are_compared_from_the_index(client, keep, monkeypatch):
    monkeypatch.setattr("assay.web.pages.compare.MAX_RESULTS", 1)
    for label, factor in (("before", 1.0), ("after", 1.2)):
        keep((CASE, 0.010 * factor, "ok"), (OTHER, 0.020, "ok"), label=label)

    twin = client.get("/compare", params={"a": "before", "b": "after", "format": "json"}).json()

    assert [round(one["ratio"], 3) for one in twin["differences"]] == [1.2, 1.0]
    assert any("from the index" in note for note in twin["notes"])


def test_what_cannot_be_compared_is_not_drawn(client, keep):
    keep((CASE, 0.010, "ok"), label="before", workload_version="1")
    keep((CASE, 0.012, "ok"), label="after", workload_version="2")

    page = client.get("/compare", params={"a": "before", "b": "after"}).text

    assert "not-comparable" in page
    assert "1.200" not in page


@pytest.mark.parametrize("text", ["nothing", "/etc/passwd", "README.md", "<b>"])
def test_what_is_no_selection_is_said_and_no_file_is_read(text, client, keep):
    keep((CASE, 0.010, "ok"), label="before")

    answer = client.get("/compare", params={"a": "before", "b": text})

    assert answer.status_code == 200
    assert "means no result here" in answer.text
    assert "root:" not in answer.text


def test_a_new_index_has_its_histories_again(home, keep):
    """Everything in the index comes from the folders, points of series too."""
    for night in range(1, 4):
        keep((CASE, 0.01, "ok"), started=f"2026-11-{night:02d}T03:00:00Z")
    for part in home.glob("index.sqlite*"):
        part.unlink()
    client = web_client(home)

    def points() -> list[int]:
        page = client.get("/history", params={"format": "json"}).json()
        return [one["points"] for one in page["series"]]

    assert wait_for(points, [3])


def wait_for(found, wanted, seconds=60.0):
    end = time.monotonic() + seconds
    while found() != wanted and time.monotonic() < end:
        time.sleep(0.05)
    return found() == wanted
