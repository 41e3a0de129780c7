"""What a name in a user's file is, read from the file's text: nothing of it is run here."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from assay.core.errors import UsageError
from assay.core.records import Value

KINDS = ("keras", "torch", "jax", "tensorflow", "python")
# Whoever imports these has models of that framework.
_BELONGS = {
    **{kind: kind for kind in KINDS},
    **dict.fromkeys(("flax", "equinox", "haiku"), "jax"),
    **dict.fromkeys(("transformers", "torchvision", "timm", "lightning"), "torch"),
}
PLAIN = ("python",)  # made for no framework
PURE = frozenset(KINDS) - {"keras"}  # whose models can be plain functions
MODELS = frozenset(KINDS) - {"python"}  # whose classes can be models
SUPPLIED = frozenset({"self", "batch_size", "seed", "key", "rngs"})  # arguments no user gives
Definition = ast.FunctionDef | ast.ClassDef

# How a name becomes a model: called; a method of its object for each framework; or it is one.
Making = Literal["call", "methods", "itself"]


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A function or class of a file."""

    making: Making
    kinds: tuple[str, ...]
    params: dict[str, Value]
    summary: str
    example: Literal["", "value", "function"] = ""  # how its file names an example for it


def look_at(found: Definition, tree: ast.Module, file: str) -> Found:
    if isinstance(found, ast.FunctionDef):
        itself = bool(_required(found))
        kinds = _imported(tree)
        kinds = tuple(kind for kind in kinds if kind in PURE) if itself else kinds
        return _found(found, tree, "itself" if itself else "call", kinds or PLAIN, [found])
    methods = {part.name: part for part in found.body if isinstance(part, ast.FunctionDef)}
    makers = {kind: methods[kind] for kind in KINDS if kind in methods}
    if makers:
        return _found(found, tree, "methods", tuple(makers), list(makers.values()))
    kind = _class_kind(found, tree, set())
    if not kind:
        raise UsageError(
            f"{found.name} in {file} is no model, and has none of the methods {', '.join(KINDS)}.",
            hint="Derive it from torch.nn.Module or another framework's, or add the method that "
            "builds your model, as in: def keras(self, units=64): …",
        )
    made_by: Definition = methods.get("__init__", found)
    _refuse_required(found.name, file, made_by)
    return _found(found, tree, "call", (kind,), [made_by])


def _found(
    found: Definition,
    tree: ast.Module,
    making: Making,
    kinds: tuple[str, ...],
    makers: Sequence[Definition],
) -> Found:
    params: dict[str, Value] = {}
    for maker in makers if making != "itself" else []:
        params |= _defaults(maker)
    return Found(
        making=making,
        kinds=kinds,
        params=params,
        summary=(ast.get_docstring(found) or "a workload of your own").splitlines()[0],
        example=_example(found, tree),
    )


def _refuse_required(name: str, file: str, maker: Definition) -> None:
    lacking = _required(maker)
    if lacking:
        raise UsageError(
            f"{name} in {file} cannot be built: {lacking[0]} has no default.",
            hint=f"Give it one, as in {lacking[0]}=64, or name a function that builds {name}.",
        )


def _example(found: Definition, tree: ast.Module) -> Literal["", "value", "function"]:
    """Of its own, as a part of the class or set on the name; else the file's."""
    own = found.body if isinstance(found, ast.ClassDef) else []
    for body, target in ((own, "example"), (tree.body, f"{found.name}.example")):
        if said := _named(body, target):
            return said
    return _named(tree.body, "example")


def _named(body: list[ast.stmt], name: str) -> Literal["", "value", "function"]:
    for part in body:
        if isinstance(part, ast.FunctionDef) and part.name == name:
            return "function"
        if isinstance(part, ast.Assign) and name in map(ast.unparse, part.targets):
            return "function" if isinstance(part.value, ast.Lambda | ast.Name) else "value"
    return ""


def _class_kind(found: ast.ClassDef, tree: ast.Module, seen: set[str]) -> str:
    """Whose model a class is, by where its bases come from; "" if of no framework."""
    origins = dict(_origins(tree))
    classes = {part.name: part for part in tree.body if isinstance(part, ast.ClassDef)}
    for base in found.bases:
        root = ast.unparse(base).partition(".")[0]
        if root in classes and root not in seen:
            kind = _class_kind(classes[root], tree, {*seen, root})
        else:
            kind = _BELONGS.get(origins.get(root, ""), "")
            unknown = root in origins and origins[root] not in _BELONGS
            kind = next(iter(_imported(tree)), "") if unknown else kind
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


def _imported(tree: ast.Module) -> tuple[str, ...]:
    """What a plain function is made for: the frameworks its file imports, else plain Python."""
    belong = {_BELONGS.get(package, "") for _, package in _origins(tree)}
    return tuple(kind for kind in KINDS if kind in belong) or PLAIN


def _required(maker: Definition) -> list[str]:
    """Arguments that only the user could give."""
    if isinstance(maker, ast.ClassDef):  # a dataclass, as flax' modules are
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
    """Arguments, or fields, whose default is a plain value."""
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
