"""Every form of weights, in and out, without any framework."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest

from assay.core.errors import AssayError, UsageError
from assay.weights.files import read, write
from assay.weights.layers import Layer, by_layer, kind_of
from assay.weights.rows import to_channels_first, to_channels_last
from tests.datasets.making import WHOLE, needs_whole
from tests.needs import with_needs

FLATTENED = {"dense_1": (2, 3, 4)}


def random_weights():
    random = np.random.default_rng(0)
    shapes = {
        "conv2d_1/kernel": (3, 3, 1, 4),
        "batch_normalization_1/gamma": (4,),
        "batch_normalization_1/beta": (4,),
        "batch_normalization_1/moving_mean": (4,),
        "batch_normalization_1/moving_variance": (4,),
        "depthwise_conv2d_1/kernel": (3, 5, 4, 1),
        "depthwise_conv2d_1/bias": (4,),
        **{f"conv2d_{n}/kernel": (1, 1, 4, 4) for n in range(2, 13)},  # past 9: sorted by number
        "dense_1/kernel": (24, 5),
        "dense_1/bias": (5,),
        "dense_2/kernel": (5, 2),
    }
    return {key: random.normal(size=shape).astype(np.float32) for key, shape in shapes.items()}


def layers_of(weights, flattened):
    return [
        Layer(kind_of(name), {v: a.shape for v, a in arrays.items()}, flattened.get(name, ()))
        for name, arrays in by_layer(weights).items()
    ]


def assert_same(found, expected):
    assert set(found) == set(expected)
    for key, array in expected.items():
        assert found[key].dtype == np.float32
        assert np.array_equal(found[key], array), key


FORMS = ["w.npz", "w.weights.h5", "w.h5", "bins"]


@pytest.mark.real("h5py")
@pytest.mark.parametrize("first", FORMS)
@pytest.mark.parametrize("second", FORMS)
def test_weights_pass_through_any_two_forms_unchanged(tmp_path, first, second):
    weights = random_weights()
    layers = layers_of(weights, FLATTENED)

    write(tmp_path / "a" / first, weights, FLATTENED)
    between = read(tmp_path / "a" / first, layers)
    write(tmp_path / "b" / second, between, FLATTENED)

    assert_same(read(tmp_path / "b" / second, layers), weights)


@needs_whole
@pytest.mark.real("h5py")
@pytest.mark.parametrize(
    "network, flattened",
    [("lenet", {"dense_1": (7, 7, 64)}), ("alexnet2", {"dense_1": (4, 4, 128)})],
)
def test_trained_weights_pass_through_every_form_unchanged(tmp_path, network, flattened):
    weights = read(WHOLE / "weights" / f"{network}.npz")

    for form in FORMS:
        write(tmp_path / form, weights, flattened)
        assert_same(read(tmp_path / form, layers_of(weights, flattened)), weights)


@needs_whole
@pytest.mark.parametrize(
    "network, parameters",
    [
        ("lenet", 3_274_634),
        ("alexnet", 2_510_666),
        ("alexnet2", 307_498),
        ("vgg16", 14_982_474),
        ("mobilenet", 3_239_114),
        ("resnet18", 271_690),
    ],
)
def test_trained_weights_have_their_known_number_of_parameters(network, parameters):
    weights = read(WHOLE / "weights" / f"{network}.npz")

    assert sum(array.size for array in weights.values()) == parameters


def test_a_convolution_is_stored_outputs_first_and_dense_rows_channels_first(tmp_path):
    weights = random_weights()
    write(tmp_path / "bins", weights, FLATTENED)

    kernel = np.fromfile(tmp_path / "bins" / "depthwise_conv2d_1_w.bin", "<f4")
    dense = np.fromfile(tmp_path / "bins" / "dense_1_w.bin", "<f4").reshape(24, 5)

    assert (
        kernel.reshape(4, 1, 3, 5)[2, 0, 1, 4] == weights["depthwise_conv2d_1/kernel"][1, 4, 2, 0]
    )
    row, column, channel = 1, 2, 3
    here = weights["dense_1/kernel"][(row * 3 + column) * 4 + channel]
    assert np.array_equal(dense[(channel * 2 + row) * 3 + column], here)
    assert (tmp_path / "bins" / "batch_normalization_1_variance.bin").stat().st_size == 16


def test_bins_counted_on_from_another_model_are_found(tmp_path):
    write(
        tmp_path / "bins", {"dense_1/kernel": np.ones((2, 2)), "dense_2/kernel": np.zeros((2, 2))}
    )
    for number in (2, 1):
        file = tmp_path / "bins" / f"dense_{number}_w.bin"
        file.rename(file.with_name(f"dense_{number + 6}_w.bin"))

    found = read(tmp_path / "bins", [Layer("dense", {"kernel": (2, 2)})] * 2)

    assert found["dense_1/kernel"].sum() == 4
    assert found["dense_2/kernel"].sum() == 0


def test_a_missing_bin_is_named_with_what_needs_it(tmp_path):
    weights = random_weights()
    write(tmp_path / "bins", weights, FLATTENED)
    (tmp_path / "bins" / "conv2d_7_w.bin").unlink()

    with pytest.raises(
        UsageError, match=r"has no conv2d_7_w\.bin, but layer conv2d_7 needs \(1, 1, 4, 4\)"
    ):
        read(tmp_path / "bins", layers_of(weights, FLATTENED))


def test_a_cut_bin_is_refused(tmp_path):
    weights = random_weights()
    write(tmp_path / "bins", weights, FLATTENED)
    (tmp_path / "bins" / "dense_1_b.bin").write_bytes(bytes(16))

    with pytest.raises(UsageError, match=r"dense_1_b\.bin has 16 bytes, but .* \(5,\), 20 bytes"):
        read(tmp_path / "bins", layers_of(weights, FLATTENED))


def test_bins_need_a_model_and_a_known_map(tmp_path):
    with pytest.raises(UsageError, match="the map before them is unknown"):
        write(tmp_path / "bins", random_weights())
    (tmp_path / "bins").mkdir()
    with pytest.raises(UsageError, match="only be read for a known model"):
        read(tmp_path / "bins")


def test_changing_the_rows_twice_changes_nothing():
    weights = random_weights()

    there = to_channels_first(weights, FLATTENED)

    assert not np.array_equal(there["dense_1/kernel"], weights["dense_1/kernel"])
    assert_same(to_channels_last(there, FLATTENED), weights)


def test_a_map_that_does_not_fit_is_refused():
    with pytest.raises(
        UsageError, match=r"before dense_1 is \(7, 7, 64\), but dense_1 has 24 rows"
    ):
        to_channels_first(random_weights(), {"dense_1": (7, 7, 64)})
    with pytest.raises(UsageError, match="but dense_9 has no kernel"):
        to_channels_first(random_weights(), {"dense_9": (1, 1, 1)})


@pytest.mark.parametrize(
    "name",
    with_needs(
        ["w.npz", "w.keras", "w.h5", "w.weights.h5"],
        {"w.h5": ("h5py",), "w.weights.h5": ("h5py",)},
    ),
)
def test_a_broken_file_is_refused(tmp_path, name):
    (tmp_path / name).write_bytes(b"PK\x03\x04 cut")

    with pytest.raises(AssayError, match=f"{name} is cut or wrong: reading weights"):
        read(tmp_path / name)


def test_a_keras_file_without_weights_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "w.keras", "w") as archive:
        archive.writestr("config.json", '{"config": {}}')

    with pytest.raises(AssayError, match=r"model\.weights\.h5"):
        read(tmp_path / "w.keras")


def test_unknown_and_missing_files_are_refused(tmp_path):
    with pytest.raises(UsageError, match="no weights file"):
        read(tmp_path / "none.npz")
    (tmp_path / "w.pt").write_bytes(b"")
    with pytest.raises(UsageError, match="no known format of weights"):
        read(tmp_path / "w.pt")
    with pytest.raises(UsageError, match=r"cannot be written as w\.keras") as caught:
        write(tmp_path / "w.keras", random_weights())
    assert "save it with Keras." in caught.value.hint


def test_other_arrays_are_no_weights(tmp_path):
    np.savez(tmp_path / "w.npz", x_test=np.zeros(3))

    with pytest.raises(UsageError, match="have 'x_test', which is no <kind>_<n>/<variable>"):
        read(tmp_path / "w.npz")


def test_pickled_objects_are_never_loaded(tmp_path):
    np.savez(tmp_path / "w.npz", **{"dense_1/kernel": np.array([{}], dtype=object)})

    with pytest.raises(AssayError, match=r"is cut or wrong: .*allow_pickle"):
        read(tmp_path / "w.npz")


@pytest.mark.real("h5py")
def test_a_failed_write_leaves_the_old_file(tmp_path):
    write(tmp_path / "w.h5", {"dense_1/kernel": np.ones((2, 2))})

    with pytest.raises(UsageError):
        write(tmp_path / "w.h5", {"wrong": np.ones(2)})

    assert list(read(tmp_path / "w.h5")) == ["dense_1/kernel"]
    assert [path.name for path in tmp_path.iterdir()] == ["w.h5"]


@pytest.mark.real("h5py")
def test_an_old_file_with_chosen_names_is_understood(tmp_path):
    """As Keras 2 wrote a whole model: chosen names, a nested model, layers without any."""
    import h5py

    held = {
        "block1_conv1": {"block1_conv1_1/kernel:0": np.ones((3, 3, 3, 4))},
        "pool": {},
        "inner_model": {
            "stem/depthwise_kernel:0": np.ones((3, 3, 4, 1)),
            "norm/gamma:0": np.ones(4),
            "norm/moving_mean:0": np.zeros(4),
        },
        "predictions": {"predictions/kernel:0": np.ones((4, 2)), "predictions/bias:0": np.ones(2)},
    }
    with h5py.File(tmp_path / "w.h5", "w") as file:
        root = file.create_group("model_weights")
        root.attrs["layer_names"] = [name.encode() for name in held]
        for name, arrays in held.items():
            group = root.create_group(name)
            group.attrs["weight_names"] = [key.encode() for key in arrays]
            for key, array in arrays.items():
                group[key] = array

    assert list(read(tmp_path / "w.h5")) == [
        "conv2d_1/kernel",
        "depthwise_conv2d_1/kernel",
        "batch_normalization_1/gamma",
        "batch_normalization_1/moving_mean",
        "dense_1/kernel",
        "dense_1/bias",
    ]


@pytest.mark.real("h5py")
def test_a_layer_of_an_unknown_kind_is_refused(tmp_path):
    import h5py

    with h5py.File(tmp_path / "w.weights.h5", "w") as file:
        file["layers/my_layer/vars/0"] = np.ones(3)

    with pytest.raises(UsageError, match="a layer 'my_layer' with 1 variables"):
        read(tmp_path / "w.weights.h5")


@pytest.mark.real("h5py")
def test_a_variable_that_is_no_array_is_damage(tmp_path):
    """A flipped bit turns a dataset into a named type, which h5py gives without complaint."""
    import h5py

    path = tmp_path / "made.weights.h5"
    with h5py.File(path, "w") as file:
        file["dense/vars/0"] = np.dtype("float32")

    with pytest.raises(AssayError, match="made"):
        read(path)
