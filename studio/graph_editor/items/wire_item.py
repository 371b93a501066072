"""A wire on the canvas, and the shape written on it."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPainterPath, QPen
from PySide6.QtWidgets import (
    QGraphicsItem,
    QGraphicsPathItem,
    QStyleOptionGraphicsItem,
    QWidget,
)

from studio.graph_editor.items.colours import CanvasColours
from studio.graph_editor.items.items import WIRE_LEVEL
from studio.graph_editor.items.sprites import stamp
from studio.graph_editor.items.wire_paths import distance, is_backward, samples
from studio.session.document.state import Wire

CHIP_ZOOM = 0.8
"""From this zoom on wires carry their shape; below, it stands on the layers in larger letters."""

_CHIP_HEIGHT = 15.0
_CHIP_SIDE = 5.0
_LONG = 400.0
_BESIDE = 10.0
"""Space between a port and the shape on its wire."""


class WireItem(QGraphicsPathItem):
    """A wire, drawn by Qt itself; its path is made again only when an end moves.

    Args:
        wire: which wire it is.
        colours: what it paints with.
    """

    def __init__(self, wire: Wire, colours: CanvasColours) -> None:
        super().__init__()
        self.wire = wire
        self.colours = colours
        self.chip = ShapeChip(colours)
        self.marked = ""
        self._state = "ok"
        self._points: list[QPointF] | None = None
        self.setZValue(WIRE_LEVEL)
        self.setPen(colours.wire_pen)

    def route(self, path: QPainterPath, start: QPointF, end: QPointF, beside: float = 0.0) -> None:
        """Lead from one port to another along a path; the shape stands ``beside`` away at least."""
        self._points = None
        self.setPath(path)
        # Where a wire turns back, the shape stands half way: there it leads between layers.
        turns_back = is_backward(start, end)
        room = path.length() / 2 if turns_back else abs(end.x() - start.x())
        self.chip.place(path, room, beside, in_middle=turns_back)

    def show_state(self, state: str, shape: str) -> None:
        """Show what flows: its shape, or that an end is wrong or waits."""
        self.chip.show_text(shape)
        if state != self._state:
            self._state = state
            self._choose_pen()

    def mark(self, marked: str) -> None:
        """Show that it is hovered, selected, linked, cut or where something would be inserted."""
        if marked != self.marked:
            self.marked = marked
            self.chip.set_forced(marked in ("hover", "selected", "target"))
            self.setZValue(WIRE_LEVEL + (1 if marked else 0))
            self._choose_pen()

    def show_colours(self, colours: CanvasColours) -> None:
        """Paint with other colours."""
        self.colours = self.chip.colours = colours
        self._choose_pen()
        self.chip.update()

    def points(self) -> list[QPointF]:
        """Points along the wire."""
        if self._points is None:
            self._points = samples(self.path())
        return self._points

    def distance_to(self, at: QPointF) -> float:
        """How far a point of the canvas is from the wire."""
        return distance(self.points(), at)

    def middle(self) -> QPointF:
        """The point half way along."""
        return self.path().pointAtPercent(0.5)

    def _choose_pen(self) -> None:
        colours = self.colours
        pens = {
            "hover": colours.wire_hover_pen,
            "selected": colours.wire_selected_pen,
            "cut": colours.wire_cut_pen,
            "target": colours.wire_target_pen,
        }
        if self.marked in pens:
            self.setPen(pens[self.marked])
        elif self._state == "error":
            self.setPen(colours.wire_error_pen)
        elif self._state in ("waiting", "unreached"):
            self.setPen(colours.wire_waiting_pen)
        else:
            self.setPen(colours.wire_pen)


class ShapeChip(QGraphicsItem):
    """The shape of what flows through a wire.

    The first of the wires that leave a layer carries it near the layer, the others where they are
    long; under the pointer each does. It is hidden where it would not fit.

    Args:
        colours: what it paints with.
    """

    def __init__(self, colours: CanvasColours) -> None:
        super().__init__()
        self.colours = colours
        self.setZValue(WIRE_LEVEL + 2)
        self._text = ""
        self._width = 0.0
        self._path = QPainterPath()
        self._length = 0.0
        self._room = 0.0
        self._beside = _BESIDE
        self._leads = True
        self._in_middle = False
        self._forced = False
        self._near = True
        self._at: float | None = None
        self._bounds = QRectF()
        self.setVisible(False)

    def place(
        self, path: QPainterPath, room: float, beside: float, *, in_middle: bool = False
    ) -> None:
        """Stand on a wire with ``room`` between its ends, ``beside`` of it taken at the start."""
        self._in_middle = in_middle
        self._path, self._length, self._room = path, path.length(), room - beside
        self._beside = max(_BESIDE, beside)
        self._at = None
        self._show()

    def set_leading(self, leads: bool) -> None:
        """Whether its wire is the first that leaves a layer."""
        if leads != self._leads:
            self._leads = leads
            self._show()

    def show_text(self, text: str) -> None:
        """Say something else."""
        if text != self._text:
            self.prepareGeometryChange()
            self._text = text
            metrics = QFontMetricsF(self.colours.small_font)
            self._width = metrics.horizontalAdvance(text) + 2 * _CHIP_SIDE
            self._bounds = self._area().adjusted(-1, -1, 1, 1)
            self._show()
            self.update()

    def set_near(self, near: bool) -> None:
        """Whether the canvas is seen from near enough to read it."""
        self._near = near
        self._show()

    def set_forced(self, forced: bool) -> None:
        """Be visible in any case, as under the pointer."""
        self._forced = forced
        self.setZValue(WIRE_LEVEL + (40 if forced else 2))
        self._show()

    def boundingRect(self) -> QRectF:
        return self._bounds

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        colours, text, forced = self.colours, self._text, self._forced
        area = self._area()

        def draw(on: QPainter) -> None:
            on.setPen(QPen(colours.hairline, 1.0))
            on.setBrush(colours.canvas)
            on.drawRoundedRect(area, 7, 7)
            on.setPen(colours.text if forced else colours.text2)
            on.setFont(colours.small_font)
            on.drawText(area, Qt.AlignmentFlag.AlignCenter, text)

        stamp(painter, ("chip", colours.mode, text, forced), area.adjusted(-1, -1, 1, 1), draw)

    def _area(self) -> QRectF:
        return QRectF(-self._width / 2, -_CHIP_HEIGHT / 2, self._width, _CHIP_HEIGHT)

    def _show(self) -> None:
        long = self._length > _LONG
        fits = self._width + 4 <= self._room and (self._leads or long)
        shown = bool(self._text) and (self._forced or (self._near and fits))
        self.setVisible(shown)
        if shown and self._length:
            beside = self._leads and not self._forced and not self._in_middle
            along = (
                min(self._width / 2 + self._beside, self._length / 2)
                if beside
                else self._length / 2
            )
            if along != self._at:
                # Finding the place takes longer than drawing the chip, so it is found once.
                self._at = along
                self.setPos(self._path.pointAtPercent(self._path.percentAtLength(along)))
