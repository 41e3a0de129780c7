"""Names: a baseline per top folder that may only shrink, and words that are replaced everywhere."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "assay"
VARIABLES = {"found", "one", "held", "told", "made"}
CONSTANTS = {"MOST", "FEWEST", "LEAST"}
# words that end like a participle, and predicates
ALLOWED = re.compile(
    r"(^|_)(open|seed|speed|need|feed|token|len|when|then|children|embed|flatten|shorten|listen"
    r"|between|two_sided|unsupported|supported|escaped_at|ready)$|^(is|are|was|has|can|check)_|^__"
)
DECORATORS = {
    "property",
    "contextmanager",
    "contextlib.contextmanager",
    "cached_property",
    "override",
}
# top folder → what is left of each kind; lower a number when names are replaced, never raise it
BASELINE: dict[str, dict[str, int]] = {}
PHRASES = {
    "picture": "image",
    "pictures": "images",
    "whole number": "integer",
    "whole numbers": "integers",
    "lacking": "missing",
    "unlike": "different",
    "verb": "command",
    "resemble each other": "are correlated",
    "carried out": "run",
    "taken down": "converted",
}


def names(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Each forbidden name with its kind."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            if _is_participle(node):
                yield "function", node.name
            parameters = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            yield from (("parameter", part.arg) for part in parameters if part.arg == "given")
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            if node.id in VARIABLES:
                yield "variable", node.id
            elif node.id in CONSTANTS:
                yield "constant", node.id


def _is_participle(node: ast.FunctionDef) -> bool:
    decorated = {ast.unparse(part).partition("(")[0] for part in node.decorator_list}
    return (
        not node.name.startswith("_")
        and bool(re.search(r"(ed|en)$", node.name))
        and not ALLOWED.search(node.name)
        and not decorated & DECORATORS
    )


def counts() -> dict[str, dict[str, int]]:
    kinds: dict[str, Counter[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        folder = path.relative_to(PACKAGE).parts[0]
        for kind, _ in names(ast.parse(path.read_text())):
            kinds.setdefault(folder, Counter())[kind] += 1
    return {folder: dict(sorted(counter.items())) for folder, counter in kinds.items()}
