"""Take the screenshots of the dashboard in a real browser: `make screenshots`.

Without --store, the script measures what the pages show, in a store of its own: a model on three
backends, a comparison, a race, and one Python function 24 times, the last 8 with more work. It
takes about five minutes, and more on a busy machine.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

IMAGES = Path(__file__).parent / "images"
CHROMIUM = "/usr/bin/chromium"
ASSAY = Path(sys.executable).parent / "assay"
WIDTH, HEIGHT = 1280, 900
RUNS, RUNS_AFTER_CHANGE = 24, 8
FUNCTION = """
def sort_numbers():
    return lambda: [sorted(range(20000, 0, -1)) for _ in range({repeats})]
"""
# image → page; RUN, AB and RACE stand for the newest run of that command
PAGES = {
    "overview": "/",
    "run": "/runs/RUN",
    "result": "/runs/RUN/001",
    "verdict": "/runs/AB",
    "race": "/runs/RACE",
    "history": "/history?workload=./sorting.py:sort_numbers",
    "check": "/check",
    "compare": "/compare?a=before&b=after",
    "tradeoffs": "/tradeoffs?of=RUN",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(PAGES)}; default: all")
    parser.add_argument("--store", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=IMAGES)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = options.store or Path(folder) / "store"
        if options.store is None:
            measure(store, Path(folder))
        with dashboard(store) as address:
            take(address, addresses(store), options.names or [*PAGES], options.output)


def measure(store: Path, folder: Path) -> None:
    """Real runs of everything that the pages show."""
    for number in range(RUNS):
        changed = number >= RUNS - RUNS_AFTER_CHANGE
        (folder / "sorting.py").write_text(FUNCTION.format(repeats=40 if changed else 20))
        label = "after" if changed else "before"
        _assay(store, folder, f"run ./sorting.py:sort_numbers --budget 1s --label {label}")
    _assay(
        store,
        folder,
        "race mnist-mlp -b jax --over compiler=off,on --over batch_size=32,128 --budget 2m",
    )
    _assay(store, folder, "ab mnist-mlp@jax:compiler=off mnist-mlp@jax")
    _assay(store, folder, "run mnist-mlp -b jax,keras-jax,torch --budget 5s")


def _assay(store: Path, folder: Path, words: str) -> str:
    environment = {**os.environ, "ASSAY_HOME": str(store)}
    process = subprocess.run(
        [ASSAY, *words.split()], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
    )
    return process.stdout


@contextmanager
def dashboard(store: Path) -> Iterator[str]:
    """The address of a dashboard on that store."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [ASSAY, "--store", str(store), "serve", "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        _wait(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def _wait(port: int) -> None:
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except ConnectionRefusedError:
            time.sleep(0.1)
    raise SystemExit("The dashboard did not start within a minute.")


def addresses(store: Path) -> dict[str, str]:
    """Image → path of its page, for those whose runs are in the store."""
    runs = json.loads(_assay(store, store, "list --limit 0 --format json"))["runs"]
    runs.sort(key=lambda run: run["started"])
    newest = {run["verb"].upper(): run["run"] for run in runs}
    found = {}
    for name, path in PAGES.items():
        words = [word for word in ("RUN", "AB", "RACE") if word in path]
        if all(word in newest for word in words):
            for word in words:
                path = path.replace(word, newest[word])
            found[name] = path
    return found


def take(address: str, paths: dict[str, str], names: list[str], folder: Path) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        executable = os.environ.get("CHROMIUM", CHROMIUM)
        browser = playwright.chromium.launch(
            executable_path=executable, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        for name in names:
            page.goto(address + paths[name])
            if name == "history":  # of the only series
                page.locator("tbody a").first.click()
            page.wait_for_load_state("networkidle")
            page.screenshot(path=folder / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
