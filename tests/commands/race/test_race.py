"""race in real processes."""

import pytest

import assay
from assay.commands.race import api, state
from assay.core import registry
from assay.core.errors import UsageError


@pytest.fixture
def nap(tmp_path):
    """A workload whose time can be chosen, and which other load cannot change much."""
    file = tmp_path / "naps.py"
    file.write_text(
        "import time\n"
        "def nap(ms=10, bad=0, built=0):\n"
        "    time.sleep(built)\n"
        "    def step():\n"
        "        if bad:\n"
        "            raise ValueError('bad')\n"
        "        time.sleep(ms / 1000)\n"
        "    return step\n"
    )
    return f"{file}:nap"


def test_the_fastest_is_found_and_the_rest_is_told(nap, home):
    found = list(assay.race(nap, over={"ms": [40, 5, 80], "bad": [0, 1]}, budget=60.0))
    last = found[-1]

    states = {place.key.partition(":nap:")[2]: place.state for place in last.places}
    assert last.places[0].key.endswith("nap:ms=5@python")
    assert states["ms=40@python"] == states["ms=80@python"] == "out"
    assert states["ms=5,bad=1@python"] == "failed"
    assert last.ended == "decided: one is left"
    assert last.command == f"assay run '{last.places[0].key}'"
    assert (home / "runs" / last.run / "race.json").is_file()


def test_a_race_that_ran_out_of_time_can_go_on(nap, monkeypatch):
    monkeypatch.setattr(state, "MAX_OPEN_CASES", 4)
    over = {"ms": [5, 20, 40, 60, 80]}
    first = list(assay.race(nap, over=over, budget=0.001))[-1]
    last = list(api.resume(first.run))[-1]

    assert (first.heats, last.heats) == (1, 2)
    assert "budget of 0.001 s used up; 1 contender left, 3 not tried" in first.ended
    assert "budget of 0.001 s used up; 1 contender left, 2 not tried" in last.ended
    assert [place.state for place in last.places] == ["in", "out", "out", "untried", "untried"]


def test_who_takes_longer_to_open_than_the_budget_is_not_waited_for(nap):
    last = list(assay.race(nap, over={"ms": [5, 40], "built": [0, 600]}, budget=8.0))[-1]

    states = {place.key.partition(":nap:")[2]: place.state for place in last.places}
    assert states["ms=5,built=600@python"] == states["ms=40,built=600@python"] == "untried"
    assert states["ms=5@python"] == "in"


def test_what_each_option_bought_is_told(nap):
    last = list(assay.race(nap, over={"ms": [5, 40]}, budget=20.0))[-1]

    (row,) = api.read_option_effects(last).rows
    assert row[:3] == ("ms", "5", "40")
    assert float(row[3].removeprefix("x ")) > 4


def test_contenders_are_every_combination_the_plainest_first(nap):
    found = api.contenders(nap, "infer", (), {"ms": [10, 20], "bad": [0, 1]})

    assert [case.key.partition(":nap")[2] for case in found] == [
        "@python",
        ":bad=1@python",
        ":ms=20@python",
        ":ms=20,bad=1@python",
    ]


def test_an_axis_nobody_knows_is_a_mistake(nap):
    with pytest.raises(UsageError, match=r"no parameter of .* named 'colour'"):
        api.contenders(nap, "infer", (), {"colour": ["red", "blue"]})


def test_backends_can_be_named_in_one_place_only(nap):
    with pytest.raises(UsageError, match="named twice"):
        api.contenders(f"{nap}@python", "infer", ["torch"], {})


def test_one_contender_is_no_race(nap):
    with pytest.raises(UsageError, match="a race needs two"):
        api.contenders(nap, "infer", (), {})


def test_only_a_race_can_be_resumed(nap):
    (result,) = assay.run(f"{nap}@python", procedure=assay.Procedure(budget=0.05))
    with pytest.raises(UsageError, match="was made by assay run"):
        api.resume(result.run)


@pytest.mark.real("compiler", "keras", "torch")
def test_inference_is_raced_on_what_only_infers_too_and_over_the_batch():
    keys = [case.key for case in api.contenders("lenet", "infer", (), {"compiler": ["off"]})]
    trained = [case.key for case in api.contenders("lenet", "train", (), {"compiler": ["off"]})]

    usual = registry.workload("lenet").params["batch_size"]
    assert "lenet@native" in keys
    assert f"lenet:batch_size={usual // 4}@native" in keys
    assert not any("@native:precision" in key for key in keys)
    assert not any("native" in key or "batch_size" in key for key in trained)


@pytest.mark.real("torch")
def test_a_value_that_no_backend_has_is_a_mistake():
    with pytest.raises(UsageError, match=r"precision of .* is 'bfloat17'"):
        api.contenders("lenet", "infer", (), {"precision": ["bfloat17"]})


@pytest.mark.real("keras", "jax")
def test_a_backend_is_raced_over_its_own_options_alone(monkeypatch):
    """Seen: -b native,onnxruntime failed over a precision nobody gave."""
    keys = [case.key for case in api.contenders("lenet", "infer", ["native", "onnxruntime"], {})]

    assert keys
    assert not any("precision" in key for key in keys)


def test_an_option_nobody_has_is_still_refused_where_a_user_chose_it():
    with pytest.raises(UsageError, match="precision"):
        api.contenders("lenet", "infer", ["native"], {"precision": ["float99"]})


def test_the_layout_is_raced_only_where_there_are_pictures():
    of_rows = [case.key for case in api.contenders("mnist-mlp", "train", ["torch"], {})]
    of_pictures = [case.key for case in api.contenders("cifar10-cnn", "train", ["torch"], {})]

    assert not any("data_format" in key for key in of_rows)
    assert any("data_format" in key for key in of_pictures)
