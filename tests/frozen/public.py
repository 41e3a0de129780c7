"""Names that programs of others import: `python -m tests.frozen.public` writes data/public.json.

Of `assay`: every public name, and of functions the names of their parameters. Of other modules:
what docs, examples and foreign/ import from there.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import re
from pathlib import Path
from typing import Any

import assay
from tests.frozen import inside

ROOT = Path(__file__).parents[2]
FILE = Path(__file__).parent / "data" / "public.json"
_IMPORT = re.compile(r"^\s*from (assay(?:\.\w+)+) import (\w+(?:, \w+)*)", re.MULTILINE)


def main() -> None:
    record = {"assay": public(), "documented": documented()}
    FILE.write_text(json.dumps(record, indent=1) + "\n")


def recorded() -> dict[str, Any]:
    record: dict[str, Any] = json.loads(FILE.read_text())
    return record


def public() -> dict[str, list[str]]:
    """Public name → names of its parameters; without those of a class."""
    return {name: parameters(getattr(assay, name)) for name in assay.__all__}


def parameters(value: object) -> list[str]:
    return sorted(inside.keywords(value)) if inspect.isfunction(value) else []


def documented() -> dict[str, list[str]]:
    """Module → names that pages for users, examples and packages beside assay import from it."""
    pages = [*ROOT.glob("docs/*.md"), ROOT / "README.md"]
    pages += [*ROOT.glob("examples/**/*.py"), *ROOT.glob("foreign/**/*.py")]
    names: dict[str, set[str]] = {}
    for page in pages:
        for module, imported in _IMPORT.findall(page.read_text()):
            names.setdefault(module, set()).update(imported.split(", "))
    return {module: sorted(used) for module, used in sorted(names.items())}


def importable(module: str, name: str) -> bool:
    if hasattr(importlib.import_module(module), name):
        return True
    return importlib.util.find_spec(f"{module}.{name}") is not None


if __name__ == "__main__":
    main()
