"""The binary: what it reads and writes, and what it says of a user's mistakes."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from assay.native import ops, reference
from assay.native.capture import capture
from tests.native.built import compiled, program, write_data
from tests.native.capture.test_capture import with_random_weights
from tests.native.making import Making
from tests.native.test_emit import small

pytestmark = pytest.mark.real("compiler")

IMAGES = np.random.default_rng(5).normal(size=(10, 2, 6, 6)).astype(np.float32)


@pytest.fixture(scope="session")
def built(checked_tools, native_cache):
    return compiled(small(), checked_tools, native_cache)[1]


@pytest.fixture
def folder(tmp_path):
    """Labels of which the first seven are what the network says, and the others are not."""
    said = reference.outputs(small(), IMAGES.transpose(0, 2, 3, 1))[0].argmax(1)
    write_data(tmp_path, IMAGES, [*said[:7], *(said[7:] + 1) % 3])
    return tmp_path


def test_accuracy_is_the_mean_over_images_with_their_tail(built, folder):
    ended = program(built, folder, "-t", "test", "--batch", "4", "--json")

    assert ended.returncode == 0
    assert (folder / "final_accuracy").read_text() == "70.000000"
    told = json.loads(ended.stdout)
    assert (told["images"], told["accuracy"], told["batch"]) == (10, 70.0, 4)
    assert sorted(path.name for path in folder.iterdir()) == [
        "final_accuracy",
        "test_input.bin",
        "test_labels.bin",
    ]


def test_the_older_accuracy_is_the_mean_of_whole_batches(built, folder):
    program(built, folder, "-d", "test", "--batch", "4", "--mean-of-batches")

    assert (folder / "final_accuracy").read_text() == "87.500000"  # of 4/4 and 3/4


def test_layers_are_told_with_their_kernels_and_times(built, tmp_path):
    told = program(built, tmp_path, "--layers", "--batch", "2", "--choose", "0")
    as_json = program(built, tmp_path, "--layers", "--json", "--batch", "2", "--choose", "0")

    found = json.loads(as_json.stdout)
    assert found["kind"] == "native-layers"
    assert [layer["kernel"] for layer in found["layers"]][-1] == "softmax"
    assert all(layer["seconds"] > 0 for layer in found["layers"])
    assert len(told.stdout.splitlines()) == len(found["layers"]) + 1
    assert not list(tmp_path.iterdir())


def test_the_set_is_chosen_by_its_name(built, folder):
    write_data(folder, IMAGES[:2], [9, 9], "tune")

    ended = program(built, folder, "-t", "tune", "--repeat", "2")

    assert (folder / "final_accuracy").read_text() == "0.000000"
    assert ended.stdout.count("tune: 2 images") == 2


def test_a_program_runs_wherever_its_folder_was_moved(built, folder):
    moved = folder / "elsewhere"
    moved.mkdir()
    for file in built.files:
        shutil.copy(file, moved)
    for name in ("test_input.bin", "test_labels.bin"):
        shutil.move(folder / name, moved)

    ended = program(type(built)(folder=moved, name=built.name, cached=True), moved)

    assert ended.returncode == 0
    assert str(built.folder).encode() not in built.program.read_bytes()


@pytest.mark.parametrize(
    "words, sentence",
    [
        (("-t", "train"), "-t is 'train', but has to be one of test, tune."),
        (("--batch", "0"), "--batch is '0', but has to be an integer, 1 or more."),
        (("-c", "confs.txt"), "-c is confs.txt, but there is no "),
        (("--kernels", "onednn"), "built without oneDNN"),
        (("--fast", "1"), "There is no option --fast"),
        (("-t",), "Nothing follows -t."),
        (("--batch", "64", "--mean-of-batches"), "There is no whole batch of 64 images"),
        (("-t", "tune"), "There is no readable file"),
    ],
)
def test_a_mistake_is_one_sentence_and_leaves_nothing(words, sentence, built, folder):
    ended = program(built, folder, *words)

    assert ended.returncode == 2
    assert ended.stderr.startswith("error: ")
    assert sentence in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
    assert not (folder / "final_accuracy").exists()


def test_the_program_says_what_it_takes(built, folder):
    said = program(built, folder, "--help").stdout
    told = json.loads(program(built, folder, "--json").stdout)

    takes = "images of 2 x 6 x 6 float32: channels, height, width (channels first)"
    assert said.endswith(f"It takes {takes}.\n")
    assert told["takes"] == takes


def test_files_with_channels_last_are_read_if_it_is_said(built, folder):
    program(built, folder, "--outputs", "first.bin")
    labels = np.fromfile(folder / "test_labels.bin", np.uint32)
    write_data(folder, IMAGES.transpose(0, 2, 3, 1), labels)
    program(built, folder, "--outputs", "last.bin", "--layout", "channels-last")

    assert (folder / "first.bin").read_bytes() == (folder / "last.bin").read_bytes()


def test_a_folder_of_something_else_is_refused(built, folder):
    (folder / "layout.txt").write_text("items of 72 float32, the last axis innermost\n")

    ended = program(built, folder)

    assert ended.returncode == 2
    assert "holds items of 72 float32, the last axis innermost, but this program takes" in (
        ended.stderr
    )


def test_what_is_no_image_has_no_layout(plain_tools, native_cache, folder):
    made = Making(6, 12)
    dense = made.add(ops.DenseOp(made.constant(2, 12)), made.input)
    _, plain = compiled(made.graph(dense), plain_tools, native_cache)

    ended = program(plain, folder, "--layout", "channels-last")

    assert ended.returncode == 2
    assert "takes items of 6 x 12 float32, the last axis innermost." in ended.stderr


FIRST = {
    "relu": lambda k: [k.ReLU(), k.Conv2D(3, 2)],
    "rescaling": lambda k: [k.Rescaling(0.5, offset=1.0), k.Flatten(), k.Dense(3)],
    "mlp": lambda k: [k.Flatten(), k.Dense(3), k.Dense(2)],
    "rows": lambda k: [k.Dense(3), k.Flatten()],
    "permuted": lambda k: [k.Permute((2, 3, 1)), k.Flatten(), k.Dense(3)],
    "reshaped": lambda k: [k.Reshape((-1, 4)), k.BatchNormalization(), k.Flatten(), k.Dense(2)],
    "normalized": lambda k: [k.BatchNormalization(axis=1), k.Conv2D(2, 1)],
    "nothing": lambda k: [k.Dropout(0.5)],
}


@pytest.mark.real("keras", "jax")
@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
@pytest.mark.parametrize("name", FIRST)
def test_pictures_come_channels_first_whatever_reads_them(
    name, data_format, keras, plain_tools, native_cache, tmp_path
):
    last, before = data_format == "channels_last", keras.config.image_data_format()
    keras.config.set_image_data_format(data_format)
    shape = (5, 4, 3) if last else (3, 5, 4)
    model = keras.Sequential([keras.Input(shape), *FIRST[name](keras.layers)], name=name)
    images = np.random.default_rng(4).normal(size=(3, 3, 5, 4)).astype(np.float32)
    write_data(tmp_path, images, np.zeros(3))
    graph = capture(with_random_weights(model))
    keras.config.set_image_data_format(before)
    wanted = np.asarray(model(images.transpose(0, 2, 3, 1) if last else images))

    ended = program(compiled(graph, plain_tools, native_cache)[1], tmp_path, "--outputs", "out")

    assert ended.returncode == 0
    found = np.fromfile(tmp_path / "out", np.float32).reshape(wanted.shape)
    np.testing.assert_allclose(found, wanted, atol=1e-5 * np.abs(wanted).max(), rtol=0)


def test_labels_of_the_wrong_length_are_refused(built, folder):
    np.zeros(9, np.uint32).tofile(folder / "test_labels.bin")

    ended = program(built, folder)

    assert ended.returncode == 2
    assert "has 9 labels, but there are 10 images." in ended.stderr


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda whole: whole[:-8], "was cut short: "),
        (lambda whole: whole[:20], "was cut short: its index is not whole."),
        (
            lambda whole: whole.replace(b"\n\n", b"\nmore 64\n\n", 1),
            "is not a weights file of assay.",
        ),
        (lambda whole: whole.replace(b"\n\n", b"\nmore x 1\n\n", 1), "is not a weights file of"),
        (lambda whole: whole.replace(b"\n\n", b"\nmore 8 -1\n\n", 1), "is not a weights file of"),
        (lambda whole: whole.replace(b"\n\n", b"\nm 8 %d\n\n" % 2**63, 1), ": m is not whole."),
    ],
    ids=["end", "index", "two-words", "no-number", "negative", "huge"],
)
def test_weights_that_are_not_whole_are_refused(spoil, complaint, built, folder):
    for file in built.files:
        shutil.copy(file, folder)
    weights = folder / f"{built.name}.weights"
    weights.write_bytes(spoil(weights.read_bytes()))

    ended = program(type(built)(folder=folder, name=built.name, cached=True), folder)

    assert ended.returncode == 2
    assert complaint in ended.stderr
