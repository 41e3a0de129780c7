"""Steps of PerfZero: set up, run each method in each trial, write files, call the hooks."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

import assay
from assay.commands.bench import api
from assay.commands.bench.fetch import fetch_if_missing
from assay.compat.perfzero.options import PerfZeroRequest, set_flags
from assay.core import codec
from assay.core.errors import AssayError, UsageError
from assay.core.files import write_user_file
from assay.core.redaction import safe_text
from assay.core.settings import Home
from assay.formats.perfzero.messages import BenchResult
from assay.formats.perfzero.summary import Execution, env_vars, summary
from assay.measure import git
from assay.platforms.sinks import upload
from assay.platforms.sinks.records import Upload

SayCallback = Callable[[str], None]
_ID = re.compile(r"[\w.+:@=-]{1,200}", re.ASCII)
HOOK_TIMEOUT = 600.0  # seconds

# A hook runs in its own process, so that it cannot stop the run.
_HOOK = (
    "import sys; sys.path[:] = [*filter(None, sys.path), *sys.argv[3:], '']; "
    "import importlib, json; "
    "module, _, name = sys.argv[1].rpartition('.'); "
    "getattr(importlib.import_module(module), name)(json.load(open(sys.argv[2])))"
)


class SetupInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about repositories and the checkout, and the seconds of each setup step."""

    harness_info: dict[str, Any]
    site_package_info: dict[str, dict[str, Any]]
    seconds: dict[str, float]


class MethodRun(NamedTuple):
    """One run of one method: its summary and the folder of its files."""

    benched: BenchResult
    summary: dict[str, Any]
    folder: Path
    problems: list[str]  # of hooks and uploads
    notes: list[str]  # earlier uploads that failed again
    seconds: dict[str, float]


def prepare(request: PerfZeroRequest, report: SayCallback) -> SetupInfo:
    """Download data, then check out repositories, as PerfZero does."""
    seconds: dict[str, float] = {}
    start = time.monotonic()
    for download in request.downloads:
        fetched = fetch_if_missing(download, _progress(report))
        report(f"{download.path} {'is there now' if fetched else 'was there already'}")
    seconds["download_data"], start = time.monotonic() - start, time.monotonic()
    cached = request.flags.use_cached_site_packages
    info = {}
    for repository in request.repositories:
        repository.folder.parent.mkdir(parents=True, exist_ok=True)
        info[repository.name] = git.check_out(repository, cached)
        if info[repository.name].get("dirty"):
            report(f"{repository.folder} has edits: it is used as it is, and recorded as dirty")
    seconds["checkout_repository"] = time.monotonic() - start
    return SetupInfo(harness_info=_harness(), site_package_info=info, seconds=seconds)


def execute(
    request: PerfZeroRequest,
    setup: SetupInfo,
    variables: Mapping[str, str],
    store: Home,
    progress: Callable[..., None],
    warn: SayCallback,
) -> Iterator[MethodRun]:
    """Yield each method as it ends; `warn` is called for names without a method."""
    outputs = _Outputs(request)
    runs = api.bench(
        *request.methods,
        setting=request.setting,
        trials=request.flags.benchmark_num_trials,
        label=request.flags.execution_label or "",
        store=store,
        progress=progress,
        outputs=outputs,
        missing=warn,
    )
    for benched in runs:
        start = time.monotonic()
        folder = Path(benched.output_dir)
        document = summary(benched, _execution(request, setup, folder.name, variables))
        _write(folder, benched, document)
        problems = [p for hook in request.hooks if (p := _call(hook, folder, request))]
        failed = _upload(document, folder, request, store)
        problems += [attempt.line for attempt in failed if not attempt.earlier]
        notes = [attempt.line for attempt in failed if attempt.earlier]
        seconds = {
            "class_initialization": benched.answer.initialization,
            "method_execution": benched.answer.execution,
            "log_upload": time.monotonic() - start,
        }
        yield MethodRun(benched, document, folder, problems, notes, seconds)


class _Outputs:
    """Output folders `WORKSPACE/output/ID`, with a number added if the folder exists."""

    def __init__(self, request: PerfZeroRequest) -> None:
        self._root = request.workspace / "output"
        self._id = _check_id(request.flags.execution_id or "")
        self._scratch = (request.flags.scratch_gcs_url or "").rstrip("/")

    def __call__(self, case: Path) -> tuple[Path, str]:
        first = self._id or datetime.now().strftime("%Y-%m-%d-%H-%M-%S-%f")
        name, count = first, 1
        while not self._create(name):
            count += 1
            name = f"{first}-{count}"
        folder = self._root / name
        return folder, f"{self._scratch}/{name}" if self._scratch else str(folder)

    def _create(self, name: str) -> bool:
        try:
            (self._root / name).mkdir(parents=True)
        except FileExistsError:
            return False
        except OSError as error:
            raise UsageError(
                f"{self._root / name} cannot be made ({error.strerror}).",
                hint="Choose another --workspace or --execution_id.",
            ) from None
        return True


