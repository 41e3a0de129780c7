"""Import a file of another tool: detect its format, read its results, store both."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from assay.core import registry
from assay.core.contracts import Store
from assay.core.errors import UsageError
from assay.core.formats import MAX_BYTES, Content, Format
from assay.core.records import Plan, Query, Result
from assay.core.redaction import safe_text
from assay.core.systems import flags
from assay.core.units import human
from assay.measure.machine.environment import safe_tags
from assay.stores import folders

READ_LINKS = flags(os, ("O_RDONLY", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
SOURCE = "source"  # tag: digest of the file that a result was imported from


class ForeignFile(NamedTuple):
    kind: str
    data: bytes
    results: list[Result]  # without ids


def read_file(path: Path, kind: str = "") -> ForeignFile:
    """The kind is detected by the content unless it is given."""
    data, written = _read(path)
    content = Content(origin=str(path), data=data)
    format_name = kind or _kind(content)
    results = [
        result if result.started else msgspec.structs.replace(result, started=written)
        for result in _results(content, format_name)
    ]
    return ForeignFile(format_name, data, results)


def keep_file(
    store: Store, path: Path, kind: str = "", label: str = "", tags: Mapping[str, str] | None = None
) -> list[str]:
    """Store the results of a file as a run, with the file; a second import returns the same ids."""
    file = read_file(path, kind)
    digest = hashlib.sha256(file.data).hexdigest()[:16]
    known = [result.id for result in store.results(Query(tags={SOURCE: digest}))]
    if known:
        return known
    marks, label = {**safe_tags(dict(tags or {})), SOURCE: digest}, safe_text(label)
    plan = Plan(cases=tuple(r.case for r in file.results), label=label, tags=marks, verb="import")
    run = store.new_run(plan)
    file_format = registry.file_format(file.kind)
    store.keep_document(run.name, f"source{file_format.suffix}", file.data)
    ids = []
    for result in file.results:
        case_dir = folders.new_case(run)
        store.append(
            msgspec.structs.replace(result, id=case_dir.id, label=label or result.label, tags=marks)
        )
        ids.append(case_dir.id)
    return ids


def _read(path: Path) -> tuple[bytes, str]:
    """Content and time of a plain file, up to MOST_BYTES: a device or a pipe may never end."""
    try:
        with open(os.open(path, READ_LINKS), "rb") as file:
            info = os.fstat(file.fileno())
            if not stat.S_ISREG(info.st_mode):
                raise UsageError(f"{path} is no plain file.", hint="Give a file, or a run folder.")
            data = file.read(MAX_BYTES + 1) if info.st_size <= MAX_BYTES else b""
            size = max(info.st_size, len(data))
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read ({error.strerror}).", hint="Give a file, or a run folder."
        ) from None
    if size > MAX_BYTES:
        raise UsageError(
            f"{path} has {human(size, 'B')}, but up to {human(MAX_BYTES, 'B')} are read.",
            hint="Split it, or import the files it was made from.",
        )
    if not data.strip():
        raise UsageError(f"{path} is empty.", hint="There is nothing to import in it.")
    return data, datetime.fromtimestamp(info.st_mtime, UTC).isoformat(timespec="milliseconds")


def _kind(content: Content) -> str:
    formats, _ = registry.all_plugins("formats")
    matching = [
        name
        for name, file_format in formats.items()
        if file_format.matches and file_format.matches(content)
    ]
    if len(matching) == 1:
        return matching[0]
    known = [name for name, file_format in formats.items() if file_format.read]
    if matching:
        raise content.wrong(
            f"could be a file of {' or of '.join(matching)}", hint=f"Say which: --as {matching[0]}"
        )
    if content.data.lstrip()[:1] in (b"{", b"[") and content.json is None:
        raise content.wrong("begins as JSON, but is cut off or damaged", hint="Copy it again.")
    raise content.wrong("is no file of a known kind", hint=f"Known: {', '.join(known)}.")


def _results(content: Content, kind: str) -> list[Result]:
    file_format: Format = registry.file_format(kind)
    if file_format.read is None or file_format.matches is None:
        raise UsageError(f"Files of {kind} are only written here.", hint="assay import --help")
    if not file_format.matches(content):
        raise content.wrong(f"is no file of {kind}", hint="Leave --as out to detect the kind.")
    results = list(file_format.read(content))
    if not results:
        raise content.wrong("holds no result")
    return results
