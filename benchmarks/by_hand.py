"""assay's figures against loops written by hand, taking turns in one call.

VGG16, ResNet50 and GPT-2 (trained, and generating). Each configuration is measured by a plain
script of its framework (this file, `--one NAME`) and by a worker of assay, each in a fresh process;
both are kept warm, pinned to the same CPUs, and take turns in an order drawn anew each time.
Printed are both medians, their ratio, and its interval: over rounds, each of fresh processes, with
three of them or more, else over the turns of the processes there were.

    python benchmarks/by_hand.py [--only NAME,NAME] [--rounds 3] [--minutes 9] [--json FILE]

NAME is a configuration or the beginning of some: gpt2, generate, resnet50-torch. A round goes
through all of them, `--together` of them opened at once; --minutes leaves out what would take
longer than is left. --json writes all that was measured, as it comes; --tiny takes networks and
times that suit a laptop; --apart has one side after the other, assay's as a whole `assay run`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from loops import turns
from loops.configurations import CONFIGURATIONS, case, pace, sizes

Turns = list[tuple[float, float]]  # seconds by hand, and by assay
Found = dict[str, list[Turns]]  # by configuration: rounds
CACHED = 0.6  # of what the first round took, the next does: what is compiled is kept


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--turns", type=int, default=10, help="of each side, in one round")
    parser.add_argument("--together", type=int, default=4, help="configurations opened at once")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--only", default="", help="the same as NAMEs, joined by commas")
    parser.add_argument("--json", metavar="FILE", help="write what was measured there")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--apart", action="store_true", help="each side by itself")
    parser.add_argument("--one", choices=CONFIGURATIONS, help="time this loop by hand, here")
    parser.add_argument("--serve", action="store_true", help="with --one: whenever asked to")
    given = parser.parse_args()
    if given.one:
        step, wait = made(given.one, given.tiny)
        if given.serve:
            turns.serve(step, wait, pace(given.tiny).warmup)
        else:
            print(json.dumps(one(step, wait, given.tiny)))
        return
    asked = [*given.names, *filter(None, given.only.split(","))]
    if unknown := [name for name in asked if not _beginning(name)]:
        parser.error(f"no configuration begins so: {' '.join(unknown)}")
    chosen = [name for name in CONFIGURATIONS if not asked or name.startswith(tuple(asked))]
    with tempfile.TemporaryDirectory() as home:
        table(rounds(chosen, given, Path(home)))


def _beginning(text: str) -> list[str]:
    return [name for name in CONFIGURATIONS if name.startswith(text)]


def rounds(names: list[str], given: argparse.Namespace, home: Path) -> Found:
    """Round by round, until the rounds or the time are spent."""
    end = time.monotonic() + 60 * given.minutes
    size = 1 if given.apart else given.together
    groups = [tuple(names[at : at + size]) for at in range(0, len(names), size)]
    taken: Found = {name: [] for name in names}
    lasted: dict[tuple[str, ...], float] = {}
    for _ in range(given.rounds):
        for group in groups:
            start = time.monotonic()
            if start + CACHED * lasted.get(group, 0.0) > end:
                print(f"{' '.join(group)}: left out, the time is nearly spent", flush=True)
                continue
            found = apart(group[0], given.tiny) if given.apart else in_turns(group, given, home)
            lasted[group] = time.monotonic() - start
            for name, turn in found.items():
                hand, lab = (1e3 * seconds for seconds in medians(turn))
                taken[name].append(turn)
                print(f"{name}: {hand:.3f} ms by hand, {lab:.3f} ms", flush=True)
            print(f"({lasted[group]:.0f} s)", flush=True)
            if given.json:
                Path(given.json).write_text(json.dumps(summary(taken), indent=1) + "\n")
    return taken


def in_turns(group: tuple[str, ...], given: argparse.Namespace, home: Path) -> dict[str, Turns]:
    sides = []
    for number, name in enumerate(group):
        tiny = given.tiny
        command = [sys.executable, __file__, "--one", name, "--serve", *(["--tiny"] * tiny)]
        text, variables = case(CONFIGURATIONS[name], tiny), hand_variables(name)
        with turns.pinned(number, len(group)):
            sides.append(turns.Sides(name, text, command, variables, home, pace(tiny).budget))
    return turns.taken(sides, given.turns)


def apart(name: str, tiny: bool) -> dict[str, Turns]:
    """One side after the other; who is first is drawn."""
    found: dict[str, float] = {}
    try:
        for side in random.sample((by_hand, by_assay), 2):
            found[side.__name__] = side(name, tiny)
    except RuntimeError as error:
        print(f"{name}: {error}", flush=True)
        return {}
    return {name: [(found["by_hand"], found["by_assay"])]}


def medians(turns: Turns) -> tuple[float, float]:
    hand, lab = (statistics.median(side) for side in zip(*turns, strict=True))
    return hand, lab


def summary(taken: Found) -> list[dict[str, Any]]:
    return [
        {
            "configuration": name,
            "case": case(CONFIGURATIONS[name], tiny=False),
            "turns": rounds,
            "by_hand_s": [hand for hand, _ in map(medians, rounds)],
            "assay_s": [lab for _, lab in map(medians, rounds)],
            "ratios": (ratios := [lab / hand for hand, lab in map(medians, rounds)]),
            "ratio": statistics.median(ratios),
            "interval": interval(ratios),
            "interval_of_turns": interval([lab / hand for turns in rounds for hand, lab in turns]),
        }
        for name, rounds in taken.items()
        if rounds
    ]


def table(taken: Found) -> None:
    print("| configuration | by hand | assay | assay / by hand | interval | each round |")
    print("|---|---:|---:|---:|---|---|")
    for one in summary(taken):
        hand, lab = (1e3 * statistics.median(one[side]) for side in ("by_hand_s", "assay_s"))
        each = " ".join(f"{ratio:.3f}" for ratio in one["ratios"])
        said = ""
        if bounds := one["interval"] or one["interval_of_turns"]:
            said = "{:.3f} to {:.3f}".format(*bounds) + ("" if one["interval"] else " (turns)")
        cells = (f"{hand:.3f} ms", f"{lab:.3f} ms", f"{one['ratio']:.3f}", said, each)
        print(f"| {' | '.join((one['configuration'], *cells))} |")


def interval(ratios: list[float]) -> tuple[float, float] | None:
    """95 % by Student's t; nothing of fewer than three."""
    if len(ratios) < 3:
        return None
    from assay.stats.intervals import student

    half = student(len(ratios) - 1) * statistics.stdev(ratios) / len(ratios) ** 0.5
    middle = statistics.mean(ratios)
    return middle - half, middle + half


