"""Whether a result comes out again: measured anew, or held against another."""

from __future__ import annotations

import re
from contextlib import closing

import msgspec
import pytest

import assay
from assay.commands.repro import api
from assay.core.errors import UsageError
from assay.core.records import Plan
from assay.core.registry import open_store
from tests.commands.repro.test_setup import RESULT, with_case


def keep(result, factor: float = 1.0, processes: int = 5) -> str:
    """In the store, so many processes, each a thousandth slower than the one before."""
    (part,) = result.samples
    samples = tuple(
        msgspec.structs.replace(part, values=(factor * (1 + n / 1000),) * 5, process=n)
        for n in range(processes)
    )
    with closing(open_store()) as store:
        run = store.new_run(Plan(cases=(result.case,)))
        (run / "001").mkdir()
        kept = msgspec.structs.replace(result, id=f"{run.name}/001", samples=samples)
        store.append(kept)
    return kept.id


def test_a_result_is_measured_again_and_compared(endings):
    (first,) = assay.run(f"{endings}:fine@python", samples=5, steps_per_sample=1)

    found = assay.repro(first.id)

    again = next(
        r.result for r in assay.read_results() if r.result.id == found.again.split(", ")[0]
    )
    assert found.answer in ("reproduced", "differs", "undecided")  # as busy as the machine is
    assert found.sentence.startswith(found.answer)
    assert again.case == first.case
    assert again.procedure == msgspec.structs.replace(
        first.procedure, processes=5, budget=5 * first.procedure.budget
    )
    assert again.tags["repro"] == found.repro
    for ratio in (found.ratio, found.fastest):
        assert ratio.low <= ratio.value <= ratio.high


@pytest.mark.parametrize(
    ("factors", "answer", "words"),
    [
        ((1.5, 1.48), "differs", "differs by 49.0 %: 49.0 % slower"),
        ((1.1, 1.0), "reproduced", "reproduced within 15.* from process to process"),
        ((1.5, 1.0), "undecided", "undecided within 60.0 %: "),
        ((1.5, 0.5), "undecided", "undecided within 60.0 %: "),
    ],
)
def test_a_difference_is_told_if_it_is_there_once_more(monkeypatch, factors, answer, words):
    """Seen: one of ten honest cases "differs by 34 %", as the machine was faster by then."""
    first, *others = (keep(RESULT, factor) for factor in (1.0, *factors))
    kept = {reading.result.id: reading.result for reading in assay.read_results()}
    measured = iter(others)
    monkeypatch.setattr(api.asked, "missing_parts", lambda _: [])
    monkeypatch.setattr(api, "_measure_again", lambda *_: kept[next(measured)])

    found = assay.repro(first, within="60%")

    assert (found.answer, next(measured, None)) == (answer, None)
    assert found.again == ", ".join(others)
    assert re.match(words, found.sentence)


@pytest.mark.parametrize(
    ("factor", "answer", "words"),
    [
        (1.0, "reproduced", "reproduced within 0."),
        (1.005, "reproduced", "reproduced within 0."),
        (1.1, "differs", "differs by 10.0 %: 10.0 % slower, +9."),
        (1.5, "differs", "differs by 50.0 %: 50.0 % slower, +49."),
        (0.5, "differs", "differs by 50.0 %: 50.0 % faster, −50."),
    ],
)
def test_another_result_is_held_against_it(factor, answer, words):
    found = assay.repro(keep(RESULT), against=keep(RESULT, factor))

    assert found.answer == answer
    assert found.sentence.startswith(words)


@pytest.mark.parametrize(
    ("other", "answer", "words"),
    [
        (with_case(params={"batch_size": 64, "units": 64}), "cannot", "parameter batch_size: 32 →"),
        (with_case(options={"threads": 1}), "reproduced", "option threads: all → 1"),
        (
            msgspec.structs.replace(
                RESULT,
                environment=msgspec.structs.replace(RESULT.environment, packages={"jax": "2"}),
            ),
            "reproduced",
            "jax: 1 → 2",
        ),
    ],
)
def test_what_was_changed_is_named(other, answer, words):
    packages = msgspec.structs.replace(RESULT.environment, packages={"jax": "1"})
    base = msgspec.structs.replace(RESULT, environment=packages)

    found = assay.repro(keep(base), against=keep(other))

    assert found.answer == answer
    assert any(what.startswith(words) for what in found.changed)


