"""An object of a Python session → a file by which it travels to fresh processes.

Keras models go as Keras saves them. Modules of torch, pairs of JAX and modules of TensorFlow are
pickled: code of a notebook goes with them, classes of files are found again by their name.
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
from assay.core.files import user_file
from assay.core.records import Case
from assay.core.settings import Home, home
from assay.workloads.user.pickled import BATCH_SIZE, SUFFIX, LiveHeader

FOLDER = "models"
# Whose model an object is, by a class that it derives from; the first that fits.
_BASES = (
    ("keras", "Model", "keras"),
    ("torch", "Module", "torch"),
    ("flax", "Module", "jax"),
    ("equinox", "Module", "jax"),
    ("tensorflow", "Module", "tensorflow"),
)
SAVED = frozenset({"keras"})  # whose models are written by their framework
GUESSED = frozenset({"torch"})  # of some of whose models it is certain what they take
_BUILD = "Write a function that builds it into a file, and give 'FILE.py:NAME'."


def live(
    model: Any,
    example: Any = None,
    loss: Any = None,
    targets: Any = None,
    name: str = "",
    home: Home = None,
) -> Case:
    """A case of a model that is an object: a torch module, `(function, parameters)` of JAX, a
    module of flax, equinox or TensorFlow, a Keras model. Its weights are those it has now.

    It is written to a file in `home`, which fresh processes read. `example` is what it is called
    with, or a function of the batch size; `loss` and `targets` are as in a file of one's own.

    >>> case = assay.live(torch.nn.Linear(8, 2), example=torch.rand(32, 8))
    >>> assay.run(case, backends="torch")
    """
    kind = _kind(model)
    called = name or _name(model)
    given = {"example": example, "loss": loss, "targets": targets}
    held = {key: value for key, value in given.items() if value is not None}
    if kind in SAVED:
        return _saved_by_keras(model, called, held, home)
    if example is None and kind not in GUESSED:
        raise UsageError(
            f"{called} comes without an example, and what it takes cannot be told from it.",
            hint="Say what it is called with: example=array, a tuple, a dict, or a function of "
            "the batch size.",
        )
    data = _pickled({"model": model, **held}, kind, called)
    of_size = callable(example) and not hasattr(example, "shape")
    guessed = example is None
    header = LiveHeader(
        name=called,
        kind=kind,
        batch_size=BATCH_SIZE if of_size or guessed else 0,
        paths=tuple(str(Path(place).absolute()) for place in sys.path if _is_folder(place)),
    )
    place = _place(called, SUFFIX, data, home)
    with user_file(place) as temporary:
        temporary.write_bytes(msgspec.json.encode(header) + b"\n" + data)
    return Case(workload=str(place), backend="?")


def of_keywords(
    cases: tuple[Any, ...],
    model: Any,
    given: dict[str, Any],
    home: Home,
) -> tuple[Any, ...]:
    """The cases, and that of the model, whose keywords are taken out of those given."""
    names = ("example", "loss", "targets", "name")
    parts = {key: given.pop(key) for key in names if key in given}
    if model is not None:
        return (*cases, live(model, home=home, **parts))
    if parts:
        raise UsageError(
            f"{' and '.join(parts)} came without a model.",
            hint="As in: assay.run(model=net, example=torch.rand(8, 3, 32, 32))",
        )
    return cases


def _kind(model: object) -> str:
    if isinstance(model, tuple) and len(model) in {2, 3} and callable(model[0]):
        return "jax"
    classes = [(one.__module__.partition(".")[0], one.__name__) for one in type(model).__mro__]
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
    one = model[0] if isinstance(model, tuple) else type(model)
    found: str = getattr(one, "__name__", type(one).__name__)
    return found


def _pickled(held: Mapping[str, Any], kind: str, called: str) -> bytes:
    import pickle

    try:
        import cloudpickle
    except ImportError:
        raise UsageError(
            "cloudpickle is not installed here, which carries objects to a fresh process.",
            hint=f"pip install 'assay[live]'. Or without it: {_BUILD[0].lower()}{_BUILD[1:]}",
        ) from None
    try:
        data: bytes = _WRITERS.get(kind, _plainly)(held, cloudpickle)
        return data
    # what objects raise that refuse to be pickled is their own choice
    except (pickle.PicklingError, TypeError, AttributeError, ValueError, RuntimeError) as error:
        first = str(error).strip().partition("\n")[0]
        raise UsageError(
            f"{called} cannot travel to a fresh process ({first}).", hint=_BUILD
        ) from None


def _plainly(held: Mapping[str, Any], cloudpickle: Any) -> Any:
    return cloudpickle.dumps(held)


def _by_torch(held: Mapping[str, Any], cloudpickle: Any) -> bytes:
    """Tensors as torch keeps them, so that they can be loaded where there is no GPU."""
    import torch

    written = io.BytesIO()
    torch.save(dict(held), written, pickle_module=cloudpickle)
    return written.getvalue()


_WRITERS: dict[str, Callable[[Mapping[str, Any], Any], Any]] = {"torch": _by_torch}


def _saved_by_keras(model: Any, called: str, held: Mapping[str, Any], home: Home) -> Case:
    """As a `.keras` file, which states its inputs."""
    if held:
        raise UsageError(
            f"{' and '.join(held)} came with a Keras model, whose file states its own inputs.",
            hint="Leave it out; a loss or a batch of one's own takes an assay.Job in a file.",
        )
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.keras"
        try:
            model.save(path)
        except (ValueError, TypeError, NotImplementedError) as error:
            first = str(error).strip().partition("\n")[0]
            raise UsageError(f"Keras cannot save {called} ({first}).", hint=_BUILD) from None
        data = path.read_bytes()
    place = _place(called, ".keras", data, home)
    with user_file(place) as temporary:
        temporary.write_bytes(data)
    return Case(workload=str(place), backend="?")


def _place(called: str, suffix: str, data: bytes, chosen: Home) -> Path:
    """The same model again is the same file."""
    plain = re.sub(r"\W+", "-", called).strip("-") or "model"
    digest = hashlib.sha256(data).hexdigest()[:8]
    return home(chosen).absolute() / FOLDER / f"{plain}-{digest}{suffix}"


def _is_folder(place: str) -> bool:
    """Where a user's own files may be; installed packages every process finds."""
    return Path(place).is_dir() and not {"site-packages", "lib-dynload"} & set(Path(place).parts)
