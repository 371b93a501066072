"""What an empty canvas shows: a faint chain, and the key that begins one.

The chain is painted on the canvas itself, so that things can be dropped on it; only the button is
a widget.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QPushButton, QWidget

from studio.graph_editor.view.wire_paths import wire_path
from studio.ui.kit import theme

_BOX = QSizeF(112, 56)
_GAP = 56.0
_TEXTS = ("input", "?", "output")
_MARGIN = 16.0
_BUTTON_BELOW = 122.0
_HINT = "or drag one from the palette, or drop a data file or a project here"


class EmptyCanvas:
    """A ghost of a chain, input to output, with a button to add the first layer.

    Args:
        add: opens the search for a layer.
        parent: the canvas.
    """

    def __init__(self, add: Callable[[], object], parent: QWidget) -> None:
        self.is_shown = False
        self.button = QPushButton("Add a layer", parent)
        self.button.setObjectName("empty_add")
        self.button.setAccessibleName("Add a layer: the canvas is empty")
        self.button.setToolTip("Search for the first layer (Tab)")
        self.button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.button.clicked.connect(add)
        self.button.hide()

    def place(self, room: QRectF, *, shown: bool) -> bool:
        """Take the middle of the canvas, if it is empty; whether that changed."""
        changed, self.is_shown = shown != self.is_shown, shown
        self.button.setVisible(shown)
        if shown:
            self.button.adjustSize()
            left = room.center().x() - self.button.width() / 2
            self.button.move(round(left), round(_top(room) + _BUTTON_BELOW))
        return changed

    def paint(self, painter: QPainter, room: QRectF) -> None:
        """Draw the chain and what to do about it."""
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        boxes = chain(room)
        pen = QPen(theme.colour("outline"), 1.5)
        pen.setDashPattern([4, 3])
        painter.setPen(pen)
        for one, other in pairwise(boxes):
            start = QPointF(one.right(), one.center().y())
            painter.drawPath(wire_path(start, QPointF(other.left(), start.y()), "straight"))
        painter.setFont(theme.font("ui"))
        for box, text in zip(boxes, _TEXTS, strict=True):
            painter.setPen(pen)
            painter.drawRoundedRect(box, 8, 8)
            painter.setPen(theme.colour("text3"))
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)
        painter.setPen(theme.colour("text2"))
        line = QRectF(room.left(), boxes[0].top() + 76, room.width(), 24)
        painter.drawText(line, Qt.AlignmentFlag.AlignCenter, "Tab to add a layer")
        painter.setPen(theme.colour("text3"))
        painter.setFont(theme.font("small"))
        below = line.translated(0, 28).adjusted(_MARGIN, 0, -_MARGIN, 12)
        flags = Qt.AlignmentFlag.AlignHCenter | Qt.TextFlag.TextWordWrap
        painter.drawText(below, int(flags), _HINT)
        painter.restore()


def chain(room: QRectF) -> list[QRectF]:
    """Where the boxes of the chain are drawn, narrower where the canvas is."""
    wanted = len(_TEXTS) * _BOX.width() + (len(_TEXTS) - 1) * _GAP
    share = min(1.0, max(0.0, room.width() - 2 * _MARGIN) / wanted)
    size = QSizeF(_BOX.width() * share, _BOX.height())
    step = (_BOX.width() + _GAP) * share
    corner = QPointF(room.center().x() - wanted * share / 2, _top(room) - 40)
    return [QRectF(corner + QPointF(number * step, 0), size) for number in range(len(_TEXTS))]


def _top(room: QRectF) -> float:
    return room.center().y() - 60
