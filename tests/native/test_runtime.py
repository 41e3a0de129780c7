"""Compiled graphs compute what the numpy oracle does, under the sanitizers too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from assay.core.errors import AssayError
from assay.native import ops, reference
from assay.native.build import RUNTIME
from assay.native.toolchain import onednn_folder, toolchain
from tests.native.built import compiled, loaded_outputs, program, write_data
from tests.native.passes.test_passes import Making
from tests.native.random_graphs import graphs, inputs_for

pytestmark = pytest.mark.real("compiler")


def near(found, wanted):
    """To float32's precision, of numbers as large as the largest."""
    return np.abs(found - wanted).max() <= 1e-5 * (1 + np.abs(wanted).max())


def single(graph):
    """With its first output only, as a program has one."""
    return msgspec.structs.replace(graph, outputs=graph.outputs[:1])


@settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
@given(graph=graphs())
def test_random_graphs_compute_as_the_oracle_and_touch_only_their_own_memory(
    graph, checked_tools, native_cache, tmp_path_factory
):
    graph = single(graph)
    folder = tmp_path_factory.mktemp("random")
    images = inputs_for(graph, 3)[0]
    write_data(folder, images, np.zeros(3))
    emitted, built = compiled(graph, checked_tools, native_cache)
    if emitted.channels_last[0]:
        write_data(folder, images.transpose(0, 3, 1, 2), np.zeros(3))

    for batch, threads in ((2, 1), (1, 2)):  # a tail; a team for one image
        words = ("--batch", str(batch), "--threads", str(threads), "--outputs", "out.bin")
        ended = program(built, folder, *words)
        assert (ended.returncode, ended.stderr) == (0, "")
        found = np.fromfile(folder / "out.bin", np.float32)
        wanted = reference.outputs(graph, images, dtype=np.float64)[0]
        assert near(found.reshape(wanted.shape), wanted)


def shapes_of_convolutions():
    """Every kernel has a layer that it alone fits or wins, with sizes that leave tails."""
    made = Making(3, 19, 18)
    value = made.conv(made.input, 20, 3, pads=(1, 1, 1, 1))  # direct: too few channels
    value = made.conv(value, 40, 3, pads=(1, 0, 2, 1))  # Winograd, four outputs at a time
    value = made.conv(value, 33, 5, pads=(2, 2, 2, 2))  # and two
    value = made.conv(value, 33, 3, groups=33, strides=(2, 1), pads=(1, 1, 1, 1))  # depthwise
    value = made.conv(value, 70, 1)  # pixels as rows of a matrix
    value = made.conv(value, 16, 3, strides=(2, 2), dilations=(2, 2), pads=(2, 2, 2, 2))
    value = made.conv(value, 24, 3, groups=2, pads=(1, 1, 1, 1))
    for kind in ("tanh", "relu"):
        value = made.add(ops.ActivationOp(kind), value)
    size = int(np.prod(made.building.shapes[value]))
    flat = made.add(ops.ReshapeOp((size,)), value)
    weight = made.building.constant("halves", made.random.integers(-8, 8, (300, size)) / 512)
    return made.graph(made.add(ops.DenseOp(weight), flat))


@pytest.mark.parametrize("kernels", ["auto", "portable", "onednn"])
def test_every_kernel_computes_as_the_oracle(kernels, native_cache):
    if kernels != "portable" and not onednn_folder():
        pytest.skip("needs oneDNN")
    graph = shapes_of_convolutions()
    images = inputs_for(graph, 5)[0]
    emitted, built = compiled(
        graph, toolchain("portable" if kernels == "portable" else "onednn"), native_cache
    )

    wanted = reference.outputs(graph, images, dtype=np.float64)[0]

    for batch, threads in ((5, 1), (1, 2), (4, 2)):
        assert near(loaded_outputs(emitted, built, images, batch, threads, kernels), wanted)


@pytest.mark.parametrize("shape", [(5,), (5, 3), (5, 3, 4), (5, 3, 4, 2)])
def test_a_batch_norm_is_along_the_first_axis_of_items_of_any_rank(
    shape, plain_tools, native_cache
):
    made = Making(*shape)
    graph = made.graph(made.norm(made.input))
    items = inputs_for(graph, 3)[0]
    emitted, built = compiled(graph, plain_tools, native_cache)

    wanted = reference.outputs(graph, items, dtype=np.float64)[0]

    assert near(loaded_outputs(emitted, built, items, 3), wanted)


