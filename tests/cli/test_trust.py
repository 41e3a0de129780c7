"""--trust: no command runs code from a `.pt2` file without it, however the file is named."""

from __future__ import annotations

import json
from contextlib import closing

import msgspec
import pytest

from assay.core.errors import UsageError
from assay.core.records import Case, Plan, Procedure
from assay.core.registry import open_store
from assay.core.series import series_of
from assay.measure import plan as planning
from assay.stores import folders
from tests.exported import hostile
from tests.kept_runs import made_result

pytestmark = pytest.mark.real("torch")
ONCE = ("--samples", "1", "--steps-per-sample", "1")
# of a race: two contenders
NARROW = [
    word
    for axis in ("threads=1,2", "compiler=off", "precision=float32", "batch_size=2")
    for word in ("--over", axis)
]
REFUSED = "is not loaded, because loading it could run code of its author"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A hostile file, and what it leaves behind once it has run."""
    folder = tmp_path_factory.mktemp("hostile")
    return hostile(folder / "evil.pt2", folder / "ran"), folder / "ran"


@pytest.fixture
def case(files):
    file, ran = files
    ran.unlink(missing_ok=True)
    return f"{file}@torch"


@pytest.fixture
def ran(files):
    return files[1].exists


def whole(case: str, trust: bool = False) -> Case:
    (found,) = planning.expand_cases([case], trust=trust)
    return found


def begun(case: Case, verb: str = "run", home=None, result: Case | None = None) -> str:
    """A run that was begun with this case; with a result, if its case is given."""
    with closing(open_store(home)) as store:
        procedure = Procedure(samples=1, steps_per_sample=1)
        run = store.new_run(Plan(cases=(case,), procedure=procedure, verb=verb))
        if result:
            place = folders.new_case(run)
            store.append(made_result(place, result, 0.001, "2026-11-01T10:00:00Z"))
    return str(run)


@pytest.mark.parametrize(
    "words",
    [
        ("run", "{case}", *ONCE),
        ("ab", "{case}", "{case}:threads=1", "--pairs", "1", "--budget", "1s"),
        ("race", "{file}", "-b", "torch", "--budget", "1s", *NARROW),
        ("evaluate", "{case}"),
        ("profile", "{case}", "--steps", "1"),
        ("scale", "{case}", "--devices", "1"),
    ],
    ids=lambda words: words[0],
)
def test_no_command_runs_code_of_a_file(assay, case, ran, words, monkeypatch):
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")

    status, out, error = assay(
        *(word.format(case=case, file=case.removesuffix("@torch")) for word in words)
    )

    assert status != 0 and not ran()
    assert REFUSED in out + error and "evil.pt2" in out + error and "--trust" in out + error


def test_with_trust_it_is_measured_under_the_same_key_and_series(assay, case, ran, home):
    status, _, _ = assay("run", case, *ONCE, "--trust")

    assert status == 0 and ran()
    (place,) = home.glob("runs/*/001/result.json")
    kept = json.loads(place.read_bytes())
    assert kept["case"]["key"] == whole(case).key
    assert "trust" not in kept["case"]
    assert json.loads((place.parents[1] / "plan.json").read_bytes())["cases"][0]["trust"] is True
    result = folders.read_result(place.parent)
    trusted = msgspec.structs.replace(result, case=whole(case, trust=True))
    assert series_of(trusted).id == series_of(result).id


def test_a_case_of_no_trust_is_written_as_before(case):
    assert "trust" not in msgspec.to_builtins(whole(case))
    assert "trust" not in msgspec.msgpack.decode(msgspec.msgpack.encode(whole(case)))


@pytest.mark.parametrize("trust", [False, True])
def test_a_resumed_run_has_the_trust_it_was_begun_with(assay, case, ran, trust):
    run = begun(whole(case, trust)).rpartition("/")[2]

    status, out, error = assay("run", "--resume", run)

    assert (status == 0, ran()) == (trust, trust)
    assert (REFUSED in out + error) is not trust


@pytest.mark.parametrize("trust", [False, True])
def test_a_plan_file_says_whether_it_trusts(assay, case, ran, tmp_path, trust):
    (tmp_path / "plan.toml").write_text(
        f'[run]\ncases = ["{case}"]\n{"trust = true" if trust else ""}\n'
        "[procedure]\nsamples = 1\nsteps_per_sample = 1\n"
    )

    status, out, error = assay("run", "--plan", str(tmp_path / "plan.toml"))

    assert (status == 0, ran()) == (trust, trust)
    assert (REFUSED in out + error) is not trust


def test_a_trusted_case_is_reproduced_without_a_word(assay, case, ran):
    run = begun(whole(case, trust=True), result=whole(case)).rpartition("/")[2]

    assay("repro", f"{run}/001", "--processes", "2", "--within", "99%")

    assert ran()


def test_a_result_cannot_grant_trust(assay, case, ran):
    run = begun(whole(case), result=whole(case, trust=True)).rpartition("/")[2]

    status, out, error = assay("repro", f"{run}/001", "--processes", "2")

    assert status == 3 and not ran()
    assert "--trust" in out + error


def test_an_imported_run_grants_no_trust_but_the_user_can(assay, case, ran, tmp_path):
    there = begun(whole(case, trust=True), home=tmp_path / "theirs", result=whole(case, trust=True))
    run = there.rpartition("/")[2]
    assert assay("import", there)[0] == 0

    resumed, _, error = assay("run", "--resume", run)
    status, out, _ = assay("repro", f"{run}/001", "--processes", "2")
    elsewhere, _, _ = assay("repro", f"{run}/001", "--from", there, "--processes", "2")

    assert (resumed, status, elsewhere) == (2, 3, 3) and not ran()
    assert "was imported" in error and "--trust" in out
    assay("repro", f"{run}/001", "--processes", "2", "--trust")
    assert ran()


def test_every_verb_takes_the_keyword(case):
    from assay.commands import evaluate
    from assay.commands.race import api
    from assay.commands.scale import api as scale
    from assay.measure import contenders

    file = case.removesuffix("@torch")
    trusting = planning.as_case(file, trust=True)
    planned = [
        *planning.make_plan(case, trust=True).cases,
        *evaluate.make_evaluation_plan(case, trust=True).cases,
        *scale.make_scale_plan(case, (1, 2), trust=True).cases,
        *api.contenders(trusting, "infer", ["torch"], {"threads": [1, 2]}),
        *(one.case for one in contenders.pair_from_cases([case], (), (".", "."), trust=True)),
        *(
            one.case
            for one in contenders.pair_from_cases([case, f"{case}:threads=1"], (), (), True)
        ),
    ]

    assert len(planned) > 8 and all(one.trust is True for one in planned)
    assert not any(one.case.trust for one in contenders.pair_from_cases([case], (), (".", ".")))


def test_a_commit_from_before_does_not_get_a_file_that_is_not_trusted(case, tmp_path):
    from assay.measure.contenders import Contender, _check_loader

    (tmp_path / "assay").mkdir()

    with pytest.raises(
        UsageError, match=r"evil\.pt2 is not loaded, because assay at v1"
    ) as refused:
        _check_loader(Contender(name="a", case=whole(case), commit="v1"), tmp_path)

    assert "--trust" in refused.value.hint
    _check_loader(Contender(name="a", case=whole(case, trust=True), commit="v1"), tmp_path)


def test_a_worker_from_before_refuses_what_is_not_trusted(case):
    from assay.core.messages import VERSION, Open

    assert Open(case=whole(case)).version > VERSION
    assert Open(case=whole(case, trust=True)).version == VERSION
    assert Open(case=Case(workload="mnist-mlp", backend="torch")).version == VERSION
