"""A benchmark class in a user's file: a model, its data, its training, under either naming.

Assay's own names are `build_model`, `load_data` and `train`; HPVM's are `buildModel`,
`data_preprocess` and `trainModel`, whose pictures have channels first.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from assay.core.errors import UsageError
from assay.core.recipe import Recipe
from assay.core.records import Evaluation, Value
from assay.core.sessions import Builder, Job

BATCH_SIZE = 32
# What HPVM's constructor takes; a class may have them as attributes instead.
ATTRIBUTES = (
    *("name", "reload_dir", "keras_model_file", "data_dir", "src_dir"),
    *("num_classes", "batch_size"),
)


class Naming(NamedTuple):
    """What the methods are called."""

    build: str
    data: str
    train: str  # may be left out: then a recipe trains it
    data_format: str  # of pictures


OWN = Naming("build_model", "load_data", "train", "")
HPVM = Naming("buildModel", "data_preprocess", "trainModel", "channels_first")


class BenchmarkClass(msgspec.Struct, frozen=True):
    """A class of that kind as a workload; the file is run in a worker only."""

    path: Path
    name: str
    summary: str
    naming: Naming
    attributes: Mapping[str, Value]  # those that are written down as plain values
    trains_itself: bool
    module: Callable[[Path], Any]
    version: str = "1"

    @property
    def source(self) -> str:
        return str(self.path)

    @property
    def params(self) -> Mapping[str, Value]:
        size = int(self.attributes.get("batch_size", BATCH_SIZE))
        return {"batch_size": size, "seed": 0, "weights": ""}

    @property
    def expected(self) -> float:
        """Percent right, where the class says so; else 0."""
        return float(self.attributes.get("expected", 0.0))

    def lacks(
        self, params: Mapping[str, Value], evaluation: Evaluation, home: Path | None = None
    ) -> str:
        return ""  # what it needs, only its own methods know

    @property
    def recipe(self) -> Recipe | None:
        return None

    @property
    def kinds(self) -> Mapping[str, Builder]:
        return {"keras": self._job}

    def _job(self, batch_size: int, seed: int, weights: str) -> Job:
        from assay.workloads.user import _benchmark_object

        made = _benchmark_object.made(getattr(self.module(self.path), self.name), self.naming)
        return _benchmark_object.job(made, batch_size, weights)


def is_benchmark(found: ast.ClassDef, tree: ast.Module) -> bool:
    return _naming(_family(found, tree)[0]) is not None


def benchmark_class(
    path: Path, tree: ast.Module, found: ast.ClassDef, module: Callable[[Path], Any]
) -> BenchmarkClass:
    """The class as a workload; without a method it needs it is refused, which is named."""
    family, whole = _family(found, tree)
    methods = {name for one in family for name in _methods(one)}
    way = _naming(family)
    assert way is not None
    if whole:
        check_methods(found.name, way, methods)
    attributes: dict[str, Value] = {}
    for one in reversed(family):
        attributes |= _values(one)
    return BenchmarkClass(
        path=path,
        name=found.name,
        summary=(ast.get_docstring(found) or "a benchmark of your own").splitlines()[0],
        naming=way,
        attributes=attributes,
        trains_itself=way.train in methods or not whole,
        module=module,
    )


def check_methods(name: str, way: Naming, methods: set[str]) -> None:
    for needed, example in ((way.build, "the Keras model"), (way.data, "the pictures and labels")):
        if needed not in methods:
            raise UsageError(
                f"The benchmark class {name} has no method {needed}.",
                hint=f"Add: def {needed}(self): … which returns {example}.",
            )


def _naming(family: list[ast.ClassDef]) -> Naming | None:
    """By whichever method it has; None: it is no benchmark class."""
    methods = {name for one in family for name in _methods(one)}
    return next((way for way in (OWN, HPVM) if methods & {way.build, way.data}), None)


def _family(found: ast.ClassDef, tree: ast.Module) -> tuple[list[ast.ClassDef], bool]:
    """The class and those of its file it is derived from; and whether that is all.

    A base named Benchmark is HPVM's or assay's, which has none of the methods.
    """
    classes = {part.name: part for part in tree.body if isinstance(part, ast.ClassDef)}
    family, whole, left = [found], True, list(found.bases)
    while left:
        base = left.pop(0)
        name = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
        if name in classes and classes[name] not in family:
            family.append(classes[name])
            left += classes[name].bases
        else:
            whole = whole and name in {"Benchmark", "object"}
    return family, whole


def _methods(found: ast.ClassDef) -> set[str]:
    return {part.name for part in found.body if isinstance(part, ast.FunctionDef)}


def _values(found: ast.ClassDef) -> dict[str, Value]:
    return {
        target.id: part.value.value
        for part in found.body
        if isinstance(part, ast.Assign) and isinstance(part.value, ast.Constant)
        for target in part.targets
        if isinstance(target, ast.Name) and isinstance(part.value.value, str | int | float)
    }
