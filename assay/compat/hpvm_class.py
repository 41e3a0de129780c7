"""An optional base class with the attributes of HPVM's `Benchmark`."""

from __future__ import annotations


class Benchmark:
    """Subclasses define `buildModel`, `data_preprocess` and `trainModel`."""

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
        self.data_dir = data_dir  # folder for weights and data of the compiled program
        self.src_dir = src_dir  # folder for generated sources
        self.num_classes = num_classes
        self.batch_size = batch_size
