"""What programs of others import from assay is there, and is called by the same keywords."""

from contextlib import closing
from pathlib import Path

import pytest

import assay
from assay.core.errors import UsageError
from assay.core.registry import open_store
from tests.frozen import public
from tests.stores.test_sqlite import stored

RECORDED = public.recorded()
RENAMED = {
    "adopt": "import_run",
    "kept_nights": "scheduled_runs",
    "known_data": "list_datasets",
    "live": "case_from_object",
    "prunable": "old_results",
    "readings": "read_results",
}
PLAN = "[bench]\nmethods = ['my_pkg.bench.Resnet.benchmark_small']\n"
DOCUMENTED = [(module, name) for module, names in RECORDED["documented"].items() for name in names]


@pytest.mark.parametrize("name", RECORDED["assay"])
def test_a_public_name_is_there_and_takes_the_keywords_it_took(name):
    if name in RENAMED:
        with pytest.warns(DeprecationWarning, match=f"assay.{name} is deprecated: use assay."):
            value = getattr(assay, name)
        assert value is getattr(assay, RENAMED[name])
    else:
        value = getattr(assay, name)
        assert name in assay.__all__

    assert set(RECORDED["assay"][name]) <= set(public.parameters(value))


@pytest.mark.parametrize(("module", "name"), DOCUMENTED)
def test_a_documented_import_works(module, name):
    assert public.importable(module, name)


@pytest.fixture
def run_folder(tmp_path) -> Path:
    """A run of another store, with one result."""
    with closing(open_store(tmp_path / "elsewhere")) as store:
        return store.folder(stored(store)[0].run)


@pytest.fixture
def plan_file(tmp_path) -> Path:
    file = tmp_path / "nightly.toml"
    file.write_text(PLAN)
    return file


def test_an_old_name_is_called_like_the_new_one(run_folder, plan_file):
    with pytest.warns(DeprecationWarning, match="is deprecated: use assay.") as warnings:
        ids = assay.adopt(run_folder)
        readings = assay.readings()
        old = assay.prunable(keep=1)
        runs = assay.kept_nights(plan_file)
        datasets = assay.known_data()
        with pytest.raises(UsageError) as caught:
            assay.live("no model")

    assert len(warnings) == len(RENAMED)
    assert [reading.result.id for reading in readings] == ids
    assert old == assay.old_results(keep=1)
    assert runs == []
    assert datasets == assay.list_datasets()
    assert "no model" in str(caught.value)
