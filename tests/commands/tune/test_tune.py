"""A whole tuning of a small network, and its files."""

from __future__ import annotations

import json

import numpy as np
import pytest

import assay
from assay.commands.tune.api import tune
from assay.commands.tune.view import output
from assay.core.errors import NotPossibleError, UsageError
from assay.measure.compiler.splits import calibration_items
from assay.native import reference
from assay.native.hpvm.configs import read_configs
from assay.native.hpvm.tuned_configs import make_tuned_configs
from assay.native.knobs.calibration_file import load_items
from assay.native.knobs.from_config import read_knobs
from assay.reporting.output import render
from tests.commands.tune import nets


@pytest.fixture
def kept(cache_home, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_home))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    inputs, labels = nets.pictures(1600)
    path = tmp_path_factory.mktemp("data") / "my.npz"
    np.savez(path, inputs=inputs, labels=labels)
    return path


@pytest.fixture(scope="module")
def tuned(tmp_path_factory, cache_home, data):
    """Found, its folder, and what was told on the way."""
    folder, told = tmp_path_factory.mktemp("tuned"), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache_home))
        found = tune(
            nets.net(),
            folder,
            data=data,
            max_loss=3.0,
            kernels="portable",
            store=folder / "home",
            progress=told.append,
        )
    return found, folder, told


@pytest.mark.real("compiler")
def test_the_front_begins_with_the_exact_network_and_ends_within_the_loss(tuned):
    found, _, _ = tuned
    inputs = {"calibration": 64, "choosing": 245, "confirming": 491, "test": 800}

    assert found.pictures == inputs
    assert (found.points[0].knobs, found.points[0].speedup) == ({}, 1.0)
    assert found.points[0].accuracy > 80
    assert found.best.confirmed.bound <= 3.0
    assert all(point.samples and point.memory > 0 for point in found.points)


@pytest.mark.real("compiler")
def test_the_exact_point_is_as_right_as_the_reference(tuned, data):
    found, _, _ = tuned
    with np.load(data) as file:
        order = np.random.default_rng(0).permutation(1600)[800:]
        inputs, labels = file["inputs"][order], file["labels"][order]

    right = reference.outputs(nets.net(), inputs)[0].argmax(1) == labels

    assert found.points[0].accuracy == pytest.approx(100 * right.mean(), abs=0.13)


@pytest.mark.real("compiler")
def test_configurations_are_read_back_equal(tuned):
    found, folder, _ = tuned

    best = read_configs(folder / "best.txt")

    assert best.configurations[-1].name == found.chosen
    written = make_tuned_configs(nets.net(), [found.points[0], found.best])
    assert [one.name for one in written.configurations] in (
        [one.name for one in best.configurations],
        ["conf1", "conf1"],  # nothing faster was promised
    )
    knobs = read_knobs(nets.net(), folder / "best.txt")
    assert {n: k for n, k in knobs.items() if k != 11} == found.best.knobs
    for point in found.points:
        if point.promised:
            several = read_knobs(nets.net(), folder / "confs.txt", point.name)
            assert {n: k for n, k in several.items() if k != 11} == point.knobs


@pytest.mark.real("compiler")
def test_the_chosen_point_is_compiled_from_its_file_and_data(tuned, data, tmp_path, kept):
    _, folder, _ = tuned

    made = assay.compile_model(
        nets.net(), tmp_path, knobs=folder / "best.txt", data=data, kernels="portable"
    )

    assert made.program.is_file()
    own, beside = calibration_items(str(data), nets.net()), load_items(folder / "x", nets.net())
    np.testing.assert_array_equal(own, beside[0])


@pytest.mark.real("compiler")
def test_front_and_figure_are_files_and_nothing_unfinished_is_left(tuned):
    found, folder, _ = tuned

    front = json.loads((folder / "front.json").read_text())

    assert front["kind"] == "tuning" and front["chosen"] == found.chosen
    wanted = {"confs.txt", "best.txt", "front.json", "calibration.npy"}
    assert wanted <= {p.name for p in folder.iterdir()}
    assert "predicted losses were within" in " ".join(front["notes"])
    assert not (folder / "unfinished").exists()


@pytest.mark.real("compiler")
def test_every_point_is_kept_as_a_result(tuned):
    found, folder, _ = tuned

    kept = list(assay.read_results(assay.Query(ids=(found.run,)), store=folder / "home"))

    assert [one.result.facts["configuration"] for one in kept] == [p.name for p in found.points]
    assert kept[0].result.values("step_time") == found.points[0].samples


@pytest.mark.real("compiler")
def test_progress_tells_what_is_left(tuned):
    _, _, told = tuned

    assert any("s left" in one.note for one in told)


@pytest.mark.real("compiler")
def test_the_page_has_table_chart_and_promise(tuned):
    found, _, _ = tuned

    text = render(output(found), "text")

    assert "patterns: at most 3 points lost" in text
    assert "times as fast" in text and "◆" in text
    assert json.loads(render(output(found), "json"))["points"]


def test_a_loss_below_zero_is_refused_before_anything_is_built(tmp_path):
    with pytest.raises(UsageError, match=r"max_loss is -0\.5 points"):
        tune("lenet", tmp_path, max_loss=-0.5)


def test_without_a_compiler_it_is_said_first(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)

    with pytest.raises(NotPossibleError, match="No C\\+\\+ compiler"):
        tune("lenet", tmp_path)


def test_two_inputs_are_refused(tmp_path):
    from assay.native import ops
    from assay.native.graph_builder import GraphBuilder

    building = GraphBuilder()
    values = [building.add_input(name, (4,)).value for name in ("a", "b")]
    added = building.add("sum", ops.BinaryOp("add"), *values)

    with pytest.raises(UsageError, match="2 inputs and 1 outputs"):
        tune(building.graph("two", [added]), tmp_path, data=tmp_path / "none.npz")
