"""Repairs offered under a layer that has an error."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QGraphicsItem, QStyleOptionGraphicsItem, QWidget

from studio.graph_editor.items.colours import CanvasColours
from studio.graph_editor.items.items import LIFTED_LEVEL
from studio.graph_editor.items.sprites import stamp_icon
from studio.session.document.report import Fix
from studio.widgets.labels.elided_label import whole_numbers

MOST_CHIPS = 3
HEIGHT = 24.0
GAP = 4.0
_SIDE = 8.0
_ICON = 12.0
_WIDEST = 420.0


class FixChip(QGraphicsItem):
    """One repair: what it does and what comes of it.

    Args:
        node_id: the layer with the error.
        fix: the repair.
        number: its place among those of the layer.
        colours: what it paints with.
    """

    def __init__(self, node_id: str, fix: Fix, number: int, colours: CanvasColours) -> None:
        super().__init__()
        self.node_id = node_id
        self.fix = fix
        self.number = number
        self.hovered = False
        self._top = 2 * GAP + number * (HEIGHT + GAP)
        self._shift = 0.0
        self.setZValue(LIFTED_LEVEL)
        # Chips are read and clicked at any zoom, so they keep their size on the screen.
        self.setFlag(QGraphicsItem.GraphicsItemFlag.ItemIgnoresTransformations)
        self.show_colours(colours)

    def show_colours(self, colours: CanvasColours) -> None:
        """Paint with other colours."""
        self.prepareGeometryChange()
        self.colours = colours
        metrics = QFontMetricsF(colours.text_font)
        strong = QFontMetricsF(colours.strong_font)
        self._text_width = strong.horizontalAdvance(self.fix.text)
        room = _WIDEST - self._text_width - 3 * _SIDE - _ICON
        cut = metrics.elidedText(self.fix.effect, Qt.TextElideMode.ElideRight, room)
        self._effect = whole_numbers(self.fix.effect, cut)
        effect = metrics.horizontalAdvance(self._effect) + _SIDE if self._effect else 0.0
        self._width = _ICON + self._text_width + effect + 3 * _SIDE
        self.update()

    def put_below(self, area: QRectF) -> None:
        """Stand under a layer."""
        self.setPos(area.bottomLeft())

    @property
    def width(self) -> float:
        return self._width

    @property
    def effect(self) -> str:
        """The effect as shown; numbers in it are never cut."""
        return self._effect

    def set_shift(self, shift: float) -> None:
        """Stand so far to the right of where its layer begins."""
        if abs(shift - self._shift) >= 0.5:
            self.prepareGeometryChange()
            self._shift = shift

    def set_hovered(self, hovered: bool) -> None:
        """The pointer is over it, or left."""
        if hovered != self.hovered:
            self.hovered = hovered
            self.update()

    def boundingRect(self) -> QRectF:
        return QRectF(self._shift - 1, self._top - 1, self._width + 2, HEIGHT + 2)

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        colours = self.colours
        painter.translate(self._shift, 0)
        area = QRectF(0, self._top, self._width, HEIGHT)
        painter.setPen(QPen(colours.accent if self.hovered else colours.outline, 1.2))
        painter.setBrush(colours.hover if self.hovered else colours.raised)
        painter.drawRoundedRect(area, HEIGHT / 2, HEIGHT / 2)
        middle = self._top + (HEIGHT - _ICON) / 2
        stamp_icon(painter, "fix", QRectF(_SIDE, middle, _ICON, _ICON), colours.accent)
        left = _SIDE + _ICON + _SIDE * 0.75
        painter.setPen(colours.text)
        painter.setFont(colours.strong_font)
        flags = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        painter.drawText(area.adjusted(left, 0, 0, 0), flags, self.fix.text)
        if self._effect:
            painter.setPen(colours.text2)
            painter.setFont(colours.text_font)
            painter.drawText(
                area.adjusted(left + self._text_width + _SIDE, 0, 0, 0), flags, self._effect
            )
