"""One battery per contract, run over every registered thing."""

from __future__ import annotations

import re

import msgspec
import pytest

from assay.core import registry
from assay.core.contracts import (
    Backend,
    EvaluatingBackend,
    Option,
    ProfilingBackend,
    TrainingBackend,
    Workload,
)
from assay.core.errors import UsageError
from assay.core.findings import ANALYSIS_VERSION, Quantity, Summary
from assay.core.records import Case, Environment, Plan, Procedure, Query, Result
from assay.core.registry import backends_for
from assay.measure import plan
from assay.stores import folders

WORKLOADS = registry.names("workloads")
BACKENDS = registry.names("backends")
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@pytest.mark.parametrize("name", WORKLOADS)
class TestWorkload:
    def test_fulfils_the_contract(self, name):
        assert isinstance(registry.workload(name), Workload)

    def test_has_a_name_that_can_be_typed(self, name):
        assert NAME.fullmatch(name)

    def test_says_what_it_is_and_whence(self, name):
        workload = registry.workload(name)

        assert workload.summary
        assert workload.source
        assert workload.version

    def test_has_a_batch_size_and_a_seed(self, name):
        assert {"batch_size", "seed"} <= set(registry.workload(name).params)

    def test_is_opened_by_some_backend(self, name):
        assert backends_for(registry.workload(name))


@pytest.mark.parametrize("name", BACKENDS)
class TestBackend:
    def test_fulfils_the_contract(self, name):
        assert isinstance(registry.backend(name), Backend)

    def test_has_a_name_that_can_be_typed(self, name):
        assert NAME.fullmatch(name)

    def test_every_default_is_a_value_it_accepts(self, name):
        for option in registry.backend(name).options.values():
            assert isinstance(option, Option)
            fits = option.pattern and re.fullmatch(option.pattern, str(option.default))
            assert option.default in option.choices or fits

    def test_takes_another_interpreter_and_a_thread_count(self, name):
        assert {"python", "threads"} <= set(registry.backend(name).options)

    def test_what_is_missing_comes_with_a_remedy(self, name):
        missing = registry.backend(name).missing()

        assert missing == "" or "pip install" in missing

    def test_refuses_a_thread_count_this_machine_has_not(self, name):
        case = case_for(name, threads="100000")

        assert "100000" in registry.backend(name).refuses(case)

    def test_what_it_can_do_besides_names_options_it_has(self, name):
        backend = registry.backend(name)
        chosen = {
            **(backend.for_evaluation if isinstance(backend, EvaluatingBackend) else {}),
            **(backend.for_training if isinstance(backend, TrainingBackend) else {}),
        }

        for option, value in chosen.items():
            assert value in backend.options[option].choices
        if isinstance(backend, ProfilingBackend):
            assert callable(backend.profile)

    def test_its_variables_are_text(self, name, tmp_path):
        variables = registry.backend(name).variables(case_for(name), tmp_path)

        assert all(isinstance(word, str) for pair in variables.items() for word in pair)


def case_for(backend: str, **options: str) -> Case:
    """Any case a backend can open."""
    kinds = registry.backend(backend).accepts
    fitting = [w for w in WORKLOADS if kinds & set(registry.workload(w).kinds)]
    workload = fitting[0] if fitting else "tests/data/endings.py:fine"
    return plan.resolve(Case(workload=workload, backend=backend, options=dict(options)))


# Of each store: where one for a test is.
PLACES = {"sqlite": "sqlite://{folder}", "postgresql": "{database}", "postgres": "{database}"}
SERVED = pytest.mark.real("postgresql", "psycopg")


