"""The 25 flags of PerfZero's benchmark.py as a request for benchmark runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec

from assay.core import units
from assay.core.errors import UsageError
from assay.core.options import Flag
from assay.formats.perfzero import windows
from assay.formats.perfzero.construct import read_arguments
from assay.formats.perfzero.messages import BenchSetting
from assay.formats.perfzero.names import split
from assay.formats.perfzero.setup import Download, Repository, downloads, repositories
from assay.platforms.cloud.tpu import TpuRequest
from assay.platforms.sinks.records import Sinks
from assay.platforms.sinks.upload import check_sinks


class PerfZeroFlags(msgspec.Struct, frozen=True, kw_only=True):
    """Flags of benchmark.py. The summary records them; None means not set."""

    use_cached_site_packages: Annotated[
        bool, Flag("Do not update repositories that are there.", read="truth")
    ] = False
    gcs_downloads: Annotated[str | None, Flag("Older name of --data_downloads; fetched first.")] = (
        None
    )
    git_repos: Annotated[
        str | None, Flag("url;branch;hash,url2;… into WORKSPACE/site-packages.")
    ] = None
    benchmark_num_trials: Annotated[int, Flag("Number of times all methods are run.")] = 1
    benchmark_methods: Annotated[
        tuple[str, ...],
        Flag("module.Class.method or module.Class.filter:REGEX; repeatable.", "TEXT"),
    ] = ()
    ml_framework_build_label: Annotated[str | None, Flag("Recorded in the summary.")] = None
    execution_label: Annotated[
        str | None, Flag("Recorded in the summary; also the label of assay's results.")
    ] = None
    platform_name: Annotated[str | None, Flag("Recorded in the summary: gcp, aws, …")] = None
    system_name: Annotated[
        str | None, Flag("Recorded in the summary: n1-standard-64-8xV100, …")
    ] = None
    output_gcs_url: Annotated[
        str | None, Flag("Upload the output folder there: gs://…, s3://… or a folder.")
    ] = None
    scratch_gcs_url: Annotated[
        str | None, Flag("What the class gets as output_dir, with the id added.")
    ] = None
    bigquery_project_name: Annotated[
        str | None, Flag("Send each summary to BigQuery, in this project.")
    ] = None
    bigquery_dataset_table_name: Annotated[str | None, Flag("dataset.table")] = None
    python_path: Annotated[
        str | None, Flag("Folders below site-packages to import from, with commas.")
    ] = None
    workspace: Annotated[str, Flag("Folder for repositories and output.")] = "workspace"
    root_data_dir: Annotated[str, Flag("Data folder, passed to the class.")] = "/data"
    data_downloads: Annotated[
        str | None, Flag("url;path,url2,… below --root_data_dir; archives are unpacked.")
    ] = None
    gcloud_key_file_url: Annotated[
        str, Flag("Key file of Google Cloud: a path, gs://… or https://…")
    ] = ""
    debug: Annotated[bool, Flag("Show what the methods print.", read="truth")] = False
    profiler_enabled_time: Annotated[str | None, Flag("begin:end,… in seconds.")] = None
    execution_id: Annotated[
        str | None, Flag("The name of the output folder; a time stamp by default.")
    ] = None
    result_upload_methods: Annotated[
        str | None, Flag("module.function,…: each is called with the summary.")
    ] = None
    tpu_parameters: Annotated[str | None, Flag("JSON: name, project, zone, size, version, …")] = (
        None
    )
    perfzero_constructor_args: Annotated[str, Flag("JSON: more arguments for the constructor.")] = (
        ""
    )
    benchmark_class_type: Annotated[
        str | None, Flag("tf_benchmark: the constructor gets those alone.")
    ] = None


_TPU_KEYS = ("name", "project", "zone", "size", "version")
# PerfZero redirects these datasets to its own tables
_REDIRECTED = {
    "benchmark_results": "perfzero.benchmark_summary",
    "benchmark_results_dev": "perfzero_dev.benchmark_summary",
}


def set_flags(flags: PerfZeroFlags) -> dict[str, Any]:
    """Those that have a value, by name: what the summary records."""
    return {
        name: value
        for name, value in msgspec.structs.asdict(flags).items()
        if value not in (None, ())
    }


class PerfZeroRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The parsed and checked flags."""

    flags: PerfZeroFlags
    methods: tuple[str, ...]
    workspace: Path
    setting: BenchSetting
    repositories: tuple[Repository, ...]
    downloads: tuple[Download, ...]
    hooks: tuple[str, ...]
    sinks: Sinks = Sinks()
    tpu: TpuRequest | None = None  # to create, and to delete at the end


