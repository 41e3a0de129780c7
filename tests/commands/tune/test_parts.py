"""What a tuning is made of, without a process: times by layer, candidates, points, state."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from assay.commands.tune.request import MonitorEnergyMeter, TuneRequest
from assay.core.errors import NotPossibleError, UsageError
from assay.native import reference
from assay.native.knobs.apply import Calibration, apply_knobs
from assay.native.passes.pipeline import optimize
from assay.native.subgraph import extract_nodes, node_index
from assay.native.tuner import checks, layer_times, validate
from assay.native.tuner.candidates import byte_costs, candidates, weight_bytes
from assay.native.tuner.records import LabelledImages, TuneSplits
from assay.native.tuner.search import KnobTrial, Tune, TunedLayer
from assay.native.tuner.sensitivity import image_count_for_budget
from assay.native.tuner.state import TuningState
from tests.commands.tune import nets

NAMES = ("conv1", "conv2", "dense")


@pytest.fixture(scope="module")
def graph():
    return optimize(nets.net())


@pytest.fixture(scope="module")
def calibration(graph):
    return Calibration(reference.compute_values(graph, nets.pictures(32)[0]))


def test_the_parts_of_a_graph_compute_what_it_does(graph):
    items = nets.pictures(3)[0]
    place = node_index(graph, "conv2")
    first, rest = extract_nodes(graph, 0, place), extract_nodes(graph, place, len(graph.nodes))

    middle = reference.outputs(first, items)

    assert [value.name for value in rest.inputs] == list(first.outputs)
    assert np.array_equal(reference.outputs(rest, *middle)[0], reference.outputs(graph, items)[0])


def test_one_knob_of_each_kind_is_timed(graph):
    found = layer_times.timed_knobs(graph)

    assert {13, 121, 123, 531, 321, 431, 51} <= set(found)
    assert not {122, 124, 232, 151, 1, 41} & set(found)  # offsets, emulated, simulated


def test_a_knob_of_bytes_is_tried_among_bytes(graph):
    assert layer_times.knob_on_all_layers(graph, 321) == {"conv1": 321, "conv2": 321, "dense": 13}


def test_every_node_s_time_is_a_layer_s(graph, calibration):
    made = apply_knobs(graph, {"conv2": 13, "dense": 52}, calibration=calibration)
    seconds = {node.name: 1.0 for node in made.nodes}

    found = layer_times.attribute_to_layers(made.nodes, seconds, set(NAMES))

    assert sum(found.values()) == len(made.nodes)
    assert found["conv2"] == 3  # its cast, itself and the flattening behind it
    assert found["dense"] == 2  # both of its parts


def test_layers_are_linked_through_what_stands_between_them(graph):
    found = layer_times.links(graph)

    sizes = {node.name: node for node in graph.nodes}
    assert [link[:2] for link in found] == [("conv1", "conv2"), ("conv2", "dense")]
    assert found[0].size == np.prod(sizes["conv1"].shape)


def test_a_candidate_is_quicker_or_nearer_than_the_others(graph, calibration):
    took = {11: 1.0, 13: 0.5, 121: 0.9, 321: 0.4, 331: 0.45, 12: 0.1}
    times = {"conv1": took, "conv2": {11: 1.0, 13: 1.2}, "dense": {11: 0.001, 13: 0.002}}

    found = candidates(graph, times, calibration)

    knobs = {name: [one.knob for one in made] for name, made in found.items()}
    assert knobs["conv1"][0] == 13 and 121 not in knobs["conv1"]  # slower than 13, and worse
    assert 12 not in knobs["conv1"]  # only emulated
    assert knobs["conv2"] == [13]  # it does not pay by itself, but between layers of bytes
    assert knobs["dense"] == [13]
    errors = [one.error for one in found["conv1"]]
    assert errors == sorted(errors)


def test_bytes_of_weights(graph, calibration):
    made = apply_knobs(graph, {"conv2": 13}, calibration=calibration)

    assert weight_bytes(graph) - weight_bytes(made) == 3 * 16 * 16 * 9 - 4 * 16  # less the scales


def test_bytes_are_costs_too(graph, calibration):
    times = {name: {11: 1.0, 13: 2.0} for name in NAMES}
    costs = byte_costs(graph, times, calibration)

    assert costs["dense"] == {11: 4 * 4 * 1024, 13: 4 * 1024 + 4 * 4}
    assert [one.knob for one in candidates(graph, costs, calibration)["dense"]] == [13]


def test_more_time_is_more_pictures(graph, calibration):
    tried = candidates(graph, {n: {11: 1.0, 13: 0.5} for n in NAMES}, calibration)
    little, much = (image_count_for_budget(graph, tried, s, 1) for s in (1e-3, 10.0))

    assert little == 200 < much


def tune_of(*harm):
    """Layers that each save 1 s of 2 and move a share of the images' outputs."""
    labels = np.zeros(1000, np.int64)
    outputs = np.tile(np.float32([1, 0]), (1000, 1))
    layers = []
    for place, count in enumerate(harm):
        moved = np.zeros_like(outputs)
        moved[100 * place : 100 * place + count] = [-2, 0]
        none = np.zeros_like(outputs)
        trials = (KnobTrial(11, 2.0, none), KnobTrial(13, 1.0, moved))
        layers.append(TunedLayer(f"layer{place}", trials))
    return Tune(layers, outputs, labels)


