"""How a run is kept: whole batches, each result once and with all it needs, by one measurer."""

from __future__ import annotations

import itertools
import signal
from contextlib import closing

import pytest

import assay
from assay.core import codec
from assay.core.errors import StoreError, UsageError
from assay.core.recipe import Training
from assay.core.records import Case, Environment, Plan, Procedure, Query, Result
from assay.core.registry import open_store
from assay.measure.machine import doctor, environment
from assay.measure.machine.doctor import Checkup, Peak
from assay.measure.recorder import check_resumable, new_run, reopen_run
from assay.stats import summary
from assay.stores.runs import COMPARISON, RACE, verb_of

CASE = Case(workload="w", backend="b", key="w@b")
PLAN = Plan(cases=(CASE,))


def ended(run, status="ok", **fields):
    """A result of the next case of a run."""
    values = {"id": run.new_case().id, "case": CASE, "procedure": Procedure(), "status": status}
    return Result(**(values | fields))


def kept(home):
    """Every result in the store, the interrupted ones too."""
    with closing(open_store(home)) as store:
        return list(store.results(Query()))


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_batch_is_kept_whole_and_then_its_interrupt_ends_the_run(home, place):
    seen = []
    with pytest.raises(KeyboardInterrupt, match="by Ctrl-C"), new_run(PLAN, home) as run:
        batch = [ended(run) for _ in range(3)]
        batch[place] = ended(run, "interrupted", reason="by Ctrl-C")
        seen.extend(run.record([("first", batch), ("second", [ended(run)])]))

    assert [what for what, _ in seen] == ["first"]
    assert {result.id for result in kept(home)} == {result.id for result in batch}


def test_nothing_more_is_measured_after_an_interrupt(home):
    begun = []

    def batches(run):
        for status in ("ok", "interrupted", "ok"):
            begun.append(status)
            yield None, [ended(run, status)]

    with pytest.raises(KeyboardInterrupt), new_run(PLAN, home) as run:
        list(run.record(batches(run)))

    assert begun == ["ok", "interrupted"]


def test_each_batch_is_kept_before_it_is_yielded(home):
    with new_run(PLAN, home) as run:
        batches = run.record([(None, [ended(run), ended(run)]), (None, [ended(run)])])
        counts = [len(run.results()) for _ in batches]

    assert counts == [2, 3]


def test_a_signal_that_comes_while_a_batch_is_kept_is_heard_when_it_is_whole(home, monkeypatch):
    with new_run(PLAN, home) as run:
        real = run.store.append

        def append(result):
            real(result)
            signal.raise_signal(signal.SIGINT)

        monkeypatch.setattr(run.store, "append", append)
        with pytest.raises(KeyboardInterrupt):
            list(run.record([(None, [ended(run) for _ in range(3)])]))

    assert len(kept(home)) == 3


def test_a_result_that_cannot_be_kept_is_no_interrupt_but_an_error(home):
    with new_run(PLAN, home) as run:
        lost = ended(run)
        (home / "runs" / lost.id).rmdir()
        with pytest.raises(StoreError, match="could not be written"):
            list(run.record([(None, [lost])]))


def test_a_result_is_kept_with_the_plans_label_the_tags_of_both_and_the_peaks(home):
    visit(home, Peak(device="cpu", what="float32", rate=1e9, unit="FLOP/s"))
    plan = Plan(cases=(CASE,), label="nightly", tags={"gpu": "none", "pair": "of the plan"})

    with new_run(plan, home) as run:
        bare = ended(run, tags={"pair": "1"}, environment=Environment(machine={"cpu": "a"}))
        ((_, (reading,)),) = run.record([(None, [bare])])

    (found,) = kept(home)
    assert found == reading.result
    assert found.label == "nightly"
    assert found.tags == {"gpu": "none", "pair": "1"}
    assert found.environment.machine == {"cpu": "a", "cpu_peak_float32": 1e9}


def visit(home, *peaks):
    """As if the doctor had been here."""
    found = Checkup(
        when="2026-01-01", machine=environment.current_environment().machine, peaks=peaks
    )
    home.mkdir()
    (home / doctor.FILE).write_bytes(codec.encode(found))


def test_a_result_is_summarized_once_however_often_it_is_read(home, monkeypatch):
    calls, real = [], summary.summarize
    monkeypatch.setattr(
        summary, "summarize", lambda result: calls.append(result.id) or real(result)
    )

    with new_run(PLAN, home) as run:
        batch = [ended(run), ended(run)]
        list(run.record([(None, batch)]))
    again = [assay.read_results(store=home) for _ in range(2)]

    assert calls == [result.id for result in batch]
    assert [len(readings) for readings in again] == [2, 2]


def test_a_document_lies_beside_the_results_of_its_run(home):
    with new_run(PLAN, home) as run:
        run.save_document("found.json", {"best": float("nan")})

    assert (home / "runs" / run.name / "found.json").read_text() == '{\n  "best": "nan"\n}'


