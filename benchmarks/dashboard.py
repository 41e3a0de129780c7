"""How quick the dashboard is over a large store, and publishing beside `asv publish`.

An index of SERIES × RESULTS is made by this script, and one series of 10,000 results, with run
folders that are empty: the pages that are timed read nothing else. Each page is asked for in turn
over a real connection to a real server. CPU time is that of the server and of who asks.

    python benchmarks/dashboard.py [--series 1000] [--results 1000] [--requests 40] [--browser]
    python benchmarks/dashboard.py --publish [--series 100] [--results 100]
    python benchmarks/dashboard.py --crowd 60       50 readers and 4 writers for so many seconds
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
from dashboard_index import START, fill, key_of, run_of

from assay.web.serve import serve


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, default=1000)
    parser.add_argument("--results", type=int, default=1000)
    parser.add_argument("--requests", type=int, default=40)
    parser.add_argument("--home", type=Path, help="keep the index here, and use it again")
    parser.add_argument("--browser", action="store_true")
    parser.add_argument("--publish", action="store_true")
    parser.add_argument("--crowd", type=float, default=0.0)
    given = parser.parse_args()
    if given.crowd:
        crowd(given.crowd)
        return
    with tempfile.TemporaryDirectory() as folder:
        home = given.home or Path(folder) / "home"
        if not home.exists():
            fill(home, given.series, given.results, long=not given.publish)
        size = (home / "index.sqlite").stat().st_size
        print(f"{given.series} series x {given.results} results: index {size / 2**20:.0f} MiB")
        if given.publish:
            compare_publishing(home, Path(folder), given.series, given.results)
        else:
            time_pages(home, given)


def time_pages(home: Path, given: argparse.Namespace) -> None:
    import uvicorn

    from assay.web.app import application

    series, results = given.series, given.results
    dashboard = serve(port=0, store=home)
    server = uvicorn.Server(uvicorn.Config(application(home), log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [dashboard.socket]})
    thread.start()
    pages = [
        *("/", "/runs", "/history"),
        *(f"/history/{key_of(number).id}/step_time" for number in (5, series)),
        f"/compare?a={run_of(results - 1)}&b={run_of(results - 2)}",
    ]
    try:
        for page in pages:
            began = time.perf_counter()
            fetch(dashboard.address + page)
            print(f"first {page}: {1e3 * (time.perf_counter() - began):.0f} ms")
        settle(dashboard.address)
        report(pages, dashboard.address, given.requests)
        if given.browser:
            time_browser(pages, dashboard.address)
    finally:
        server.should_exit = True
        thread.join()


def crowd(seconds: float, readers: int = 50, writers: int = 4) -> None:
    """Nothing may be lost, and no reader may see an error, while others write."""
    from concurrent.futures import ThreadPoolExecutor

    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        write(home, 0, 0.0)
        process = subprocess.Popen(
            [sys.executable, "-m", "assay", "serve", "--port", "0", "--home", folder],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr
        address = process.stderr.readline().split()[0]
        end = time.monotonic() + seconds
        try:
            with ThreadPoolExecutor(readers + writers) as pool:
                kept = [pool.submit(write, home, n + 1, end) for n in range(writers)]
                read = [pool.submit(read_pages, address, end) for _ in range(readers)]
                written = sum(one.result() for one in kept) + 1
                pages = [one.result() for one in read]
            shown = len(msgspec.json.decode(fetch(f"{address}/runs?format=json"))["runs"])
        finally:
            process.terminate()
            process.wait()
    print(
        f"{readers} readers and {writers} writers for {seconds:.0f} s: {sum(p[0] for p in pages)} "
        f"pages, {sum(p[1] for p in pages)} errors, {written} runs written, {shown} shown"
    )


def write(home: Path, writer: int, end: float) -> int:
    """Runs of one result each, as a measurement would keep them; at least one."""
    from assay.core.records import Case, Plan, Result, Samples
    from assay.core.registry import open_store
    from assay.stats import stored_summary
    from assay.stores import folders

    case = Case(workload=f"net{writer}", backend="jax", key=f"net{writer}@jax")
    store, count = open_store(home), 0
    while not count or (time.monotonic() < end and count < 400):
        place = folders.new_case(store.new_run(Plan(cases=(case,))))
        values = tuple(0.01 + 0.0001 * (n % 7) for n in range(50))
        sample = Samples(metric="step_time", unit="s", phase="steady", values=values)
        started = datetime.now(UTC).isoformat()
        made = Result(id=place.id, case=case, procedure=Plan(cases=(case,)).procedure, status="ok")
        result = msgspec.structs.replace(made, samples=(sample,), started=started)
        store.append(result)
        stored_summary.read(store, result)
        count += 1
        time.sleep(0.05)
    store.close()
    return count


def read_pages(address: str, end: float) -> tuple[int, int]:
    pages = errors = 0
    while time.monotonic() < end:
        for page in ("/", "/runs", "/history"):
            try:
                fetch(address + page)
                pages += 1
            except OSError:
                errors += 1
    return pages, errors


def settle(address: str) -> None:
    """Until every series has been looked at once: that is work of the first minutes only."""
    for _ in range(200):
        if b"to go" not in fetch(address):
            return


def report(pages: list[str], address: str, requests: int) -> None:
    clock: dict[str, list[float]] = {page: [] for page in pages}
    cpu: dict[str, list[float]] = {page: [] for page in pages}
    for _ in range(requests):
        for page in random.sample(pages, len(pages)):
            began, worked = time.perf_counter(), time.process_time()
            fetch(address + page)
            clock[page].append(time.perf_counter() - began)
            cpu[page].append(time.process_time() - worked)
    for page in pages:
        print(f"{page[:28]:<28}  clock {spread(clock[page])}, CPU {spread(cpu[page])}")


def spread(taken: list[float]) -> str:
    tail = sorted(taken)[math.ceil(0.95 * len(taken)) - 1]
    return f"median {1e3 * statistics.median(taken):.0f} ms, p95 {1e3 * tail:.0f} ms"


def fetch(address: str) -> bytes:
    with urllib.request.urlopen(address) as answer:
        body: bytes = answer.read()
    return body


def time_browser(pages: list[str], address: str) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=flags)
        tab = browser.new_page()
        for page in pages:
            began = time.perf_counter()
            tab.goto(address + page, wait_until="load")
            print(f"browser {page}: usable after {1e3 * (time.perf_counter() - began):.0f} ms")
        browser.close()


def compare_publishing(home: Path, folder: Path, series: int, results: int) -> None:
    from assay.web.publish import publish

    began = time.perf_counter()
    site = publish(folder / "site", runs=0, store=home)
    ours = time.perf_counter() - began
    theirs = asv_publish(folder / "asv", series, results)
    print(
        f"publish: {ours:.1f} s, {weight(site)}; asv publish: {theirs:.1f} s, "
        f"{weight(folder / 'asv' / 'html')}; ratio {ours / theirs:.2f}"
    )


def asv_publish(folder: Path, series: int, results: int) -> float:
    """The same numbers as asv keeps them: a git repository of commits, a file a commit."""
    repository, machine = folder / "repo", folder / "results" / "made"
    repository.mkdir(parents=True)
    machine.mkdir(parents=True)
    git(repository, "init", "-q")
    (folder / "asv.conf.json").write_text(
        '{"version": 1, "project": "made", "repo": "repo", "branches": ["HEAD"], '
        '"environment_type": "virtualenv", "benchmark_dir": "benchmarks"}'
    )
    (folder / "benchmarks").mkdir()
    (machine / "machine.json").write_text('{"machine": "made", "version": 1}')
    names = [f"net.time_{number:04d}" for number in range(series)]
    one = {"code": "", "param_names": [], "params": [], "timeout": 60, "type": "time"}
    known = {n: one | {"name": n, "unit": "seconds", "version": "1"} for n in names}
    (folder / "results" / "benchmarks.json").write_bytes(
        msgspec.json.encode({**known, "version": 2})
    )
    draw = random.Random(1)
    for night in range(results):
        date = str(int((START + timedelta(days=night)).timestamp()))
        git(repository, "commit", "-q", "--allow-empty", "-m", f"{night}", date=date)
        commit = git(repository, "rev-parse", "HEAD").strip()
        kept = {n: [[0.01 * math.exp(draw.gauss(0, 0.01))], [], "1"] for n in names}
        (machine / f"{commit[:8]}-venv.json").write_bytes(
            msgspec.json.encode(
                {
                    "commit_hash": commit,
                    "env_name": "venv",
                    "date": int(date) * 1000,
                    "params": {"machine": "made"},
                    "python": "3.11",
                    "requirements": {},
                    "env_vars": {},
                    "result_columns": ["result", "params", "version"],
                    "results": kept,
                    "durations": {},
                    "version": 2,
                }
            )
        )
    began = time.perf_counter()
    command = [str(Path(sys.executable).with_name("asv")), "publish", "--no-pull"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return time.perf_counter() - began


def git(folder: Path, *words: str, date: str = "") -> str:
    dates = {f"GIT_{who}_DATE": f"{date} +0000" for who in ("AUTHOR", "COMMITTER")} if date else {}
    names = {
        f"GIT_{who}_{what}": "x@x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    command = ["git", *words]
    done = subprocess.run(
        command, cwd=folder, check=True, capture_output=True, text=True, env=dates | names
    )
    return done.stdout


def weight(folder: Path) -> str:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return f"{sum(path.stat().st_size for path in files) / 2**20:.1f} MiB in {len(files)} files"


if __name__ == "__main__":
    main()
