"""assay: one lab for deep-learning benchmarks."""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"

_FROM = {
    "AssayError": "errors",
    "Benchmark": "benches.report",
    "Case": "records",
    "Job": "contracts",
    "Option": "contracts",
    "Procedure": "records",
    "Query": "records",
    "Result": "records",
    "ab": "comparing",
    "adopt": "api",
    "bench": "benching",
    "benchmarks": "benching",
    "compile_model": "compiling",
    "evaluate": "evaluating",
    "fairness": "api",
    "export_onnx": "exporting",
    "fetch_data": "api",
    "known_data": "api",
    "profile": "profiling",
    "race": "racing",
    "readings": "api",
    "resume": "api",
    "run": "api",
    "study": "studying",
    "summarize": "api",
    "train": "training",
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
