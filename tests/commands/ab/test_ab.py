"""ab in real processes: what is decided, what is kept, and every bad ending."""

import subprocess
import sys

import msgspec
import pytest

import assay
from assay.commands.ab import api, loop
from assay.commands.ab import pairs as pairing
from assay.commands.ab.state import AbRequest
from assay.core import codec
from assay.core.errors import UsageError
from assay.core.records import Result, Samples
from assay.core.registry import open_store
from assay.measure import heat
from assay.stats import sequential
from assay.stats.paired_ratio import Comparison

QUICK = {"budget": 3.0, "pairs": 1}


@pytest.fixture
def work(tmp_path):
    """A workload whose time can be chosen, and which other load cannot change much."""
    file = tmp_path / "work.py"
    file.write_text("import time\ndef work(ms=2):\n    return lambda: time.sleep(ms / 1000)\n")
    return f"{file}:work"


def last(*cases, **more):
    return list(assay.ab(*cases, **{**QUICK, **more}))[-1]


def test_a_large_change_is_decided_and_everything_is_kept(work, home):
    found = last(f"{work}@python", f"{work}:ms=20@python", tags={"why": "test"})

    results = [reading.result for reading in assay.read_results()]
    kept = (home / "runs" / found.run / "comparison.json").read_bytes()
    assert found.verdict == "slower"
    assert 5 < found.ratio.value < 11
    assert found.ended == "decided after 1 pair"
    assert [result.tags["contender"] for result in results] == ["baseline", "candidate"]
    assert {result.tags["why"] for result in results} == {"test"}
    assert codec.decode(kept, Comparison, "kept").ratio == found.ratio


def fake_pairs(monkeypatch, *ratios):
    """Pairs that have these ratios, in no time."""
    ratios = iter(ratios)

    def take(spec, context, new_case, progress):
        found = []
        for side, one, value in zip(pairing.SIDES, spec.pair, (1.0, next(ratios)), strict=True):
            part = Samples(metric="step_time", unit="s", phase="steady", values=(value,))
            found.append(
                Result(
                    id=new_case().id,
                    case=one.case,
                    procedure=context.procedure,
                    status="ok",
                    samples=(part,),
                    tags={"contender": side, "pair": str(spec.number)},
                )
            )
            new_case()
        return pairing.PairResults((found[0], found[1]), {}, "")

    monkeypatch.setattr(loop, "take_pair", take)


def test_it_takes_three_pairs_at_least_and_stops_when_decided(work, monkeypatch):
    fake_pairs(monkeypatch, 1.50, 1.51, 1.49, 1.50)

    found = list(assay.ab(f"{work}@python", aa=True))

    assert [one.ratio.n for one in found] == [1, 2, 3]
    assert [one.ended for one in found] == ["", "", "decided after 3 pairs"]


def test_more_pairs_are_taken_while_they_disagree(work, monkeypatch):
    fake_pairs(monkeypatch, 1.00, 1.10, 1.04, *[1.05, 1.06, 1.04] * 10)

    found = list(assay.ab(f"{work}@python", aa=True))

    assert found[-1].verdict == "slower"
    assert 5 < len(found) < 20


def test_all_pairs_may_not_be_enough(work, monkeypatch):
    fake_pairs(monkeypatch, *[0.9, 1.1] * 3)

    found = list(assay.ab(f"{work}@python", aa=True, pairs=6))

    assert found[-1].verdict == "cannot-tell"
    assert found[-1].ended == "undecided after 6 pairs, the maximum"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("raises", "ended as failed: ValueError: no good"),
        ("exits", "ended as crashed"),
        ("hangs", "ended as timeout"),
        ("has_no_memory", "ended as out-of-memory"),
    ],
)
def test_a_contender_that_ends_badly_is_told(endings, name, said):
    found = last(f"{endings}:fine@python", f"{endings}:{name}@python", timeout=2.0)

    assert found.verdict == "cannot-tell"
    assert found.failures[0].startswith("the candidate " + said)
    assert found.ended == "stopped, because a contender failed"
    assert found.notes == ()


@pytest.mark.parametrize("bad", ["no-such-command", "false"])
def test_only_the_command_that_failed_is_named(bad):
    first = last(commands=[bad, "true"])
    second = last(commands=["true", bad])

    assert [text.split(" ended")[0] for text in first.failures] == ["the baseline"]
    assert [text.split(" ended")[0] for text in second.failures] == ["the candidate"]
    kept = {
        r.result.tags["contender"]: r.result.status
        for r in assay.read_results()
        if r.result.run == first.run
    }
    assert kept["baseline"] not in {"ok", "skipped"}
    assert kept["candidate"] in {"ok", "skipped"}


