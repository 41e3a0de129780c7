"""A stored result → what is needed to measure it again: command, inputs, what is missing."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from assay.core import codec, registry
from assay.core.errors import AssayError, UsageError
from assay.core.files import user_path
from assay.core.formats import MAX_BYTES
from assay.core.records import Case, Procedure, Result
from assay.core.redaction import safe_text
from assay.measure.machine import environment
from assay.measure.plan import resolve
from assay.measure.process_env import python_of
from assay.measure.source import located_case
from assay.stores import folders

_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # no lookalikes
_LENGTH = 8
REPRO = re.compile(rf"[{_LETTERS}]{{{_LENGTH}}}")
_FLAGS = {"budget": "--budget", "target": "--target", "timeout": "--timeout"}
_COUNTS = {"processes": "--processes", "samples": "--samples"}
_COUNTS |= {"steps_per_sample": "--steps-per-sample"}
_LIST_PACKAGES = (
    "import importlib.metadata as m, json, sys\n"
    "found = {d.metadata['Name']: d.version for d in m.distributions()}\n"
    "json.dump({'python': sys.version.split()[0], 'packages': found}, sys.stdout)"
)


def input_files(result: Result) -> str:
    """SHA-256 of what was measured and how: equal where two results should be equal."""
    what = {
        "workload": result.case.workload,
        "version": result.workload_version,
        "backend": result.case.backend,
        "params": result.case.params,
        "options": result.case.options,
        "procedure": msgspec.to_builtins(result.procedure),
        "file": _file_hash(located_case(result)),
    }
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()


def repro_id(result: Result) -> str:
    """Short, and the same wherever the result lies: of its id and its raw values."""
    values = [part.values for part in result.samples]
    text = json.dumps([result.id, result.case.key, values], default=str)
    digest = hashlib.sha256(text.encode()).digest()
    return "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest[:_LENGTH])


def command(result: Result) -> str:
    """The command line that measures it again; for other than cases, the original one."""
    if not can_run_again(result):
        return shlex.join(result.environment.command)
    words = ["assay", "run", result.case.key]
    usual, procedure = Procedure(), result.procedure
    for name, flag in _FLAGS.items():
        if getattr(procedure, name) != getattr(usual, name):
            words += [flag, f"{getattr(procedure, name):g}"]
    for name, flag in _COUNTS.items():
        if getattr(procedure, name) != getattr(usual, name):
            words += [flag, str(getattr(procedure, name))]
    return shlex.join([*words, *(["--latency"] if procedure.latency else [])])


def can_run_again(result: Result) -> bool:
    """Whether it is of a backend here; commands, methods and other tools' results are not."""
    return result.case.backend in registry.names("backends")


def manual_steps(result: Result) -> str:
    """What to do where there are no step times to measure again (a training, a task, a method of a
    benchmark class, another tool's result), in words; "" where there are."""
    if can_run_again(result) and result.measured_only().values("step_time"):
        return ""
    typed = shlex.join(result.environment.command)
    how = f"do it as it was done then ({typed})" if typed else f"do it with {result.case.backend}"
    return f"{how}, then: assay repro {result.id} --against last"


def missing_parts(result: Result) -> list[str]:
    """What is missing here to measure it again."""
    if not can_run_again(result):
        return [f"a way to run it: {result.case.backend} is no backend of assay run"]
    if not result.measured_only().values("step_time"):
        return ["a way to run it: it has no step times, which are what is measured again"]
    case = located_case(result)
    missing = list(_missing_file(case))
    if not missing:
        missing += _missing_case(case)
    packages = installed_packages(result.case)
    names = {_plain(name) for name in packages}
    if packages:
        missing += [
            f"package {name} {version}"
            for name, version in result.environment.packages.items()
            if _plain(name) not in names
        ]
    return missing + list(_missing_device(result))


def changed_packages(result: Result) -> list[str]:
    """What is here, but different."""
    packages = {_plain(name): version for name, version in installed_packages(result.case).items()}
    changes = [
        f"{name}: {version} → {packages[_plain(name)]}"
        for name, version in result.environment.packages.items()
        if packages.get(_plain(name), version) != version
    ]
    here, then = environment.current_environment(), result.environment
    for name in ("cpu", "cpus", "gpu0"):
        was, now = then.machine.get(name), here.machine.get(name)
        changes += [f"{name}: {was} → {now}"] if was and now and was != now else []
    was, now = str(then.git.get("commit", "")), str(here.git.get("commit", ""))
    if was and was != now:
        changes.append(f"commit: {was[:12]} → {now[:12] or 'no checkout here'}")
    return changes


