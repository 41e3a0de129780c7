"""The table of operators agrees with the schemas of the installed onnx package."""

from __future__ import annotations

import numpy as np
import pytest

from assay.core.errors import UsageError
from assay.native.onnx.constant_folding import FOLDS
from assay.native.onnx.operators import HANDLERS
from assay.native.onnx.read import read_onnx
from assay.native.onnx.table import OPERATORS, OPSETS
from tests.native.test_onnx_import import HELD, one, written


def schemas(kind):
    """Those that a file of one of OPSETS may mean."""
    from onnx import defs

    versions = sorted(
        (schema for schema in defs.get_all_schemas_with_history() if schema.name == kind),
        key=lambda schema: schema.since_version,
    )
    versions = [schema for schema in versions if schema.domain == ""]
    first = max(
        s.since_version for s in versions if s.since_version <= OPSETS[0] or s is versions[0]
    )
    return [s for s in versions if first <= s.since_version <= OPSETS[-1]]


def test_each_operator_that_is_read_has_a_row():
    assert set(OPERATORS) == {*HANDLERS, *FOLDS, "CastLike", "Shape", "Split"}


@pytest.mark.real("onnx")
@pytest.mark.parametrize("kind", OPERATORS)
def test_a_row_has_the_versions_and_attributes_of_the_schemas(kind):
    row, known = OPERATORS[kind], schemas(kind)

    assert row.versions == tuple(schema.since_version for schema in known)
    assert set(row.attributes) == {name for schema in known for name in schema.attributes}


@pytest.mark.real("onnx")
def test_the_newest_opset_of_onnx_is_in_the_table():
    from onnx import defs

    assert OPSETS[-1] == defs.onnx_opset_version()


@pytest.mark.real("onnx")
@pytest.mark.parametrize("kind", ["Relu", "Conv", "Shape", "Constant"])
def test_an_attribute_that_is_not_in_the_table_is_refused(kind, tmp_path):
    nodes = [(kind, ["x"], ["y"], {"invented": 1})]
    path = written(tmp_path / "net.onnx", nodes, weights=HELD)

    with pytest.raises(UsageError, match=f"is a {kind} .* its attribute 'invented' is not known"):
        read_onnx(path)


@pytest.mark.real("onnx")
def test_an_opset_that_is_not_in_the_table_is_refused(tmp_path):
    path = written(tmp_path / "net.onnx", one("Relu"), opset=OPSETS[-1] + 1)

    with pytest.raises(UsageError, match=r"a Relu .* it is of opset 29, and opsets 6 to 28"):
        read_onnx(path)


@pytest.mark.real("onnx")
def test_a_mode_that_is_not_in_the_table_is_refused(tmp_path):
    nodes = one("Resize", "", "scales", mode="linear", coordinate_transformation_mode="invented")
    path = written(tmp_path / "net.onnx", nodes, weights={"scales": np.ones(4, np.float32)})

    with pytest.raises(UsageError, match="'coordinate_transformation_mode' is 'invented'; supp"):
        read_onnx(path)
