"""The base of HPVM's benchmark classes, for those that are derived from it; none is needed."""

from __future__ import annotations


class Benchmark:
    """Derive from it and add `buildModel`, `data_preprocess` and `trainModel`."""

    def __init__(
        self,
        name: str,
        reload_dir: str = "",
        keras_model_file: str = "",
        data_dir: str = "",
        src_dir: str = "",
        num_classes: int = 10,
        batch_size: int = 500,
    ) -> None:
        self.name = name
        self.reload_dir = reload_dir  # a folder of .bin weights
        self.keras_model_file = keras_model_file  # a file of weights
        self.data_dir = data_dir  # where weights and data go when it is compiled
        self.src_dir = src_dir  # where its sources go
        self.num_classes = num_classes
        self.batch_size = batch_size
