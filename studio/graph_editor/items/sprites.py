"""Pictures of what is drawn again and again, made once for each zoom and painted at once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPaintEngine, QPainter, QPixmap, QTransform

from studio.widgets import icons

_MOST_BYTES = 48 << 20
_LARGEST_SCALE = 5.0
"""Above this many pixels for one of the canvas drawing is as fast, and pictures grow large."""


class _Kept:
    """The pictures made so far; those not used for longest go first."""

    def __init__(self) -> None:
        self._pictures: OrderedDict[Hashable, QPixmap] = OrderedDict()
        self._bytes = 0

    def find(self, key: Hashable) -> QPixmap | None:
        found = self._pictures.get(key)
        if found is not None:
            self._pictures.move_to_end(key)
        return found

    def add(self, key: Hashable, picture: QPixmap) -> None:
        self._pictures[key] = picture
        self._bytes += _bytes(picture)
        while self._bytes > _MOST_BYTES and len(self._pictures) > 1:
            self._bytes -= _bytes(self._pictures.popitem(last=False)[1])


_kept = _Kept()


def stamp(
    painter: QPainter, key: Hashable, area: QRectF, draw: Callable[[QPainter], object]
) -> None:
    """Draw something that looks the same wherever its key is the same.

    Args:
        painter: what to draw with; its pen and brush are as before afterwards.
        key: everything the look depends on, but for the zoom.
        area: room it takes.
        draw: draws it, where the picture is not there yet.
    """
    world = painter.worldTransform()
    ratio = painter.device().devicePixelRatio()
    scale = world.m11() * ratio
    if scale > _LARGEST_SCALE or painter.paintEngine().type() != QPaintEngine.Type.Raster:
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        draw(painter)
        painter.restore()
        return
    found = _kept.find((key, scale, ratio))
    if found is None:
        found = _made(area, scale, ratio, draw)
        _kept.add((key, scale, ratio), found)
    at = world.map(area.topLeft())
    left, top = round(at.x() * ratio) / ratio, round(at.y() * ratio) / ratio
    painter.setWorldTransform(QTransform.fromTranslate(left, top))
    painter.drawPixmap(0, 0, found)
    painter.setWorldTransform(world)


def stamp_icon(painter: QPainter, name: str, area: QRectF, colour: QColor) -> None:
    """Draw an icon of the kit, sharp at every zoom and scale."""
    own = QRectF(0, 0, area.width(), area.height())
    painter.translate(area.topLeft())
    stamp(
        painter,
        ("icon", name, colour.rgba(), area.width()),
        own,
        lambda on: icons.paint(on, name, own, colour),
    )
    painter.translate(-area.topLeft())


def _made(area: QRectF, scale: float, ratio: float, draw: Callable[[QPainter], object]) -> QPixmap:
    picture = QPixmap(int(area.width() * scale) + 2, int(area.height() * scale) + 2)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.scale(scale, scale)
    painter.translate(-area.topLeft())
    draw(painter)
    painter.end()
    picture.setDevicePixelRatio(ratio)
    return picture


def _bytes(picture: QPixmap) -> int:
    return picture.width() * picture.height() * 4