def test_what_varies_more_than_was_asked_for_is_undecided():
    (part,) = RESULT.samples
    values = [(1.0 + 3 * (n % 2),) for n in range(5)]
    parts = [msgspec.structs.replace(part, values=v, process=n) for n, v in enumerate(values)]
    ids = []
    for _ in range(2):
        with closing(open_store()) as store:
            run = store.new_run(Plan(cases=(RESULT.case,)))
            (run / "001").mkdir()
            ids.append(f"{run.name}/001")
            store.append(msgspec.structs.replace(RESULT, id=ids[-1], samples=tuple(parts)))

    found = assay.repro(ids[0], against=ids[1])

    assert found.answer == "undecided"
    assert found.sentence.startswith("undecided within 50.0 %")
    assert "--processes" in found.lacking[0]


@pytest.mark.parametrize("within", ["nothing", "-5%", 0])
def test_what_is_asked_for_is_a_share(within):
    with pytest.raises(UsageError, match=r"share|within"):
        assay.repro(keep(RESULT), against=keep(RESULT), within=within)


def test_values_without_a_ratio_cannot_be_compared():
    (part,) = RESULT.samples
    score = msgspec.structs.replace(part, metric="score", unit="")
    told = msgspec.structs.replace(with_case(backend="task"), samples=(score,))

    found = assay.repro(keep(told), against=keep(told, -1.0))

    assert found.answer == "cannot"
    assert found.sentence == "cannot be compared: not all values of score are above 0"


@pytest.mark.real("jax")
def test_what_is_missing_is_named_and_nothing_is_measured():
    missing = msgspec.structs.replace(RESULT.environment, packages={"no-such-package": "1.2"})

    found = assay.repro(keep(msgspec.structs.replace(RESULT, environment=missing)))

    assert (found.answer, found.again) == ("cannot", "")
    assert found.sentence == "cannot be measured again: package no-such-package 1.2 is missing"


def test_a_repro_id_finds_the_result_here_or_in_a_folder(home, tmp_path):
    kept = keep(RESULT)
    known = assay.repro(kept, check=True).repro
    folder = home / "runs" / kept.partition("/")[0]

    assert assay.repro(known, check=True).id == kept
    elsewhere = assay.repro(known, origin=folder, check=True, store=tmp_path / "other")
    assert (elsewhere.id, elsewhere.repro) == (kept, known)


def test_the_lock_and_the_recipe_are_written(tmp_path):
    parts = {"packages": {"torch": "2.13.0+cpu", "numpy": "2.4.6"}, "python": {"version": "3.11.7"}}
    parts["variables"] = {"OMP_NUM_THREADS": "2", "TF_PLACE": "/somewhere/here"}
    here = msgspec.structs.replace(RESULT.environment, **parts)

    found = assay.repro(
        keep(msgspec.structs.replace(RESULT, environment=here)), check=True, write=tmp_path / "it"
    )

    lock, recipe = (
        (tmp_path / "it" / name).read_text() for name in ("requirements.lock", "Containerfile")
    )
    assert found.files == tuple(
        str(tmp_path / "it" / n) for n in ("requirements.lock", "Containerfile")
    )
    assert "numpy==2.4.6\ntorch==2.13.0  # build cpu\n" in lock
    assert "FROM python:3.11.7-slim" in recipe
    assert 'ENV OMP_NUM_THREADS="2"' in recipe and "somewhere" not in recipe
    assert '"assay", "run", "mnist-mlp:units=64@jax"' in recipe


def test_only_one_result_that_ended_well_is_reproduced():
    failed = keep(msgspec.structs.replace(RESULT, status="failed"))

    with pytest.raises(UsageError, match="ended as failed, so there is no time to reproduce"):
        assay.repro(failed)
    with pytest.raises(UsageError, match="There is no run named 'nobody'"):
        assay.repro("nobody")
    with pytest.raises(UsageError, match="'abcdefgh' is no results"):
        assay.repro("abcdefgh")


def test_a_task_is_not_measured_again_but_says_how_and_can_be_held_against_another():
    (part,) = RESULT.samples
    task = msgspec.structs.replace(
        with_case(backend="task"),
        samples=(msgspec.structs.replace(part, metric="wall_time"),),
        environment=msgspec.structs.replace(
            RESULT.environment, command=("assay", "task", "run", "my task.toml")
        ),
    )
    first = keep(task)

    found = assay.repro(first)

    assert found.answer == "cannot"
    assert "do it as it was done then (assay task run 'my task.toml')" in found.sentence
    assert f"assay repro {first} --against last" in found.sentence
    assert assay.repro(first, against=keep(task, 1.002)).answer == "reproduced"
