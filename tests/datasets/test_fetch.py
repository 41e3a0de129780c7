"""Having a dataset: what lies there is used first, what is fetched is checked."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from contextlib import ExitStack
from dataclasses import replace

import numpy as np
import pytest

from assay.core.errors import AssayError, NotPossibleError
from assay.datasets.catalog import DATASETS, get
from assay.datasets.fetch import fetch
from assay.datasets.library import load
from tests.datasets.making import SAMPLE
from tests.datasets.serving import Site, serving

MNIST = (SAMPLE / "mnist.npz").read_bytes()


@pytest.fixture
def offered(monkeypatch):
    """Serve a body as what the datasets of this name are fetched from."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv("ASSAY_DATA", raising=False)
    with ExitStack() as stack:

        def offer(name, body, checksum="right"):
            site = stack.enter_context(serving(Site(body=body)))
            right = "sha256:" + hashlib.sha256(body).hexdigest()
            for known in [one for one in DATASETS if one.partition("/")[0] == name]:
                remote = replace(
                    DATASETS[known].remote,
                    url=site.url,
                    checksum=right if checksum == "right" else checksum,
                )
                monkeypatch.setitem(DATASETS, known, replace(DATASETS[known], remote=remote))
            return site

        yield offer


def tar(files):
    body = io.BytesIO()
    with tarfile.open(fileobj=body, mode="w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return body.getvalue()


def model_params(*networks):
    files = {}
    for network in networks:
        shape = get(f"model_params/{network}").shape
        for part in ("test", "tune"):
            place = f"model_params/{network}/{part}"
            files[f"{place}_input.bin"] = np.zeros((2, *shape), "<f4").tobytes()
            files[f"{place}_labels.bin"] = np.zeros(2, "<u4").tobytes()
    return tar(files)


ALL = [name.partition("/")[2] for name in DATASETS if name.startswith("model_params/")]


@pytest.mark.real("http.server")
def test_a_file_is_downloaded_once_and_can_be_loaded(offered, home):
    site = offered("mnist", MNIST)

    places = fetch("mnist") + fetch("mnist")

    assert places == [str(home / "data" / "mnist.npz")] * 2
    assert len(site.asked) == 1
    assert len(load("mnist", "test").labels) == 150


@pytest.mark.real("http.server")
def test_an_archive_is_unpacked_and_not_kept(offered, home):
    site = offered("model_params", model_params(*ALL), checksum="")

    places = fetch("model_params")

    assert len(places) == 10
    assert len(site.asked) == 1
    assert os.listdir(home / "data") == ["model_params"]
    assert load("model_params/resnet50_imagenet", "tune").inputs.shape == (2, 224, 224, 3)


@pytest.mark.real("http.server")
def test_an_archive_that_lacks_something_is_not_fetched_for_ever(offered):
    site = offered("model_params", model_params("lenet_mnist"), checksum="")

    with pytest.raises(AssayError, match="model_params exists, but has missing files"):
        fetch("model_params")

    assert len(site.asked) == 1


@pytest.mark.real("http.server")
def test_a_wrong_checksum_is_refused(offered):
    offered("mnist", MNIST, checksum="sha256:00")

    with pytest.raises(AssayError, match=r"mnist\.npz has the sha256 checksum"):
        fetch("mnist")


@pytest.mark.real("http.server")
def test_without_a_checksum_the_structure_is_checked(offered):
    offered("mnist", b"<html>Sign in first</html>", checksum="")

    with pytest.raises(AssayError, match=r"mnist\.npz is cut or wrong"):
        fetch("mnist")


@pytest.mark.real("http.server")
def test_an_archive_put_there_by_hand_is_unpacked_without_asking_anyone(
    offered, home, tmp_path, monkeypatch
):
    body = model_params("lenet_mnist")
    site = offered("model_params", body)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "model_params.tar.gz").write_bytes(body)
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path / "mine"))

    places = fetch("model_params/lenet_mnist")

    assert places == [str(home / "data" / "model_params" / "lenet_mnist")]
    assert site.asked == []
    assert (tmp_path / "mine" / "model_params.tar.gz").exists()


def test_what_cannot_be_fetched_says_what_to_do():
    with pytest.raises(NotPossibleError, match="imagenet cannot be fetched") as caught:
        fetch("imagenet")

    assert "image-net.org" in caught.value.hint


def test_an_unknown_name_is_refused():
    with pytest.raises(AssayError, match="no dataset named 'mnits'"):
        fetch("mnits")


def test_what_is_always_here_needs_no_fetching():
    assert fetch("synthetic") == ["synthetic"]


def test_every_address_is_the_official_one():
    hosts = {d.remote.url.split("/")[2] for d in DATASETS.values() if d.remote}

    assert hosts == {"storage.googleapis.com", "www.cs.toronto.edu", "databank.illinois.edu"}
    assert all(d.remote.url.startswith("https://") for d in DATASETS.values() if d.remote)
