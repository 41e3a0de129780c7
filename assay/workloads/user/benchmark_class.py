"""A benchmark class in a user's file: a model, its data, its training.

assay's names of the methods are `build_model`, `load_data` and `train`; HPVM's are `buildModel`,
`data_preprocess` and `trainModel`, whose images have channels first.
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
# Arguments of HPVM's constructor; a class may have them as attributes instead.
ATTRIBUTES = (
    *("name", "reload_dir", "keras_model_file", "data_dir", "src_dir"),
    *("num_classes", "batch_size"),
)


class MethodNames(NamedTuple):
    """Names of the methods."""

    build: str
    data: str
    train: str  # optional: otherwise a recipe trains it
    data_format: str  # of images


OWN = MethodNames("build_model", "load_data", "train", "")
HPVM = MethodNames("buildModel", "data_preprocess", "trainModel", "channels_first")


class BenchmarkClass(msgspec.Struct, frozen=True):
    """Such a class as a workload; its file is run in a worker only."""

    path: Path
    name: str
    summary: str
    naming: MethodNames
    attributes: Mapping[str, Value]  # those with literal values
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
        """Expected accuracy in percent; 0 if the class has none."""
        return float(self.attributes.get("expected", 0.0))

    def lacks(
        self, params: Mapping[str, Value], evaluation: Evaluation, home: Path | None = None
    ) -> str:
        return ""  # only its methods know what it needs

    @property
    def recipe(self) -> Recipe | None:
        return None

    @property
    def kinds(self) -> Mapping[str, Builder]:
        return {"keras": self._job}

    def _job(self, batch_size: int, seed: int, weights: str) -> Job:
        from assay.workloads.user import _benchmark_object

        benchmark = _benchmark_object.make_object(
            getattr(self.module(self.path), self.name), self.naming
        )
        return _benchmark_object.job(benchmark, batch_size, weights)


def is_benchmark(definition: ast.ClassDef, tree: ast.Module) -> bool:
    return _naming(_family(definition, tree)[0]) is not None


def benchmark_class(
    path: Path, tree: ast.Module, definition: ast.ClassDef, module: Callable[[Path], Any]
) -> BenchmarkClass:
    """The class as a workload; an error names a missing method."""
    family, whole = _family(definition, tree)
    methods = {name for part in family for name in _methods(part)}
    way = _naming(family)
    assert way is not None
    if whole:
        check_methods(definition.name, way, methods)
    attributes: dict[str, Value] = {}
    for part in reversed(family):
        attributes |= _values(part)
    return BenchmarkClass(
        path=path,
        name=definition.name,
        summary=(ast.get_docstring(definition) or "a benchmark of your own").splitlines()[0],
        naming=way,
        attributes=attributes,
        trains_itself=way.train in methods or not whole,
        module=module,
    )


def check_methods(name: str, way: MethodNames, methods: set[str]) -> None:
    for needed, example in ((way.build, "the Keras model"), (way.data, "the images and labels")):
        if needed not in methods:
            raise UsageError(
                f"The benchmark class {name} has no method {needed}.",
                hint=f"Add: def {needed}(self): … which returns {example}.",
            )


def _naming(family: list[ast.ClassDef]) -> MethodNames | None:
    """By its methods; None: it is no benchmark class."""
    methods = {name for part in family for name in _methods(part)}
    return next((way for way in (OWN, HPVM) if methods & {way.build, way.data}), None)


def _family(definition: ast.ClassDef, tree: ast.Module) -> tuple[list[ast.ClassDef], bool]:
    """The class and its bases in its file; and whether these are all.

    A base named Benchmark is HPVM's or assay's, which has none of the methods.
    """
    classes = {part.name: part for part in tree.body if isinstance(part, ast.ClassDef)}
    family, whole, left = [definition], True, list(definition.bases)
    while left:
        base = left.pop(0)
        name = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
        if name in classes and classes[name] not in family:
            family.append(classes[name])
            left += classes[name].bases
        else:
            whole = whole and name in {"Benchmark", "object"}
    return family, whole


def _methods(definition: ast.ClassDef) -> set[str]:
    return {part.name for part in definition.body if isinstance(part, ast.FunctionDef)}


def _values(definition: ast.ClassDef) -> dict[str, Value]:
    return {
        target.id: part.value.value
        for part in definition.body
        if isinstance(part, ast.Assign) and isinstance(part.value, ast.Constant)
        for target in part.targets
        if isinstance(target, ast.Name) and isinstance(part.value.value, str | int | float)
    }
