"""vgg16: model D of Simonyan and Zisserman (2014), as the VGG16 study of 2017 trained it."""

from __future__ import annotations

from assay.core.errors import UsageError
from assay.workloads.net.layers import Conv, Dense, Flatten, Layer, Norm, Pool, Relu
from assay.workloads.net.nets import Net, NetWorkload

BLOCKS = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))  # filters, convolutions
SMALLEST = 32  # pixels: five pools leave one


def net(image_size: int, narrower: int, classes: int, bn: str, fused: bool) -> Net:
    """Thirteen convolutions, three dense layers, no dropout; `narrower` divides every width.

    `bn`: batch norm between each convolution (with bias) and its ReLU.
    """
    if image_size < SMALLEST:
        raise UsageError(
            f"image_size of vgg16 is {image_size}, but has to be {SMALLEST} or more.",
            hint="Five pools halve it five times.",
        )
    if fused and bn == "none":
        raise UsageError(
            "fused of vgg16 is true, but there is no batch norm to fuse.",
            hint="Add bn=mode0 or bn=mode2.",
        )
    norm = () if bn == "none" else (Norm(running=bn == "mode0", fused=fused),)
    layers: list[Layer] = []
    for filters, count in BLOCKS:
        layers += (Conv(max(1, filters // narrower), 3), *norm, Relu()) * count
        layers.append(Pool(2))
    wide = max(1, 4096 // narrower)
    layers += [Flatten(), Dense(wide), Relu(), Dense(wide), Relu(), Dense(classes)]
    return Net(input_shape=(image_size, image_size, 3), layers=tuple(layers))


PROVIDES = {
    "vgg16": NetWorkload(
        summary="VGG16, model D without dropout, 138,357,544 parameters; 138,361,768 with bn",
        source="the VGG16 study of Keras and TensorFlow (2017)",
        params={
            "batch_size": 16,
            "image_size": 224,
            "narrower": 1,
            "classes": 1000,
            "bn": "none",
            "fused": False,
            "seed": 0,
        },
        net=net,
        choices={"bn": ("none", "mode0", "mode2")},
        optimizer="sgd",
        learning_rate=0.01,
    )
}