def _check_id(text: str) -> str:
    """Raise if the id could name a folder outside the workspace's output."""
    if not text or (_ID.fullmatch(text) and text not in {".", ".."}):
        return text
    raise UsageError(
        f"--execution_id is '{text[:60]}', but names a folder: letters, digits, - _ . and +.",
        hint="As in: --execution_id=2026-11-15-nightly",
    )


def _execution(
    request: PerfZeroRequest, setup: SetupInfo, name: str, variables: Mapping[str, str]
) -> Execution:
    flags = set_flags(request.flags)
    known = ("execution_label", "ml_framework_build_label", "platform_name", "system_name")
    return Execution(
        execution_id=name,
        tpu=request.setting.tpu is not None,
        env_vars=env_vars(variables),
        flags=safe_flags(flags),
        harness_info=setup.harness_info,
        site_package_info=setup.site_package_info,
        output_url=f"{request.sinks.objects.rstrip('/')}/{name}/" if request.sinks.objects else "",
        **{field: flags.get(field) for field in known},
    )


def safe_flags(flags: Mapping[str, object]) -> dict[str, object]:
    """Flags with passwords and other secrets redacted."""
    return {
        name: safe_text(value) if isinstance(value, str) else value for name, value in flags.items()
    }


def _write(folder: Path, benched: BenchResult, document: dict[str, Any]) -> None:
    """Write PerfZero's three files and assay's result."""
    text = codec.encode(document, indent=2)
    write_user_file(folder / "perfzero_summary.json", text)
    write_user_file(folder / "result.json", codec.encode(benched.result))
    case = Path(benched.folder)
    if (case / "process_info.log").exists():
        write_user_file(folder / "process_info.log", (case / "process_info.log").read_bytes())
    log = case / "worker.log"
    lines = "".join(f"{line}\n" for line in (benched.result.reason, *benched.notes) if line)
    heading = f"Benchmark execution for {benched.method.name} completed with summary:\n"
    output = log.read_bytes() if log.exists() else b""
    write_user_file(folder / "perfzero.log", output + (lines + heading).encode() + text + b"\n")


def _call(hook: str, folder: Path, request: PerfZeroRequest) -> str:
    """Call an upload hook; returns the problem, or ""."""
    python = request.setting.python or sys.executable
    interpreter = Path(python) / "bin" / "python" if Path(python).is_dir() else Path(python)
    words = [hook, str(folder / "perfzero_summary.json"), *request.setting.python_path]
    try:
        done = subprocess.run(
            [str(interpreter), "-c", _HOOK, *words],
            capture_output=True,
            text=True,
            timeout=HOOK_TIMEOUT,
        )
    except subprocess.TimeoutExpired:
        return f"the upload method {hook} was not finished after {HOOK_TIMEOUT:g} s"
    if done.returncode == 0:
        return ""
    lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
    return f"the upload method {hook} failed: {lines[-1]}"


def _upload(
    document: dict[str, Any], folder: Path, request: PerfZeroRequest, store: Home
) -> list[Upload]:
    """Upload the summary; returns the failed uploads, which `assay upload --pending` retries."""
    if not (request.sinks.bigquery or request.sinks.objects):
        return []
    sent = upload.send_summary(document, folder, request.sinks, store)
    return [attempt for attempt in sent.uploads if not attempt.arrived]


def _harness() -> dict[str, Any]:
    """The git checkout of assay; empty for an installed package."""
    folder = Path(assay.__file__).parent.parent
    if not (folder / ".git").exists():
        return {}
    try:
        return dict(git.info(folder))
    except AssayError:
        return {}


def _progress(report: SayCallback) -> Callable[[str, int, int | None], None]:
    """Report each tenth of a download."""
    shown = -1

    def show(name: str, done: int, total: int | None) -> None:
        nonlocal shown
        tenth = 10 * done // total if total else done >> 27
        if tenth > shown:
            shown = tenth
            report(f"{name}: {done} bytes" + (f" of {total}" if total else ""))

    return show
