"""Check that the description of an exported program is only data.

torch.export makes Python source of its names and guards, evaluates its expressions, imports what
its trees name and looks up what its nodes call. Each of these texts must have a form that can only
call operators and arithmetic; a text in an unknown field must be a plain word.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORD = re.compile(r"[A-Za-z0-9_.:+-]*")  # no brackets, quotes and blanks, so nothing is called
_FORMULA = re.compile(r"[A-Za-z0-9_ .,'\[\]()<>=!+*/%&|~^-]*")
_SYMBOL = re.compile(r"[a-z]{1,3}[0-9]+")
_NUMBER = re.compile(r"-?[0-9.]+([eE][+-]?[0-9]+)?")
_OPERATOR = re.compile(
    r"torch\.ops\.(?P<space>\w+)\.(?P<name>\w+)\.(?P<overload>\w+)|_operator\.(?P<plain>\w+)"
    r"|math\.[a-z]\w*|torch\._?sym_\w+",
    re.ASCII,
)
_CONTROL_FLOW = {
    f"torch.ops.higher_order.{name}"
    for name in (
        *("cond", "while_loop", "map_impl", "scan", "associative_scan", "flex_attention"),
        *("wrap_with_set_grad_enabled", "wrap_with_autocast"),
    )
}
_NAMESPACES = {"aten", "prims", "quantized_decomposed", "torchvision"}
# of Python's module `operator`: arithmetic and comparisons only
_ARITHMETIC = re.compile(
    r"abs|add|and_|eq|floordiv|ge|getitem|gt|index|invert|le|lshift|lt|mod|mul|ne|neg|not_|"
    r"or_|pos|pow|rshift|sub|truediv|xor"
)
_SYMPY = re.compile(
    r"Symbol|Integer|Float|Rational|Add|Mul|Pow|Max|Min|Mod|Abs|floor|ceiling|sqrt|And|Or|"
    r"Not|Xor|Eq|Ne|Lt|Le|Gt|Ge|Equality|Unequality|StrictLessThan|LessThan|"
    r"StrictGreaterThan|GreaterThan|true|false|True|False|oo|int_oo|Infinity|"
    r"NegativeInfinity|Piecewise|ExprCondPair|Tuple|FloorDiv|ModularIndexing|Where|"
    r"PythonMod|CleanDiv|CeilToInt|FloorToInt|CeilDiv|LShift|RShift|PowByNatural|FloatPow|"
    r"FloatTrueDiv|IntTrueDiv|IsNonOverlappingAndDenseIndicator|TruncToFloat|TruncToInt|"
    r"RoundToInt|RoundDecimal|ToFloat|Identity|BitwiseFn_bitwise_and|BitwiseFn_bitwise_or"
)
_TREES = {
    *("builtins.tuple", "builtins.list", "builtins.dict", "collections.OrderedDict"),
    *("collections.namedtuple", "collections.deque"),
    *(f"torch.fx.immutable_collections.immutable_{kind}" for kind in ("list", "dict")),
}
_SIZES = {"size", "stride", "storage_offset"}
_FUNCTIONS = {"min", "max", "abs", "int", "float", "round"}
_EXPRESSIONS = (
    *(ast.Expression, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Load),
    *(ast.operator, ast.unaryop, ast.boolop, ast.cmpop),
)


class RefusedError(Exception):
    """A program that is not only data; the text says why."""


def check_description(document: Any) -> set[str]:
    """The operators that it calls. Raises RefusedError if it is not only data."""
    operators: set[str] = set()
    for key, text in _texts(document, ""):
        if key in _OPERATORS:
            operators.add(_operator(text))
        else:
            _CHECKS.get(key, _word)(text)
    return operators


def check_words(document: Any) -> None:
    """Raise RefusedError unless all texts of a document are plain words."""
    for _, text in _texts(document, ""):
        _word(text)


def _texts(document: Any, key: str) -> Iterator[tuple[str, str]]:
    """Each text with the name of its field; keys of mappings are texts too."""
    if isinstance(document, dict):
        for name, value in document.items():
            if name in {"as_custom_obj", "custom_obj"}:
                raise RefusedError("it holds an object of a custom class")
            yield "", name
            yield from _texts(value, name)
    elif isinstance(document, list):
        for value in document:
            yield from _texts(value, key)
    elif isinstance(document, str):
        yield key, document


def _word(text: str) -> None:
    if not _WORD.fullmatch(text):
        raise RefusedError(f"it has a name that is none: {_short(text)}")


def _identifier(text: str) -> None:
    if text and not _IDENTIFIER.fullmatch(text):
        raise RefusedError(f"it has a name that is none: {_short(text)}")


def _line(text: str) -> None:
    if not text.isprintable():
        raise RefusedError(f"it has a text with control characters: {_short(text)}")


def _lines(text: str) -> None:
    for line in text.split("\n"):
        _line(line.replace("\t", " "))


def _json_lines(text: str) -> None:
    for _, inner in _texts(_load_json(text), ""):
        _line(inner)


def _operator(text: str) -> str:
    parts = _OPERATOR.fullmatch(text)
    known = parts and (
        (parts["space"] is None or parts["space"] in _NAMESPACES)
        and (parts["plain"] is None or _ARITHMETIC.fullmatch(parts["plain"]))
    )
    if not known and text not in _CONTROL_FLOW:
        raise RefusedError(f"it calls {_short(text)}, which is no operator of torch")
    return text


def _tree(text: str) -> None:
    """A tree of inputs: torch imports the names of enumerations and default factories."""
    match _load_json(text):
        case [int(), dict() as tree]:
            _branch(tree)
        case _:
            raise RefusedError(f"it has a tree that is none: {_short(text)}")


def _branch(tree: Any) -> None:
    if not isinstance(tree, dict) or tree.get("type") not in {None, *_TREES}:
        raise RefusedError(f"its inputs or outputs are in {_short(str(tree))}")
    context = tree.get("context")
    if isinstance(context, str) and not _IDENTIFIER.fullmatch(context):
        context = None if _WORD.fullmatch(context) and "." in context else _load_json(context)
    for part in context if isinstance(context, list) else [context]:
        if not isinstance(part, str | int | None):
            raise RefusedError(f"its inputs or outputs need {_short(str(part))}")
        _word(str(part))
    for child in tree.get("children_spec", ()):
        _branch(child)


def _expression(text: str) -> None:
    """A size, which torch passes to sympy, which evaluates it."""
    for node in ast.walk(_parse(text)):
        match node:
            case ast.Call(func=ast.Name()) | ast.keyword(value=ast.Constant()):
                pass
            case ast.Name(id=name) if _SYMPY.fullmatch(name) or _SYMBOL.fullmatch(name):
                pass
            case ast.Constant(value=str(inner)):  # sympy may evaluate it again
                if not _IDENTIFIER.fullmatch(inner) and not _NUMBER.fullmatch(inner):
                    raise _refusal(text)
            case ast.Constant():
                pass
            case _ if not isinstance(node, _EXPRESSIONS):
                raise _refusal(text)


def _guard(text: str) -> None:
    """A condition on sizes of inputs, of which torch makes a function."""
    for node in ast.walk(_parse(text)):
        if not isinstance(node, _EXPRESSIONS) and not _compares_sizes(node):
            raise _refusal(text)


def _compares_sizes(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute() | ast.Name(), keywords=[]) | ast.Subscript():
            return True  # the nodes below are checked too
        case ast.Attribute(value=ast.Name(id="math"), attr=name):
            return not name.startswith("_")
        case ast.Attribute(attr=name):
            return name in _SIZES
        case ast.Name(id=name):
            return name in {"L", "math", *_FUNCTIONS}
        case ast.Constant(value=str(name)):
            return _WORD.fullmatch(name) is not None
    return isinstance(node, ast.Constant)


def _parse(text: str) -> ast.Expression:
    if not _FORMULA.fullmatch(text):
        raise _refusal(text)
    try:
        return ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _refusal(text) from None


def _load_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise RefusedError(f"it has a text that is no JSON: {_short(text)}") from None


def _refusal(text: str) -> RefusedError:
    return RefusedError(f"it has an expression that is more than sizes: {_short(text)}")


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:60]}…")


_OPERATORS = {"target", "as_operator"}
_CHECKS: dict[str, Callable[[str], None]] = {
    **dict.fromkeys(("name", "as_name", "forward_arg_names"), _identifier),
    **dict.fromkeys(("in_spec", "out_spec"), _tree),
    "expr_str": _expression,
    "guards_code": _guard,
    **dict.fromkeys(("as_string", "as_strings"), _line),
    # the origin of a node, which is shown in comments of code
    **dict.fromkeys(("nn_module_stack", "source_fn_stack", "torch_fn"), _line),
    **dict.fromkeys(("from_node", "custom"), _json_lines),
    "stack_trace": _lines,
}