def hand_variables(name: str) -> dict[str, str]:
    engine = CONFIGURATIONS[name].wish.get("engine", "jax")
    return {"KERAS_BACKEND": engine, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}


def by_hand(name: str, tiny: bool) -> float:
    words = ["--one", name, *(["--tiny"] if tiny else [])]
    out = output_of([sys.executable, __file__, *words], os.environ | hand_variables(name))
    return float(json.loads(out.splitlines()[-1]))


def by_assay(name: str, tiny: bool) -> float:
    with tempfile.TemporaryDirectory() as home:
        words = ["run", case(CONFIGURATIONS[name], tiny), "--format", "json", "--home", home]
        words += ["--budget", f"{pace(tiny).budget}s"]
        code = "from assay.cli.main import main; main()"
        out = output_of([sys.executable, "-c", code, *words], dict(os.environ))
    (result,) = json.loads(out)["results"]
    if result["status"] != "ok":
        raise RuntimeError(f"{result['status']}: {result['reason']}")
    return float(result["summary"]["step_time"]["value"])


def output_of(words: list[str], variables: dict[str, str]) -> str:
    done = subprocess.run(words, env=variables, capture_output=True, text=True, check=False)
    if not done.stdout.strip():
        raise RuntimeError(done.stderr[-600:])
    return done.stdout


def made(name: str, tiny: bool) -> tuple[Callable[[], Any], Callable[[Any], object]]:
    """The step written by hand, and what waits for it."""
    wish = CONFIGURATIONS[name].wish
    if tiny:
        wish = {**wish, "compile": False, "graph": False}
    loop = importlib.import_module(f"loops.{wish['frame']}_{wish['net']}")
    step, wait = loop.make(wish, **sizes(wish, tiny))
    return step, wait


def one(step: Callable[[], Any], wait: Callable[[Any], object], tiny: bool) -> float:
    """Median seconds of a step of the loop written by hand."""
    how, taken = pace(tiny), []
    turns.warm_up(step, wait, how.warmup)
    for _ in range(how.repeats):
        taken.append(turns.timed(step, wait, how.steps))
    return statistics.median(taken)


if __name__ == "__main__":
    main()
