"""A command run by this process: its output handed on, its end told, nothing left behind."""

from __future__ import annotations

import signal
import sys
import threading

import pytest

from assay.core.errors import EndingError
from assay.measure import program
from assay.measure.program import Program, defer_signals, run_program
from tests.measure.test_endings import gone


@pytest.fixture
def run(tmp_path):
    """A command → how it ended, and what it printed."""

    def ran(words, feed=None, **how):
        heard = []
        ended = run_program(Program(command=words, **how), tmp_path, feed or heard.append)
        return ended, b"".join(heard)

    return ran


def python(script):
    return (sys.executable, "-c", script)


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("pass", 0),
        ("raise SystemExit(3)", 3),
        ("import os; os.kill(os.getpid(), 9)", -signal.SIGKILL),
    ],
)
def test_an_exit_status_and_a_signal_are_told_as_they_are(run, script, code):
    ended, _ = run(python(script))

    assert ended.code == code
    assert ended.seconds > 0
    assert ended.peaks["max_rss"] > 0


def test_everything_printed_to_either_stream_is_handed_on(run):
    script = "import sys; print('x' * 1_000_000, flush=True); sys.stderr.write('last')"

    _, output = run(python(script))

    assert output == b"x" * 1_000_000 + b"\nlast"


@pytest.mark.parametrize("end", ["\\n", ""], ids=["lines", "one line"])
def test_a_command_that_prints_much_ends_before_its_output_is_processed(run, end):
    """20 MB fit into the backlog: none is processed while the command writes."""
    script = f"import sys; sys.stdout.write(('x' * 99 + '{end or 'x'}') * 200_000)"
    sizes = []

    ended, _ = run(python(script), feed=lambda chunk: sizes.append(len(chunk)))

    assert sum(sizes) == 20_000_000
    assert ended.slowed == 0


def test_a_full_backlog_is_processed_while_the_command_waits(run, monkeypatch):
    monkeypatch.setattr(program, "MAX_BACKLOG", 1 << 17)
    script = "print('x' * 2_000_000)"

    ended, output = run(python(script))

    assert output == b"x" * 2_000_000 + b"\n"
    assert 0 < ended.slowed <= ended.seconds


def test_one_text_is_given_to_a_shell_and_words_are_not(run, tmp_path):
    _, spoken = run("echo one && pwd", directory=str(tmp_path))
    _, plain = run(("echo", "one", "&&", "pwd"))

    assert spoken.decode() == f"one\n{tmp_path}\n"
    assert plain == b"one && pwd\n"


def test_its_variables_come_on_top_of_ours(run, monkeypatch):
    monkeypatch.setenv("OURS", "a")
    monkeypatch.setenv("BOTH", "b")

    _, output = run("echo $OURS $BOTH", environment={"BOTH": "c"})

    assert output == b"a c\n"


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"words": ("no-such-program", "--x")}, "the command no-such-program could not be started"),
        ({"words": ("true",), "directory": "nowhere"}, "the folder nowhere cannot be entered"),
    ],
)
def test_what_cannot_be_started_is_said(run, how, reason):
    with pytest.raises(EndingError) as ended:
        run(**how)

    assert ended.value.status == "failed"
    assert ended.value.reason == f"{reason} (No such file or directory)"


def test_a_command_that_hangs_is_a_timeout_and_its_children_end(run, tmp_path):
    note = tmp_path / "child"

    with pytest.raises(EndingError) as ended:
        run(f"sleep 1000 & echo $! > {note}; wait", timeout=1.0)

    assert (ended.value.status, ended.value.reason) == ("timeout", "not finished after 1 s")
    assert gone(int(note.read_text()))


def test_what_a_command_leaves_behind_ends_with_it(run):
    ended, output = run("sleep 1000 & echo $!")

    assert ended.code == 0
    assert gone(int(output))


def test_a_fault_of_the_reader_ends_the_command(run):
    heard = []

    def feed(chunk):
        heard.append(chunk)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run("echo $$; exec sleep 1000", feed=feed)

    assert gone(int(heard[0]))


def test_the_kernels_memory_killer_is_recognised(run, monkeypatch):
    counts = iter([7, 8])
    monkeypatch.setattr(program, "out_of_memory_kills", lambda: next(counts))
    monkeypatch.setattr("assay.measure.process.memory_limit", lambda: 1 << 20)

    with pytest.raises(EndingError, match="for lack of memory") as ended:
        run(python("import os; os.kill(os.getpid(), 9)"))

    assert ended.value.status == "out-of-memory"


@pytest.fixture
def told():
    """What happens, with the signals that are heard."""
    found = []
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {n: signal.signal(n, lambda *_: found.append("heard")) for n in numbers}
    yield found
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_within_is_heard_right_after(told, number):
    with defer_signals():
        signal.raise_signal(number)
        told.append("done")

    assert told == ["done", "heard"]


def test_a_signal_within_is_heard_though_the_work_failed(told):
    with pytest.raises(ZeroDivisionError), defer_signals():
        signal.raise_signal(signal.SIGINT)
        raise ZeroDivisionError

    assert told == ["heard"]


def test_another_thread_hears_no_signals_and_changes_no_handler():
    handlers = []

    def work():
        with defer_signals():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert handlers == [signal.getsignal(signal.SIGINT)]
