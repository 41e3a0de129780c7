"""Make a section of CHANGELOG.md from changelog.d/: `python tools/release.py 0.1.0`.

Fragments are `ISSUE-WORD.md`, one sentence each; they go into the section in the order of their
issues, and are removed. The version in assay/__init__.py is set with it.
"""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parent.parent


def main() -> None:
    version = sys.argv[1] if len(sys.argv) == 2 else ""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise SystemExit("usage: python tools/release.py X.Y.Z")
    release(ROOT, version, datetime.now(UTC).date().isoformat())


def release(root: Path, version: str, day: str) -> None:
    fragments = sorted((root / "changelog.d").glob("*-*.md"), key=_order)
    if not fragments:
        raise SystemExit("changelog.d/ holds nothing to release.")
    changelog = root / "CHANGELOG.md"
    changelog.write_text(with_section(changelog.read_text(), version, day, fragments))
    _set_version(root / "assay" / "__init__.py", version)
    for file in fragments:
        file.unlink()


def with_section(text: str, version: str, day: str, fragments: list[Path]) -> str:
    """The changelog with a new section above the older ones; a released one is not made twice."""
    head, *sections = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    if any(section.startswith(f"## {version} ") for section in sections):
        raise SystemExit(f"{version} is in the changelog already.")
    older = "".join(section for section in sections if "-unreleased" not in section)
    lines = [f"- {file.read_text().strip()}" for file in fragments]
    return (
        f"{head}## {version} ({day})\n\n"
        + "\n".join(lines)
        + "\n"
        + (f"\n{older}" if older else "")
    )


def _order(file: Path) -> tuple[int, str]:
    number, _, word = file.stem.partition("-")
    return int(number), word


def _set_version(file: Path, version: str) -> None:
    text = re.sub(
        r'^__version__ = ".*"', f'__version__ = "{version}"', file.read_text(), flags=re.M
    )
    file.write_text(text)


if __name__ == "__main__":
    main()
