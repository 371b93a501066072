"""Samples as pictures: images as they are, everything else as a strip of cells."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage

from studio.engine.train.network.measures import Array
from studio.session.data.samples import picture
from studio.widgets.pixels import image_of

_WIDE = 32


def sample_image(values: Array, value_range: tuple[float, float] | None) -> QImage:
    """A sample as a picture, one point for each of its cells."""
    return image_of(picture(_as_picture(values), value_range))


def scaled(image: QImage, side: int, ratio: float) -> QImage:
    """The picture as large as fits a square, its cells with sharp edges."""
    points = round(side * ratio)
    made = image.scaled(
        points, points, Qt.AspectRatioMode.KeepAspectRatio,
        Qt.TransformationMode.FastTransformation
        if image.width() * 2 < points
        else Qt.TransformationMode.SmoothTransformation,
    )  # fmt: skip
    made.setDevicePixelRatio(ratio)
    return made


def _as_picture(values: Array) -> Array:
    if values.ndim >= 2:
        return values if values.ndim <= 3 else values.reshape(*values.shape[:2], -1)
    flat = values.reshape(-1)
    rows = -(-len(flat) // _WIDE)
    if rows == 1:
        return flat[np.newaxis, :]
    padded = np.zeros(rows * _WIDE, flat.dtype)
    padded[: len(flat)] = flat
    return padded.reshape(rows, _WIDE)
