"""Git repositories that benchmarks live in: cloned and updated, local edits are never lost."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from assay.core.errors import AssayError, NotPossibleError, UsageError
from assay.core.redaction import safe_text
from assay.formats.perfzero.setup import Repository

Git = Callable[..., str]  # words, folder → what it said; raises AssayError when it fails
Info = dict[str, str | bool]


def check_out(repository: Repository, cached: bool = False, git: Git | None = None) -> Info:
    """Clone, or update unless `cached`; then to the commit. A checkout with edits is left alone."""
    ask = git or run_git
    folder = repository.folder
    known = folder.exists()
    if known:
        _same(repository, ask)
        if edited(folder, ask):
            return {**info(folder, ask), "dirty": True}
    else:
        ask("clone", "--", repository.url, str(folder))
    if repository.branch:
        ask("checkout", repository.branch, folder=folder)
    if repository.commit or not (known and cached):
        _update(folder, ask)
    if repository.commit:
        ask("reset", "--hard", repository.commit, folder=folder)
    return info(folder, ask)


def info(folder: Path, git: Git | None = None) -> Info:
    """Where a checkout comes from and what it is at."""
    ask = git or run_git
    return {
        "url": safe_text(ask("config", "--get", "remote.origin.url", folder=folder)),
        "branch": ask("rev-parse", "--abbrev-ref", "HEAD", folder=folder),
        "hash": ask("rev-parse", "HEAD", folder=folder),
    }


def edited(folder: Path, git: Git) -> bool:
    """Changed files, or commits that no remote has: either would be lost by a reset."""
    if git("status", "--porcelain", "--untracked-files=no", folder=folder):
        return True
    return git("rev-list", "--count", "HEAD", "--not", "--remotes", folder=folder) != "0"


def run_git(*words: str, folder: Path | None = None) -> str:
    """Always a list of words and never a shell; never a question for a password either."""
    command = ["git", *(["-C", str(folder)] if folder else []), *words]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "GIT_TERMINAL_PROMPT": "0"},
        )
    except FileNotFoundError:
        raise NotPossibleError("git is not installed.", hint="Install git.") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["it said nothing"]
        raise AssayError(
            f"git {words[0]} failed: {safe_text(lines[-1])}.",
            hint=f"To see it: {safe_text(' '.join(command))}",
        )
    return done.stdout.strip()


def _update(folder: Path, git: Git) -> None:
    """A tag or a commit is no branch: there is nothing to pull, only to know of."""
    if git("rev-parse", "--abbrev-ref", "HEAD", folder=folder) == "HEAD":
        git("fetch", "--tags", folder=folder)
    else:
        git("pull", "--rebase", folder=folder)


def _same(repository: Repository, git: Git) -> None:
    kept = git("config", "--get", "remote.origin.url", folder=repository.folder)
    if kept != repository.url:
        raise UsageError(
            f"{repository.folder} is a checkout of {safe_text(kept)}, not of "
            f"{safe_text(repository.url)}.",
            hint="Choose another workspace, or move that folder away.",
        )
