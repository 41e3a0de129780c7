"""The job of a benchmark class: its model, its images, its training."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from assay.core.errors import UsageError, unknown_name_error
from assay.core.files import user_path
from assay.core.records import Value
from assay.core.sessions import Examples, Job
from assay.workloads.user.benchmark_class import ATTRIBUTES, HPVM, MethodNames, check_methods

SPLITS = ("train", "test", "tune")
# Attributes with paths of weights; `trained` chooses the first that exists.
WEIGHTS = ("weights", "keras_model_file", "reload_dir")
_ANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class BenchmarkObject:
    """An object of the class with its data, which is loaded once."""

    def __init__(self, thing: Any, naming: MethodNames) -> None:
        self.thing, self.naming = thing, naming
        self.load: Callable[[], dict[str, tuple[Any, Any]]] = cache(self._load)

    def model(self) -> Any:
        if self.naming.data_format:
            import keras

            keras.config.set_image_data_format(self.naming.data_format)
        return getattr(self.thing, self.naming.build)()

    def train(self, model: Any) -> Any:
        """By its own method and data; a method that returns nothing has changed `model`."""
        arrays = [part for split in ("train", "test") for part in self.load()[split]]
        return getattr(self.thing, self.naming.train)(model, *arrays) or model

    def examples(self, split: str, first: int) -> Examples:
        """Channels last, with class numbers, checked."""
        inputs, labels = self._split(split)
        inputs, labels = np.asarray(inputs), _numbers(np.asarray(labels))
        _check(self.naming.data, split, inputs, labels, getattr(self.thing, "num_classes", 0))
        if first > len(labels):
            raise UsageError(
                f"The first {first} images of {split} were asked for, but there are {len(labels)}.",
                hint=f"Ask for 1 to {len(labels)}.",
            )
        rows = slice(first or None)
        if self.naming.data_format and inputs.ndim == 4:
            inputs = inputs.transpose(0, 2, 3, 1)
        return Examples(
            inputs=inputs[rows],
            labels=labels[rows],
            ready=partial(np.asarray, dtype=np.float32),
            facts={"dataset": f"{self.naming.data} of {type(self.thing).__name__}"},
        )

    def weights(self, chosen: str) -> str:
        """A path, or the path in an attribute."""
        attributes = WEIGHTS if chosen == "trained" else (chosen,)
        if not set(attributes) <= set(WEIGHTS):
            return chosen
        paths = [str(getattr(self.thing, name, "")) for name in attributes]
        existing = [path for path in paths if path and user_path(path).exists()]
        if not existing:
            answer = ", ".join(filter(None, paths)) or "none of " + ", ".join(attributes)
            raise UsageError(
                f"{type(self.thing).__name__} has no weights here: {answer}.",
                hint="Train it first."
                + (" Or give --weights FILE." if len(attributes) > 1 else ""),
            )
        return existing[0]

    def facts(self, weights: str) -> dict[str, Value]:
        names = ("keras_model_file", "data_dir", "src_dir")
        paths = {name: str(getattr(self.thing, name, "")) for name in names}
        answer: dict[str, Value] = {name: path for name, path in paths.items() if path}
        return answer | ({"weights_file": self.weights(weights)} if weights else {})

    def _split(self, split: str) -> tuple[Any, Any]:
        splits = self.load()
        if split not in splits:
            raise unknown_name_error("split", split, splits)
        return splits[split]

    def _load(self) -> dict[str, tuple[Any, Any]]:
        answer = getattr(self.thing, self.naming.data)()
        pairs = (
            list(zip(answer[::2], answer[1::2], strict=True))
            if self.naming is HPVM
            else list(answer)
        )
        if not 2 <= len(pairs) <= len(SPLITS) or any(len(pair) != 2 for pair in pairs):
            expected = (
                "X_train, y_train, X_test, y_test, X_tuner, y_tuner"
                if self.naming is HPVM
                else "(x_train, y_train), (x_test, y_test) and, if there is one, (x_tune, y_tune)"
            )
            raise UsageError(
                f"{self.naming.data} of {type(self.thing).__name__} returned {len(answer)} things.",
                hint=f"Return {expected}.",
            )
        return dict(zip(SPLITS, pairs, strict=False))


def make_object(kind: type, naming: MethodNames) -> BenchmarkObject:
    """Create an object; the constructor gets those of HPVM's arguments that are known."""
    check_methods(kind.__name__, naming, set(dir(kind)))
    settings = _settings(kind)
    kwargs = {}
    for name, parameter in inspect.signature(kind).parameters.items():
        if name in settings:
            kwargs[name] = settings[name]
        elif parameter.default is parameter.empty and parameter.kind not in _ANY:
            raise UsageError(
                f"The benchmark class {kind.__name__} needs '{name}', which is not given.",
                hint=f"Give it a default, or the class an attribute {name}.",
            )
    return BenchmarkObject(kind(**kwargs), naming)


def job(benchmark: BenchmarkObject, batch_size: int, weights: str) -> Job:
    model = benchmark.model()
    if weights:
        from assay.weights import keras as _keras

        _keras.load(model, benchmark.weights(weights))
    train = benchmark.examples("train", 0)
    rows = np.arange(batch_size) % len(train.labels)
    return Job(
        model=model,
        train_batch=(train.ready(train.inputs[rows]), train.labels[rows]),
        eval_data=benchmark.examples,
        train=benchmark.train if hasattr(benchmark.thing, benchmark.naming.train) else None,
        data_format=benchmark.naming.data_format,
        facts=benchmark.facts(weights),
    )


def _settings(kind: type) -> dict[str, Any]:
    """Arguments of HPVM's constructor, from attributes of the class or variables of its module."""
    module = vars(sys.modules[kind.__module__])
    settings = {"name": getattr(kind, "NAME", module.get("NAME", kind.__name__))}
    for name in ATTRIBUTES:
        if name in module:
            settings[name] = module[name]
        if hasattr(kind, name):
            settings[name] = getattr(kind, name)
    return settings


def _numbers(labels: Any) -> Any:
    """Class numbers, also from one-hot rows."""
    if labels.ndim == 2:
        labels = labels.argmax(1) if labels.shape[1] > 1 else labels[:, 0]
    return labels.astype(np.int32)


def _check(method: str, split: str, inputs: Any, labels: Any, classes: int) -> None:
    if len(inputs) != len(labels):
        raise UsageError(
            f"{method} gave {len(inputs)} {split} inputs, but {len(labels)} labels.",
            hint="Give one label to each.",
        )
    wrong = (labels < 0) | (labels >= classes) if classes else labels < 0
    if wrong.any():
        at = int(wrong.argmax())
        raise UsageError(
            f"Label {labels[at]} of {split} example {at} from {method} is out of range.",
            hint=f"num_classes is {classes}: use 0 to {classes - 1}."
            if classes
            else "Count classes from 0.",
        )
