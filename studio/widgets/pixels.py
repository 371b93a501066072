"""Pixel arrays as images: enlarged without blurring, reduced smoothly."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage, QPainter

from studio.session.data.samples import Pixels


def image_of(pixels: Pixels) -> QImage:
    """Pixels as an image with its own memory: grey [height, width] or colour [height, width, 3]."""
    solid = np.ascontiguousarray(pixels)
    height, width = solid.shape[:2]
    if solid.ndim == 2:
        form, stride = QImage.Format.Format_Grayscale8, width
    else:
        form, stride = QImage.Format.Format_RGB888, 3 * width
    return QImage(solid.data, width, height, stride, form).copy()


def fitted(image: QImage, room: QRectF) -> QRectF:
    """The largest place in ``room`` with the image's proportions, cells being whole points."""
    scale = min(room.width() / image.width(), room.height() / image.height())
    if scale >= 1.0:
        scale = float(int(scale))
    width, height = image.width() * scale, image.height() * scale
    left = room.left() + (room.width() - width) / 2
    return QRectF(round(left), round(room.top() + (room.height() - height) / 2), width, height)


def paint_pixels(painter: QPainter, image: QImage, room: QRectF) -> None:
    """Draw an image as large as fits: enlarged without blurring, made smaller smoothly."""
    place = fitted(image, room)
    smaller = place.width() < image.width()
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, smaller)
    painter.drawImage(place, image)
