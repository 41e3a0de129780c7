"""mnist-mlp: the multilayer perceptron of keras-benchmarks."""

from __future__ import annotations

from assay.workloads.net.layers import Dense, Dropout, Relu
from assay.workloads.net.nets import Net, NetWorkload


def net(units: int, hidden: int) -> Net:
    """784 inputs; `hidden` times dense, relu, dropout 0.2; ten classes."""
    block = (Dense(units), Relu(), Dropout(0.2))
    return Net(input_shape=(784,), layers=(*block * hidden, Dense(10)))


PROVIDES = {
    "mnist-mlp": NetWorkload(
        pictures=False,
        summary="multilayer perceptron on MNIST-shaped vectors, 4 x 1024 units",
        source="keras-benchmarks (2017), mnist_mlp",
        params={"batch_size": 32, "units": 1024, "hidden": 4, "seed": 0},
        net=net,
        optimizer="rmsprop",
        learning_rate=0.001,
    )
}
