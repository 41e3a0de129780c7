"""Weights are drawn once for the processes of a run, and again where the file is no good."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

from assay.core.settings import CACHED_WEIGHTS
from assay.workloads.models import weight_cache
from assay.workloads.models.weight_specs import draw_weights
from assay.workloads.net import nets
from assay.workloads.net.layers import Dense
from assay.workloads.resnet50 import weight_specs

SHAPES = {"a.kernel": (3, 5), "a.bias": (5,), "b.0.kernel": (7, 2)}
SIZES = {"image_size": 32, "blocks": (1, 1, 1, 1), "narrower": 16, "classes": 3}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHED_WEIGHTS, str(tmp_path))
    return tmp_path


def same(found, wanted) -> bool:
    return list(found) == list(wanted) and all(
        np.array_equal(one, wanted[name]) for name, one in found.items()
    )


def never():
    raise AssertionError("drawn again")
    yield


def test_what_is_read_is_what_was_drawn(folder, monkeypatch):
    found = [dict(draw_weights(SHAPES, 3)) for _ in range(2)]
    monkeypatch.delenv(CACHED_WEIGHTS)

    assert same(found[0], dict(draw_weights(SHAPES, 3))) and same(found[1], found[0])
    assert [one.name[:8] for one in folder.iterdir()] == ["weights-"]


def test_the_second_draws_nothing(folder):
    never.__module__ = weight_cache.load_or_draw.__module__

    def draw():
        yield np.arange(4, dtype=np.float32)

    draw.__module__ = never.__module__
    list(weight_cache.load_or_draw({"a": (4,)}, 0, draw))
    ((name, values),) = weight_cache.load_or_draw({"b.a": (4,)}, 0, never)

    assert name == "b.a" and values.tolist() == [0, 1, 2, 3]
    assert values.flags.writeable and values.flags.owndata


@pytest.mark.parametrize("other", [{"seed": 4}, {"shapes": {**SHAPES, "a.bias": (6,)}}])
def test_another_seed_or_shape_is_another_file(folder, other):
    list(draw_weights(SHAPES, 3))
    list(draw_weights(**{"shapes": SHAPES, "seed": 3, **other}))

    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:30],
        lambda data: data[:-1],
        lambda data: data[:70] + bytes([data[70] ^ 1]) + data[71:],
    ],
    ids=["empty", "cut short early", "cut short late", "one bit"],
)
def test_a_damaged_file_is_made_again(folder, damage):
    wanted = dict(draw_weights(SHAPES, 3))
    (path,) = folder.iterdir()
    whole = path.read_bytes()
    path.write_bytes(damage(whole))

    assert same(dict(draw_weights(SHAPES, 3)), wanted)
    assert path.read_bytes() == whole


def test_two_who_write_at_once_leave_one_whole_file(folder):
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(dict(draw_weights(SHAPES, 3)))) for _ in "ab"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(found) == 2 and same(*found)
    assert same(dict(draw_weights(SHAPES, 3)), found[0])


@pytest.mark.parametrize("problem", ["no folder", "full"])
def test_where_nothing_can_be_written_weights_are_drawn(folder, monkeypatch, problem):
    wanted = dict(draw_weights(SHAPES, 3))
    for one in folder.iterdir():
        one.unlink()
    if problem == "full":
        monkeypatch.setattr(weight_cache, "MAX_BYTES", 100)
    else:
        monkeypatch.setenv(CACHED_WEIGHTS, os.fspath(folder / "not here"))

    assert same(dict(draw_weights(SHAPES, 3)), wanted)
    assert not list(folder.iterdir())


def test_who_stops_half_way_leaves_nothing(folder):
    arrays = draw_weights(SHAPES, 3)
    next(arrays)
    arrays.close()

    assert not list(folder.iterdir())


def test_nets_and_listings_have_files_of_their_own(folder):
    net = nets.Net((4,), (Dense(3), Dense(2)))
    first = nets.weights(net, 0)
    arrays = weight_specs(**SIZES).arrays(0)

    assert same(nets.weights(net, 0), first) and same(weight_specs(**SIZES).arrays(0), arrays)
    assert len(list(folder.iterdir())) == 2
