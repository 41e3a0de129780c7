"""Source of a user's workload: repository, path, and digests of the files it imports.

Series are identified by repository and path, so `./bench.py:work` of two repositories is two
series, and one file is one series in every checkout and worktree of its repository.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from assay.core.contracts import Store
from assay.core.errors import AssayError, StoreError
from assay.core.files import user_path, write_atomic
from assay.core.records import Case, Query, Result, WorkloadSource
from assay.core.redaction import safe_text
from assay.core.series import StoredSeries, series_of
from assay.measure.git import run_git

ASSAY = Path(__file__).resolve().parents[1]  # its files are known by its version
MODELS = (".onnx", ".pt2", ".keras")
MAX_FILES, MAX_BYTES = 200, 1 << 20  # files of a workload, and bytes of one whose text is stored
_SCP = re.compile(r"(?:[^@/]+@)?(?P<host>[^:/]+):(?P<path>[^/].*|/.*)")
_URL = re.compile(r"(?P<scheme>\w[\w+.-]*)://(?:[^@/]*@)?(?P<host>[^/:]*)(?::\d+)?/(?P<path>.*)")


def source_of(case: Case) -> WorkloadSource | None:
    """None for workloads of assay and of hubs, and for commands outside repositories."""
    if case.backend == "command":
        return _command_source()
    path = workload_file(case)
    if path is None or not path.is_file():
        return None
    root = _repository_folder(path.parent)
    files = {} if path.suffix in MODELS else file_digests(path, root or path.parent)
    return WorkloadSource(
        repository=repository_name(path.parent),
        path=path.relative_to(root or path.parent).as_posix(),
        folder=str(path.parent),
        files=files,
    )


def workload_file(case: Case) -> Path | None:
    """The file of a user's workload, as the case names it here."""
    name = case.workload.rpartition(":")[0] if ".py:" in case.workload else case.workload
    return user_path(name).resolve() if name.endswith((".py", *MODELS)) else None


def _command_source() -> WorkloadSource | None:
    folder = Path.cwd()
    root = _repository_folder(folder)
    if root is None:
        return None
    path = folder.relative_to(root).as_posix()
    return WorkloadSource(repository=repository_name(folder), path=path, folder=str(folder))


def repository_name(folder: Path) -> str:
    """The URL of the remote without scheme and credentials, else the first commit, else the
    folder."""
    with suppress(AssayError):
        remotes = run_git("remote", folder=folder).split()
        if remotes:
            name = "origin" if "origin" in remotes else remotes[0]
            return normalize_url(run_git("remote", "get-url", name, folder=folder))
        roots = run_git("rev-list", "--max-parents=0", "HEAD", folder=folder).split()
        if roots:
            return f"commit {min(roots)}"
    return f"folder {_repository_folder(folder) or folder}"


def normalize_url(url: str) -> str:
    """Equal for the ssh and https spellings of one remote."""
    match = _URL.fullmatch(url) or _SCP.fullmatch(url)
    if not match:
        return safe_text(url.rstrip("/").removesuffix(".git"))
    path = match["path"].strip("/").removesuffix(".git")
    return safe_text(f"{match['host'].lower()}/{path}")


def _repository_folder(folder: Path) -> Path | None:
    try:
        return Path(run_git("rev-parse", "--show-toplevel", folder=folder)).resolve()
    except AssayError:
        return None


def file_digests(path: Path, root: Path) -> dict[str, str]:
    """SHA-256 of a Python file and of what it imports from its folder or from `root`, by path."""
    digests: dict[str, str] = {}
    waiting = [path]
    while waiting and len(digests) < MAX_FILES:
        file = waiting.pop()
        name = file.relative_to(root).as_posix()
        if name in digests:
            continue
        try:
            data = file.read_bytes()
        except OSError:
            continue
        digests[name] = hashlib.sha256(data).hexdigest()
        waiting += _imported_files(data, file, path.parent, root)
    return dict(sorted(digests.items()))