def test_who_had_no_turn_yet_was_not_run():
    """Whichever is drawn first fails, so that the other has no turn."""
    found = last(commands=["false"], same=True)

    (failure,), (note,) = found.failures, found.notes
    assert {failure.split()[1], note.split()[1]} == {"baseline", "candidate"}
    assert note.endswith("was not run")


def test_both_may_fail(endings):
    found = last(f"{endings}:exits@python", f"{endings}:raises@python")

    assert [text.split(" ended")[0] for text in found.failures] == [
        "the baseline",
        "the candidate",
    ]


def test_a_budget_that_is_too_small_says_so_and_what_would_do(work):
    found = last(f"{work}@python", same=True, budget=0.5, pairs=60)

    assert "budget of 500 ms used up after 1 pair, too few" in found.ended


def test_contenders_without_room_alternate_by_process_and_it_is_said(work, monkeypatch):
    def crowded(*given, **more):
        return heat.Heat({}, {}, 1.0, {"candidate": heat.OUT_OF_MEMORY_REASON})

    monkeypatch.setattr(pairing, "run_heat", crowded)
    found = last(f"{work}@python", f"{work}:ms=20@python")

    assert found.ratio.value > 5
    assert found.notes == (
        "they alternate by process, not by step: they do not fit in memory together",
    )


def test_commands_are_compared_by_their_wall_time():
    python = sys.executable
    nap = "import time; time.sleep({})"
    found = last(commands=[f"{python} -c '{nap.format(0.01)}'", f"{python} -c '{nap.format(0.3)}'"])

    assert (found.metric, found.verdict) == ("wall_time", "slower")
    assert found.pairs[0].turns > 1
    assert "commands cannot be stepped" in found.notes[0]


def test_commands_can_tell_a_number_of_their_own():
    commands = [f"{sys.executable} -c 'print(\"{rate} items/s\")'" for rate in (100, 150)]
    found = last(commands=commands, metric=r"rate=(\d+) items/s", higher_is_better=True)

    assert (found.metric, found.verdict) == ("rate", "faster")
    assert found.ratio.value == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("metric", "commands"),
    [("brightness", ()), ("wall_time", ()), ("rate=x", ()), ("step_time", ("true", "true"))],
)
def test_a_metric_that_does_not_exist_is_refused_at_once(work, home, metric, commands):
    cases = () if commands else (f"{work}@python", f"{work}@python")
    with pytest.raises(UsageError) as caught:
        assay.ab(*cases, commands=commands, metric=metric)

    assert ("wall_time" if commands else "step_time") in caught.value.hint
    assert not list((home / "runs").glob("*"))


def test_a_peak_can_be_compared(work):
    found = last(f"{work}@python", same=True, metric="max_rss")
    assert found.ratio.n == 1


