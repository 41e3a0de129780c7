"""Constructor arguments of a benchmark class, by its signature."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from typing import Any

from assay.core.errors import UsageError


def arguments(
    owner: type, offered: Mapping[str, object], own: Mapping[str, object]
) -> dict[str, object]:
    """The `offered` arguments that the constructor accepts, and all of the user's `own`.

    A constructor with **kwargs gets all of them; `data_dir` is an older name of `root_data_dir`,
    passed only to a parameter of that name.
    """
    parameters = _parameters(owner)
    if any(part.kind is inspect.Parameter.VAR_KEYWORD for part in parameters.values()):
        accepted = dict(offered)
    else:
        accepted = {name: value for name, value in offered.items() if name in parameters}
    if "data_dir" in parameters and "root_data_dir" in offered:
        accepted["data_dir"] = offered["root_data_dir"]
        if "root_data_dir" not in parameters:
            accepted.pop("root_data_dir", None)
    return {**accepted, **own}


def read_arguments(text: str, flag: str) -> dict[str, Any]:
    """Parse the JSON object of a flag; empty for an empty text."""
    try:
        kwargs = json.loads(text or "{}")
    except ValueError as error:
        raise UsageError(f"{flag} is no JSON ({error}).", hint=f"{flag}='{{\"a\": 1}}'") from None
    if not isinstance(kwargs, dict):
        raise UsageError(f"{flag} is {text}, but has to be an object.", hint=f"{flag}='{{}}'")
    return kwargs


def _parameters(owner: Any) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(owner).parameters
    except (TypeError, ValueError):  # implemented in C: no keywords
        return {}
