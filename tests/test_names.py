"""Names: a baseline per top folder that may only shrink, and words that help and messages avoid."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "assay"
VARIABLES = {"found", "one", "held", "told", "made"}
CONSTANTS = {"MOST", "FEWEST", "LEAST"}
# words that end like a participle, verbs with an object after them, and predicates
ALLOWED = re.compile(
    r"(^|_)(open|seed|speed|need|feed|token|len|when|then|children|embed|flatten|shorten|listen"
    r"|between|unpack|two_sided|unsupported|escaped_at|hundred|screen|golden|kitten)$"
    r"|^(is|are|was|has|can|check|find|remove|print|capture|drop|kill|list|skip|mark|delete|add"
    r"|show|count|make|read|write|raise|require|warn_if|stop_when|forget|send)_"
)
DECORATORS = {
    "property",
    "cached_property",
    "functools.cached_property",
    "contextmanager",
    "contextlib.contextmanager",
    "override",
}
CONTRACT = {"unsummarized", "taken", "trusted"}  # members of a store and of a plug-in
# top folder → number of names of each kind; lower a number when names are replaced, never raise it
BASELINE: dict[str, dict[str, int]] = {
    "commands": {"variable": 1},  # CheckReport.found, which is stored
    "platforms": {"variable": 1},  # Machine.made, which is printed as JSON
}
SLACK = 25  # names that may be replaced before BASELINE has to follow
# word → what help and messages say instead
WORDS = {
    r"pictures?": "image",
    r"whole numbers?": "integer",
    r"letters of": "characters of",
    r"lacking": "missing",
    r"unlike": "different",
    r"verbs?": "command",
    r"told": "reported",
    r"makings?": "implementation",
    r"foretold": "predicted",
    r"resembles? each other": "is correlated",
    r"carr(y|ied) out": "run",
    r"taken down": "converted",
    r"gone on with": "resumed",
}
PATTERN = re.compile(rf"\b({'|'.join(WORDS)})\b", re.IGNORECASE)


def names(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Each name of a forbidden kind with that kind."""
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
        and node.name not in CONTRACT
        and not decorated & DECORATORS
        and ast.unparse(node.returns or ast.Constant(None)) != "bool"
    )


def count_names() -> dict[str, dict[str, int]]:
    kinds: dict[str, Counter[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        folder = path.relative_to(PACKAGE).parts[0]
        for kind, _ in names(ast.parse(path.read_text())):
            kinds.setdefault(folder, Counter())[kind] += 1
    return {folder: dict(sorted(counter.items())) for folder, counter in kinds.items()}


def test_the_baseline_of_names_only_shrinks():
    counts = count_names()
    limits = {(folder, kind): n for folder, kinds in BASELINE.items() for kind, n in kinds.items()}
    left = {(folder, kind): n for folder, kinds in counts.items() for kind, n in kinds.items()}

    assert not {place: n for place, n in left.items() if n > limits.get(place, 0)}
    assert sum(limits.values()) - sum(left.values()) <= SLACK, f"set BASELINE to {counts}"


@pytest.mark.parametrize(
    "source, kind",
    [
        ("def carried(): ...", "function"),
        ("def chosen() -> int: ...", "function"),
        ("def f(given): ...", "parameter"),
        ("def f(*, given=1): ...", "parameter"),
        ("found = 1", "variable"),
        ("for one in (): ...", "variable"),
        ("[told for told in ()]", "variable"),
        ("with f() as held: ...", "variable"),
        ("if made := 1: ...", "variable"),
        ("MOST = 3", "constant"),
    ],
)
def test_a_forbidden_name_is_counted(source, kind):
    assert [first for first, _ in names(ast.parse(source))] == [kind]


@pytest.mark.parametrize(
    "source",
    [
        "def worse_when(): ...",
        "def open(): ...",
        "def seed(): ...",
        "def top_speed(): ...",
        "def need(): ...",
        "def token(): ...",
        "def is_installed(): ...",
        "def find_packed(): ...",
        "def converged() -> bool: ...",
        "def _kept(): ...",
        "@contextmanager\ndef reserved(): ...",
        "print(found, MOST)",
    ],
)
def test_an_allowed_name_is_not_counted(source):
    assert not list(names(ast.parse(source)))


def messages(tree: ast.AST) -> Iterator[str]:
    """Texts of more than one word that are no docstring: messages, hints, notes and help."""
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    for node in texts:
        text = node.value
        if isinstance(text, str) and " " in text.strip() and id(node) not in docstrings:
            yield text


def test_messages_use_the_words_of_the_field():
    texts = [
        (str(path.relative_to(ROOT)), text)
        for path in sorted(PACKAGE.rglob("*.py"))
        for text in messages(ast.parse(path.read_text()))
    ]

    assert not [(path, text) for path, text in texts if PATTERN.search(text)]


def test_messages_of_compiled_programs_use_the_words_of_the_field():
    sources = sorted((PACKAGE / "native").rglob("*.[ch]pp"))
    texts = [text for path in sources for text in re.findall(r'"(.* .*)"', path.read_text())]

    assert len(texts) > 50
    assert not [text for text in texts if PATTERN.search(text)]


@pytest.mark.parametrize("page", ["commands", "workloads", "backends"])
def test_help_pages_use_the_words_of_the_field(page):
    """docs/reference is written from the help of all commands; test_project.py keeps it current."""
    text = (ROOT / "docs" / "reference" / f"{page}.md").read_text()

    assert len(text) > 1000
    assert not [match[0] for match in PATTERN.finditer(text)]
