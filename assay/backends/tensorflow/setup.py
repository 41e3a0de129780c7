"""Settings of TensorFlow before a model is built, for tensorflow and keras-tensorflow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

from assay.backends import data_parallel
from assay.backends import options as _options
from assay.core.records import Case, Value

_PRODUCTS = frozenset(
    {
        *("MatMul", "BatchMatMul", "BatchMatMulV2", "Einsum"),
        *("Conv2D", "Conv2DBackpropInput", "DepthwiseConv2dNative"),
    }
)


def prepare(case: Case) -> None:
    on_gpu = bool(tf.config.list_physical_devices("GPU"))
    _options.check_device(case, f"TensorFlow {tf.__version__}", on_gpu)
    tf.random.set_seed(_options.seed(case))
    # TensorFlow's default is TF32; here float32 means float32
    tf.config.experimental.enable_tensor_float_32_execution(case.options["precision"] == "tf32")


@contextmanager
def open_devices(case: Case) -> Iterator[Any]:
    """The strategy of several devices, in whose scope all is built; None for one device."""
    devices = data_parallel.count(case)
    if devices == 1:
        yield None
        return
    kind = "GPU" if tf.config.list_physical_devices("GPU") else "CPU"
    if kind == "CPU":
        (cpu, *_) = tf.config.list_physical_devices("CPU")
        parts = [tf.config.LogicalDeviceConfiguration() for _ in range(devices)]
        tf.config.set_logical_device_configuration(cpu, parts)
    data_parallel.check_seen(case, "TensorFlow", len(tf.config.list_logical_devices(kind)))
    strategy = tf.distribute.MirroredStrategy([f"{kind}:{number}" for number in range(devices)])
    with strategy.scope():
        yield strategy


def is_shared(strategy: Any, batch: Any) -> Any:
    """A batch, split into the rows of each device."""
    count = strategy.num_replicas_in_sync

    def rows(context: Any) -> Any:
        number = context.replica_id_in_sync_group
        return tf.nest.map_structure(lambda part: tf.split(part, count)[number], batch)

    return strategy.experimental_distribute_values_from_function(rows)


def macs(graph: tf.Graph) -> float:
    """Multiply-adds of a traced forward pass by TensorFlow's profiler, which counts each as two;
    0 with a loop, whose body it counts once."""
    profiler = tf.compat.v1.profiler
    options = profiler.ProfileOptionBuilder.float_operation() | {"output": "none"}
    if any(operation.type in {"While", "StatelessWhile"} for operation in graph.get_operations()):
        return 0.0
    return float(profiler.profile(graph, options=options).total_float_ops) / 2


def product_dtypes(traced: tf.Graph) -> str:
    """Of all products and convolutions of a traced forward pass, including loops."""
    graph = traced.as_graph_def()
    inner = (node for function in graph.library.function for node in function.node_def)
    nodes = (node for node in (*graph.node, *inner) if node.op in _PRODUCTS)
    return " ".join(sorted({tf.dtypes.as_dtype(node.attr["T"].type).name for node in nodes}))


def facts() -> dict[str, Value]:
    gpus = tf.config.list_physical_devices("GPU")
    details = tf.config.experimental.get_device_details(gpus[0]) if gpus else {}
    return {
        "device": f"gpu {details.get('device_name', '')}" if gpus else "cpu",
        "tf32": tf.config.experimental.tensor_float_32_execution_enabled(),
    }


def wait() -> None:
    """For all enqueued work of any device: a function's outputs may be ready before its updates."""
    tf.test.experimental.sync_devices()
