"""The dashboard in a real browser: it loads, sorts, filters, zooms, and asks nobody else."""

from __future__ import annotations

import functools
import json
import os
import threading
from pathlib import Path

import pytest

import assay
from assay.core.records import Case
from assay.web.serve import serve
from tests.frozen import outputs
from tests.kept_runs import CASE, OTHER, keep_run

pytestmark = pytest.mark.real("chromium", "playwright")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        yield running
        running.close()


class Seen:
    """What a page did besides showing itself."""

    def __init__(self, page) -> None:
        self.errors: list[str] = []
        self.asked: set[str] = set()
        page.on("console", lambda line: self.errors.append(line.text) * (line.type == "error"))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.asked.add(request.url.split("/")[2]))


@pytest.fixture
def page(browser):
    page = browser.new_page()
    page.seen = Seen(page)
    yield page
    page.close()


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Kept once for all tests here: they only read."""
    return tmp_path_factory.mktemp("browser") / "home"


@pytest.fixture(scope="module")
def site(store):
    """A dashboard with a history of a dozen nights, in a thread of this process."""
    keep = functools.partial(keep_run, store)
    nights = [f"2026-11-{night:02d}T03:00:00Z" for night in range(1, 13)]
    for night, started in enumerate(nights):
        keep((CASE, 0.010 if night < 7 else 0.013, "ok"), started=started, label="nightly")
    many = [Case(workload=f"net{n}", backend="jax", key=f"net{n}@jax") for n in range(9)]
    wide = keep(
        *((case, 0.001 * (9 - n), "ok") for n, case in enumerate(many)), (OTHER, 1, "failed")
    )
    for address in serve_store(store):
        yield address, wide


def serve_store(store):
    """Yields the address of a dashboard over a store."""
    dashboard = serve(port=0, store=store)
    import uvicorn

    from assay.web.app import application

    server = uvicorn.Server(uvicorn.Config(application(store), log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [dashboard.socket]})
    thread.start()
    yield dashboard.address
    server.should_exit = True
    thread.join()


def paths(run: str) -> list[str]:
    pages = ["/", "/runs", f"/runs/{run}", f"/runs/{run}/001", "/history", "/check", "/compare"]
    return [*pages, f"/tradeoffs?of={run}", "/accuracy"]


def test_every_page_loads_without_error_or_outside_request(page, site, tmp_path):
    address, run = site
    shots = Path(os.environ.get("ASSAY_SCREENSHOTS", tmp_path))

    for number, path in enumerate(paths(run)):
        assert page.goto(address + path).status == 200
        assert page.title().endswith("· assay")
        page.screenshot(path=shots / f"page-{number}.png", full_page=True)

    assert page.seen.errors == []
    assert page.seen.asked == {address.split("/")[2]}


@pytest.mark.parametrize(
    ("scheme", "rules"), [("light", {}), ("dark", {"runOnly": ["color-contrast"]})]
)
def test_pages_are_accessible_in_every_look(scheme, rules, browser, site):
    """In the dark only colours differ."""
    from axe_playwright_python.sync_playwright import Axe

    address, run = site
    look = browser.new_page(color_scheme=scheme)
    serious = []
    for path in paths(run):
        look.goto(address + path)
        found = Axe().run(look, options=rules).response["violations"]
        serious += [(path, v["id"]) for v in found if v["impact"] in {"serious", "critical"}]
    look.close()

    assert serious == []


@pytest.mark.parametrize("width", [1200, 390])
def test_no_page_is_wider_than_its_window(width, browser, site):
    address, run = site
    look = browser.new_page(viewport={"width": width, "height": 900})
    beyond = {}
    for path in paths(run):
        look.goto(address + path)
        beyond[path] = look.evaluate("document.documentElement.scrollWidth - innerWidth")
    look.close()

    assert {path for path, pixels in beyond.items() if pixels > 0} == set()


def test_a_table_is_sorted_by_what_its_numbers_are(page, site):
    address, run = site
    page.goto(f"{address}/runs/{run}")

    page.get_by_role("button", name="step time").click()
    first = page.locator("tbody tr").first.locator("td").first.inner_text()
    page.get_by_role("button", name="step time").click()
    last = page.locator("tbody tr").first.locator("td").first.inner_text()

    assert first == "net8@jax"
    assert last == "net0@jax"


def test_rows_are_filtered_by_words(page, site):
    address, run = site
    page.goto(f"{address}/runs/{run}")

    page.get_by_label("Filter rows").fill("net3")

    assert page.locator("tbody tr:visible td:first-child").first.inner_text() == "net3@jax"
    assert page.locator("table").first.locator("tbody tr:visible").count() == 1


def test_a_chart_zooms_and_comes_back(page, site):
    address, run = site
    page.goto(f"{address}/runs/{run}/001")
    chart = page.locator("figure.chart").filter(has=page.locator(".plot")).first
    before = chart.locator(".plot").get_attribute("viewBox")

    chart.get_by_label("Zoom in").click()
    zoomed = chart.locator(".plot").get_attribute("viewBox")
    chart.get_by_label("Show all").click()

    assert zoomed != before
    assert chart.locator(".plot").get_attribute("viewBox") == before


def test_without_javascript_everything_is_there(browser, site):
    address, run = site
    plain = browser.new_context(java_script_enabled=False).new_page()
    plain.goto(f"{address}/runs/{run}/001")

    assert plain.locator("figure.chart svg").count() >= 2
    assert plain.locator("table tbody tr").count() >= 1


def test_a_report_opens_from_a_file_and_asks_nobody(page, site, store, tmp_path):
    path = assay.report("nightly", tmp_path / "report.html", store)

    page.goto(path.as_uri())
    page.get_by_role("link", name="mnist-mlp@jax").first.click()

    assert page.seen.errors == []
    assert page.seen.asked == {""}
    assert page.locator("article").count() == 24


def test_a_published_site_can_be_walked(page, site, store, tmp_path):
    folder = assay.publish(tmp_path / "site", store=store)

    page.goto((folder / "index.html").as_uri())
    page.get_by_role("link", name="History").first.click()
    page.get_by_role("link", name="mnist-mlp@jax").first.click()

    assert page.locator("figure.chart").count() >= 1
    assert page.seen.errors == []
    assert page.seen.asked == {""}


WIDTHS = (1280, 420)
LOOKS = [(width, scheme) for width in WIDTHS for scheme in ("light", "dark")]


@pytest.fixture(scope="module")
def decided(tmp_path_factory):
    """A dashboard over the kept store: comparisons, a race, a bisection, a tuning, histories."""
    with outputs.copied_store(tmp_path_factory.mktemp("decided")) as home:
        keep = functools.partial(keep_run, home)
        for night in range(1, 13):
            started = f"2026-11-{night:02d}T03:00:00Z"
            keep((CASE, 0.010 if night < 7 else 0.013, "ok"), started=started, label="nightly")
        yield from serve_store(home)


def verdict_runs() -> dict[str, list[str]]:
    """Command → runs of the kept store that it made."""
    runs: dict[str, list[str]] = {}
    for name in outputs.RUNS.values():
        plan = outputs.STORE / "runs" / name / "plan.json"
        verb = json.loads(plan.read_text()).get("verb", "run") if plan.exists() else "run"
        runs.setdefault(verb, []).append(name)
    return runs


def all_paths() -> list[str]:
    runs = verdict_runs()
    pages = ["/", "/runs", "/history", "/check", "/compare", "/tradeoffs", "/accuracy"]
    pages += [f"/runs/{names[-1]}" for names in runs.values()]
    single = runs["run"][0]
    return [*pages, f"/runs/{single}/001", f"/tradeoffs?of={single}"]


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_every_page_fits_and_repeats_no_label(width, scheme, browser, decided, tmp_path):
    shots = Path(os.environ.get("ASSAY_SCREENSHOTS", tmp_path))
    look = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    wrong = []
    for number, path in enumerate(all_paths()):
        assert look.goto(decided + path).status == 200
        look.screenshot(path=shots / f"{width}-{scheme}-{number}.png", full_page=True)
        for axis in look.evaluate(AXES):
            wrong += [(path, axis)] if len(axis) != len(set(axis)) else []
            wrong += [(path, text) for text in axis if text.startswith(("-", "−"))]
        if look.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wrong.append((path, "wider than the window"))
    look.close()

    assert wrong == []


# texts of each axis across: numbers below a chart
AXES = """[...document.querySelectorAll('.chart svg')].map(chart =>
  [...chart.querySelectorAll('g.across text')].map(text => text.textContent))"""


def test_colours_follow_the_verdict(browser, decided):
    look = browser.new_page()
    moods = {}
    for names in verdict_runs().values():
        for name in names:
            look.goto(f"{decided}/runs/{name}")
            lead = look.locator(".lead")
            if lead.count():
                text = lead.first.inner_text().lower()
                moods[text.partition(":")[0]] = lead.first.get_attribute("class").split()[1:]
    look.close()

    expected = {"faster": "good", "slower": "bad", "cannot-tell": "doubt", "fastest": "good"}
    seen = {word: mood for word, mood in moods.items() if word in expected}
    assert len(seen) >= 2
    assert seen == {word: [expected[word]] for word in seen}


def test_a_decided_bisect_shows_its_verdict(page, decided):
    (run,) = verdict_runs()["bisect"][-1:]
    page.goto(f"{decided}/runs/{run}")

    assert "the first changed" in page.locator(".lead").inner_text()
    assert "No result yet" not in page.content()
    assert page.locator("td.bad", has_text="slower").count() >= 1


@pytest.mark.parametrize(
    ("path", "wide", "narrow"),
    [
        ("/runs", {"result", "command", "cases", "started"}, {"result", "command", "cases"}),
        ("/history", {"case", "newest", "change", "over time"}, {"case", "newest", "change"}),
        ("/check", {"case", "change", "p", "finding"}, {"case", "change", "finding"}),
    ],
)
def test_a_narrow_window_keeps_the_columns_that_matter(path, wide, narrow, browser, decided):
    for width, expected in ((1280, wide), (420, narrow)):
        look = browser.new_page(viewport={"width": width, "height": 900})
        look.goto(decided + path)
        heads = look.locator("th:visible").all_inner_texts()
        columns = {head.strip(" ↑↓") for head in heads}
        assert expected <= columns
        if width == 420:
            assert columns == narrow
        look.close()


def test_the_finding_of_check_is_not_cut_off(browser, decided):
    look = browser.new_page(viewport={"width": 1280, "height": 900})
    look.goto(f"{decided}/check")

    hidden = look.evaluate(
        "[...document.querySelectorAll('.wide')].map(box => box.scrollWidth - box.clientWidth)"
    )
    look.close()

    assert hidden and max(hidden) <= 0


def test_the_home_page_says_what_ran_what_changed_and_what_is_open(page, decided):
    page.goto(f"{decided}/")

    section = page.locator("section", has_text="Test CPU").first
    rows = section.locator("tbody tr")
    kinds = {row.locator("td").first.inner_text() for row in rows.all()}
    assert kinds == {"ran last", "changed", "open"}
    assert all(row.locator("td a").count() >= 1 for row in rows.all())


def test_tradeoffs_without_a_selection_offers_runs(page, decided):
    page.goto(f"{decided}/tradeoffs")

    page.locator("td a").first.click()

    assert "of=" in page.url
    assert "results with a speed" in page.locator(".lead").inner_text()