def _imported_files(data: bytes, file: Path, folder: Path, root: Path) -> Iterator[Path]:
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules, places = [alias.name for alias in node.names], [folder, root]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            modules = [base, *(f"{base}.{alias.name}".strip(".") for alias in node.names)]
            above = file.parents[min(node.level, len(file.parents)) - 1] if node.level else None
            places = [above] if above else [folder, root]
        else:
            continue
        yield from (
            imported
            for module in modules
            for place in places
            for imported in _module_files(module, place)
            if imported.is_relative_to(root) and not imported.is_relative_to(ASSAY)
        )


def _module_files(module: str, place: Path) -> Iterator[Path]:
    """`a.b`: a/__init__.py, a/b.py and a/b/__init__.py, where they exist."""
    parts = module.split(".") if module else []
    for count in range(len(parts) + 1):
        package = place.joinpath(*parts[:count])
        candidates = [package / "__init__.py"] if count else []
        candidates += [package.with_suffix(".py")] if count == len(parts) and count else []
        yield from (each.resolve() for each in candidates if each.is_file())


def with_source(result: Result, store: Store) -> Result:
    """The result with its source, as a point of the older series of its case if that is its own."""
    source = source_of(result.case)
    if source is None:
        return result
    _keep_texts(source, store.home)
    named = msgspec.structs.replace(result, source=source)
    try:
        continues = _continues(named, source, store)
    except StoreError:  # the store is away: the result itself is then kept for it
        continues = False
    if not continues:
        return named
    return msgspec.structs.replace(result, source=msgspec.structs.replace(source, continues=True))


def _continues(result: Result, source: WorkloadSource, store: Store) -> bool:
    """Whether an older series, known by the text of its case, is of the same repository."""
    older = msgspec.structs.replace(source, continues=True)
    old_id = series_of(msgspec.structs.replace(result, source=older)).id
    own_id = series_of(result).id
    known = store.series(Query(workload=result.case.workload, backend=result.case.backend))
    old = [each for each in known if each.series.id == old_id]
    if not old or any(each.series.id == own_id for each in known):
        return False
    newest = _newest_source(old[0], store)
    if newest is not None:
        return (newest.repository, newest.path) == (source.repository, source.path)
    points = store.points(old_id, old[0].metric)
    commits = list(dict.fromkeys(point.commit for point in reversed(points) if point.commit))
    if commits:
        return any(_has_commit(source, commit) for commit in commits[:10])
    return not any(each.series.source for each in known)


def _newest_source(series: StoredSeries, store: Store) -> WorkloadSource | None:
    points = store.points(series.series.id, series.metric, 1)
    results = list(store.results(Query(ids=(points[-1].id,)))) if points else []
    return results[0].known_source if results else None


def _has_commit(source: WorkloadSource, commit: str) -> bool:
    try:
        run_git("cat-file", "-e", f"{commit}^{{commit}}", folder=Path(source.folder))
    except AssayError:
        return False
    return True


def text_path(home: Path, digest: str) -> Path:
    """Where the text of a source file is stored, on this machine only."""
    return home / "sources" / digest[:2] / digest


def _keep_texts(source: WorkloadSource, home: Path) -> None:
    """For `assay explain`; a full disk does not matter here."""
    root = Path(source.folder)
    for _ in Path(source.path).parts[1:]:
        root = root.parent
    for name, digest in source.files.items():
        place = text_path(home, digest)
        with suppress(OSError):
            if not place.exists() and (root / name).stat().st_size <= MAX_BYTES:
                place.parent.mkdir(parents=True, exist_ok=True)
                write_atomic(place, (root / name).read_bytes())


def located_case(result: Result) -> Case:
    """The case with its file as it can be opened from the current folder."""
    source, here = result.known_source, workload_file(result.case)
    if source is None or here is None or here.is_file():
        return result.case
    there = Path(source.folder) / here.name
    if not there.is_file():
        return result.case
    name = result.case.workload.rpartition(":")[2]
    workload = f"{there}:{name}" if ".py:" in result.case.workload else str(there)
    return msgspec.structs.replace(result.case, workload=workload, key="")
