"""Backends that infer a captured Keras model without Keras: native, ONNX Runtime, OpenVINO."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from assay.backends import options as _options
from assay.backends.keras import engines
from assay.core import codec, fingerprint, phases
from assay.core.contracts import Option
from assay.core.files import user_file, write_user_file
from assay.core.records import Case, Value
from assay.core.sessions import Job, Session
from assay.core.settings import SHARED_CACHE
from assay.native import toolchain

if TYPE_CHECKING:
    pass


OPTIONS = {
    "inputs": _options.INPUTS,
    "mode": Option(default="infer", choices=("infer",), help="forward only: it does not train"),
    "precision": Option(
        default="float32",
        choices=("float32",),
        help="of all that is computed",
        synonyms=_options.PRECISION.synonyms,
    ),
    "data_format": _options.DATA_FORMAT,
    "device": Option(default="cpu", choices=("cpu", "auto"), help="the CPU, in either case"),
    "threads": _options.THREADS,
    "python": _options.PYTHON,
}

KERNELS = Option(
    default="auto",
    choices=("auto", "portable", "onednn"),
    help="auto times oneDNN's and our own for each layer; portable and onednn take one of the two",
)

CONFIG = Option(
    default="",
    choices=("",),
    pattern=r".+",
    like="confs.txt",
    help="knobs from a configuration file, FILE or FILE:NAME; int8 finds its ranges from the batch",
)


class CapturedJob(msgspec.Struct, frozen=True, kw_only=True):
    """A job as a graph, with its batch in the layout the graph takes."""

    graph: Any  # assay.native's Graph
    inputs: tuple[Any, ...]  # an array for each of the graph's inputs
    items: int
    parameters: int  # trainable ones, as the other backends count
    channels_first: bool
    said: Mapping[str, Value] = {}  # facts of the job

    def onnx(self) -> str | bytes:
        """The path or bytes of an ONNX model."""
        from assay.native.onnx.file import onnx_bytes

        return onnx_bytes(self.graph)

    def inputs_by_name(self) -> dict[str, Any]:
        """The batch, by the names of the graph's inputs."""
        names = (value.name for value in self.graph.inputs)
        return dict(zip(names, self.inputs, strict=True))

    def to_graph_layout(self, inputs: Any) -> Any:
        """Convert a channels-last batch to the graph's layout."""
        import numpy as np

        batch = _options.to_layout(inputs, self.channels_first)
        return np.ascontiguousarray(batch, dtype=self.graph.inputs[0].dtype)

    def facts(self, case: Case) -> dict[str, Value]:
        return {
            **_options.facts(case),
            **self.said,
            "mode": "infer",
            "device": "cpu",
            "parameters": self.parameters,
            "compute_dtype": "float32",
            "parameter_dtype": "float32",
            "output_dtype": "float32",
            "data_format": "channels_first" if self.channels_first else "channels_last",
            "input_shape": _options.shape_text(*self.inputs),
        }


class OnnxFile(msgspec.Struct, frozen=True, kw_only=True):
    """An ONNX file that a runtime reads itself, with its batch."""

    path: str
    inputs: Mapping[str, Any]
    items: int

    def onnx(self) -> str | bytes:
        return self.path

    def inputs_by_name(self) -> Mapping[str, Any]:
        return self.inputs

    def to_graph_layout(self, inputs: Any) -> Any:
        return inputs

    def facts(self, case: Case) -> dict[str, Value]:
        kinds = [array.dtype.name for array in self.inputs.values()]
        floating = next((kind for kind in kinds if kind.startswith("float")), "float32")
        return {
            **_options.facts(case),
            "mode": "infer",
            "device": "cpu",
            "compute_dtype": floating,
            "input_shape": _options.shape_text(*self.inputs.values()),
        }


def is_file(case: Case) -> bool:
    return case.workload.endswith(".onnx")


def open_onnx_file(build: Callable[[], Job], case: Case) -> OnnxFile:
    job = build()
    assert job.train_batch
    return OnnxFile(path=str(job.model), inputs=job.train_batch[0], items=job.items)


class CapturedBackend(msgspec.Struct, frozen=True, kw_only=True):
    """A backend whose session is in `NAME.py`, loaded in the worker."""

    name: str
    summary: str
    accepts: frozenset[str] = frozenset({"keras"})

    @property
    def options(self) -> Mapping[str, Option]:
        return OPTIONS

    def missing(self) -> str:
        return _options.missing_reason(("numpy", self.name), self.name)

    def refuses(self, case: Case) -> str:
        """Keras is required except for ONNX files."""
        return _options.refusal(case) or ("" if is_file(case) else engines.missing_reason())

    def variables(self, case: Case, folder: Path) -> Mapping[str, str]:
        """Keras only builds the model, on the CPU; an ONNX file does not need it."""
        cpu_only = {"CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"}
        if is_file(case):
            return cpu_only
        data_format = str(case.options["data_format"])
        return {**engines.variables(engines.installed_engine(), data_format, folder), **cpu_only}

    @contextmanager
    def open(self, build: Callable[[], Job], case: Case) -> Iterator[Session]:
        with phases.during("import"):
            module = import_module(f"assay.backends.captured.{self.name}")
        session = module.open_session
        if is_file(case):
            yield session(open_onnx_file(build, case), case)
        else:
            yield session(capture_cached(case, lambda: capture_job(build, case)), case)


