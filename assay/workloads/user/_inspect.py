"""Inspect a definition in a user's file by its source, without running it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from assay.core.errors import UsageError
from assay.core.records import Value

KINDS = ("keras", "torch", "jax", "tensorflow", "python")
# A file that imports the package has models of the framework.
_BELONGS = {
    **{kind: kind for kind in KINDS},
    **dict.fromkeys(("flax", "equinox", "haiku"), "jax"),
    **dict.fromkeys(("transformers", "torchvision", "timm", "lightning"), "torch"),
}
PLAIN = ("python",)  # no framework
PURE = frozenset(KINDS) - {"keras"}  # models can be plain functions
MODELS = frozenset(KINDS) - {"python"}  # classes can be models
SUPPLIED = frozenset({"self", "batch_size", "seed", "key", "rngs"})  # arguments from assay
Definition = ast.FunctionDef | ast.ClassDef

# How to get the model: call it; call the object's method for the framework; or use it itself.
Making = Literal["call", "methods", "itself"]


class DefinitionInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A function or class of a file."""

    making: Making
    kinds: tuple[str, ...]
    params: dict[str, Value]
    summary: str
    example: Literal["", "value", "function"] = ""  # the kind of example in its file


def inspect_definition(definition: Definition, tree: ast.Module, file: str) -> DefinitionInfo:
    if isinstance(definition, ast.FunctionDef):
        itself = bool(_required_arguments(definition))
        kinds = _imported_kinds(tree)
        kinds = tuple(kind for kind in kinds if kind in PURE) if itself else kinds
        return _make_info(
            definition, tree, "itself" if itself else "call", kinds or PLAIN, [definition]
        )
    methods = {part.name: part for part in definition.body if isinstance(part, ast.FunctionDef)}
    makers = {kind: methods[kind] for kind in KINDS if kind in methods}
    if makers:
        return _make_info(definition, tree, "methods", tuple(makers), list(makers.values()))
    kind = _class_kind(definition, tree, set())
    if not kind:
        raise UsageError(
            f"{definition.name} in {file} is no model, and has none of the methods "
            f"{', '.join(KINDS)}.",
            hint="Derive it from torch.nn.Module or another framework's, or add the method that "
            "builds your model, as in: def keras(self, units=64): …",
        )
    made_by: Definition = methods.get("__init__", definition)
    _check_defaults(definition.name, file, made_by)
    return _make_info(definition, tree, "call", (kind,), [made_by])


def _make_info(
    definition: Definition,
    tree: ast.Module,
    making: Making,
    kinds: tuple[str, ...],
    makers: Sequence[Definition],
) -> DefinitionInfo:
    params: dict[str, Value] = {}
    for maker in makers if making != "itself" else []:
        params |= _defaults(maker)
    return DefinitionInfo(
        making=making,
        kinds=kinds,
        params=params,
        summary=(ast.get_docstring(definition) or "a workload of your own").splitlines()[0],
        example=_example(definition, tree),
    )


def _check_defaults(name: str, file: str, maker: Definition) -> None:
    missing = _required_arguments(maker)
    if missing:
        raise UsageError(
            f"{name} in {file} cannot be built: {missing[0]} has no default.",
            hint=f"Give it one, as in {missing[0]}=64, or name a function that builds {name}.",
        )


def _example(definition: Definition, tree: ast.Module) -> Literal["", "value", "function"]:
    """Its own, in the class or set on the name, else the file's."""
    own = definition.body if isinstance(definition, ast.ClassDef) else []
    for body, target in ((own, "example"), (tree.body, f"{definition.name}.example")):
        if form := _example_form(body, target):
            return form
    return _example_form(tree.body, "example")


def _example_form(body: list[ast.stmt], name: str) -> Literal["", "value", "function"]:
    for part in body:
        if isinstance(part, ast.FunctionDef) and part.name == name:
            return "function"
        if isinstance(part, ast.Assign) and name in map(ast.unparse, part.targets):
            return "function" if isinstance(part.value, ast.Lambda | ast.Name) else "value"
    return ""


def _class_kind(definition: ast.ClassDef, tree: ast.Module, seen: set[str]) -> str:
    """The framework of a class, by the origin of its bases; "" if none."""
    origins = dict(_origins(tree))
    classes = {part.name: part for part in tree.body if isinstance(part, ast.ClassDef)}
    for base in definition.bases:
        root = ast.unparse(base).partition(".")[0]
        if root in classes and root not in seen:
            kind = _class_kind(classes[root], tree, {*seen, root})
        else:
            kind = _BELONGS.get(origins.get(root, ""), "")
            unknown = root in origins and origins[root] not in _BELONGS
            kind = next(iter(_imported_kinds(tree)), "") if unknown else kind
        if kind in MODELS:
            return kind
    return ""


def _origins(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """A name that an import binds → the package it comes from."""
    for part in ast.walk(tree):
        if isinstance(part, ast.Import):
            for alias in part.names:
                package = alias.name.partition(".")[0]
                yield alias.asname or package, package
        elif isinstance(part, ast.ImportFrom):
            for alias in part.names:
                yield alias.asname or alias.name, (part.module or "").partition(".")[0]


def _imported_kinds(tree: ast.Module) -> tuple[str, ...]:
    """The frameworks of a plain function: those that its file imports, else plain Python."""
    belong = {_BELONGS.get(package, "") for _, package in _origins(tree)}
    return tuple(kind for kind in KINDS if kind in belong) or PLAIN


def _required_arguments(maker: Definition) -> list[str]:
    """Arguments without a default that assay does not supply."""
    if isinstance(maker, ast.ClassDef):  # a dataclass, such as a module of flax
        fields = [part for part in maker.body if isinstance(part, ast.AnnAssign)]
        names = [ast.unparse(part.target) for part in fields if part.value is None]
    else:
        arguments = [*maker.args.posonlyargs, *maker.args.args]
        without = len(arguments) - len(maker.args.defaults)
        names = [argument.arg for argument in arguments[:without]]
        names += [
            argument.arg
            for argument, default in zip(maker.args.kwonlyargs, maker.args.kw_defaults, strict=True)
            if default is None
        ]
    return [name for name in names if name not in SUPPLIED]


def _defaults(maker: Definition) -> dict[str, Value]:
    """Arguments or fields whose default is a literal."""
    pairs: list[tuple[str, ast.expr | None]]
    if isinstance(maker, ast.ClassDef):
        fields = [part for part in maker.body if isinstance(part, ast.AnnAssign)]
        pairs = [(ast.unparse(part.target), part.value) for part in fields]
    else:
        arguments = [*maker.args.posonlyargs, *maker.args.args]
        last = zip(reversed(arguments), reversed(maker.args.defaults), strict=False)
        pairs = []
        pairs += reversed([(argument.arg, default) for argument, default in last])
        keyword = zip(maker.args.kwonlyargs, maker.args.kw_defaults, strict=True)
        pairs += [(argument.arg, default) for argument, default in keyword]
    return {
        name: value.value
        for name, value in pairs
        if isinstance(value, ast.Constant) and isinstance(value.value, str | int | float)
    }
