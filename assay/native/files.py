"""Graph files: an .npz of the nodes as JSON and the constants."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
import numpy as np

from assay.core.corrupt import DAMAGED_HINT
from assay.core.errors import AssayError, UsageError
from assay.core.files import user_file
from assay.native.graph import Graph, Node, Value

FORMAT_VERSION = 2  # of the file; 2: inputs have a layout
_GRAPH = "graph.json"


class _GraphRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A graph without the values of its constants."""

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
    path = Path(path)
    if not path.is_file():
        raise UsageError(f"There is no graph file {path}.", hint="Capture a model into it first.")
    try:
        with np.load(path, allow_pickle=False) as file:
            record = msgspec.json.decode(file[_GRAPH].tobytes(), type=_GraphRecord)
            arrays = [file[str(number)] for number in range(len(record.constants))]
    except DAMAGED_HINT as error:
        raise _unreadable(path, str(error)) from None
    if record.form != FORMAT_VERSION:
        raise _unreadable(path, f"it is of form {record.form}, and {FORMAT_VERSION} is known here")
    return Graph(
        name=record.name,
        inputs=record.inputs,
        nodes=record.nodes,
        outputs=record.outputs,
        constants=dict(zip(record.constants, arrays, strict=True)),
    )


def digest(graph: Graph) -> str:
    """Hash of operations and weights."""
    sha = hashlib.sha256(_text(graph))
    for array in graph.constants.values():
        sha.update(np.ascontiguousarray(array).data)
    return sha.hexdigest()


def _text(graph: Graph) -> bytes:
    return msgspec.json.encode(
        _GraphRecord(
            form=FORMAT_VERSION,
            name=graph.name,
            inputs=graph.inputs,
            nodes=graph.nodes,
            outputs=graph.outputs,
            constants=tuple(graph.constants),
        )
    )


def _unreadable(path: Path, reason: str) -> AssayError:
    return AssayError(f"{path} is no whole graph file ({reason}).", hint="Capture the model again.")
