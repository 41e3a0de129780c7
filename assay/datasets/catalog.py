"""Known datasets by name."""

from __future__ import annotations

from assay.core.errors import unknown_name_error
from assay.datasets import cifar, imagenet, model_params
from assay.datasets.dataset import Dataset, Remote
from assay.datasets.npz import archive
from assay.datasets.synthetic import synthetic

_KRIZHEVSKY = "https://www.cs.toronto.edu/~kriz/"

DATASETS: dict[str, Dataset] = {
    dataset.name: dataset
    for dataset in (
        Dataset(
            name="mnist",
            summary="70000 handwritten digits",
            classes=10,
            shape=(28, 28, 1),
            preparation="mnist",
            forms=(archive("mnist.npz"),),
            remote=Remote(
                url="https://storage.googleapis.com/tensorflow/tf-keras-datasets/mnist.npz",
                file="mnist.npz",
                checksum="sha256:731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1",
            ),
        ),
        Dataset(
            name="cifar10",
            summary="60000 photographs of 10 kinds of things",
            classes=10,
            shape=(32, 32, 3),
            preparation="cifar10",
            forms=(archive("cifar10.npz"), *cifar.CIFAR10),
            remote=Remote(
                url=_KRIZHEVSKY + "cifar-10-python.tar.gz",
                file="cifar-10-python.tar.gz",
                checksum="md5:c58f30108f718f92721af3b95e74349a",
                folder="cifar-10-batches-py",
            ),
        ),
        Dataset(
            name="cifar100",
            summary="60000 photographs of 100 kinds of things",
            classes=100,
            shape=(32, 32, 3),
            preparation="cifar100",
            forms=(archive("cifar100.npz"), *cifar.CIFAR100),
            remote=Remote(
                url=_KRIZHEVSKY + "cifar-100-python.tar.gz",
                file="cifar-100-python.tar.gz",
                checksum="md5:eb9058c3a382ffc7106e4002c42a8d85",
                folder="cifar-100-python",
            ),
        ),
        Dataset(
            name="imagenet",
            summary="photographs of 1000 kinds of things, ILSVRC 2012",
            classes=imagenet.CLASSES,
            shape=(imagenet.SIDE, imagenet.SIDE, 3),
            preparation="imagenet-means",
            forms=(imagenet.folder_form,),
            obtain="Ask for it at image-net.org, then put class folders of JPEGs in imagenet/val "
            "(and imagenet/train) of a folder that ASSAY_DATA names.",
        ),
        *model_params.DATASETS,
        synthetic(),
    )
}


def get(name: str) -> Dataset:
    if name not in DATASETS:
        raise unknown_name_error("dataset", name, DATASETS)
    return DATASETS[name]
