"""The backend tests of the installed `onnx` package through the importer and the reference.

Each test has two variants: its model as it is, and with all inputs but the first as constants.
`python -m tests.native.onnx_suite` prints the counts and the refusals by operator;
`--record` stores the counts that `test_onnx_suite.py` compares with.
"""

from __future__ import annotations

import json
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from assay.core.errors import AssayError
from assay.native import reference
from assay.native.onnx.model import model_of
from assay.native.onnx.read import ImportedModel, import_model

KINDS = ("node", "simple", "pytorch-operator", "pytorch-converted")
RECORD = Path(__file__).with_name("onnx_suite.json")
# Of these nothing can be compared; the reason of each.
SKIPPED = {
    "test_bernoulli": "its outputs are random",
    "test_bernoulli_double": "its outputs are random",
    "test_bernoulli_seed": "its outputs are random",
}


class Outcome(NamedTuple):
    status: str  # right, refused, skipped, wrong, raised
    reason: str = ""
    imported: ImportedModel | None = None  # of a variant that is right
    data: list[tuple[list[Any], list[Any]]] = []  # noqa: RUF012  # inputs and expected outputs


class SuiteTest(NamedTuple):
    name: str
    model: Any  # onnx.ModelProto
    data: list[tuple[list[Any], list[Any]]]  # inputs and expected outputs
    rtol: float
    atol: float


def suite_tests() -> Iterator[SuiteTest]:
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        tests = [test for kind in KINDS for test in load_model_tests(kind=kind)]
    for test in tests:
        model, data = (test.model, test.data_sets) if test.model else _stored(Path(test.model_dir))
        yield SuiteTest(test.name, model, data, test.rtol, test.atol)


def _stored(folder: Path) -> tuple[Any, list[Any]]:
    import onnx
    from onnx import numpy_helper

    def arrays(path: Path, kind: str) -> list[Any]:
        count = len(list(path.glob(f"{kind}_*.pb")))
        parts = (path / f"{kind}_{n}.pb" for n in range(count))
        return [
            numpy_helper.to_array(onnx.TensorProto.FromString(part.read_bytes())) for part in parts
        ]

    sets = sorted(folder.glob("test_data_set_*"))
    try:
        data = [(arrays(path, "input"), arrays(path, "output")) for path in sets]
    except Exception:  # sequences and optionals, which the importer refuses
        data = []
    return onnx.load(folder / "model.onnx"), data


def outcome(test: SuiteTest) -> Outcome:
    """Wrong or raised if one of the variants is, right if one of them is."""
    if test.name in SKIPPED:
        return Outcome("skipped", SKIPPED[test.name])
    outcomes = [_outcome(test, model, data) for model, data in variants(test)]
    for status in ("raised", "wrong", "right"):
        for each in outcomes:
            if each.status == status:
                return each
    return outcomes[-1]


def variants(test: SuiteTest) -> Iterator[tuple[Any, list[Any]]]:
    """The model as it is, and with all inputs but the first as constants, with their data."""
    yield test.model, test.data
    weights = {tensor.name for tensor in test.model.graph.initializer}
    inputs = [value for value in test.model.graph.input if value.name not in weights]
    if len(inputs) > 1 and len(test.data) >= 1:
        names = [value.name for value in inputs[1:]]
        constants = dict(zip(names, test.data[0][0][1:], strict=False))
        if all(isinstance(array, np.ndarray | np.generic) for array in constants.values()):
            (arrays, expected) = test.data[0]
            yield _with_constants(test.model, constants), [(arrays[:1], expected)]


def _with_constants(model: Any, constants: dict[str, Any]) -> Any:
    from onnx import ModelProto, numpy_helper

    changed = ModelProto()
    changed.CopyFrom(model)
    left = [value for value in changed.graph.input if value.name not in constants]
    del changed.graph.input[:]
    changed.graph.input.extend(left)
    for name, array in constants.items():
        changed.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
    return changed


def _outcome(test: SuiteTest, model: Any, data: list[Any]) -> Outcome:
    try:
        imported = import_model(model_of(model.SerializeToString(), Path(test.name)))
        for inputs, expected in data:
            arrays = imported.batches([np.asarray(array) for array in inputs])
            outputs = imported.in_file_shape(reference.outputs(imported.graph, *arrays))
            compare(test, outputs, expected)
    except AssayError as error:
        return Outcome("refused", str(error))
    except AssertionError as error:
        return Outcome("wrong", " ".join(str(error).split())[:300])
    except Exception as error:
        return Outcome("raised", f"{type(error).__name__}: {error}"[:300])
    if not data:
        return Outcome("refused", "there is no data to compare with")
    return Outcome("right", imported=imported, data=data)


def compare(test: SuiteTest, outputs: Any, expected: Any) -> None:
    assert len(outputs) == len(expected)
    for output, array in zip(outputs, expected, strict=True):
        assert output.shape == np.shape(array), f"shape {output.shape}, not {np.shape(array)}"
        np.testing.assert_allclose(output, array, rtol=test.rtol, atol=test.atol)


def run_suite() -> dict[str, Outcome]:
    with np.errstate(all="ignore"):
        return {test.name: outcome(test) for test in suite_tests()}


def right_names(outcomes: dict[str, Outcome]) -> list[str]:
    return sorted(name for name, each in outcomes.items() if each.status == "right")


def counts(outcomes: dict[str, Outcome]) -> dict[str, int]:
    totals = Counter(each.status for each in outcomes.values())
    return {status: totals[status] for status in ("right", "refused", "skipped", "wrong", "raised")}


def refusals(outcomes: dict[str, Outcome]) -> Counter[str]:
    """How often each operator is refused for each reason; numbers and names are left out."""
    return Counter(
        re.sub(r"\d+|'[^']*'", "…", each.reason.partition(" is a ")[2] or each.reason)[:150]
        for each in outcomes.values()
        if each.status == "refused"
    )


def main() -> None:
    start = time.perf_counter()
    outcomes = run_suite()
    seconds = time.perf_counter() - start
    totals = counts(outcomes)
    for reason, count in refusals(outcomes).most_common():
        print(f"{count:5} {reason}")
    for name, each in outcomes.items():
        if each.status in ("wrong", "raised"):
            print(f"{each.status}: {name}: {each.reason}")
    print(", ".join(f"{count} {status}" for status, count in totals.items()), f"({seconds:.0f} s)")
    if "--record" in sys.argv:
        record = {**totals, "names": right_names(outcomes)}
        RECORD.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
