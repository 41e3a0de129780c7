"""ImageDataGenerator of Keras 2: random changes of training images."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
from numpy.typing import NDArray

from assay.core.errors import UsageError

Images = NDArray[np.float32]
EPSILON = 1e-6


@dataclass
class ImageDataGenerator:
    """Normalizes images, and rotates, shifts, shears, zooms and flips them at random."""

    featurewise_center: bool = False
    samplewise_center: bool = False
    featurewise_std_normalization: bool = False
    samplewise_std_normalization: bool = False
    zca_whitening: bool = False
    zca_epsilon: float = 1e-6
    rotation_range: float = 0.0
    width_shift_range: float = 0.0
    height_shift_range: float = 0.0
    shear_range: float = 0.0
    zoom_range: float | tuple[float, float] = 0.0
    channel_shift_range: float = 0.0
    fill_mode: str = "nearest"
    cval: float = 0.0
    horizontal_flip: bool = False
    vertical_flip: bool = False
    rescale: float | None = None
    preprocessing_function: Callable[[Images], Images] | None = None
    data_format: str | None = None

    def __post_init__(self) -> None:
        self.data_format = self.data_format or keras.config.image_data_format()
        self.mean: Any = None
        self.std: Any = None
        self.whitening: NDArray[np.float64] | None = None

    def fit(self, x: Any, augment: bool = False, rounds: int = 1, seed: int | None = None) -> None:
        """Compute mean, deviation and whitening over images, where they are used."""
        images = self._channels_last(np.asarray(x, np.float32))
        if augment:
            random = np.random.default_rng(seed)
            images = np.stack([self._transform(e, random) for _ in range(rounds) for e in images])
        if self.featurewise_center or self.zca_whitening:
            self.mean = images.mean(axis=(0, 1, 2))
            images = images - self.mean
        if self.featurewise_std_normalization:
            self.std = images.std(axis=(0, 1, 2))
            images = images / (self.std + EPSILON)
        if self.zca_whitening:
            flat = images.reshape(len(images), -1)
            vectors, values, _ = np.linalg.svd(flat.T @ flat / len(flat))
            scale = 1 / np.sqrt(values + self.zca_epsilon)
            self.whitening = (vectors * scale) @ vectors.T

    def flow(
        self,
        x: Any,
        y: Any = None,
        batch_size: int = 32,
        shuffle: bool = True,
        sample_weight: Any = None,
        seed: int | None = None,
    ) -> keras.utils.PyDataset:
        """Batches of changed images, with their labels and weights."""
        columns = [np.asarray(each) for each in (x, y, sample_weight) if each is not None]
        if any(len(each) != len(columns[0]) for each in columns):
            raise UsageError(
                f"flow has {' and '.join(str(len(each)) for each in columns)} items.",
                hint="Give as many labels and weights as images.",
            )
        return _Batches(self, columns, batch_size, shuffle, seed)

    def random_transform(self, x: Any, seed: int | None = None) -> Images:
        """One image, changed at random."""
        image = self._channels_last(np.asarray(x, np.float32)[None])[0]
        changed = self._transform(image, np.random.default_rng(seed))
        return np.asarray(self._own_format(changed[None])[0])

    def standardize(self, x: Any) -> Images:
        """One image, normalized."""
        image = self._channels_last(np.asarray(x, np.float32)[None])[0]
        return np.asarray(self._own_format(self._normalize(image)[None])[0])

    def batch(self, images: Any, random: np.random.Generator) -> Images:
        """Images, changed at random and normalized."""
        each = self._channels_last(np.asarray(images, np.float32))
        done = [self._normalize(self._transform(image, random)) for image in each]
        return self._own_format(np.stack(done))

    def _transform(self, image: Images, random: np.random.Generator) -> Images:
        """Rows, columns, channels: an affine map, a shift of the channels' values, flips."""
        matrix = self._matrix(image.shape, random)
        if not np.array_equal(matrix, np.eye(3)):
            image = self._warp(image, matrix)
        if self.channel_shift_range:
            shift = random.uniform(-self.channel_shift_range, self.channel_shift_range)
            image = np.clip(image + np.float32(shift), image.min(), image.max())
        if self.horizontal_flip and random.random() < 0.5:
            image = image[:, ::-1]
        if self.vertical_flip and random.random() < 0.5:
            image = image[::-1]
        return image

    def _matrix(self, shape: tuple[int, ...], random: np.random.Generator) -> NDArray[np.float64]:
        """From pixels of the result to those of the image, around its center."""
        angle, shear = (
            np.deg2rad(random.uniform(-limit, limit)) if limit else 0.0
            for limit in (self.rotation_range, self.shear_range)
        )
        shifts = (
            random.uniform(-limit, limit) * (size if limit < 1 else 1) if limit else 0.0
            for limit, size in zip(
                (self.height_shift_range, self.width_shift_range), shape[:2], strict=True
            )
        )
        zoom = self.zoom_range
        low, high = (1 - zoom, 1 + zoom) if isinstance(zoom, int | float) else zoom
        zooms = random.uniform(low, high, 2)
        rotate = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        linear = np.array(rotate) @ [[1, -np.sin(shear)], [0, np.cos(shear)]] @ np.diag(zooms)
        center = (np.array(shape[:2]) - 1) / 2
        result = np.eye(3)
        result[:2, :2] = linear
        result[:2, 2] = center - linear @ center + linear @ np.array([*shifts])
        return result

    def _warp(self, image: Images, matrix: NDArray[np.float64]) -> Images:
        from scipy import ndimage

        planes = [
            ndimage.affine_transform(
                plane,
                matrix[:2, :2],
                matrix[:2, 2],
                order=1,
                mode={"wrap": "grid-wrap"}.get(self.fill_mode, self.fill_mode),
                cval=self.cval,
            )
            for plane in np.moveaxis(image, -1, 0)
        ]
        return np.stack(planes, -1)

    def _normalize(self, image: Images) -> Images:
        if self.preprocessing_function:
            image = self.preprocessing_function(image)
        image = image * np.float32(self.rescale or 1)
        if self.samplewise_center:
            image = image - image.mean(dtype=np.float32)
        if self.samplewise_std_normalization:
            image = image / np.float32(image.std() + EPSILON)
        return np.asarray(self._normalize_by_feature(image), np.float32)

    def _normalize_by_feature(self, image: Images) -> NDArray[Any]:
        center = self.featurewise_center or self.zca_whitening
        if (center and self.mean is None) or (
            self.featurewise_std_normalization and self.std is None
        ):
            raise UsageError(
                "An ImageDataGenerator is to normalize by training images, but has seen none.",
                hint="Call its fit(images) first.",
            )
        centered = image - self.mean if center else image
        if self.featurewise_std_normalization:
            centered = centered / (self.std + EPSILON)
        if self.whitening is not None:
            centered = (centered.reshape(-1) @ self.whitening).reshape(image.shape)
        return centered

    def _channels_last(self, images: Images) -> Images:
        if images.ndim != 4:
            raise UsageError(
                f"ImageDataGenerator got an array of shape {images.shape}.",
                hint="Images have 4 axes: item, and rows, columns and channels.",
            )
        return np.moveaxis(images, 1, -1) if self.data_format == "channels_first" else images

    def _own_format(self, images: Images) -> Images:
        return np.moveaxis(images, -1, 1) if self.data_format == "channels_first" else images


class _Batches(keras.utils.PyDataset):  # type: ignore[misc]
    def __init__(
        self,
        generator: ImageDataGenerator,
        columns: list[NDArray[Any]],
        batch_size: int,
        shuffle: bool,
        seed: int | None,
    ) -> None:
        super().__init__()
        self.generator, self.columns, self.batch_size = generator, columns, batch_size
        self.shuffle, self.random = shuffle, np.random.default_rng(seed)
        self.order = np.arange(len(columns[0]))
        self.on_epoch_end()

    def __len__(self) -> int:
        return -(-len(self.order) // self.batch_size)

    def __getitem__(self, index: int) -> Any:
        if not 0 <= index < len(self):
            raise IndexError(index)
        places = self.order[index * self.batch_size : (index + 1) * self.batch_size]
        images = self.generator.batch(self.columns[0][places], self.random)
        others = [column[places] for column in self.columns[1:]]
        return (images, *others) if others else images

    def on_epoch_end(self) -> None:
        if self.shuffle:
            self.order = self.random.permutation(len(self.order))
