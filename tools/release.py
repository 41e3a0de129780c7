"""Make a section of CHANGELOG.md from changelog.d/: `python tools/release.py 0.1.0`.

Fragments are `ISSUE-WORD.KIND.md`, one sentence each; they go into the section by kind, in the
order of their issues, and are removed. The version in assay/__init__.py and CITATION.cff is set
with it. Group and merge the entries before you commit.
"""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parent.parent
KINDS = ("added", "changed", "fixed")


def main() -> None:
    version = sys.argv[1] if len(sys.argv) == 2 else ""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise SystemExit("usage: python tools/release.py X.Y.Z")
    release(ROOT, version, datetime.now(UTC).date().isoformat())


def release(root: Path, version: str, day: str) -> None:
    fragments = fragment_files(root)
    if wrong := [file.name for file in fragments if kind(file) not in KINDS]:
        raise SystemExit(f"{wrong[0]}: the name ends with .KIND.md, KIND of {', '.join(KINDS)}.")
    if not fragments:
        raise SystemExit("changelog.d/ holds nothing to release.")
    changelog = root / "CHANGELOG.md"
    changelog.write_text(with_section(changelog.read_text(), version, day, fragments))
    _replace(
        root / "assay" / "__init__.py", r'(?m)^__version__ = ".*"', f'__version__ = "{version}"'
    )
    _replace(root / "CITATION.cff", r"(?m)^version: .*", f"version: {version}")
    _replace(root / "CITATION.cff", r"(?m)^date-released: .*", f'date-released: "{day}"')
    for file in fragments:
        file.unlink()


def with_section(text: str, version: str, day: str, fragments: list[Path]) -> str:
    """The changelog with a new section above the older ones; a released one is not made twice."""
    head, *sections = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    if any(section.startswith(f"## {version} ") for section in sections):
        raise SystemExit(f"{version} is in the changelog already.")
    older = "".join(section for section in sections if "-unreleased" not in section)
    parts = [part for name in KINDS if (part := _part(name, fragments))]
    return f"{head}## {version} ({day})\n\n" + "\n".join(parts) + (f"\n{older}" if older else "")


def fragment_files(root: Path) -> list[Path]:
    return sorted(
        (path for path in (root / "changelog.d").iterdir() if path.name != "README.md"), key=_order
    )


def kind(file: Path) -> str:
    """`added` of 39-name.added.md."""
    return file.stem.rpartition(".")[2]


def _part(name: str, fragments: list[Path]) -> str:
    lines = [f"- {file.read_text().strip()}\n" for file in fragments if kind(file) == name]
    return f"### {name.capitalize()}\n\n{''.join(lines)}" if lines else ""


def _order(file: Path) -> tuple[int, str]:
    number, _, word = file.stem.partition("-")
    return int(number) if number.isdigit() else 0, word


def _replace(file: Path, pattern: str, text: str) -> None:
    file.write_text(re.sub(pattern, text, file.read_text()))


if __name__ == "__main__":
    main()