def test_weights_shared_by_pictures_and_a_vector_fit_each(plain_tools, native_cache):
    made = Making(2, 3, 4)
    weight = made.constant(24, 24)
    other = made.add(ops.PadOp((0, 0, 1, 0)), made.conv(made.input, 2, 1))
    other = made.add(ops.PoolOp("max", (2, 1), (1, 1)), other)
    other = made.add(ops.TransposeOp((2, 1, 0)), other)  # another image of as many numbers
    flat = [made.add(ops.ReshapeOp((24,)), value) for value in (made.input, other)]
    dense = [made.add(ops.DenseOp(weight), value) for value in flat]
    dense.append(made.add(ops.DenseOp(weight), dense[0]))
    graph = made.graph(made.add(ops.ConcatenateOp(0), *dense))
    images = inputs_for(graph, 3)[0]
    emitted, built = compiled(graph, plain_tools, native_cache)

    wanted = reference.outputs(graph, images, dtype=np.float64)[0]

    assert near(loaded_outputs(emitted, built, images, 3), wanted)


def test_a_local_norm_is_over_the_channels_around(plain_tools, native_cache):
    made = Making(5, 3, 4)
    graph = made.graph(made.add(ops.LocalNormOp(3, 0.3, 0.75, 1.5), made.input))
    images = inputs_for(graph, 3)[0]
    emitted, built = compiled(graph, plain_tools, native_cache)

    wanted = reference.outputs(graph, images, dtype=np.float64)[0]

    for threads in (1, 2):
        assert near(loaded_outputs(emitted, built, images, 2, threads), wanted)


def test_values_share_memory_only_where_nobody_needs_both(checked_tools, tmp_path):
    source = Path(__file__).with_name("plan.cpp")
    checked_tools.compile(source, tmp_path / "plan.o", RUNTIME)
    checked_tools.link([tmp_path / "plan.o"], tmp_path / "plan", shared=False)

    ended = subprocess.run([tmp_path / "plan"], capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_runtime_is_clean_of_warnings(tmp_path):
    """With oneDNN, as it is read; `test_levels.py` makes code of the rest under the same rule."""
    tools = toolchain("auto")
    strict = msgspec.structs.replace(tools, flags=(*tools.flags, "-Werror", "-fsyntax-only"))

    strict.compile(RUNTIME / "runtime.cpp", tmp_path / "none.o", RUNTIME)  # or it raises

    (tmp_path / "bad.cpp").write_text("int cut(double);\nint cut(double x) { return x; }\n")
    with pytest.raises(AssayError, match=r"bad.cpp:2:.* conversion .*double. to .int."):
        strict.compile(tmp_path / "bad.cpp", tmp_path / "none.o", RUNTIME)


MEMORY = """
import sys, numpy as np
from assay.native import ops
from assay.native.library import LoadedModel
from assay.native.toolchain import toolchain
from pathlib import Path
from tests.native.built import compiled
from tests.native.making import Making

def held():
    pages = int(open("/proc/self/statm").read().split()[1])
    return pages * 4096 / 2**20

made = Making(2000)
graph = made.graph(made.add(ops.DenseOp(made.constant(2000, 2000)), made.input))
emitted, built = compiled(graph, toolchain("onednn"), Path(sys.argv[1]))
engine = LoadedModel(built, emitted, 9, 4, "onednn", seconds=0)
before = held()
for images in range(1, 10):
    engine.run(np.zeros((images, 2000), np.float32))
print(held() - before)
"""


def test_onednn_holds_weights_once_for_all_threads_and_batches(native_cache):
    if not onednn_folder():
        pytest.skip("needs oneDNN")
    command = [sys.executable, "-c", MEMORY, str(native_cache)]

    ended = subprocess.run(command, capture_output=True, text=True, check=True)

    # 16 MB of weights, in a few orders at most; each of some twenty pipelines had its own.
    assert float(ended.stdout) < 80
