"""Benchmark classes of a user's file: which they are, what they lack, what their data become."""

from __future__ import annotations

import sys
import textwrap

import numpy as np
import pytest

from assay.core import registry
from assay.core.errors import UsageError
from assay.workloads.user import _benchmark_object
from assay.workloads.user.benchmark_class import HPVM, OWN

PICTURES = np.arange(2 * 4 * 4 * 3, dtype=np.float32).reshape(2, 4, 4, 3)


@pytest.fixture
def read(tmp_path):
    """A class as a workload, by the text of its file."""

    def from_text(text, name="Net"):
        path = tmp_path / "bench.py"
        path.write_text(textwrap.dedent(text))
        return registry.workload(f"{path}:{name}")

    return from_text


def test_either_naming_makes_a_benchmark_class(read):
    own = read("class Net:\n    def build_model(self): ...\n    def load_data(self): ...")
    old = read("class Net:\n    def buildModel(self): ...\n    def data_preprocess(self): ...")

    assert (own.naming, old.naming) == (OWN, HPVM)
    assert set(own.kinds) == {"keras"}


@pytest.mark.parametrize(
    ("has", "lacks"),
    [
        ("build_model", "load_data"),
        ("load_data", "build_model"),
        ("buildModel", "data_preprocess"),
        ("data_preprocess", "buildModel"),
    ],
)
def test_a_class_without_a_method_is_refused_by_its_name(read, has, lacks):
    with pytest.raises(UsageError, match=f"The benchmark class Net has no method {lacks}"):
        read(f"class Net(Benchmark):\n    def {has}(self): ...")


def test_methods_of_a_base_in_the_same_file_count(read):
    found = read(
        """
        class Base:
            batch_size = 7
            def build_model(self): ...
            def train(self, model, *data): ...

        class Net(Base):
            def load_data(self): ...
        """
    )

    assert found.trains_itself
    assert found.params["batch_size"] == 7


def test_what_a_base_elsewhere_brings_is_known_to_the_worker_alone(read):
    found = read("class Net(elsewhere.Thing):\n    def build_model(self): ...")

    assert found.naming == OWN
    with pytest.raises(UsageError, match="Net has no method load_data"):
        _benchmark_object.make_object(type("Net", (), {"build_model": print}), OWN)


def test_metadata_is_read_without_running_the_file(read):
    found = read(
        '''
        raise SystemExit("nobody shall run this here")

        class Net:
            """A net."""
            batch_size, num_classes = 1, 2
            batch_size = 12
            expected = 88.5
            def build_model(self): ...
            def load_data(self): ...
        '''
    )

    assert (found.summary, found.expected, found.params["batch_size"]) == ("A net.", 88.5, 12)
    assert not found.trains_itself


class Hpvm:
    """As HPVM has them: images with channels first, labels in any form."""

    num_classes = 10
    labels = np.array([3, 1], np.uint32)

    def __init__(self, name, reload_dir, keras_model_file="none.h5"):
        self.name, self.reload_dir, self.keras_model_file = name, reload_dir, keras_model_file

    def buildModel(self): ...

    def data_preprocess(self):
        pictures = PICTURES.transpose(0, 3, 1, 2)
        return pictures, self.labels, pictures, self.labels, pictures[:1], self.labels[:1]


def test_a_constructor_gets_what_hpvm_gave_it(monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "reload_dir", "somewhere", raising=False)
    monkeypatch.setattr(Hpvm, "NAME", "HPVM_net", raising=False)

    found = _benchmark_object.make_object(Hpvm, HPVM).thing

    assert (found.name, found.reload_dir, found.keras_model_file) == (
        "HPVM_net",
        "somewhere",
        "none.h5",
    )


def test_a_constructor_that_wants_more_is_refused_by_what_it_wants():
    with pytest.raises(UsageError, match="needs 'reload_dir', which is not given"):
        _benchmark_object.make_object(Hpvm, HPVM)


@pytest.fixture
def made(monkeypatch):
    monkeypatch.setattr(Hpvm, "reload_dir", "", raising=False)
    return lambda: _benchmark_object.make_object(Hpvm, HPVM)


@pytest.mark.parametrize(
    "labels", [np.array([3, 1]), np.array([[3], [1]]), np.eye(10)[[3, 1]]], ids=str
)
def test_labels_become_class_numbers_whatever_their_form(made, monkeypatch, labels):
    monkeypatch.setattr(Hpvm, "labels", labels)

    found = made().examples("test", 0)

    assert found.labels.tolist() == [3, 1]


def test_pictures_with_channels_first_are_handed_on_with_channels_last(made):
    found = made().examples("train", 0)

    assert np.array_equal(found.ready(found.inputs), PICTURES)


def test_a_label_out_of_range_is_named(made, monkeypatch):
    monkeypatch.setattr(Hpvm, "labels", np.array([3, 10]))

    with pytest.raises(UsageError, match=r"Label 10 of test example 1 .* out of range") as caught:
        made().examples("test", 0)
    assert caught.value.hint == "num_classes is 10: use 0 to 9."


def test_more_pictures_than_there_are_cannot_be_had(made):
    with pytest.raises(UsageError, match=r"first 3 images of tune .* but there are 1"):
        made().examples("tune", 3)


def test_data_of_another_shape_says_what_was_expected():
    thing = type("Net", (), {"load_data": lambda self: (1, 2, 3, 4), "build_model": print})

    with pytest.raises(UsageError, match="load_data of Net returned") as caught:
        _benchmark_object.make_object(thing, OWN).examples("test", 0)
    assert "(x_train, y_train), (x_test, y_test)" in caught.value.hint


def test_weights_of_a_class_that_are_not_there_are_named(made):
    with pytest.raises(UsageError, match=r"Hpvm has no weights here: none\.h5"):
        made().weights("trained")


def test_a_path_of_weights_stays_as_it_is(made):
    assert made().weights("some/file.npz") == "some/file.npz"
