"""The binary: what it reads and writes, and what it says of a user's mistakes."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from assay.native import oracle
from tests.native.built import compiled, program, write_data
from tests.native.test_emit import small

pytestmark = pytest.mark.real("compiler")

IMAGES = np.random.default_rng(5).normal(size=(10, 2, 6, 6)).astype(np.float32)


@pytest.fixture(scope="session")
def built(checked_tools, native_cache):
    return compiled(small(), checked_tools, native_cache)[1]


@pytest.fixture
def folder(tmp_path):
    """Labels of which the first seven are what the network says, and the others are not."""
    said = oracle.outputs(small(), IMAGES.transpose(0, 2, 3, 1))[0].argmax(1)
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
        (("--batch", "0"), "--batch is '0', but has to be a whole number, 1 or more."),
        (("-c", "confs.txt"), "The config confs.txt was given, but this program computes fp32"),
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


def test_labels_of_the_wrong_length_are_refused(built, folder):
    np.zeros(9, np.uint32).tofile(folder / "test_labels.bin")

    ended = program(built, folder)

    assert ended.returncode == 2
    assert "has 9 labels, but there are 10 images." in ended.stderr


def test_weights_that_were_cut_short_are_refused(built, folder):
    for file in built.files:
        shutil.copy(file, folder)
    weights = folder / f"{built.name}.weights"
    weights.write_bytes(weights.read_bytes()[:-8])

    ended = program(type(built)(folder=folder, name=built.name, cached=True), folder)

    assert ended.returncode == 2
    assert "was cut short" in ended.stderr
