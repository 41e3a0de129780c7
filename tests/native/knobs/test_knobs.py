"""Every knob computes what the oracle says, on drawn shapes; the oracle says what HPVM does."""

from __future__ import annotations

import numpy as np
import pytest

from assay.core.errors import UsageError
from assay.native import ops, reference
from assay.native.build import build
from assay.native.emit import emit
from assay.native.knobs.apply import apply_knobs, sample_weight
from assay.native.knobs.calibration_file import save_items
from assay.native.knobs.from_config import read_knobs
from assay.native.knobs.int8_chains import affine, quantize_weights
from assay.native.knobs.table import KNOBS, available_knobs, corrected_id
from assay.native.passes.pipeline import optimize
from tests.native.built import program
from tests.native.knob_cases import SOME, Drawn, both, drawn, items_for, with_knobs, wrong
from tests.native.making import Making


def check(seed, numbers, tools, cache):
    graph, knobs = drawn(seed, numbers)
    changed, items = with_knobs(graph, knobs)
    for threads in (1, 2):
        assert not wrong(changed, changed, knobs, items, tools, cache, threads)


@pytest.mark.real("compiler")
def test_layers_with_knobs_compute_as_the_oracle(plain_tools, native_cache):
    check(1, SOME, plain_tools, native_cache)


@pytest.mark.real("compiler")
def test_layers_with_knobs_touch_only_their_own_memory(checked_tools, native_cache, tmp_path):
    graph, knobs = drawn(2, SOME[::2])
    changed, items = with_knobs(graph, knobs)
    emitted = emit(changed)
    for number, each in enumerate(items):
        name = "test_input.bin" + (f".{number + 1}" if number else "")
        each.tofile(tmp_path / name)
    np.zeros(len(items[0]), np.uint32).tofile(tmp_path / "test_labels.bin")

    built = build(emitted, checked_tools, native_cache)
    ended = program(built, tmp_path, "--threads", "2", "--batch", "2")

    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.long
@pytest.mark.real("compiler")
@pytest.mark.parametrize("seed", range(40))
def test_every_knob_computes_as_the_oracle_on_many_shapes(seed, plain_tools, native_cache):
    every = [n for n in KNOBS if KNOBS[n].runs != "simulated" and KNOBS[n].kind != "reduce"]
    check(100 + seed, every, plain_tools, native_cache)


def one_conv(size=(5, 6), kernel=3, channels=3):
    made = Making(channels, *size)
    return optimize(made.graph(made.conv(made.input, 2, kernel, pads=(1, 1, 1, 1))))


@pytest.mark.parametrize("number", [n for n in KNOBS if KNOBS[n].name == "perf"])
def test_a_skipped_row_or_column_is_the_mean_of_its_neighbours(number):
    graph = one_conv()
    images = items_for(graph)[0]
    rows, columns, offset = map(int, KNOBS[number].parameters)
    bias = graph.constants[graph.nodes[0].op.bias].reshape(-1, 1, 1)
    whole = reference.outputs(graph, images, dtype=np.float64)[0] - bias

    found = reference.outputs(apply_knobs(graph, {"ConvOp0": number}), images, dtype=np.float64)[0]

    axis, every = (2, rows) if rows > 1 else (3, columns)
    lines, wanted = np.moveaxis(whole, axis, 0), []
    for at, line in enumerate(lines):
        if at < offset or (at - offset) % every:
            wanted.append(line)
        elif at == 0:
            wanted.append(lines[1])
        elif at == len(lines) - 1:
            wanted.append(lines[at - 1])
        else:
            wanted.append((lines[at - 1] + lines[at + 1]) / 2)
    np.testing.assert_allclose(found - bias, np.moveaxis(np.array(wanted), 0, axis), atol=1e-9)


def test_an_only_row_is_computed_although_it_would_be_skipped():
    graph = one_conv((1, 6))
    images = items_for(graph)[0]

    found = reference.outputs(apply_knobs(graph, {"ConvOp0": 123}), images)[0]

    np.testing.assert_array_equal(found, reference.outputs(graph, images)[0])


@pytest.mark.parametrize("kernel", [1, 2, 3])
@pytest.mark.parametrize("every", [2, 3, 4])
def test_sampling_leaves_out_the_terms_that_hpvm_does(kernel, every):
    weight = np.random.default_rng(0).normal(size=(2, 5, kernel, kernel)).astype(np.float32)
    for offset in range(every):
        found = sample_weight(weight, every, offset)
        for channel, row, column in np.ndindex(*weight.shape[1:]):
            local = row * kernel + column
            if kernel * kernel % every:
                flat = channel * kernel * kernel + local
                dropped = flat >= offset and (flat - offset) % every == 0
            else:
                dropped = local % every == (offset + channel) % every
            factor = 0 if dropped else every / (every - 1)
            term = weight[:, channel, row, column] * factor
            np.testing.assert_allclose(found[:, channel, row, column], term, rtol=1e-6)


