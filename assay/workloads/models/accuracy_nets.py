"""The architectures of HPVM's ten networks, layer by layer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from assay.workloads.net.layers import (
    Conv,
    Dense,
    Depthwise,
    Dropout,
    Flatten,
    Layer,
    Pool,
    Relu,
    Residual,
    ScaledNorm,
    Tanh,
)
from assay.workloads.net.nets import Net

Layers = tuple[Layer, ...]

_DIGIT, _SMALL, _LARGE = (28, 28, 1), (32, 32, 3), (224, 224, 3)
_VGG16 = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))  # filters, convolutions
# Filters, stride, and dropout after the block, if any.
_MOBILENET = (
    *((64, 1, 0.0), (128, 2, 0.0), (128, 1, 0.5), (256, 2, 0.0), (256, 1, 0.5), (512, 2, 0.0)),
    *((512, 1, 0.0), (512, 1, 0.5), (512, 1, 0.0), (512, 1, 0.0), (512, 1, 0.5), (1024, 2, 0.0)),
    (1024, 1, 0.5),
)
_RESNET50 = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))  # filters, blocks, stride


def lenet() -> Net:
    """The last layer has a tanh too, before the softmax."""
    convolutions = (*_tanh(32, 5), Pool(2), *_tanh(64, 5), Pool(2))
    return Net(_DIGIT, (*convolutions, Flatten(), Dense(1024), Tanh(), Dense(10), Tanh()))


def alexnet() -> Net:
    first = (*_tanh(64, 11), Pool(2), Dropout(0.2), *_tanh(192, 5), Pool(2), Dropout(0.3))
    then = (*_tanh(384, 3), *_tanh(256, 3), *_tanh(256, 3), Pool(2), Dropout(0.4))
    return Net(_SMALL, (*first, *then, Flatten(), Dense(10)))


def alexnet2() -> Net:
    blocks = ((32, 0.2), (64, 0.3), (128, 0.4))
    layers = [
        layer
        for filters, rate in blocks
        for layer in (*_tanh(filters, 3), *_tanh(filters, 3), Pool(2), Dropout(rate))
    ]
    return Net(_SMALL, (*layers, Flatten(), Dense(10)))


def alexnet_imagenet() -> Net:
    first = (Conv(64, 11, 2, 4), Relu(), Pool(3, 2), Conv(192, 5, 2), Relu(), Pool(3, 2))
    then = (*_relu(384), *_relu(256), *_relu(256), Pool(3, 2), Flatten())
    head = (*_hidden_after_dropout(4096) * 2, Dense(1000))
    return Net(_LARGE, (*first, *then, *head))


def vgg16_cifar(classes: int) -> Net:
    """Dropout between the convolutions, and no batch norm."""
    layers: list[Layer] = []
    for number, (filters, count) in enumerate(_VGG16):
        rate = Dropout(0.4 if number else 0.3)
        layers += [*(*_relu(filters), rate) * (count - 1), *_relu(filters), Pool(2)]
    head = (Dropout(0.5), Flatten(), Dense(512), Relu(), Dropout(0.5), Dense(classes))
    return Net(_SMALL, (*layers, *head))


def vgg16_imagenet() -> Net:
    layers: list[Layer] = []
    for filters, count in _VGG16:
        layers += [*(Conv(filters, 3, 1), Relu()) * count, Pool(2)]
    hidden = (Dense(4096), Relu(), Dropout(0.5))
    return Net(_LARGE, (*layers, Flatten(), *hidden * 2, Dense(1000)))


def mobilenet_cifar10() -> Net:
    layers: list[Layer] = [Conv(32, 3, bias=False), ScaledNorm(), Relu()]
    for filters, stride, rate in _MOBILENET:
        layers += [Depthwise(3, 1, stride), ScaledNorm(), Relu()]
        layers += [Conv(filters, 1, bias=False), ScaledNorm(), Relu()]
        layers += [Dropout(rate)] if rate else []
    return Net(_SMALL, (*layers, Pool(2, mean=True), Flatten(), Dense(10)))


def resnet18_cifar10() -> Net:
    """In fact ResNet-20 of He and others (2015), without batch norm."""
    layers: list[Layer] = [Conv(16, 3, 1), Relu()]
    for filters, stride in ((16, 1), (32, 2), (64, 2)):
        for number in range(3):
            moves = stride if number == 0 else 1
            body = (Conv(filters, 3, 1, moves), Relu(), Conv(filters, 3, 1))
            shortcut = (Conv(filters, 1, 0, moves),) if moves > 1 else ()
            layers += [Residual(body, shortcut), Relu()]
    return Net(_SMALL, (*layers, Pool(8, mean=True), Flatten(), Dense(10)))


def resnet50_imagenet() -> Net:
    """The stride is in a block's first convolution; the first norm comes after the pool."""
    layers: list[Layer] = [Conv(64, 7, 3, 2), Relu(), Pool(3, 2), ScaledNorm()]
    for filters, count, stride in _RESNET50:
        layers += [*_bottleneck(filters, stride, project=True)]
        layers += [*_bottleneck(filters, 1, project=False) * (count - 1)]
    return Net(_LARGE, (*layers, Pool(7, mean=True), Flatten(), Dense(1000)))


def _tanh(filters: int, kernel: int) -> Layers:
    return Conv(filters, kernel), Tanh()


def _relu(filters: int) -> Layers:
    return Conv(filters, 3), Relu()


def _hidden_after_dropout(units: int) -> Layers:
    return Dropout(0.5), Dense(units), Relu()


def _bottleneck(filters: int, stride: int, project: bool) -> Layers:
    body = (
        *(Conv(filters, 1, 0, stride), ScaledNorm(), Relu()),
        *(Conv(filters, 3, 1), ScaledNorm(), Relu()),
        *(Conv(4 * filters, 1, 0), ScaledNorm()),
    )
    shortcut = (Conv(4 * filters, 1, 0, stride), ScaledNorm()) if project else ()
    return Residual(body, shortcut), Relu()


NETS: dict[str, Callable[[], Net]] = {
    "lenet": lenet,
    "alexnet": alexnet,
    "alexnet2": alexnet2,
    "alexnet-imagenet": alexnet_imagenet,
    "mobilenet-cifar10": mobilenet_cifar10,
    "resnet18-cifar10": resnet18_cifar10,
    "resnet50-imagenet": resnet50_imagenet,
    "vgg16-cifar10": partial(vgg16_cifar, 10),
    "vgg16-cifar100": partial(vgg16_cifar, 100),
    "vgg16-imagenet": vgg16_imagenet,
}
