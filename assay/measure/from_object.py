"""Write a model object to a file that fresh processes load.

Keras saves its models. Modules of torch, flax, equinox and TensorFlow and pairs of JAX are pickled
by cloudpickle: code of a notebook by value, classes of files by name.
"""

from __future__ import annotations

import hashlib
import io
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import UsageError
from assay.core.files import write_user_file
from assay.core.options import StoreUrl, accept_old_keywords
from assay.core.records import Case
from assay.core.settings import Home, home
from assay.workloads.user.pickled import BATCH_SIZE, SUFFIX, LiveHeader

FOLDER = "models"
# Package, base class, kind; the first that matches.
_BASES = (
    ("keras", "Model", "keras"),
    ("torch", "Module", "torch"),
    ("flax", "Module", "jax"),
    ("equinox", "Module", "jax"),
    ("tensorflow", "Module", "tensorflow"),
)
SAVED_BY_FRAMEWORK = frozenset({"keras"})  # the framework writes the file
INPUTS_INFERRED = frozenset({"torch"})  # inputs of some models can be inferred
_BUILD = "Write a function that builds it into a file, and give 'FILE.py:NAME'."


@accept_old_keywords(home="store")
def case_from_object(
    model: Any,
    example: Any = None,
    loss: Any = None,
    targets: Any = None,
    name: str = "",
    store: StoreUrl = None,
) -> Case:
    """A case of a model that is an object: a torch module, `(function, parameters)` of JAX, a
    module of flax, equinox or TensorFlow, a Keras model. Its weights are those it has now.

    It is written to a file in `store`, which fresh processes read. `example` is what it is called
    with, or a function of the batch size; `loss` and `targets` are as in a file of one's own.

    >>> case = assay.case_from_object(torch.nn.Linear(8, 2), example=torch.rand(32, 8))
    >>> assay.run(case, backends="torch")
    """
    kind = _kind(model)
    label = name or _name(model)
    inputs = {"example": example, "loss": loss, "targets": targets}
    parts = {key: value for key, value in inputs.items() if value is not None}
    if kind in SAVED_BY_FRAMEWORK:
        return _save_keras_model(model, label, parts, store)
    if example is None and kind not in INPUTS_INFERRED:
        raise UsageError(
            f"{label} was given without an example, and its inputs cannot be inferred.",
            hint="Say what it is called with: example=array, a tuple, a dict, or a function of "
            "the batch size.",
        )
    data = _pickle_parts({"model": model, **parts}, kind, label)
    of_size = callable(example) and not hasattr(example, "shape")
    guessed = example is None
    header = LiveHeader(
        name=label,
        kind=kind,
        batch_size=BATCH_SIZE if of_size or guessed else 0,
        paths=tuple(str(Path(path).absolute()) for path in sys.path if _is_folder(path)),
    )
    path = _model_dir(label, SUFFIX, data, store)
    write_user_file(path, msgspec.json.encode(header) + b"\n" + data)
    return Case(workload=str(path), backend="?")


def _kind(model: object) -> str:
    if isinstance(model, tuple) and len(model) in {2, 3} and callable(model[0]):
        return "jax"
    classes = [(cls.__module__.partition(".")[0], cls.__name__) for cls in type(model).__mro__]
    for package, name, kind in _BASES:
        if (package, name) in classes:
            return kind
    what = "A class" if isinstance(model, type) else f"An object of the class {_name(model)}"
    raise UsageError(
        f"{what} is no model that assay knows.",
        hint="Give a torch.nn.Module, (function, parameters) of JAX, a module of flax, equinox or "
        "TensorFlow, or a keras.Model, as an object.",
    )


def _name(model: object) -> str:
    owner = model[0] if isinstance(model, tuple) else type(model)
    name: str = getattr(owner, "__name__", type(owner).__name__)
    return name


def _pickle_parts(parts: Mapping[str, Any], kind: str, label: str) -> bytes:
    import pickle

    try:
        import cloudpickle
    except ImportError:
        raise UsageError(
            "cloudpickle, which carries objects to a fresh process, is not installed here. "
            f"Without it: {_BUILD[0].lower()}{_BUILD[1:]}",
            hint="pip install 'assay-lab[live]'",
        ) from None
    try:
        writer = _WRITERS.get(kind)
        data: bytes = writer(parts, cloudpickle) if writer else cloudpickle.dumps(parts)
        return data
    # an object that cannot be pickled may raise any of these
    except (pickle.PicklingError, TypeError, AttributeError, ValueError, RuntimeError) as error:
        first = str(error).strip().partition("\n")[0]
        raise UsageError(
            f"{label} cannot be pickled for a fresh process ({first}).", hint=_BUILD
        ) from None


def _save_torch_model(parts: Mapping[str, Any], cloudpickle: Any) -> bytes:
    """torch.save, so that tensors can be loaded without a GPU."""
    import torch

    buffer = io.BytesIO()
    torch.save(dict(parts), buffer, pickle_module=cloudpickle)
    return buffer.getvalue()


_WRITERS: dict[str, Callable[[Mapping[str, Any], Any], bytes]] = {"torch": _save_torch_model}


def _save_keras_model(model: Any, label: str, parts: Mapping[str, Any], home: Home) -> Case:
    if parts:
        raise UsageError(
            f"{' and '.join(parts)} was given with a Keras model, whose file states its inputs.",
            hint="Leave it out; a loss or a batch of one's own takes an assay.Job in a file.",
        )
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.keras"
        try:
            model.save(path)
        except (ValueError, TypeError, NotImplementedError) as error:
            first = str(error).strip().partition("\n")[0]
            raise UsageError(f"Keras cannot save {label} ({first}).", hint=_BUILD) from None
        data = path.read_bytes()
    file_path = _model_dir(label, ".keras", data, home)
    write_user_file(file_path, data)
    return Case(workload=str(file_path), backend="?")


def _model_dir(name: str, suffix: str, data: bytes, chosen: Home) -> Path:
    """The same model gets the same file."""
    stem = re.sub(r"\W+", "-", name).strip("-") or "model"
    digest = hashlib.sha256(data).hexdigest()[:8]
    return home(chosen).absolute() / FOLDER / f"{stem}-{digest}{suffix}"


def _is_folder(path: str) -> bool:
    """A folder with a user's own files: every process finds installed packages."""
    return Path(path).is_dir() and not {"site-packages", "lib-dynload"} & set(Path(path).parts)
