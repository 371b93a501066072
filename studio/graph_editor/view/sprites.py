"""The kit's icons as pictures of the size they are seen at, made once for each size and colour."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPixmap

from studio.ui.kit import icons

_STEP = 4


def draw_icon(painter: QPainter, name: str, area: QRectF, colour: QColor) -> None:
    """Draw an icon of the kit on the canvas, sharp at every zoom and scale."""
    scale = painter.worldTransform().m11() * painter.device().devicePixelRatio()
    wanted = area.width() * scale
    pixels = max(_STEP, int(wanted) if wanted == int(wanted) else -int(-wanted // _STEP) * _STEP)
    picture = _sprite(name, colour.rgba(), pixels)
    painter.drawPixmap(area, picture, QRectF(picture.rect()))


@lru_cache(maxsize=256)
def _sprite(name: str, rgba: int, pixels: int) -> QPixmap:
    picture = QPixmap(pixels, pixels)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    icons.paint(painter, name, QRectF(0, 0, pixels, pixels), QColor.fromRgba(rgba))
    painter.end()
    return picture
