"""What a user's word for a run or a result means in a store, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence

from assay.core.errors import UsageError, unknown


def only_run(text: str, near: Sequence[str], known: Sequence[str]) -> str:
    """The one run that fits; `known` are runs there are, for who wrote none of them."""
    if not known:
        raise UsageError("Nothing has been measured yet.", hint="Try: assay run mnist-mlp")
    if len(near) == 1:
        return near[0]
    if near:
        raise UsageError(
            f"'{text}' fits {len(near)} runs: {', '.join(near[:4])}.", hint="Give more of it."
        )
    raise unknown("run", text, known, hint="assay list results shows what there is.")


def results_of(text: str, run: str, ids: Sequence[str]) -> list[str]:
    """All results of a run, or the one that `RUN/NNN` names."""
    _, slash, number = text.partition("/")
    wanted = f"{run}/{number.zfill(3)}"
    if slash and wanted not in ids:
        raise unknown("result", text, ids)
    return [wanted] if slash else list(ids)