@pytest.mark.parametrize(
    ("metric", "commands", "sentence"),
    [
        ("step_time=(", [], "cases are compared"),
        ("step_time=(", ["true", "true"], "'\\(' is no regular expression"),
        ("wall_time=", ["true", "true"], "has no pattern"),
        ("=x", ["true", "true"], "has no name"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_one_sentence(work, metric, commands, sentence):
    cases = () if commands else (f"{work}@python", f"{work}@python")
    with pytest.raises(UsageError, match=sentence):
        assay.ab(*cases, commands=commands, metric=metric)


def test_the_time_of_commands_is_assays_own_whatever_they_print():
    command = """sh -c 'echo wall_time=500; echo wall_time=600'"""
    found = last(commands=[command], same=True, pairs=1)

    assert found.metric == "wall_time"
    assert max(found.middles) < 60


def test_a_metric_nobody_tells_stops_it():
    found = last(commands=["true"], same=True, metric=r"rate=(\d+) items/s")
    assert found.verdict == "cannot-tell"
    assert "rate" in " ".join((found.ended, *found.failures))


@pytest.mark.parametrize(
    ("cases", "more"),
    [(("w@jax",), {}), ((), {"pythons": ["a", "b"]}), ((), {"commits": ["a", "b"]})],
)
def test_cases_and_commands_do_not_mix(cases, more):
    with pytest.raises(UsageError, match=r"Both .* and --cmd were given"):
        assay.ab(*cases, commands=["true", "true"], **more)


def test_the_same_twice_has_to_be_the_same(work):
    with pytest.raises(UsageError, match="are not the same"):
        assay.ab(f"{work}@python", f"{work}:ms=1@python", aa=True)


@pytest.mark.parametrize("spelled", ["{}@python", "{}:ms=2@python", "{}@python:threads=all"])
def test_one_case_in_two_spellings_is_the_same(work, spelled):
    """With `same` it is compared, without it is said."""
    cases = f"{work}@python", spelled.format(work)

    with pytest.raises(UsageError, match="Both are the same") as caught:
        assay.ab(*cases)
    assert "--aa" in caught.value.hint
    assay.ab(*cases, aa=True)


def test_one_command_twice_is_the_same():
    with pytest.raises(UsageError, match="Both are the same"):
        assay.ab(commands=["true", "true"])
    with pytest.raises(UsageError, match="are not the same"):
        assay.ab(commands=["true", "false"], aa=True)


@pytest.mark.parametrize(
    "wrong", [{"budget": 0.0}, {"min_effect": 0.0}, {"pairs": 0}, {"timeout": "-1s"}]
)
def test_limits_are_checked_before_anything_runs(work, wrong):
    with pytest.raises(UsageError):
        assay.ab(f"{work}@python", aa=True, **wrong)


def test_an_interrupt_keeps_what_there_is(work, monkeypatch):
    taken = pairing.run_heat

    def interrupted(*given, **more):
        found = taken(*given, **more)
        ends = {"status": "interrupted", "reason": "by Ctrl-C"}
        results = {
            name: msgspec.structs.replace(one, **ends) for name, one in found.results.items()
        }
        return found._replace(results=results)

    monkeypatch.setattr(pairing, "run_heat", interrupted)
    comparisons = assay.ab(f"{work}@python", f"{work}:ms=3@python", **QUICK)
    with pytest.raises(KeyboardInterrupt):
        list(comparisons)

    assert comparisons.last.ended == "interrupted by the user after 0 pairs"
    assert comparisons.last.failures == ()
    assert [reading.result.status for reading in assay.read_results()] == ["interrupted"] * 2


@pytest.mark.real("torch")
def test_outputs_that_differ_are_said_loudly(tmp_path):
    """The weights depend on the threads, so the two do not do the same work."""
    (tmp_path / "net.py").write_text(
        "import os\n"
        "import numpy as np\n"
        "import torch\n"
        "from assay import Job\n"
        "def net(batch_size=4, seed=0):\n"
        "    torch.manual_seed(len(os.sched_getaffinity(0)))\n"
        "    batch = (np.ones((4, 3), np.float32), np.zeros(4, np.int64))\n"
        "    return Job(model=torch.nn.Linear(3, 2), train_batch=batch)\n"
    )
    case = f"{tmp_path}/net.py:net@torch"
    found = last(f"{case}:threads=1", f"{case}:threads=2", budget=6.0)

    assert any(text.startswith("WRONG OUTPUTS") for text in found.failures)


def test_what_is_undecided_goes_on_with_the_pairs_it_has(work, monkeypatch):
    fake_pairs(monkeypatch, 0.9, 1.1, 0.9, 1.5, 1.5, *[1.5] * 40)
    first = list(assay.ab(f"{work}@python", aa=True, pairs=3))[-1]
    monkeypatch.setattr(sequential, "MAX_PAIRS", 60)
    store = open_store()
    request = codec.decode(store.document(first.run, "request.json"), AbRequest, "request.json")
    more = msgspec.structs.replace(request, pairs=30)
    store.keep_document(first.run, "request.json", codec.encode(more))
    store.close()

    found = list(api.resume(first.run))

    assert first.verdict == "cannot-tell"
    assert found[0].ratio.n == 4
    assert found[-1].verdict == "slower"
    assert api.load_comparison(first.run).ratio.n == found[-1].ratio.n


def test_the_working_tree_can_be_a_contender(tmp_path):
    repository = tmp_path / "repository"
    repository.mkdir()
    file = repository / "net.py"
    file.write_text("import time\ndef nap():\n    return lambda: time.sleep(0.002)\n")
    for words in ("init -q", "add .", "-c user.name=a -c user.email=a@b commit -qm first"):
        subprocess.run(["git", *words.split()], cwd=repository, check=True)
    file.write_text("import time\ndef nap():\n    return lambda: time.sleep(0.006)\n")

    *_, found = assay.ab(f"{file}:nap@python", commits=["HEAD", "."], budget=6.0)

    assert found.candidate.endswith(" at .")
    assert found.ratio.value > 1.5