class NativeBackend(CapturedBackend, frozen=True, kw_only=True):
    """Needs a compiler; oneDNN only if requested."""

    on_request: str = "it compiles each model for some seconds to minutes"

    @property
    def options(self) -> Mapping[str, Option]:
        return {**OPTIONS, "kernels": KERNELS, "config": CONFIG}

    def missing(self) -> str:
        return _options.missing_reason(("numpy",), "native") or toolchain.missing_compiler()

    def refuses(self, case: Case) -> str:
        if case.options["kernels"] == "onednn" and not toolchain.onednn_folder():
            return "oneDNN is not installed here: pip install 'assay-lab[native]'"
        return super().refuses(case)


def capture_job(build: Callable[[], Job], case: Case) -> CapturedJob:
    """Build the Keras model and capture it as a graph; called in the worker only."""
    import math

    with phases.during("import"):
        import numpy as np

        from assay.backends.keras import model as _model
        from assay.native.capture import capture

    engines.set_seed(_options.seed(case))
    job = build()
    model = _model.check_model(job.model, case)
    with engines.hide_tensorflow():
        graph = capture(model, case.workload)
    inputs, targets = _model.batch(job, case)
    arrays = engines.flat(inputs)
    return CapturedJob(
        graph=graph,
        inputs=tuple(
            np.ascontiguousarray(array, dtype=value.dtype)
            for value, array in zip(graph.inputs, arrays, strict=True)
        ),
        items=_options.items(job) or len(targets),
        parameters=sum(math.prod(weight.shape) for weight in model.trainable_variables),
        channels_first=_model.channels_first(job, case),
        said={
            **job.facts,
            **fingerprint.fingerprint_weights(map(_model.as_array, model.trainable_variables)),
            **({"multiply_adds": job.multiply_adds} if job.multiply_adds else {}),
        },
    )


def vary_inputs(captured: CapturedJob | OnnxFile, number: int) -> dict[str, Any]:
    """The batch with other values, by the names of the inputs."""
    batch = captured.inputs_by_name()
    return {name: _options.vary(array, number) for name, array in batch.items()}


def join_outputs(arrays: Sequence[Any]) -> Any:
    """One output as it is; several are flattened and concatenated."""
    import numpy as np

    return arrays[0] if len(arrays) == 1 else np.concatenate([np.ravel(array) for array in arrays])


PROVIDES = {
    "native": NativeBackend(
        name="native",
        summary="assay's own compiler, inference of a captured Keras model or an ONNX file",
        accepts=frozenset({"keras", "onnx"}),
    ),
    "onnxruntime": CapturedBackend(
        name="onnxruntime",
        summary="ONNX Runtime on the CPU, inference of a captured Keras model or an ONNX file",
        accepts=frozenset({"keras", "onnx"}),
    ),
    "openvino": CapturedBackend(
        name="openvino",
        summary="OpenVINO on the CPU, inference of a captured Keras model or an ONNX file",
        accepts=frozenset({"keras", "onnx"}),
    ),
}


# A captured model is cached for the other processes of a run, which then need no Keras: its import
# and the initialization of weights are most of the time to open such a case.


class _CacheRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A captured model without its graph and batch."""

    items: int
    parameters: int
    channels_first: bool
    said: dict[str, Value]
    inputs: int  # how many arrays


def capture_cached(case: Case, capture: Callable[[], CapturedJob]) -> CapturedJob:
    """Read the model from the run's cache, or capture and cache it."""
    cache = os.environ.get(SHARED_CACHE)
    if not cache:
        return capture()
    folder = Path(cache) / f"captured-{_key(case)}"
    if (folder / "kept.json").is_file():  # written last
        return _read(folder)
    model = capture()
    _write(model, folder)
    return model


def _key(case: Case) -> str:
    """Hash of what determines the model and its batch; separate for each checkout."""
    request = (case.workload, case.params, case.options["data_format"], __file__)
    return hashlib.sha256(msgspec.json.encode(request, order="deterministic")).hexdigest()[:24]


def _write(model: CapturedJob, folder: Path) -> None:
    import numpy as np

    from assay.native import files

    folder.mkdir(exist_ok=True)
    files.write(model.graph, folder / "graph.npz")
    with user_file(folder / "batch.npz") as temporary, open(temporary, "wb") as file:
        np.savez(file, *model.inputs)
    record = _CacheRecord(
        items=model.items,
        parameters=model.parameters,
        channels_first=model.channels_first,
        said=dict(model.said),
        inputs=len(model.inputs),
    )
    write_user_file(folder / "kept.json", codec.encode(record))


def _read(folder: Path) -> CapturedJob:
    import numpy as np

    from assay.native import files

    record = codec.decode_part((folder / "kept.json").read_bytes(), _CacheRecord)
    with np.load(folder / "batch.npz", allow_pickle=False) as batch:
        inputs = tuple(batch[f"arr_{number}"] for number in range(record.inputs))
    return CapturedJob(
        graph=files.read(folder / "graph.npz"),
        inputs=inputs,
        items=record.items,
        parameters=record.parameters,
        channels_first=record.channels_first,
        said=record.said,
    )
