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
    "MachineRequest": "assay.core.cloud",
    "Option": "assay.core.contracts",
    "Procedure": "assay.core.records",
    "Query": "assay.core.records",
    "Result": "assay.core.records",
    "ab": "assay.verbs.ab",
    "adopt": "assay.verbs.import_",
    "bench": "assay.verbs.bench",
    "benchmarks": "assay.verbs.bench",
    "bisect": "assay.verbs.bisect",
    "build_image": "assay.verbs.image",
    "capture": "assay.native.capture",
    "check": "assay.verbs.check",
    "check_configs": "assay.verbs.configs",
    "compare": "assay.verbs.compare",
    "compile_model": "assay.verbs.compile",
    "copy_store": "assay.verbs.store",
    "create_machine": "assay.verbs.cloud",
    "delete_machine": "assay.verbs.cloud",
    "doctor": "assay.verbs.doctor",
    "evaluate": "assay.verbs.evaluate",
    "explain": "assay.verbs.explain",
    "export": "assay.verbs.export",
    "export_onnx": "assay.verbs.export_onnx",
    "fairness": "assay.verbs.show",
    "fetch_data": "assay.verbs.data",
    "find_task": "assay.verbs.task",
    "history": "assay.verbs.history",
    "images": "assay.verbs.image",
    "kept_nights": "assay.verbs.schedule",
    "known_data": "assay.verbs.data",
    "live": "assay.engine.live",
    "machine_status": "assay.verbs.cloud",
    "machines": "assay.verbs.cloud",
    "pack": "assay.verbs.results",
    "plot": "assay.verbs.plot",
    "profile": "assay.verbs.profile",
    "publish": "assay.web.publish",
    "race": "assay.verbs.race",
    "prunable": "assay.verbs.results",
    "read_configs": "assay.native.hpvm.configs",
    "readings": "assay.verbs.show",
    "report": "assay.web.report",
    "relabel": "assay.verbs.results",
    "remove": "assay.verbs.results",
    "repro": "assay.verbs.repro",
    "resume": "assay.verbs.run",
    "retag": "assay.verbs.results",
    "run": "assay.verbs.run",
    "run_hpvm": "assay.verbs.hpvm",
    "run_image": "assay.verbs.image",
    "run_plan": "assay.verbs.night",
    "run_task": "assay.verbs.task",
    "schedule": "assay.verbs.schedule",
    "scale": "assay.verbs.scale",
    "serve": "assay.web.serve",
    "sort_configs": "assay.verbs.configs",
    "start_machine": "assay.verbs.cloud",
    "stop_machine": "assay.verbs.cloud",
    "study": "assay.verbs.study",
    "summarize": "assay.verbs.show",
    "Sinks": "assay.core.sinks",
    "train": "assay.verbs.train",
    "tune": "assay.verbs.tune",
    "upload": "assay.verbs.upload",
    "write_configs": "assay.native.hpvm.configs",
}
__all__ = sorted(_FROM)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:  # noqa: ANN401 (any public name)
    """Public names, loaded when first used: `import assay` and `assay --help` stay quick."""
    if name not in _FROM:
        raise AttributeError(f"module 'assay' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_FROM[name]), name)
