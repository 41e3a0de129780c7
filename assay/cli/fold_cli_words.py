"""What people type for a verb that has another name here, and what it leads to."""

from __future__ import annotations

from collections.abc import Iterable

from assay.core.errors import UsageError, unknown

# word → what to type after `assay`
SYNONYMS = {
    **dict.fromkeys(("versus", "vs", "duel"), "ab"),
    **dict.fromkeys(("diff", "comparison"), "compare"),
    **dict.fromkeys(("benchmark", "measure", "time", "timeit", "latency", "speed"), "run"),
    **dict.fromkeys(("sweep", "matrix", "grid", "ablation"), "study"),
    **dict.fromkeys(("fastest", "best"), "race"),
    **dict.fromkeys(("autotune", "optimize", "quantize", "approximate"), "tune"),
    **dict.fromkeys(("accuracy", "eval", "validate", "test"), "evaluate"),
    **dict.fromkeys(("fit", "learn"), "train"),
    **dict.fromkeys(("prof", "trace", "profiler", "flamegraph"), "profile"),
    **dict.fromkeys(("trend", "timeline", "series", "changepoints"), "history"),
    **dict.fromkeys(("regression", "regressions", "gate", "ci"), "check"),
    **dict.fromkeys(("why", "because", "reason"), "explain"),
    **dict.fromkeys(("blame", "culprit"), "bisect"),
    **dict.fromkeys(("env", "environment", "info", "machine", "system"), "doctor"),
    **dict.fromkeys(("cmd", "command", "exec", "script"), "task"),
    **dict.fromkeys(("build", "native"), "compile"),
    **dict.fromkeys(("convert", "onnx"), "export-onnx"),
    **dict.fromkeys(("graph", "chart", "figure", "draw"), "plot"),
    **dict.fromkeys(("view", "cat", "get", "summary"), "show"),
    **dict.fromkeys(("dataset", "datasets", "download", "fetch"), "data"),
    **dict.fromkeys(("load", "adopt"), "import"),
    **dict.fromkeys(("ls", "log", "runs"), "list results"),
    **dict.fromkeys(("models", "networks", "workloads"), "list workloads"),
    **dict.fromkeys(("backend", "backends", "frameworks"), "list backends"),
    "benchmarks": "list benchmarks",
    "tasks": "list tasks",
    "resume": "run --resume last",
    "continue": "run --resume last",
}
REMOVING = {"rm", "remove", "delete", "del", "clean", "purge"}


def no_verb(word: str, verbs: Iterable[str]) -> UsageError:
    """The error for a word that is no verb."""
    plain = word.lower().replace("-", "").replace("_", "")
    if plain in REMOVING:
        return UsageError(
            f"There is no command named '{word}'.",
            hint="To remove results: assay results rm ID, or assay results prune.",
        )
    if plain in SYNONYMS:
        meant = SYNONYMS[plain]
        return UsageError(
            f"There is no command named '{word}'.",
            hint=f"Did you mean '{meant}'? To see how: assay {meant.split()[0]} --help",
        )
    return unknown("command", word, verbs, hint="assay --help lists them.")
