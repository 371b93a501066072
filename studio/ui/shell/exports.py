"""Joins the export dialog to the window, and lends it pictures of the canvas."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QBuffer, QIODevice, QMarginsF, QRectF, QSizeF
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QGraphicsView, QWidget

from studio.engine.core.errors import DataError
from studio.ui.kit import theme
from studio.ui.models.studio import Studio
from studio.ui.panes.export.opening import ExportOpener

_MARGIN = 24.0
_SCALE = 2.0
_MOST_PIXELS = 8192


class Exports:
    """The dialog and the pictures it may write.

    Args:
        studio: the models.
        window: the dialog stands in front of it.
        canvas: the view whose scene is the picture; None while there is none.
    """

    def __init__(
        self, studio: Studio, window: QWidget, canvas: Callable[[], QWidget | None]
    ) -> None:
        self._canvas = canvas
        self._opener = ExportOpener(studio, window)
        studio.exporting.pictures = {"svg": self._svg, "png": self._png}

    def _area(self) -> tuple[QGraphicsView, QRectF]:
        view = self._canvas()
        if not isinstance(view, QGraphicsView) or view.scene().itemsBoundingRect().isEmpty():
            raise DataError("there is nothing on the canvas to draw", who="picture")
        margins = QMarginsF(_MARGIN, _MARGIN, _MARGIN, _MARGIN)
        return view, view.scene().itemsBoundingRect().marginsAdded(margins)

    def _svg(self) -> bytes:
        view, area = self._area()
        buffer = QBuffer()
        generator = QSvgGenerator()
        generator.setOutputDevice(buffer)
        generator.setViewBox(QRectF(0, 0, area.width(), area.height()))
        generator.setSize(area.size().toSize())
        generator.setTitle("Glassbox")
        painter = QPainter(generator)
        painter.fillRect(QRectF(0, 0, area.width(), area.height()), theme.colour("canvas"))
        view.scene().render(painter, QRectF(0, 0, area.width(), area.height()), area)
        painter.end()
        return bytes(buffer.data().data())

    def _png(self) -> bytes:
        view, area = self._area()
        longest = max(area.width(), area.height())
        scale = min(_SCALE, _MOST_PIXELS / longest)
        size = QSizeF(area.width() * scale, area.height() * scale)
        image = QImage(size.toSize(), QImage.Format.Format_RGB32)
        image.fill(theme.colour("canvas"))
        painter = QPainter(image)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        view.scene().render(painter, QRectF(image.rect()), area)
        painter.end()
        buffer = QBuffer()
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        image.save(buffer, "PNG")  # type: ignore[call-overload]
        return bytes(buffer.data().data())
