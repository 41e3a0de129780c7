"""ImageNet as a folder of class folders."""

from __future__ import annotations

import numpy as np
import pytest

from assay.core.errors import AssayError
from assay.datasets.imagenet import decode_image, folder_form

pytestmark = pytest.mark.real("PIL")
NAMES = [f"n{number:08d}" for number in range(1000)]


def write_jpeg(path, colour, size=(300, 400)):
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, colour).save(path, quality=95)


@pytest.fixture
def some_classes(tmp_path):
    """Two images of each of two classes out of 1000."""
    root = tmp_path / "imagenet"
    for number, colour in ((7, (255, 0, 0)), (500, (0, 0, 255))):
        for file in ("a.JPEG", "b.jpg"):
            write_jpeg(root / "val" / NAMES[number] / file, colour)
    (root / "classes.txt").write_text("\n".join(NAMES))
    return tmp_path


def test_pictures_of_all_classes_take_turns(some_classes):
    found = folder_form(some_classes).read("test", 0, 4)

    assert found.labels.tolist() == [7, 500, 7, 500]
    assert found.inputs.shape == (4, 224, 224, 3)
    assert found.inputs[0].mean((0, 1)).round().tolist() == pytest.approx([254, 0, 0], abs=2)


def test_only_what_is_asked_for_is_decoded(some_classes):
    (some_classes / "imagenet" / "val" / NAMES[7] / "b.jpg").write_bytes(b"no picture")

    assert len(folder_form(some_classes).read("test", 0, 2).labels) == 2
    with pytest.raises(AssayError, match=r"b\.jpg is cut or wrong: .*a JPEG image"):
        folder_form(some_classes).read("test", 0, 4)


def test_the_middle_is_cut_out_after_the_shorter_side_was_made_256(tmp_path):
    from PIL import Image

    stripes = np.zeros((256, 512, 3), np.uint8)
    stripes[:, 144:368] = 255  # exactly the middle 224 columns
    Image.fromarray(stripes).save(tmp_path / "one.jpeg", quality=100, subsampling=0)

    found = decode_image(tmp_path / "one.jpeg")

    assert found.shape == (224, 224, 3)
    assert found[:, 2:-2].min() > 250


@pytest.mark.parametrize("size", [(20, 30), (1000, 257), (224, 224)])
def test_pictures_of_any_size_and_colour_are_taken(tmp_path, size):
    from PIL import Image

    Image.new("L", size, 100).save(tmp_path / "grey.jpeg")

    assert decode_image(tmp_path / "grey.jpeg").shape == (224, 224, 3)


def test_a_part_of_the_classes_needs_a_list_of_all(some_classes):
    (some_classes / "imagenet" / "classes.txt").unlink()

    with pytest.raises(AssayError, match="2 classes are known, but ImageNet has 1000") as caught:
        folder_form(some_classes).size("test")

    assert "classes.txt" in caught.value.hint


def test_a_class_that_is_not_listed_is_refused(some_classes):
    write_jpeg(some_classes / "imagenet" / "val" / "cats" / "a.jpeg", (0, 0, 0))

    with pytest.raises(AssayError, match=r"it has a folder cats, but .*does not list it"):
        folder_form(some_classes).size("test")
