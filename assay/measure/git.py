"""Clone and update git repositories of benchmarks, without losing local edits."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from assay.core.errors import AssayError, NotPossibleError, UsageError
from assay.core.redaction import safe_text
from assay.formats.perfzero.setup import Repository

Git = Callable[..., str]  # arguments, folder → standard output; raises AssayError
Info = dict[str, str | bool]


def check_out(repository: Repository, cached: bool = False, git: Git | None = None) -> Info:
    """Clone, or update unless `cached`; then reset to the commit. Edits are left alone."""
    ask = git or run_git
    folder = repository.folder
    known = folder.exists()
    if known:
        _check_remote(repository, ask)
        if has_local_changes(folder, ask):
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
    ask = git or run_git
    return {
        "url": safe_text(ask("config", "--get", "remote.origin.url", folder=folder)),
        "branch": safe_text(ask("rev-parse", "--abbrev-ref", "HEAD", folder=folder)),
        "hash": ask("rev-parse", "HEAD", folder=folder),
    }


def has_local_changes(folder: Path, git: Git) -> bool:
    """Changed files, or commits on no remote: a reset would lose either."""
    if git("status", "--porcelain", "--untracked-files=no", folder=folder):
        return True
    return git("rev-list", "--count", "HEAD", "--not", "--remotes", folder=folder) != "0"


def run_git(*words: str, folder: Path | None = None) -> str:
    """Run git without a shell and without password prompts."""
    command = ["git", *(["-C", str(folder)] if folder else []), *words]
    try:
        process = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "GIT_TERMINAL_PROMPT": "0"},
        )
    except FileNotFoundError:
        raise NotPossibleError("git is not installed.", hint="Install git.") from None
    if process.returncode:
        lines = process.stderr.strip().splitlines() or ["no message"]
        raise AssayError(
            f"git {words[0]} failed: {safe_text(lines[-1])}.",
            hint=f"To see it: {safe_text(' '.join(command))}",
        )
    return process.stdout.strip()


def _update(folder: Path, git: Git) -> None:
    """A tag or a commit cannot be pulled, only fetched."""
    if git("rev-parse", "--abbrev-ref", "HEAD", folder=folder) == "HEAD":
        git("fetch", "--tags", folder=folder)
    else:
        git("pull", "--rebase", folder=folder)


def _check_remote(repository: Repository, git: Git) -> None:
    url = git("config", "--get", "remote.origin.url", folder=repository.folder)
    if url != repository.url:
        raise UsageError(
            f"{repository.folder} is a checkout of {safe_text(url)}, not of "
            f"{safe_text(repository.url)}.",
            hint="Choose another workspace, or move that folder away.",
        )