def chain():
    """conv, relu, conv with a sum and a pool, flattened, dense: all may stay bytes."""
    made = Making(4, 6, 6)
    made.random = np.random.default_rng(5)
    first = made.add(ops.ActivationOp("relu"), made.conv(made.input, 8, 3, pads=(1, 1, 1, 1)))
    second = made.add(ops.BinaryOp("add"), made.conv(first, 8, 3, pads=(1, 1, 1, 1)), first)
    pooled = made.add(ops.PoolOp("max", (3, 3), (1, 1)), second)
    flat = made.add(ops.ReshapeOp((128,)), pooled)
    dense = made.add(ops.DenseOp(made.constant(6, 128), made.constant(6)), flat)
    return optimize(made.graph(dense))


def all_int8(graph):
    return {node.name: 13 for node in graph.nodes if 13 in available_knobs(node, graph)}


def test_between_layers_of_int8_values_stay_bytes():
    graph = chain()

    changed = apply_knobs(graph, all_int8(graph), items_for(graph))

    assert [node.dtype for node in changed.nodes] == ["uint8"] * 5 + ["float32"]
    pool = next(node for node in changed.nodes if isinstance(node.op, ops.PoolOp))
    before = next(node for node in changed.nodes if node.output == pool.inputs[0])
    assert (pool.scale, pool.zero) == (before.scale, before.zero)


def test_a_value_that_something_else_reads_stays_a_float():
    graph = chain()

    changed = apply_knobs(graph, {graph.nodes[1].name: 13}, items_for(graph))

    assert [node.dtype for node in changed.nodes].count("uint8") == 1  # the cast of its input
    assert isinstance(changed.nodes[1].op, ops.CastOp)


@pytest.mark.real("compiler")
def test_a_chain_of_bytes_computes_as_the_oracle(plain_tools, native_cache):
    graph = chain()
    changed, items = with_knobs(graph, all_int8(graph))

    for threads in (1, 2):
        found, wanted = both(changed, items, plain_tools, native_cache, threads)
        # a byte that fell to the other side is one step, times the largest weight
        assert np.abs(found[0] - wanted[0]).max() <= 0.01 * np.abs(wanted[0]).max()


def test_int8_is_near_what_it_stands_for():
    graph = chain()
    items = items_for(graph)

    found = reference.outputs(apply_knobs(graph, all_int8(graph), items), *items)[0]

    wanted = reference.outputs(graph, *items)[0]
    assert np.abs(found - wanted).max() < 0.03 * np.abs(wanted).max()


def test_bytes_have_a_zero_of_their_own_and_cut_off_what_is_far():
    values = np.random.default_rng(0).normal(0.3, 1, 20000) ** 3

    found = affine(values.astype(np.float32))

    assert 255 * found.scale < np.ptp(values) and found.zero > 0
    assert affine(np.abs(values)).zero == 0


def test_weights_are_whole_numbers_of_each_filters_own_scale():
    weight = np.array([[1.0, -0.5], [0.0, 0.0], [100.0, 3.0]], np.float32)

    numbers, scales = quantize_weights(weight)

    assert numbers.tolist() == [[127, -64], [0, 0], [127, 4]]
    np.testing.assert_allclose(scales, [1 / 127, 1, 100 / 127], rtol=1e-6)


@pytest.mark.parametrize(
    ("layer", "number", "error", "complaint"),
    [
        ("ConvOp0", 999, UsageError, "There is no knob 999"),
        ("ConvOp9", 13, UsageError, "no convolution or dense layer named 'ConvOp9'"),
        ("ConvOp0", 14, UsageError, "does not fit 'ConvOp0': it is no dense layer"),
        ("ConvOp0", 51, UsageError, "its window is not 1 by 1"),
        ("ConvOp0", 13, UsageError, "there are no items"),
        ("ConvOp0", 531, UsageError, "there are no items"),
    ],
)
def test_a_knob_that_cannot_be_had_is_refused_with_its_layer(layer, number, error, complaint):
    with pytest.raises(error, match=complaint):
        apply_knobs(one_conv(), {layer: number})


def test_hpvms_ids_keep_their_meaning():
    perf = [KNOBS[n].parameters for n in (121, 124, 127, 130, 134, 138, 168)]
    assert perf == [(1, 2, 0), (2, 1, 1), (1, 3, 2), (3, 1, 2), (1, 4, 3), (4, 1, 3), (4, 1, 3)]
    assert [KNOBS[n].parameters for n in (231, 235, 239, 261)] == [(2, 0), (3, 2), (4, 3), (2, 0)]
    families = {"perf": 18, "perf_fp16": 18, "samp": 9, "samp_fp16": 9, "red_samp": 6}
    for name, count in families.items():
        assert sum(each.name == name for each in KNOBS.values()) == count


def test_only_what_the_machine_does_is_offered():
    graph = chain()

    found = available_knobs(graph.nodes[0], graph)

    assert {11, 13, 121, 138, 231, 239, 321, 439} <= set(found)
    assert not {12, 151, 261, 1, 7, 14} & set(found)