def test_every_store_is_tried():
    assert set(registry.names("stores")) == set(PLACES)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n == "sqlite" else SERVED) for n in PLACES]
)
class TestStore:
    """What `core.contracts.Store` promises, of each store, opened by its URL."""

    @pytest.fixture
    def store(self, name, tmp_path, request):
        place = tmp_path / "store"
        if name != "sqlite":
            place = f"{name}://{request.getfixturevalue('database').partition('://')[2]}"
        opened = registry.open_store(PLACES[name].format(folder=place, database=place))
        yield opened
        opened.close()

    def test_what_is_appended_is_found_by_run_by_id_and_as_the_last(self, store):
        made = kept(store, "one")

        for text in (made.run, made.id, "last", made.run[-4:]):
            assert store.find(text) == [made.id]
        assert list(store.results(Query(ids=("last",)))) == [made]
        assert store.plan(made.run).label == "one"

    def test_results_come_oldest_first_and_by_label(self, store):
        first, second = kept(store, "one"), kept(store, "two")

        assert [r.id for r in store.results(Query())] == [first.id, second.id]
        assert [r.id for r in store.results(Query(label="two"))] == [second.id]

    def test_a_document_is_kept_beside_the_results_and_replaced(self, store):
        run = kept(store).run

        assert store.document(run, "race.json") is None
        for text in (b"1", b"2"):
            store.keep_document(run, "race.json", text)
        assert store.document(run, "race.json") == b"2"

    def test_a_summary_belongs_to_a_version_of_the_analysis(self, store):
        made = kept(store)
        store.keep_summary(made.id, 7, Summary())

        assert store.summary(made.id, 7) == Summary()
        assert store.summary(made.id, 8) is None

    def test_results_are_found_by_the_beginning_of_their_commit(self, store):
        first, second = (kept(store, commit=letter * 40) for letter in "ab")

        assert [e.id for e in store.entries(Query(commit="aaaaaaa"))] == [first.id]
        assert store.count(Query(commit=40 * "b")) == 1
        assert list(store.results(Query(commit="bbbbbbb"))) == [second]
        assert store.count(Query(commit="abababa")) == 0

    def test_points_of_many_results_come_at_once_and_by_metric(self, store):
        made = [kept(store, label) for label in ("one", "two", "two")]
        for number, result in enumerate(made):
            found = {n: quantity(number + place) for place, n in enumerate(("step_time", "mean"))}
            store.keep_summary(result.id, ANALYSIS_VERSION, Summary(quantities=found))

        ours = store.points_of(Query(label="two"), ("step_time",))

        assert [one.point.id for one in ours] == [result.id for result in made[1:]]
        assert [one.point.value for one in ours] == [1.0, 2.0]
        assert {(one.metric, one.unit, one.series.key) for one in ours} == {
            ("step_time", "s", "w@b")
        }
        assert len(store.points_of(Query())) == 6
        assert [one.point.id for one in store.points_of(Query(limit=1), ("mean",))] == [made[2].id]
        assert store.points_of(Query(ids=(made[0].run,)), ("nothing",)) == []

    def test_a_run_folder_from_elsewhere_is_adopted_as_it_is(self, store, tmp_path):
        other = registry.open_store(tmp_path / "other")
        made = kept(other)

        assert store.adopt(other.folder(made.run)) == [made.id]
        assert list(store.results(Query(ids=(made.run,)))) == [made]
        other.close()

    def test_what_is_deleted_is_gone_and_nothing_else(self, store):
        first, second = kept(store), kept(store)

        assert store.delete(first.run) == [first.id]
        assert [r.id for r in store.results(Query())] == [second.id]
        assert not store.folder(first.run).exists()

    def test_one_result_of_a_run_can_be_deleted(self, store):
        made = kept(store)
        more = msgspec.structs.replace(made, id=folders.new_case(store.folder(made.run)).id)
        store.append(more)

        assert store.delete(more.id) == [more.id]
        assert [r.id for r in store.results(Query())] == [made.id]

    def test_what_is_not_there_is_one_sentence(self, store):
        kept(store)

        with pytest.raises(UsageError, match="There is no run named 'nothing'"):
            store.find_run("nothing")


def test_a_store_nobody_provides_is_one_sentence(tmp_path):
    with pytest.raises(UsageError, match="There is no store named 'sqlit'") as caught:
        registry.open_store(f"sqlit://{tmp_path}")

    assert caught.value.hint == "Did you mean 'sqlite'?"


def quantity(value: float) -> Quantity:
    return Quantity(value=value, low=value, high=value, unit="s", estimator="median", n=2)


def kept(store, label: str = "", commit: str = "") -> Result:
    case = Case(workload="w", backend="b", key="w@b")
    run = store.new_run(Plan(cases=(case,), label=label))
    made = Result(
        id=folders.new_case(run).id,
        case=case,
        procedure=Procedure(),
        status="ok",
        started=f"2026-01-01T00:00:{len(list(store.results(Query()))):02d}",
        label=label,
        environment=Environment(git={"commit": commit} if commit else {}),
    )
    store.append(made)
    return made
