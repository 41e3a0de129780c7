"""assay: one lab for deep-learning benchmarks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the same names as in _FROM, for type checkers and editors
    from assay.commands.ab.api import ab as ab
    from assay.commands.bench.api import bench as bench
    from assay.commands.bench.api import benchmarks as benchmarks
    from assay.commands.bisect.api import bisect as bisect
    from assay.commands.check.api import check as check
    from assay.commands.cloud.api import create_machine as create_machine
    from assay.commands.cloud.api import delete_machine as delete_machine
    from assay.commands.cloud.api import machine_status as machine_status
    from assay.commands.cloud.api import machines as machines
    from assay.commands.cloud.api import start_machine as start_machine
    from assay.commands.cloud.api import stop_machine as stop_machine
    from assay.commands.compare.api import compare as compare
    from assay.commands.compile.api import compile_model as compile_model
    from assay.commands.configs import check_configs as check_configs
    from assay.commands.configs import sort_configs as sort_configs
    from assay.commands.data import fetch_data as fetch_data
    from assay.commands.data import list_datasets as list_datasets
    from assay.commands.doctor import doctor as doctor
    from assay.commands.evaluate import evaluate as evaluate
    from assay.commands.explain import explain as explain
    from assay.commands.export import export as export
    from assay.commands.export_onnx import export_onnx as export_onnx
    from assay.commands.history.api import history as history
    from assay.commands.image import build_image as build_image
    from assay.commands.image import images as images
    from assay.commands.image import run_image as run_image
    from assay.commands.import_ import import_run as import_run
    from assay.commands.plot.api import plot as plot
    from assay.commands.profile import profile as profile
    from assay.commands.race.api import race as race
    from assay.commands.repro.api import repro as repro
    from assay.commands.results.api import old_results as old_results
    from assay.commands.results.api import pack as pack
    from assay.commands.results.api import relabel as relabel
    from assay.commands.results.api import remove as remove
    from assay.commands.results.api import retag as retag
    from assay.commands.run.api import resume as resume
    from assay.commands.run.api import run as run
    from assay.commands.scale.api import scale as scale
    from assay.commands.schedule.api import schedule as schedule
    from assay.commands.schedule.api import scheduled_runs as scheduled_runs
    from assay.commands.schedule.run_plan import run_plan as run_plan
    from assay.commands.store import copy_store as copy_store
    from assay.commands.study.api import study as study
    from assay.commands.task.api import find_task as find_task
    from assay.commands.task.api import run_task as run_task
    from assay.commands.train.api import train as train
    from assay.commands.tune.api import tune as tune
    from assay.compat.hpvm.run import run_hpvm as run_hpvm
    from assay.core.contracts import Option as Option
    from assay.core.errors import AssayError as AssayError
    from assay.core.records import Case as Case
    from assay.core.records import Procedure as Procedure
    from assay.core.records import Query as Query
    from assay.core.records import Result as Result
    from assay.core.sessions import Examples as Examples
    from assay.core.sessions import Job as Job
    from assay.formats.perfzero.report import Benchmark as Benchmark
    from assay.logs.reader import LogReader as LogReader
    from assay.measure.from_object import case_from_object as case_from_object
    from assay.native.capture import capture as capture
    from assay.native.hpvm.configs import read_configs as read_configs
    from assay.native.hpvm.configs import write_configs as write_configs
    from assay.platforms.cloud.provider import MachineRequest as MachineRequest
    from assay.platforms.images.recipes import ImageRequest as ImageRequest
    from assay.platforms.sinks.records import Sinks as Sinks
    from assay.platforms.sinks.upload import upload as upload
    from assay.stats.fairness.checks import fairness as fairness
    from assay.stats.summary import summarize as summarize
    from assay.stores.read import read_results as read_results
    from assay.web.publish import publish as publish
    from assay.web.report import report as report
    from assay.web.serve import serve as serve

__version__ = "0.2.0"

_FROM = {
    "AssayError": "assay.core.errors",
    "Benchmark": "assay.formats.perfzero.report",
    "Case": "assay.core.records",
    "Examples": "assay.core.sessions",
    "ImageRequest": "assay.platforms.images.recipes",
    "Job": "assay.core.sessions",
    "LogReader": "assay.logs.reader",
    "MachineRequest": "assay.platforms.cloud.provider",
    "Option": "assay.core.contracts",
    "Procedure": "assay.core.records",
    "Query": "assay.core.records",
    "Result": "assay.core.records",
    "Sinks": "assay.platforms.sinks.records",
    "ab": "assay.commands.ab.api",
    "bench": "assay.commands.bench.api",
    "benchmarks": "assay.commands.bench.api",
    "bisect": "assay.commands.bisect.api",
    "build_image": "assay.commands.image",
    "capture": "assay.native.capture",
    "case_from_object": "assay.measure.from_object",
    "check": "assay.commands.check.api",
    "check_configs": "assay.commands.configs",
    "compare": "assay.commands.compare.api",
    "compile_model": "assay.commands.compile.api",
    "copy_store": "assay.commands.store",
    "create_machine": "assay.commands.cloud.api",
    "delete_machine": "assay.commands.cloud.api",
    "doctor": "assay.commands.doctor",
    "evaluate": "assay.commands.evaluate",
    "explain": "assay.commands.explain",
    "export": "assay.commands.export",
    "export_onnx": "assay.commands.export_onnx",
    "fairness": "assay.stats.fairness.checks",
    "fetch_data": "assay.commands.data",
    "find_task": "assay.commands.task.api",
    "history": "assay.commands.history.api",
    "images": "assay.commands.image",
    "import_run": "assay.commands.import_",
    "list_datasets": "assay.commands.data",
    "machine_status": "assay.commands.cloud.api",
    "machines": "assay.commands.cloud.api",
    "old_results": "assay.commands.results.api",
    "pack": "assay.commands.results.api",
    "plot": "assay.commands.plot.api",
    "profile": "assay.commands.profile",
    "publish": "assay.web.publish",
    "race": "assay.commands.race.api",
    "read_configs": "assay.native.hpvm.configs",
    "read_results": "assay.stores.read",
    "relabel": "assay.commands.results.api",
    "remove": "assay.commands.results.api",
    "report": "assay.web.report",
    "repro": "assay.commands.repro.api",
    "resume": "assay.commands.run.api",
    "retag": "assay.commands.results.api",
    "run": "assay.commands.run.api",
    "run_hpvm": "assay.compat.hpvm.run",
    "run_image": "assay.commands.image",
    "run_plan": "assay.commands.schedule.run_plan",
    "run_task": "assay.commands.task.api",
    "scale": "assay.commands.scale.api",
    "schedule": "assay.commands.schedule.api",
    "scheduled_runs": "assay.commands.schedule.api",
    "serve": "assay.web.serve",
    "sort_configs": "assay.commands.configs",
    "start_machine": "assay.commands.cloud.api",
    "stop_machine": "assay.commands.cloud.api",
    "study": "assay.commands.study.api",
    "summarize": "assay.stats.summary",
    "train": "assay.commands.train.api",
    "tune": "assay.commands.tune.api",
    "upload": "assay.platforms.sinks.upload",
    "write_configs": "assay.native.hpvm.configs",
}
_RENAMED = {
    "adopt": "import_run",
    "kept_nights": "scheduled_runs",
    "known_data": "list_datasets",
    "live": "case_from_object",
    "prunable": "old_results",
    "readings": "read_results",
}  # old name → new name; removed in 1.0
__all__ = sorted(_FROM)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


if not TYPE_CHECKING:  # for which it would make every name an Any

    def __getattr__(name: str) -> Any:
        """Public names, loaded when first used: `import assay` and `assay --help` stay quick."""
        from importlib import import_module

        if name in _RENAMED:
            import warnings

            new = _RENAMED[name]
            message = f"assay.{name} is deprecated: use assay.{new}"
            warnings.warn(message, DeprecationWarning, stacklevel=2)
            return __getattr__(new)
        if name not in _FROM:
            raise AttributeError(f"module 'assay' has no attribute '{name}'")
        try:
            return getattr(import_module(_FROM[name]), name)
        except ImportError as error:
            from assay.core.systems import is_missing_module, linux_error

            if is_missing_module(error):
                raise linux_error(f"assay.{name}") from None
            raise