CONFIG = """0
+++++
conf1 1 1 90 0
1 gpu conv fp32 11 add fp32 1 tanh fp32 1 pool_max fp32 1
2 gpu mul fp32 11
3 gpu softmax fp32 1
-----
+++++
conf2 2 1 89 1
1 gpu conv perf_fp16 153 add fp16 1 tanh fp16 1 pool_max fp16 1
2 cpu mul int8 13
3 gpu softmax fp32 1
-----
"""


def test_a_configuration_of_hpvms_form_gives_each_layer_its_knob(tmp_path):
    path = tmp_path / "confs.txt"
    path.write_text(CONFIG)
    made = Making(2, 6, 6)
    active = made.add(ops.ActivationOp("tanh"), made.conv(made.input, 4, 3))
    flat = made.add(ops.ReshapeOp((16,)), made.add(ops.PoolOp("max", (2, 2), (2, 2)), active))
    graph = made.graph(made.add(ops.DenseOp(made.constant(3, 16)), flat))

    assert read_knobs(graph, path) == {"ConvOp0": 153, "DenseOp4": 13}
    assert read_knobs(graph, path, "conf1") == {"ConvOp0": 11, "DenseOp4": 11}
    with pytest.raises(UsageError, match="no configuration named 'conf3'"):
        read_knobs(graph, path, "conf3")


SAMPLED = CONFIG.replace("perf_fp16 153", "samp_fp16 262")


def test_hpvms_samplings_are_corrected_only_next_to_the_items_of_an_earlier_tuning(tmp_path):
    (tmp_path / "confs.txt").write_text(SAMPLED)
    (tmp_path / "tuned").mkdir()
    (tmp_path / "tuned/confs.txt").write_text(SAMPLED)
    save_items(tmp_path / "tuned", np.zeros((1, 2, 6, 6), np.float32))
    made = Making(2, 6, 6)
    active = made.add(ops.ActivationOp("tanh"), made.conv(made.input, 4, 3))
    flat = made.add(ops.ReshapeOp((16,)), made.add(ops.PoolOp("max", (2, 2), (2, 2)), active))
    graph = made.graph(made.add(ops.DenseOp(made.constant(3, 16)), flat))

    assert read_knobs(graph, tmp_path / "confs.txt") == {"ConvOp0": 262, "DenseOp4": 13}
    assert read_knobs(graph, tmp_path / "tuned/confs.txt") == {"ConvOp0": 562, "DenseOp4": 13}


def test_every_sampling_of_hpvm_has_a_corrected_one_of_the_same_terms():
    hpvm = [each for each in KNOBS.values() if each.name in ("samp", "samp_fp16")]

    pairs = [(each, KNOBS[corrected_id(each.id)]) for each in hpvm]

    assert len({other.id for _, other in pairs}) == 18
    assert all(a.parameters == b.parameters and a.half == b.half for a, b in pairs)
    assert all(b.corrected and not a.corrected for a, b in pairs)
    assert corrected_id(121) == 121 and corrected_id(431) == 431


def far(graph, changed, items):
    """How far two graphs are apart, in mean square."""
    outputs = (reference.outputs(each, *items, dtype=np.float64)[0] for each in (graph, changed))
    return float(np.mean(np.subtract(*outputs) ** 2))


@pytest.mark.parametrize("number", [231, 234])
def test_corrected_samplings_lose_less_than_hpvms_rule_which_ignores_items(number):
    made = Drawn(3)
    value = made.building.add_input("input", (6, 9, 9)).value
    mixed = made.add(ops.ConvOp(made.constant(12, 6, 1, 1)), value)  # channels that are alike
    layer = made.building.add("layer", ops.ConvOp(made.constant(5, 12, 3, 3)), mixed)
    graph = optimize(made.building.graph("mixed", [layer]))
    seen, other = items_for(graph, 1), items_for(graph, 2)

    scaled = [apply_knobs(graph, {"layer": number}, items) for items in ((), seen)]
    corrected = apply_knobs(graph, {"layer": corrected_id(number)}, seen)

    weights = [each.constants[f"layer/knob{number}"] for each in scaled]
    np.testing.assert_array_equal(*weights)
    assert far(graph, corrected, other) < 0.5 * far(graph, scaled[0], other)


def test_a_lower_rank_loses_nothing_that_is_not_there():
    made = Drawn(4)
    value = made.building.add_input("input", (30,)).value
    weight = made.random.normal(size=(20, 4)) @ made.random.normal(size=(4, 30))
    layer = made.building.add("layer", ops.DenseOp(made.building.constant("w", weight)), value)
    graph = made.building.graph("narrow", [layer])

    for items in ((), items_for(graph)):
        changed = apply_knobs(graph, {"layer": 52}, items)
        assert [node.shape for node in changed.nodes] == [(5,), (20,)]
        assert far(graph, changed, items_for(graph, 2)) < 1e-6
