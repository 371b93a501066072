"""A picture of what a layer makes of a sample, and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage, QPainter

_FAINT = 0.45


class NodePicture(NamedTuple):
    """One picture.

    Attributes:
        image: its pixels.
        stale: the layer was changed since it was made.
        text: the range of its values, and whose weights made them.
        output: which of several outputs it is of, in words; empty for the only one.
    """

    image: QImage
    stale: bool
    text: str
    output: str = ""


PictureOf = Callable[[str], NodePicture | None]


def no_picture(_node_id: str) -> NodePicture | None:
    """For where there are no previews."""
    return None


def draw_picture(painter: QPainter, picture: NodePicture, area: QRectF) -> QRectF:
    """Draw a picture as large as an area allows, its cells kept square; where it lies."""
    image = picture.image
    ratio = min(area.width() / image.width(), area.height() / image.height())
    width, height = image.width() * ratio, image.height() * ratio
    middle = area.center()
    place = QRectF(middle.x() - width / 2, middle.y() - height / 2, width, height)
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, ratio < 1)
    if picture.stale:
        painter.setOpacity(painter.opacity() * _FAINT)
    painter.drawImage(place, image)
    if picture.stale:
        painter.setOpacity(painter.opacity() / _FAINT)
    return place
