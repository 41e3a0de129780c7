"""What a benchmark class is constructed with, read off its own signature."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from typing import Any

from assay.core.errors import UsageError


def arguments(
    owner: type, offered: Mapping[str, object], own: Mapping[str, object]
) -> dict[str, object]:
    """Of what is offered, that which the constructor takes; and all of the user's `own`.

    A constructor with **kwargs gets everything PerfZero gives; `data_dir` is an older name of
    `root_data_dir`, given only where it is asked for by name.
    """
    parameters = _parameters(owner)
    if any(part.kind is inspect.Parameter.VAR_KEYWORD for part in parameters.values()):
        samples = dict(offered)
    else:
        samples = {name: value for name, value in offered.items() if name in parameters}
    if "data_dir" in parameters and "root_data_dir" in offered:
        samples["data_dir"] = offered["root_data_dir"]
        if "root_data_dir" not in parameters:
            samples.pop("root_data_dir", None)
    return {**samples, **own}


def read_arguments(text: str, flag: str) -> dict[str, Any]:
    """The JSON object a flag holds; nothing for an empty text."""
    try:
        found = json.loads(text or "{}")
    except ValueError as error:
        raise UsageError(f"{flag} is no JSON ({error}).", hint=f"{flag}='{{\"a\": 1}}'") from None
    if not isinstance(found, dict):
        raise UsageError(f"{flag} is {text}, but has to be an object.", hint=f"{flag}='{{}}'")
    return found


def _parameters(owner: Any) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(owner).parameters
    except (TypeError, ValueError):  # made in C: it takes nothing by name
        return {}