def installed_packages(case: Case) -> Mapping[str, str]:
    """Packages of the interpreter that a worker of this case would have; {} if it does not say."""
    chosen = str(case.options.get("python", ""))
    if not chosen:
        from importlib import metadata

        return {
            distribution.metadata["Name"]: distribution.version
            for distribution in metadata.distributions()
        }
    try:
        process = subprocess.run(
            [python_of(chosen), "-c", _LIST_PACKAGES], capture_output=True, timeout=120, check=True
        )
        packages: dict[str, str] = json.loads(process.stdout)["packages"]
    except (OSError, subprocess.SubprocessError, ValueError):
        return {}
    return packages


def _missing_file(case: Case) -> Iterator[str]:
    if ".py:" in case.workload and not Path(case.workload.rpartition(":")[0]).is_file():
        yield f"file {case.workload.rpartition(':')[0]}"
    weights = str(case.params.get("weights", ""))
    if weights and not user_path(weights).exists():
        yield f"data {weights}"
    chosen = str(case.options.get("python", ""))
    if chosen and not python_of(chosen).exists():
        yield f"Python {chosen}"


def _missing_case(case: Case) -> Iterator[str]:
    """A workload, parameter or option that this version does not know, or a backend's package."""
    try:
        resolve(case)
    except AssayError as error:
        yield f"case: {str(error).rstrip('.')}"
        return
    missing = "" if case.options.get("python") else registry.backend(case.backend).missing()
    if missing:
        yield f"backend {case.backend}: {missing}"


def _missing_device(result: Result) -> Iterator[str]:
    """The GPU it was measured on, if there is none here."""
    device = str(result.facts.get("device", ""))
    if device.startswith(
        ("gpu", "cuda", "rocm")
    ) and not environment.current_environment().machine.get("gpus"):
        named = result.environment.machine.get("gpu0", "")
        yield f"device {device} {named}".strip()


def _file_hash(case: Case) -> str:
    """Of a user's file, as it is now: the result does not hold it."""
    if ".py:" not in case.workload:
        return ""
    try:
        data = Path(case.workload.rpartition(":")[0]).read_bytes()
    except OSError:
        return ""
    return hashlib.sha256(data).hexdigest()


def _plain(name: str) -> str:
    """As the package index compares names."""
    return re.sub(r"[-_.]+", "-", name).lower()


_MAX_RESULTS = 1000  # of a run that is read by its URL
_TIMEOUT = 30.0  # seconds


def results(origin: str, text: str) -> Iterator[Result]:
    """Results of a run, or one of them; `text` may have its number as RUN/NNN."""
    if origin.startswith(("http://", "https://")):
        return _from_url(origin.rstrip("/"), text)
    return _from_folder(user_path(origin))


def _from_folder(folder: Path) -> Iterator[Result]:
    cases = [folder] if (folder / "result.json").is_file() else folders.finished_cases(folder)
    if not cases:
        raise UsageError(f"{folder} is no run folder.", hint="A run folder holds NNN/result.json.")
    return map(folders.read_result, cases)


def _from_url(url: str, text: str) -> Iterator[Result]:
    """A result's own address, that of its folder, or that of its run, whose results are counted."""
    if url.endswith(".json"):
        yield _decode_url(url)
        return
    number = text.rpartition("/")[2]
    if number.isdecimal():
        yield _decode_url(f"{url}/{int(number):03d}/result.json")
        return
    if (data := _fetch(f"{url}/result.json")) is not None:
        yield codec.decode(data, Result, safe_text(url))
        return
    for count in range(1, _MAX_RESULTS):
        address = f"{url}/{count:03d}/result.json"
        if (data := _fetch(address)) is None:
            return
        yield codec.decode(data, Result, safe_text(address))


def _decode_url(url: str) -> Result:
    data = _fetch(url)
    if data is None:
        raise UsageError(
            f"There is no result at {safe_text(url)}.", hint="Give the URL of a run's folder."
        )
    return codec.decode(data, Result, safe_text(url))


def _fetch(url: str) -> bytes | None:
    """None if the server reports not found."""
    from urllib.error import HTTPError, URLError
    from urllib.request import urlopen

    try:
        with urlopen(url, timeout=_TIMEOUT) as response:
            data: bytes = response.read(MAX_BYTES + 1)
    except HTTPError as error:
        if error.code in (404, 410):
            return None
        raise AssayError(f"{safe_text(url)} answered {error.code}.", hint="Try again.") from None
    except (URLError, OSError, ValueError) as error:
        raise AssayError(f"{safe_text(url)} cannot be read ({error}).", hint="Try again.") from None
    if len(data) > MAX_BYTES:
        raise AssayError(
            f"{safe_text(url)} is too large.", hint="Download it, and give the folder."
        )
    return data
