"""HPVM's ten networks: timed with seeded weights, evaluated with trained ones."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import msgspec

from assay.core.recipe import Recipe
from assay.core.records import Evaluation, Value
from assay.core.sessions import Builder, Examples, Job
from assay.workloads.models.recipes import RECIPES
from assay.workloads.net import nets
from assay.workloads.net.nets import Net

# Values of `weights` that are no path: `weights/NAME.npz` beside the data, and HPVM's names.
TRAINED, KERAS_MODEL_FILE, RELOAD_DIR = "trained", "keras_model_file", "reload_dir"


class AccuracyWorkload(msgspec.Struct, frozen=True, kw_only=True):
    """One of the ten: its architecture, its data, and its expected accuracy."""

    name: str
    summary: str
    dataset: str
    preparation: str  # of its images: a rule of datasets.prepare
    expected: float  # percent of the 5000 test images, by HPVM's table
    hpvm: str  # its name in HPVM's folders
    optimizer: str = "momentum"
    learning_rate: float = 0.01
    batch_size: int = 128
    also: str = ""  # another name of its file of trained weights
    source: str = "HPVM's Keras benchmarks (2021)"
    version: str = "1"

    @property
    def choices(self) -> Mapping[str, tuple[str, ...]]:
        return {"data": ("own", "model_params")}

    @property
    def params(self) -> Mapping[str, Value]:
        return {"batch_size": self.batch_size, "seed": 0, "weights": "", "data": "own"}

    @property
    def kinds(self) -> Mapping[str, Builder]:
        return {kind: partial(self._job, kind) for kind in ("keras", "torch")}

    @property
    def recipe(self) -> Recipe | None:
        return RECIPES.get(self.name)

    @property
    def trains_itself(self) -> bool:
        return False

    def net(self) -> Net:
        from assay.workloads.models.accuracy_nets import NETS

        return NETS[self.name]()

    def lacks(
        self, params: Mapping[str, Value], evaluation: Evaluation, home: Path | None = None
    ) -> str:
        """What is missing for an evaluation, or ""."""
        from assay.workloads.models import eval_data

        return eval_data.missing_data(self, params, evaluation, home)

    def examples(self, data: str, split: str) -> Examples:
        """Evaluation data: its own images, or HPVM's."""
        from assay.workloads.models import eval_data

        return eval_data.evaluation_images(self, data, split, 0)

    def _job(self, kind: str, batch_size: int, seed: int, weights: str, data: str) -> Job:
        from assay.workloads.models import eval_data

        net = self.net()
        arrays, facts = eval_data.weights(self, net, seed, weights)
        return Job(
            model=nets.model(kind, net, arrays),
            optimizer=self.optimizer,
            learning_rate=self.learning_rate,
            train_batch=nets.batch(net, batch_size, seed),
            multiply_adds=net.multiply_adds(),
            eval_data=partial(eval_data.evaluation_images, self, data),
            facts=facts,
        )


TEN = (
    AccuracyWorkload(
        name="lenet",
        summary="LeNet with tanh for MNIST, 3,274,634 weights",
        dataset="mnist",
        preparation="mnist",
        expected=98.70,
        hpvm="lenet_mnist",
        optimizer="sgd",
    ),
    AccuracyWorkload(
        name="alexnet",
        summary="AlexNet with tanh for CIFAR-10, 2,510,666 weights",
        dataset="cifar10",
        preparation="cifar10",
        expected=79.28,
        hpvm="alexnet_cifar10",
        optimizer="adam",
        learning_rate=0.001,
    ),
    AccuracyWorkload(
        name="alexnet2",
        summary="six convolutions with tanh for CIFAR-10, 307,498 weights",
        dataset="cifar10",
        preparation="cifar10",
        expected=84.98,
        hpvm="alexnet2_cifar10",
        optimizer="adam",
        learning_rate=0.001,
    ),
    AccuracyWorkload(
        name="alexnet-imagenet",
        summary="AlexNet for ImageNet, 61,100,840 weights",
        dataset="imagenet",
        preparation="none",  # HPVM's quantization ranges show its inputs from 0 to 255
        expected=56.30,
        batch_size=32,
        hpvm="alexnet_imagenet",
    ),
    AccuracyWorkload(
        name="mobilenet-cifar10",
        summary="MobileNet for CIFAR-10, 3,239,114 weights with running averages",
        dataset="cifar10",
        preparation="cifar10",
        expected=84.42,
        hpvm="mobilenet_cifar10",
        also="mobilenet",
    ),
    AccuracyWorkload(
        name="resnet18-cifar10",
        summary="what HPVM calls ResNet-18, without batch norm, for CIFAR-10, 271,690 weights",
        dataset="cifar10",
        preparation="cifar10",
        expected=89.56,
        hpvm="resnet18_cifar10",
        optimizer="adam",
        learning_rate=0.001,
        also="resnet18",
    ),
    AccuracyWorkload(
        name="resnet50-imagenet",
        summary="ResNet-50 for ImageNet, 25,636,712 weights with running averages",
        dataset="imagenet",
        preparation="imagenet-means",
        expected=75.10,
        batch_size=32,
        hpvm="resnet50_imagenet",
    ),
    AccuracyWorkload(
        name="vgg16-cifar10",
        summary="VGG16 for CIFAR-10, 14,982,474 weights",
        dataset="cifar10",
        preparation="cifar10",
        expected=89.96,
        hpvm="vgg16_cifar10",
        also="vgg16",
    ),
    AccuracyWorkload(
        name="vgg16-cifar100",
        summary="VGG16 for CIFAR-100, 15,028,644 weights",
        dataset="cifar100",
        preparation="cifar100",
        expected=66.50,
        hpvm="vgg16_cifar100",
    ),
    AccuracyWorkload(
        name="vgg16-imagenet",
        summary="VGG16 with dropout for ImageNet, 138,357,544 weights",
        dataset="imagenet",
        preparation="imagenet-means",
        expected=69.46,
        batch_size=32,
        hpvm="vgg16_imagenet",
    ),
)
PROVIDES = {workload.name: workload for workload in TEN}
