"""assay: one lab for deep-learning benchmarks."""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"

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
    "ab": "assay.commands.ab.api",
    "adopt": "assay.commands.import_",
    "bench": "assay.commands.bench.api",
    "benchmarks": "assay.commands.bench.api",
    "bisect": "assay.commands.bisect.api",
    "build_image": "assay.commands.image",
    "capture": "assay.native.capture",
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
    "kept_nights": "assay.commands.schedule.api",
    "known_data": "assay.commands.data",
    "live": "assay.measure.from_object",
    "machine_status": "assay.commands.cloud.api",
    "machines": "assay.commands.cloud.api",
    "pack": "assay.commands.results.api",
    "plot": "assay.commands.plot.api",
    "profile": "assay.commands.profile",
    "publish": "assay.web.publish",
    "race": "assay.commands.race.api",
    "prunable": "assay.commands.results.api",
    "read_configs": "assay.native.hpvm.configs",
    "readings": "assay.stores.read",
    "report": "assay.web.report",
    "relabel": "assay.commands.results.api",
    "remove": "assay.commands.results.api",
    "repro": "assay.commands.repro.api",
    "resume": "assay.commands.run.api",
    "retag": "assay.commands.results.api",
    "run": "assay.commands.run.api",
    "run_hpvm": "assay.compat.hpvm.run",
    "run_image": "assay.commands.image",
    "run_plan": "assay.commands.schedule.run_plan",
    "run_task": "assay.commands.task.api",
    "schedule": "assay.commands.schedule.api",
    "scale": "assay.commands.scale.api",
    "serve": "assay.web.serve",
    "sort_configs": "assay.commands.configs",
    "start_machine": "assay.commands.cloud.api",
    "stop_machine": "assay.commands.cloud.api",
    "study": "assay.commands.study.api",
    "summarize": "assay.stats.summary",
    "Sinks": "assay.platforms.sinks.records",
    "train": "assay.commands.train.api",
    "tune": "assay.commands.tune.api",
    "upload": "assay.platforms.sinks.upload",
    "write_configs": "assay.native.hpvm.configs",
}
__all__ = sorted(_FROM)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    """Public names, loaded when first used: `import assay` and `assay --help` stay quick."""
    if name not in _FROM:
        raise AttributeError(f"module 'assay' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_FROM[name]), name)
