"""The search for one knob a layer, on networks whose every number is known."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from assay.native.tuner.search import Cast, KnobTrial, Tune, TunedLayer, front, search


def made(layers: int = 4, knobs: int = 4, pictures: int = 400, seed: int = 0) -> Tune:
    """Knobs that save the more time the more they move the outputs."""
    draw = np.random.default_rng(seed)
    outputs = draw.normal(size=(pictures, 10)).astype(np.float32) * 3
    labels = outputs.argmax(1)
    labels[: pictures // 10] = draw.integers(0, 10, pictures // 10)
    found = []
    for place in range(layers):
        tried = [KnobTrial(11, 1.0 + place, np.zeros_like(outputs))]
        for k in range(1, knobs):
            moved = draw.normal(size=outputs.shape).astype(np.float32) * 0.1 * k * draw.random()
            tried.append(KnobTrial(100 + k, (1.0 + place) / (1 + k * draw.random()), moved))
        found.append(TunedLayer(f"layer{place}", tuple(tried)))
    return Tune(found, outputs, labels)


@pytest.mark.parametrize("seed", range(5))
def test_it_comes_close_to_trying_everything(seed):
    tune = made(seed=seed)
    everything = [tune.predict(choice) for choice in product(range(4), repeat=4)]
    best = min(one.seconds for one in everything if one.points <= 1.0)

    found = min(one.seconds for one in search(tune, 1.0) if one.points <= 1.0)

    assert best <= found <= 1.05 * best


def test_the_exact_network_is_always_among_them():
    tune = made()

    assert any(one.choice == (0, 0, 0, 0) or one.points <= 0 for one in search(tune, 0.0))


def test_what_is_predicted_adds_up():
    tune = made()
    found = tune.predict((1, 0, 2, 3))

    chosen = [layer.tried[k] for layer, k in zip(tune.layers, (1, 0, 2, 3), strict=True)]
    moved = sum(one.delta for one in chosen)
    wrong = np.mean((tune.outputs + moved).argmax(1) != tune.labels)
    exact = np.mean(tune.outputs.argmax(1) != tune.labels)
    assert found.seconds == pytest.approx(sum(one.seconds for one in chosen))
    assert found.points == pytest.approx(100 * (wrong - exact))


def test_the_same_is_found_again():
    assert search(made(), 1.0) == search(made(), 1.0)


def test_nobody_on_the_front_is_slower_and_worse():
    found = search(made(layers=6), 2.0)

    assert len(found) > 1
    for slow, fast in pairwise(found):
        assert fast.seconds < slow.seconds and fast.points > slow.points
    assert front(found) == found


def test_a_choice_that_was_measured_is_predicted_as_it_was():
    tune = made()
    exact, bold = (0, 0, 0, 0), (3, 3, 3, 3)
    lost = tune.outputs + tune.sum_moves(bold)
    lost[:40] = -lost[:40]  # what the sum of moves knows nothing of

    found = tune.refine({bold: lost})

    wrong = np.mean(lost.argmax(1) != tune.labels) - np.mean(tune.outputs.argmax(1) != tune.labels)
    assert found.predict(bold).points == pytest.approx(100 * wrong)
    assert found.predict(exact).points == 0
    assert tune.predict((1, 0, 0, 0)).points <= found.predict((1, 0, 0, 0)).points
    assert found.predict((1, 0, 0, 0)).points < found.predict(bold).points


def test_what_is_foretold_of_a_choice_does_not_come_of_measuring_it():
    tune = made()
    bold, mild = (3, 3, 3, 3), (2, 2, 2, 2)
    lost = {choice: tune.outputs + tune.sum_moves(choice) for choice in (bold, mild)}
    lost[bold][:40] = -lost[bold][:40]

    both, other = tune.refine(lost), tune.refine({mild: lost[mild]})

    assert both.predict_held_out(bold) == other.predict(bold) != both.predict(bold)
    assert both.is_measured(bold) and not other.is_measured(bold)


def test_of_nearly_tied_pictures_so_many_are_lost_as_may_be():
    tune = made()
    bold, near = (3, 3, 3, 3), (3, 3, 3, 0)
    lost = tune.outputs + tune.sum_moves(bold)
    lost += np.random.default_rng(1).normal(size=lost.shape).astype(np.float32)

    found = tune.refine({bold: lost}).predict(near).points

    assert found > tune.predict(near).points
    assert found * 4 != round(found * 4)  # expected, not counted: 400 images


def chained(cast: float) -> Tune:
    """Three layers: bytes make the outer ones twice as fast, the one between a little slower."""
    outputs = np.eye(10, dtype=np.float32)[np.arange(100) % 10]
    none = np.zeros_like(outputs)
    layers = [
        TunedLayer(name, (KnobTrial(11, 1.0, none), KnobTrial(13, seconds, none, bytes=True)))
        for name, seconds in (("first", 0.5), ("between", 1.1), ("last", 0.5))
    ]
    casts = [Cast(0, 1, cast), Cast(1, 2, cast)]
    return Tune(layers, outputs, outputs.argmax(1), casts)


@pytest.mark.parametrize(
    ("cast", "choice", "seconds"),
    [
        (0.0, (1, 0, 1), 2.0),
        (0.04, (1, 0, 1), 2.08),
        (0.06, (1, 1, 1), 2.1),  # two casts take longer than what bytes lose there
        (9.0, (1, 1, 1), 2.1),
    ],
)
def test_casts_between_bytes_and_floats_count(cast, choice, seconds):
    best = min(search(chained(cast), 0.0), key=lambda one: one.seconds)

    assert best.choice == choice
    assert best.seconds == pytest.approx(seconds)
