"""cifar10-cnn: the small convolutional network of keras-benchmarks."""

from __future__ import annotations

from assay.workloads.net.layers import Conv, Dense, Dropout, Flatten, Layer, Pool, Relu
from assay.workloads.net.nets import Net, NetWorkload


def net(filters: int, units: int) -> Net:
    """Two blocks of two convolutions, the second with twice the filters; then two dense layers."""
    layers = (*_block(filters), *_block(2 * filters), Flatten())
    head = (Dense(units), Relu(), Dropout(0.5), Dense(10))
    return Net(input_shape=(32, 32, 3), layers=(*layers, *head))


def _block(filters: int) -> tuple[Layer, ...]:
    # padding same, then valid, as in the Keras example that the benchmark was taken from
    first, second = Conv(filters, 3), Conv(filters, 3, padding="valid")
    return (first, Relu(), second, Relu(), Pool(2), Dropout(0.25))


PROVIDES = {
    "cifar10-cnn": NetWorkload(
        summary="four convolutions and two dense layers on CIFAR-10-shaped images",
        source="keras-benchmarks (2017), cifar10_cnn",
        params={"batch_size": 32, "filters": 32, "units": 512, "seed": 0},
        net=net,
        optimizer="rmsprop",
        learning_rate=0.0001,
    )
}
