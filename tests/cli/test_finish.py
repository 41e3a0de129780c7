"""What a command leaves behind: its table (also after an interrupt), its logs, its exit status."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.cli.finish import show_when_done, status, unfair_sentences
from assay.cli.progress import ProgressLine
from assay.core.findings import Check, SummarizedResult, Summary
from assay.core.records import Case, Procedure, Result

QUICK = ("--samples", "3", "--steps-per-sample", "1")
RUN = "20261115-101500-k3fq"


def reading(status: str = "ok", backend: str = "jax", checks=(), **facts) -> SummarizedResult:
    case = Case(workload="lenet", backend=backend, key=f"lenet@{backend}")
    result = Result(
        id=f"{RUN}/001", case=case, procedure=Procedure(), status=status, reason="", facts=facts
    )
    return SummarizedResult(result=result, summary=Summary(checks=tuple(checks)))


def check(verdict: str) -> Check:
    return Check(
        metric="accuracy", rule="at least", expected=98, tolerance=0, verdict=verdict, by="value"
    )


UNFAIR = (reading(parameters=293), reading(backend="torch", parameters=311))


def cut_short(*readings: SummarizedResult):
    """What a command's generator gives before Ctrl-C."""
    yield from readings
    raise KeyboardInterrupt


def show(results, command, home, strict=False):
    """As a command does with its results."""
    with show_when_done(ProgressLine(), command, str(home), "text", strict=strict) as readings:
        readings.extend(results)


@pytest.mark.parametrize(
    ("statuses", "left"),
    [
        ([], 0),
        (["ok", "skipped"], 0),
        (["skipped", "skipped"], 3),
        (["ok", "failed"], 1),
        (["skipped", "crashed"], 1),
        (["timeout"], 1),
        (["out-of-memory"], 1),
        (["interrupted"], 0),  # by the signal's own status
    ],
)
def test_the_status_is_that_of_the_worst(statuses, left):
    assert status(reading(one) for one in statuses) == left


@pytest.mark.parametrize(("verdict", "left"), [("pass", 0), ("fail", 1)])
def test_a_check_that_fails_is_a_failure(verdict, left):
    assert status([reading(), reading(checks=[check("pass"), check(verdict)])]) == left


def test_what_was_measured_before_an_interrupt_is_shown(capsys, home):
    with pytest.raises(KeyboardInterrupt):
        show(cut_short(reading()), "run", home)

    out, err = capsys.readouterr()
    assert "lenet@jax" in out
    assert f"kept as {RUN}" in err


def test_unfair_contenders_are_one_sentence_each():
    assert unfair_sentences(UNFAIR) == [
        "refused: lenet: the count of trained parameters differs: 293 in jax; 311 in torch."
    ]


def test_strict_has_sentences_in_the_place_of_the_table(capsys, home):
    show(UNFAIR, "run", home, strict=True)

    out, err = capsys.readouterr()
    assert out == ""
    assert unfair_sentences(UNFAIR)[0] in err


def test_strict_says_its_sentences_also_when_it_was_cut_short(capsys, home):
    with pytest.raises(KeyboardInterrupt):
        show(cut_short(*UNFAIR), "run", home, strict=True)

    assert unfair_sentences(UNFAIR)[0] in capsys.readouterr().err


def test_a_failure_says_where_its_log_is(assay, endings):
    _, _, error = assay("run", f"{endings}:raises@python", *QUICK)

    log = Path(error.partition("what it printed: ")[2].splitlines()[0])
    assert "ValueError: no good" in log.read_text()


def test_what_was_interrupted_goes_on_by_the_verb_that_began_it(capsys, home):
    cut = Result(
        id="20261115-101500-k3fq/001",
        case=Case(workload="lenet", backend="keras-jax", key="lenet@keras-jax"),
        procedure=Procedure(),
        status="interrupted",
        reason="by Ctrl-C",
    )
    found = SummarizedResult(result=cut, summary=Summary())

    show([found], "train", home)

    assert "to go on: assay train --resume 20261115-101500-k3fq" in capsys.readouterr().err
