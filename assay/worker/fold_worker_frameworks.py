"""Which framework a process really used, from the modules it has loaded."""

from __future__ import annotations

from collections.abc import Container, Mapping
from types import ModuleType
from typing import Any

# TensorFlow last: a class may have taken nothing but its Benchmark base from it.
_ORDER = ("torch", "jax", "tensorflow")
# TensorFlow loads JAX by itself where it finds it: then JAX counts once it has opened a device.
_BROUGHT_BY = {"jax": "tensorflow"}
_DEVICES = {"jax": ("jax._src.xla_bridge", "_backends")}
_NONE = {"name": "none", "version": "", "build_version": ""}


def used(modules: Mapping[str, Any], own: Mapping[str, Any] | None = None) -> dict[str, str]:
    """`name`, `version`, `build_version`: of what Keras was told to use, else of what the class's
    own module imports, else of what is loaded."""
    loaded = {name for name in _ORDER if _counts(modules, name)}
    name = _keras_backend(modules) or _first(_imported(own or {})) or _first(loaded)
    if not name or name not in modules:
        return dict(_NONE)
    return {
        "name": name,
        "version": str(getattr(modules[name], "__version__", "")),
        "build_version": _build(modules, name),
    }


def _first(names: Container[str]) -> str:
    return next((name for name in _ORDER if name in names), "")


def _imported(names: Mapping[str, Any]) -> set[str]:
    """Packages whose modules a module has names for."""
    modules = (value for value in names.values() if isinstance(value, ModuleType))
    return {module.__name__.partition(".")[0] for module in modules}


def _keras_backend(modules: Mapping[str, Any]) -> str:
    """Its default tells nothing, for TensorFlow loads Keras by itself."""
    ask = getattr(modules.get("keras.src.backend.config"), "backend", None)
    name = ask() if callable(ask) else ""
    return name if name in _ORDER[:-1] else ""


def _counts(modules: Mapping[str, Any], name: str) -> bool:
    if _BROUGHT_BY.get(name) not in modules:
        return name in modules
    place, devices = _DEVICES[name]
    return bool(getattr(modules.get(place), devices, None))


def _build(modules: Mapping[str, Any], name: str) -> str:
    module = modules[name]
    for place in (module, getattr(module, "version", None)):
        for field in ("__git_version__", "git_version"):
            if found := getattr(place, field, None):
                return _plain(str(found))
    library = getattr(modules.get(f"{name}lib"), "__version__", "")
    return f"{name}lib {library}" if library else ""


def _plain(text: str) -> str:
    """TensorFlow writes it as b'v2.21.0-…' in some versions."""
    return text[2:-1] if text.startswith("b'") else text