def test_points_to_confirm_go_from_the_exact_to_the_fastest_that_loses_little_enough():
    found = validate.points_to_confirm(tune_of(1, 3, 50), 1.0)

    assert found[0].choice == (0, 0, 0)
    assert found[-1].choice == (1, 1, 0)
    assert [one.seconds for one in found] == sorted((one.seconds for one in found), reverse=True)


def test_predictions_are_refined_by_a_choice_beyond_the_loss_and_a_milder_one():
    tune = tune_of(1, 3, 9)

    bold, mild = validate.choices_to_refine(tune, 1.0)

    assert (bold, mild) == ((1, 1, 1), (1, 1, 0))  # 1.3 points are lost, and 0.4
    known = tune.refine({bold: tune.outputs + tune.sum_moves(bold)})
    assert bold not in validate.choices_to_refine(known, 1.0)


def test_where_nothing_is_quick_only_the_exact_is_confirmed():
    assert [one.choice for one in validate.points_to_confirm(tune_of(90), 1.0)] == [(0,)]


def outputs_wrong(count, whole=3000):
    found = np.tile(np.float32([1, 0]), (whole, 1))
    found[:count] = [0, 1]
    return found


def points(*wrong, max_loss=1.0):
    facts = [
        validate.PointOutputs({"conv1": 13} if n else {}, 0.1, *[outputs_wrong(n)] * 3)
        for n in wrong
    ]
    held = LabelledImages(np.zeros((3000, 1)), np.zeros(3000, np.int64))
    took = validate.Timed(
        [[2.0 / (place + 1)] * 4 for place in range(len(wrong))], [[] for _ in wrong]
    )
    sets = TuneSplits(held.inputs, held, held, held)
    return validate.points(facts, sets, took, [100, 50, 40, 30], max_loss)


def test_a_point_is_promised_only_if_all_before_it_are():
    found = points(0, 10, 40, 12)

    assert [point.promised for point in found] == [True, True, False, False]
    assert validate.best_point(found, "time").name == "conf2"
    assert found[1].test.points == pytest.approx(1 / 3)
    assert found[1].confirmed.bound > found[1].confirmed.points
    assert found[1].speedup == pytest.approx(2.0)
    assert found[1].energy is None


def test_predictions_are_compared_with_what_was_measured_on_the_same_pictures():
    found = points(0, 3, 24)

    assert [point.measured for point in found] == pytest.approx([0.0, 0.1, 0.8])
    assert "within 0.70 points" in checks.prediction_note(found)
    assert checks.prediction_note(found[:1]) == ""


def test_of_the_promised_the_objective_chooses():
    found = points(0, 1, 2)
    found = (found[0], msgspec.structs.replace(found[1], memory=1), found[2])

    assert validate.best_point(found, "time").name == "conf3"
    assert validate.best_point(found, "memory").name == "conf2"


def test_why_nothing_was_promised_is_told_with_what_would_help():
    found = points(0, 25, 40)
    best = validate.best_point(found, "time")

    said = checks.promise_note(found, best, 1.0)

    assert best.name == "conf1"
    assert "no faster point is sure" in said and "images to confirm it, instead of 3000" in said


def test_a_network_that_guesses_is_refused():
    labels = np.arange(1000) % 2

    with pytest.raises(UsageError, match="no trained weights"):
        checks.check_trained("mine", outputs_wrong(0, 1000), labels)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"max_loss": -1.0}, "max_loss is -1 points, but has to be above 0"),
        ({"max_loss": 0.0}, "max_loss is 0 points"),
        ({"max_loss": float("nan")}, "max_loss is nan"),
        ({"batch": 0}, "batch is 0"),
        ({"objective": "tme"}, "objective is 'tme', but has to be one of: time, memory, energy"),
        ({"budget": "soon"}, "soon"),
    ],
)
def test_a_wrong_request_is_refused(given, said):
    with pytest.raises(UsageError, match=said):
        TuneRequest(model="mine", output="tuned", **given)


def test_energy_is_refused_where_it_cannot_be_measured():
    request = TuneRequest(model="mine", output="tuned", objective="energy")

    if MonitorEnergyMeter().missing():
        with pytest.raises(NotPossibleError, match="energy, which cannot be measured here"):
            request.check_possible()
    else:
        request.check_possible()


def test_what_was_found_before_is_not_computed_again(tmp_path):
    begun = {"seed": "0"}
    state = TuningState(tmp_path, begun, resume=False)
    state.numbers("times-0", lambda: {"conv1": 1.5})
    state.array("exact", lambda: np.arange(3))

    again = TuningState(tmp_path, begun, resume=True)

    assert again.numbers("times-0", pytest.fail) == {"conv1": 1.5}
    assert again.array("exact", pytest.fail).tolist() == [0, 1, 2]


def test_another_tuning_is_not_gone_on_with(tmp_path):
    with pytest.raises(UsageError, match="no unfinished tuning"):
        TuningState(tmp_path, {}, resume=True)
    TuningState(tmp_path, {"seed": "0"}, resume=False)

    with pytest.raises(UsageError, match=r"started with another seed \(0, not 1\)"):
        TuningState(tmp_path, {"seed": "1"}, resume=True)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_not_finite_is_found_again(tmp_path, value):
    TuningState(tmp_path, {}, resume=False).numbers("times-0", lambda: {"conv1": value})

    again = TuningState(tmp_path, {}, resume=True).numbers("times-0", pytest.fail)

    assert repr(again) == repr({"conv1": value})