def request(flags: PerfZeroFlags, timeout: str, python: str) -> PerfZeroRequest:
    """Parse the flags; every usage error is raised here, before any download or run."""
    workspace = Path(flags.workspace).absolute()
    methods = tuple(name for text in flags.benchmark_methods for name in split(text))
    if not methods:
        raise UsageError(
            "No benchmark method was given.", hint="--benchmark_methods=module.Class.method"
        )
    _check_amounts(flags, timeout)
    sinks = _sinks(flags)
    root = Path(flags.root_data_dir)
    files = [*downloads(flags.gcs_downloads or "", root)]
    return PerfZeroRequest(
        flags=flags,
        methods=methods,
        workspace=workspace,
        setting=_setting(flags, workspace, units.seconds(timeout), python),
        repositories=tuple(repositories(flags.git_repos or "", workspace / "site-packages")),
        downloads=(*files, *downloads(flags.data_downloads or "", root)),
        hooks=tuple(_words(flags.result_upload_methods)),
        sinks=sinks,
        tpu=_tpu_request(flags.tpu_parameters),
    )


def _setting(flags: PerfZeroFlags, workspace: Path, timeout: float, python: str) -> BenchSetting:
    kind = flags.benchmark_class_type
    if kind not in (None, "", "tf_benchmark"):
        raise UsageError(
            f"--benchmark_class_type is {kind}, which is not known.", hint="tf_benchmark, or none."
        )
    site_packages = workspace / "site-packages"
    return BenchSetting(
        python=python,
        python_path=tuple(str(site_packages / path) for path in _words(flags.python_path)),
        root_data_dir=flags.root_data_dir,
        tpu=_tpu(flags.tpu_parameters),
        constructor_args=read_arguments(
            flags.perfzero_constructor_args, "--perfzero_constructor_args"
        ),
        plain=bool(kind),
        windows=windows.parse(flags.profiler_enabled_time or ""),
        timeout=timeout,
    )


def _tpu(text: str | None) -> str | None:
    """The name of the TPU, which is passed to the class."""
    if not text:
        return None
    parameters = read_arguments(text, "--tpu_parameters")
    missing = [key for key in _TPU_KEYS if key not in parameters]
    if missing:
        raise UsageError(
            f"--tpu_parameters lacks {', '.join(missing)}.",
            hint=f"It takes {', '.join(_TPU_KEYS)}, version_id and using_prestarted_tpu.",
        )
    return str(parameters["name"])


def _tpu_request(text: str | None) -> TpuRequest | None:
    """None without a TPU, or with a running one whose version stays."""
    parameters = read_arguments(text, "--tpu_parameters") if text else {}
    started = str(parameters.get("using_prestarted_tpu", "")).lower() == "true"
    version_id = str(parameters.get("version_id") or "")
    if not parameters or (started and not version_id):
        return None
    named = {key: str(parameters[key]) for key in _TPU_KEYS}
    return TpuRequest(**named, version_id=version_id, started=started)


def _check_amounts(flags: PerfZeroFlags, timeout: str) -> None:
    if flags.benchmark_num_trials < 1:
        raise UsageError(
            f"trials is {flags.benchmark_num_trials}, but has to be 1 or more.",
            hint="--benchmark_num_trials=1",
        )
    if units.seconds(timeout) <= 0:
        raise UsageError(
            f"timeout is {timeout}, but has to be more than 0 s.", hint="--timeout=24h"
        )


def _sinks(flags: PerfZeroFlags) -> Sinks:
    """Targets of summaries and files, checked before any run."""
    project, table = flags.bigquery_project_name, flags.bigquery_dataset_table_name
    if bool(project) != bool(table):
        raise UsageError(
            "Only one of --bigquery_project_name and --bigquery_dataset_table_name was given.",
            hint="Give both, or neither.",
        )
    if table and table.count(".") != 1:
        raise UsageError(f"--bigquery_dataset_table_name is {table}.", hint="It is dataset.table.")
    if table:
        table = _REDIRECTED.get(table.partition(".")[0], table)
    sinks = Sinks(
        bigquery=f"{project}:{table}" if table else "",
        table="perfzero",
        objects=flags.output_gcs_url or "",
        key=flags.gcloud_key_file_url or "",
    )
    check_sinks(sinks)
    return sinks


def _words(text: str | None) -> list[str]:
    return [word.strip() for word in (text or "").split(",") if word.strip()]