def test_results_of_before_are_known_but_for_the_interrupted(home):
    with pytest.raises(KeyboardInterrupt), new_run(PLAN, home) as run:
        list(run.record([(None, [ended(run), ended(run, "failed"), ended(run, "interrupted")])]))

    with reopen_run(run.name, home) as again:
        found = [result.status for result in again.results()]

    assert found == ["ok", "failed"]
    assert again.plan == PLAN


def test_a_second_measurer_of_a_run_is_refused(home):
    with (
        new_run(PLAN, home) as run,
        pytest.raises(UsageError, match=f"Run {run.name} is being measured by another assay") as no,
        reopen_run(run.name, home),
    ):
        pytest.fail("two measure one run")

    assert no.value.hint == "Wait until it ends, or stop it first."


def test_a_run_whose_measurer_failed_can_be_taken_up(home):
    with pytest.raises(ZeroDivisionError), new_run(PLAN, home) as run:
        raise ZeroDivisionError

    with reopen_run(run.name, home) as again:
        assert again.new_case().id == f"{run.name}/001"


ADVICE = {
    "run": "assay run --resume RUN",
    "evaluate": "assay evaluate --resume RUN",
    "train": "assay train --resume RUN",
    "race": "assay race --resume RUN",
    "study": "assay study vgg16 --resume RUN",
    "ab": "Runs of assay ab cannot be resumed: start it again.",
    "bench": "Runs of assay bench cannot be resumed: start it again.",
    "task": "Runs of assay task cannot be resumed: start it again.",
    "profile": "Runs of assay profile cannot be resumed: start it again.",
}

LOST = [verb for verb, advice in ADVICE.items() if advice.startswith("Runs of")]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A home with a run of every command: the command → the run's name."""
    home = tmp_path_factory.mktemp("home")
    study = {"study": "vgg16", "size": "small", "rounds": "3"}
    with closing(open_store(home)) as store:
        plans = {v: Plan(cases=(CASE,), verb=v, tags=study if v == "study" else {}) for v in ADVICE}
        return home, {verb: store.new_run(plan).name for verb, plan in plans.items()}


@pytest.mark.parametrize("verb", sorted(ADVICE.keys() - LOST))
def test_the_verb_that_made_a_run_may_go_on_with_it(runs, verb):
    home, made = runs

    assert {check_resumable(text, verb, home) for text in (made[verb], made[verb][-4:])} == {
        made[verb]
    }


@pytest.mark.parametrize("verb", LOST)
def test_what_does_not_say_what_it_was_begun_with_is_not_gone_on_with(runs, verb):
    home, made = runs

    with pytest.raises(UsageError, match="did not store its options") as refused:
        check_resumable(made[verb], verb, home)

    assert refused.value.hint == ADVICE[verb]


@pytest.mark.parametrize(("maker", "other"), list(itertools.permutations(ADVICE, 2)))
def test_another_verb_is_refused_and_told_what_goes_on_with_it(runs, maker, other):
    home, made = runs

    with pytest.raises(UsageError) as refused:
        check_resumable(made[maker], other, home)

    assert (str(refused.value), refused.value.hint) == (
        f"Run {made[maker]} was made by assay {maker}, so assay {other} cannot resume it.",
        ADVICE[maker].replace("RUN", made[maker]),
    )


def test_a_run_that_is_not_there_is_refused(runs):
    with pytest.raises(UsageError, match="There is no run named 'nowhere'"):
        check_resumable("nowhere", "run", runs[0])


@pytest.mark.parametrize(
    ("verb", "tags", "training", "document"),
    [
        ("run", {}, None, ""),
        ("run", {"study": "my own tag"}, None, ""),
        ("ab", {}, None, COMPARISON),
        ("race", {"race": "w"}, None, ""),  # killed in its first heat
        ("race", {"race": "w"}, None, RACE),
        ("race", {}, None, RACE),
        ("study", {"study": "vgg16", "size": "small", "rounds": "3"}, None, ""),
        ("train", {}, Training(), ""),
    ],
)
def test_a_plan_of_the_first_version_that_says_run_is_told_by_what_it_holds(
    home, verb, tags, training, document
):
    with closing(open_store(home)) as store:
        run = store.new_run(Plan(cases=(CASE,), tags=tags, training=training)).name
        if document:
            store.keep_document(run, document, b"{}")

        assert verb_of(store, run) == verb


@pytest.mark.parametrize("tags", [{"race": "spring"}, {"study": "mine", "rounds": "several"}])
def test_a_run_is_none_of_another_verb_for_a_tag_its_user_chose(home, tags):
    with new_run(Plan(cases=(CASE,), tags=tags, verb="run"), home) as run:
        pass

    assert check_resumable("last", "run", home) == run.name
