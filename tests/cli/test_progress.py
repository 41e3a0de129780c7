"""The live line: written over on a terminal, a plain line for each phase elsewhere."""

from __future__ import annotations

import sys

import msgspec

from assay.cli.progress import ProgressLine
from assay.core.progress import Progress
from assay.core.records import Case, Procedure, Result

CASE = Case(workload="net", backend="jax", key="net@jax")
OPENING = Progress(case=CASE, phase="open")
STEADY = Progress(
    case=CASE, phase="steady", samples=12, estimate=0.002, half_width=0.00005, left=3.4
)
DONE = Result(id="r/001", case=CASE, procedure=Procedure(), status="ok", seconds=1.5)


class Gone:
    """A terminal that was closed."""

    tried = 0  # to write

    def isatty(self):
        return True

    def write(self, text):
        self.tried += 1
        raise BrokenPipeError


def test_in_a_file_each_case_is_one_line(capsys):
    line = ProgressLine()
    for progress in (OPENING, Progress(case=CASE, phase="warmup"), STEADY, STEADY):
        line(msgspec.structs.replace(progress, number=2, count=4))
    line.done(DONE)

    assert capsys.readouterr().err == "[2/4] net@jax  ok, 1.50 s\n"


def test_a_dumb_terminal_is_like_a_file(terminal, monkeypatch):
    screen = terminal("stderr", columns=80)
    monkeypatch.setenv("TERM", "dumb")

    line = ProgressLine()
    line(STEADY)
    line.done(DONE)
    line.clear()

    assert screen.getvalue() == "net@jax  ok, 1.50 s\n"


def test_in_a_file_a_note_is_a_line_also_while_it_is_measured(capsys):
    ProgressLine()(Progress(case=CASE, phase="steady", note="epoch 1 of 3"))

    assert capsys.readouterr().err == "net@jax  epoch 1 of 3\n"


def test_on_a_terminal_the_line_is_written_over_with_what_is_known_so_far(terminal):
    screen = terminal("stderr", columns=100)

    ProgressLine()(STEADY)

    assert screen.getvalue() == ("\rnet@jax  2.00 ms ± 2.5%  12 samples  at most 3 s left")


def test_on_a_terminal_the_line_is_never_wrapped(terminal):
    screen = terminal("stderr", columns=30)

    ProgressLine()(STEADY)

    shown = screen.getvalue().removeprefix("\r")
    assert len(shown) == 29


def test_on_a_terminal_only_a_case_that_failed_leaves_a_line(terminal, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    screen = terminal("stderr", columns=80)

    line = ProgressLine()
    line(OPENING)
    line.done(DONE)
    line(OPENING)
    line.done(msgspec.structs.replace(DONE, status="failed"), "3 of 4")

    erased = " " * len("net@jax  opening …")
    shown = screen.getvalue()
    assert shown.count("\n") == 1
    assert shown.endswith(f"\r{erased}\rnet@jax  failed, 1.50 s, 3 of 4\n")


def test_what_is_known_so_far_stays_at_the_start_of_the_line(terminal):
    screen = terminal("stderr", columns=80)
    line = ProgressLine()

    line.update("pair 3: −5.00 % (−7.00 % – −3.00 %), undecided, and so on and so forth")
    line(STEADY)

    shown = screen.getvalue().rpartition("\r")[2]
    assert len(shown) <= 79
    assert shown.startswith("pair 3: −5.00 %") and "net@jax  2.00 ms" in shown


def test_a_terminal_that_is_gone_does_not_end_the_measurement(monkeypatch):
    gone = Gone()
    monkeypatch.setattr(sys, "stderr", gone)
    line = ProgressLine()

    line(STEADY)
    line.done(DONE)

    assert gone.tried == 1


def test_of_several_cases_the_line_says_which_and_how_long_all_take(terminal):
    screen = terminal("stderr", columns=200)
    now = iter((0.0, 10.0))
    line = ProgressLine(clock=lambda: next(now))
    line.done(DONE)

    line(msgspec.structs.replace(STEADY, number=2, count=4))

    shown = screen.getvalue().rpartition("\r")[2]
    assert shown.startswith("[2/4] net@jax  2.00 ms")
    assert shown.endswith("██░░░░░░░░ about 30.0 s for all")


def test_where_there_is_little_room_the_name_is_cut_and_the_bar_stays(terminal):
    screen = terminal("stderr", columns=80)
    now = iter((0.0, 10.0))
    line = ProgressLine(clock=lambda: next(now))
    line.done(DONE)
    long = Case(workload="net", backend="jax", key="resnet18:batch_size=8@torch:mode=infer")

    line(Progress(case=long, phase="open", number=2, count=4))

    shown = screen.getvalue().rpartition("\r")[2]
    assert (
        shown == "[2/4] resnet18:batch…rch:mode=infer  opening …  ██░░░░░░░░ about 30.0 s for all"
    )
    assert len(shown) == 79


def test_of_several_processes_the_line_says_which(terminal):
    screen = terminal("stderr", columns=80)

    ProgressLine()(msgspec.structs.replace(OPENING, process=3, processes=5))

    assert screen.getvalue() == "\r[process 3/5] net@jax  opening …"


def test_the_live_line_is_cleared_before_the_table(terminal):
    screen = terminal("stderr", columns=80)
    line = ProgressLine()
    line(OPENING)

    line.clear()

    assert screen.getvalue().endswith(f"\r{' ' * len('net@jax  opening …')}\r")
