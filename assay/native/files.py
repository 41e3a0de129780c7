"""A graph as one file, written whole: its nodes as JSON beside its constants, in an .npz."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
import numpy as np

from assay.core.corrupt import BROKEN
from assay.core.errors import AssayError, UsageError
from assay.core.files import user_file
from assay.native.graph import Graph, Node, Value

FORM = 2  # of the file; another number is refused. 2: inputs tell their layout
_GRAPH = "graph.json"


class _GraphRecord(msgspec.Struct, frozen=True, kw_only=True):
    """All of a graph but the values of its constants."""

    form: int
    name: str
    inputs: tuple[Value, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[str, ...]
    constants: tuple[str, ...]  # in the order of the arrays 0, 1, …


def write(graph: Graph, path: str | Path) -> None:
    arrays = {str(number): array for number, array in enumerate(graph.constants.values())}
    text = np.frombuffer(_text(graph), np.uint8)
    with user_file(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, **{_GRAPH: text}, **arrays)  # type: ignore[arg-type]


def read(path: str | Path) -> Graph:
    place = Path(path)
    if not place.is_file():
        raise UsageError(f"There is no graph file {place}.", hint="Capture a model into it first.")
    try:
        with np.load(place, allow_pickle=False) as file:
            written = msgspec.json.decode(file[_GRAPH].tobytes(), type=_GraphRecord)
            arrays = [file[str(number)] for number in range(len(written.constants))]
    except BROKEN as error:
        raise _unreadable(place, str(error)) from None
    if written.form != FORM:
        raise _unreadable(place, f"it is of form {written.form}, and {FORM} is known here")
    return Graph(
        name=written.name,
        inputs=written.inputs,
        nodes=written.nodes,
        outputs=written.outputs,
        constants=dict(zip(written.constants, arrays, strict=True)),
    )


def digest(graph: Graph) -> str:
    """The same for the same operations and weights, whatever file they came from."""
    found = hashlib.sha256(_text(graph))
    for array in graph.constants.values():
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


def _text(graph: Graph) -> bytes:
    return msgspec.json.encode(
        _GraphRecord(
            form=FORM,
            name=graph.name,
            inputs=graph.inputs,
            nodes=graph.nodes,
            outputs=graph.outputs,
            constants=tuple(graph.constants),
        )
    )


def _unreadable(place: Path, why: str) -> AssayError:
    return AssayError(f"{place} is no whole graph file ({why}).", hint="Capture the model again.")
