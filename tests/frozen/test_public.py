"""What programs of others import from assay is there, and is called by the same keywords."""

import pytest

import assay
from tests.frozen import public

RECORDED = public.recorded()
RENAMED = {
    "adopt": "import_run",
    "kept_nights": "scheduled_runs",
    "known_data": "list_datasets",
    "live": "case_from_object",
    "prunable": "old_results",
    "readings": "read_results",
}
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
