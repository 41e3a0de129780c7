"""Containerfile template: base, packages of the system and of Python, files, command."""

from __future__ import annotations

import json
import re

import msgspec

from assay import __version__
from assay.core.errors import UsageError

REQUIREMENTS = "requirements.txt"
VENV = "/opt/assay"
USER = "1000:1000"
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]*(=[\w.+:~-]+)?", re.ASCII)
_BASE = re.compile(r"[a-z0-9][\w./:@-]{0,255}", re.ASCII)


class ImageRecipe(msgspec.Struct, frozen=True, kw_only=True):
    """Content of an image."""

    base: str
    title: str = ""
    system: tuple[str, ...] = ()  # packages of the distribution
    requirements: str = REQUIREMENTS  # of Python, beside the Containerfile; "": none
    files: tuple[str, ...] = ()  # beside the Containerfile, copied to its working folder
    variables: dict[str, str] = {}
    command: tuple[str, ...] = ("assay", "--help")
    user: str = USER  # at run time, by number; root only builds

    def __post_init__(self) -> None:
        if not _BASE.fullmatch(self.base):
            raise UsageError(
                f"'{self.base[:80]}' is not a name of an image.", hint="As in: python:3.11-slim"
            )
        for name in self.system:
            if not _PACKAGE.fullmatch(name):
                raise UsageError(f"'{name[:80]}' is not a package of Debian.", hint="As in: g++")
        for text in (self.title, self.requirements, *self.files):
            if not text.isprintable():
                raise UsageError(f"{text!r} has control characters in it.", hint="Rename it.")


def containerfile(recipe: ImageRecipe) -> str:
    """The text of a Containerfile; external values are JSON strings or were checked."""
    head = recipe.title or "an image to measure in"
    # a base may end as another user
    lines = [f"# {head}; written by assay {__version__}", f"FROM {recipe.base}", "USER 0"]
    if recipe.system:
        lines += [
            "# the distribution's newest: a version of today is gone from its archive tomorrow",
            "# hadolint ignore=DL3008",
            "RUN apt-get update \\",
            f"    && apt-get install -y --no-install-recommends {' '.join(recipe.system)} \\",
            "    && rm -rf /var/lib/apt/lists/*",
        ]
    lines += [f"ENV PATH={VENV}/bin:$PATH", "WORKDIR /work"]
    copied = [name for name in (recipe.requirements, *recipe.files) if name]
    lines += [f"COPY {json.dumps([name, './'])}" for name in copied]
    if recipe.requirements:
        lines += [
            f"RUN python3 -m venv {VENV} \\",
            f"    && {VENV}/bin/pip install --no-cache-dir -r {recipe.requirements}",
        ]
    # any user may write there: `assay image run` has the uid of who calls it
    lines += ["ENV HOME=/work", "RUN chmod 1777 /work", f"USER {recipe.user}"]
    lines += [f"ENV {name}={_value(value)}" for name, value in sorted(recipe.variables.items())]
    return "\n".join([*lines, f"CMD {json.dumps(list(recipe.command))}"]) + "\n"


def _value(text: str) -> str:
    """Quoted; a $ would be a variable of the build."""
    return json.dumps(text).replace("$", "\\$")
