"""assay.build_image and assay.run_image: what is refused before an engine is asked."""

from __future__ import annotations

import pytest

import assay
from assay.commands.image import image_files
from assay.core.errors import NotPossibleError, UsageError


def test_files_of_an_image_can_be_had_without_an_engine():
    files = image_files(assay.ImageRequest(frameworks=("torch",), specs=("torch==2.13.0",)))

    assert list(files) == ["Containerfile", "requirements.txt"]
    assert "torch==2.13.0" in files["requirements.txt"]


def test_wrong_names_and_no_engine_are_said(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(UsageError, match="is not a name of an image"):
        assay.build_image(tag="a b")
    with pytest.raises(NotPossibleError, match="No container engine"):
        assay.build_image()
    with pytest.raises(NotPossibleError, match="No container engine"):
        assay.run_image("a", ["assay"])
