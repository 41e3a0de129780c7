"""Read the inputs of model files that are zip archives, without their framework."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.core.corrupt import DAMAGED_HINT
from assay.core.errors import UsageError
from assay.formats.onnx_header import ModelInput

# torch's ScalarType of a serialized program → numpy's name
_TORCH_TYPES = {
    1: "uint8",
    2: "int8",
    3: "int16",
    4: "int32",
    5: "int64",
    6: "float16",
    7: "float32",
    8: "float64",
    12: "bool",
    13: "bfloat16",
}


def program_inputs(path: Path) -> tuple[tuple[ModelInput, ...], dict[str, int]]:
    """Of torch.export: the inputs, and the sizes of free axes at export."""
    document = _member(path, r"(^|/)models/[^/]+\.json$|serialized_exported_program\.json$")
    try:
        module = document["graph_module"]
        values, specs = module["graph"]["tensor_values"], module["signature"]["input_specs"]
        names = [
            spec["user_input"]["arg"]["as_tensor"]["name"] for spec in specs if "user_input" in spec
        ]
        usual = {
            f"{name}_{axis}": size["as_expr"]["hint"]["as_int"]
            for name in names
            for axis, size in enumerate(values[name]["sizes"])
            if "as_expr" in size
        }
        inputs = tuple(
            ModelInput(
                name=name,
                dtype=_TORCH_TYPES[values[name]["dtype"]],
                sizes=tuple(_torch_sizes(values[name]["sizes"])),
            )
            for name in names
        )
    except (KeyError, TypeError) as error:
        raise _damage_error(path, f"it has no {error}") from None
    return _rename_axes(inputs, usual)


def _rename_axes(
    inputs: tuple[ModelInput, ...], usual: dict[str, int]
) -> tuple[tuple[ModelInput, ...], dict[str, int]]:
    """Rename symbols such as s27 by the first input and axis that has them."""
    names: dict[str, str] = {}
    for model_input in inputs:
        for axis, size in enumerate(model_input.sizes):
            if isinstance(size, str):
                names.setdefault(size, f"{model_input.name}_{axis}")
    renamed = tuple(
        ModelInput(
            name=model_input.name,
            dtype=model_input.dtype,
            sizes=tuple(
                names[size] if isinstance(size, str) else size for size in model_input.sizes
            ),
        )
        for model_input in inputs
    )
    return renamed, {name: usual[name] for name in names.values()}


def _torch_sizes(sizes: list[dict[str, Any]]) -> Iterator[int | str]:
    for size in sizes:
        yield size["as_int"] if "as_int" in size else str(size["as_expr"]["expr_str"])


def keras_inputs(path: Path) -> tuple[ModelInput, ...]:
    """The input layers of its configuration; a subclassed model has none."""
    document = _member(path, r"^config\.json$")
    inputs: list[ModelInput] = []
    for layer in document.get("config", {}).get("layers", ()):
        if layer.get("class_name") == "InputLayer":
            settings = layer["config"]
            sizes = settings.get("batch_shape") or settings["batch_input_shape"]
            name = settings["name"]
            free = tuple("" if size is None else size for size in sizes)
            inputs.append(ModelInput(name=name, dtype=settings["dtype"], sizes=free))
    return tuple(inputs)


def _member(path: Path, pattern: str) -> Any:
    try:
        with zipfile.ZipFile(path) as archive:
            name = next((member for member in archive.namelist() if re.search(pattern, member)), "")
            if not name:
                raise _damage_error(path, "it has no description of a model")
            return json.loads(archive.read(name))
    except DAMAGED_HINT as error:
        raise _damage_error(path, str(error)) from None


def _damage_error(path: Path, why: str) -> UsageError:
    what = "program of torch.export" if path.suffix == ".pt2" else "model saved by Keras"
    return UsageError(f"{path} is no {what}, or not all of one ({why}).", hint="Save it again.")
