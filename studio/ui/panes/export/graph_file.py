"""The graph as a file: a clean picture in the light palette, whatever the window shows."""

from __future__ import annotations

from PySide6.QtCore import QBuffer, QIODevice, QMarginsF, QRectF, QSize
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QWidget

from studio.engine.core.errors import DataError
from studio.graph_editor.items.colours import CanvasColours
from studio.graph_editor.scene.graph_view import GraphView
from studio.graph_editor.scene.scene import GraphScene
from studio.session.core.theme import Theme
from studio.session.studio import Studio

_MARGIN = 24.0
_SCALE = 2.0
_MOST_PIXELS = 8192


def _drawn(studio: Studio, canvas: QWidget | None) -> tuple[GraphScene, QRectF]:
    """The graph drawn for itself, and the room it takes.

    What is selected, pointed at or dragged is the window's affair, and so is its theme.

    Args:
        studio: the models.
        canvas: the view that has the previews of layers; None while there is none.

    Raises:
        DataError: there is nothing to draw.
    """
    scene = GraphScene(CanvasColours(Theme("light")))
    if isinstance(canvas, GraphView):
        scene.use_pictures(canvas.graph.picture_of)
    scene.show_state(studio.document.state, studio.document.report)
    scene.set_wire_style(studio.preferences.text("wire_style"))
    room = scene.itemsBoundingRect()
    if room.isEmpty():
        scene.deleteLater()
        raise DataError("there is nothing on the canvas to draw", who="image")
    return scene, room.marginsAdded(QMarginsF(_MARGIN, _MARGIN, _MARGIN, _MARGIN))


def svg(studio: Studio, canvas: QWidget | None) -> bytes:
    """The graph as SVG."""
    scene, area = _drawn(studio, canvas)
    page = QRectF(0, 0, area.width(), area.height())
    buffer = QBuffer()
    generator = QSvgGenerator()
    generator.setOutputDevice(buffer)
    generator.setViewBox(page)
    generator.setSize(area.size().toSize())
    generator.setTitle(studio.document.title)
    painter = QPainter(generator)
    painter.fillRect(page, scene.colours.canvas)
    scene.render(painter, page, area)
    painter.end()
    scene.deleteLater()
    return bytes(buffer.data().data())


def png(studio: Studio, canvas: QWidget | None) -> bytes:
    """The graph as PNG, twice as large as at 100 % unless it is very large."""
    scene, area = _drawn(studio, canvas)
    scale = min(_SCALE, _MOST_PIXELS / max(area.width(), area.height()))
    size = (area.size() * scale).toSize().expandedTo(QSize(1, 1))
    image = QImage(size, QImage.Format.Format_RGB32)
    image.fill(scene.colours.canvas)
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    scene.render(painter, QRectF(image.rect()), area)
    painter.end()
    scene.deleteLater()
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # type: ignore[call-overload]
    return bytes(buffer.data().data())
