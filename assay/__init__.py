"""assay: one lab for deep-learning benchmarks."""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"

_FROM = {
    "AssayError": "core.errors",
    "Benchmark": "formats.perfzero.report",
    "Case": "core.records",
    "Examples": "core.sessions",
    "ImageRequest": "platforms.images.recipes",
    "Job": "core.sessions",
    "LogReader": "logs.reader",
    "MachineRequest": "core.cloud",
    "Option": "core.contracts",
    "Procedure": "core.records",
    "Query": "core.records",
    "Result": "core.records",
    "ab": "verbs.ab",
    "adopt": "verbs.import_",
    "bench": "verbs.bench",
    "benchmarks": "verbs.bench",
    "bisect": "verbs.bisect",
    "build_image": "verbs.image",
    "capture": "native.capture",
    "check": "verbs.check",
    "check_configs": "verbs.configs",
    "compare": "verbs.compare",
    "compile_model": "verbs.compile",
    "copy_store": "verbs.store",
    "create_machine": "verbs.cloud",
    "delete_machine": "verbs.cloud",
    "doctor": "verbs.doctor",
    "evaluate": "verbs.evaluate",
    "explain": "verbs.explain",
    "export": "verbs.export",
    "export_onnx": "verbs.export_onnx",
    "fairness": "verbs.show",
    "fetch_data": "verbs.data",
    "find_task": "verbs.task",
    "history": "verbs.history",
    "images": "verbs.image",
    "kept_nights": "verbs.schedule",
    "known_data": "verbs.data",
    "live": "engine.live",
    "machine_status": "verbs.cloud",
    "machines": "verbs.cloud",
    "pack": "verbs.results",
    "plot": "verbs.plot",
    "profile": "verbs.profile",
    "publish": "web.publish",
    "race": "verbs.race",
    "prunable": "verbs.results",
    "read_configs": "native.hpvm.configs",
    "readings": "verbs.show",
    "report": "web.report",
    "relabel": "verbs.results",
    "remove": "verbs.results",
    "repro": "verbs.repro",
    "resume": "verbs.run",
    "retag": "verbs.results",
    "run": "verbs.run",
    "run_hpvm": "verbs.hpvm",
    "run_image": "verbs.image",
    "run_plan": "verbs.night",
    "run_task": "verbs.task",
    "schedule": "verbs.schedule",
    "scale": "verbs.scale",
    "serve": "web.serve",
    "sort_configs": "verbs.configs",
    "start_machine": "verbs.cloud",
    "stop_machine": "verbs.cloud",
    "study": "verbs.study",
    "summarize": "verbs.show",
    "Sinks": "core.sinks",
    "train": "verbs.train",
    "upload": "verbs.upload",
    "write_configs": "native.hpvm.configs",
}
__all__ = sorted(_FROM)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:  # noqa: ANN401 (any public name)
    """Public names, loaded when first used: `import assay` and `assay --help` stay quick."""
    if name not in _FROM:
        raise AttributeError(f"module 'assay' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(f"assay.{_FROM[name]}"), name)
