"""What an empty canvas shows: a faint chain, and the key that begins one."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from studio.graph_editor.view.wire_paths import wire_path
from studio.ui.kit import binding, theme

_BOX = (112.0, 56.0)
_GAP = 56.0
_HEIGHT = 210


class EmptyCanvas(QWidget):
    """A ghost of a chain, input to output, with a button to add the first layer.

    Clicks beside the button go through to the canvas.

    Args:
        add: opens the search for a layer.
        parent: the canvas.
    """

    def __init__(self, add: Callable[[], object], parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("empty_canvas")
        self.setAccessibleName("The canvas is empty")
        self.button = QPushButton("Add a layer", self)
        self.button.setObjectName("empty_add")
        self.button.setToolTip("Search for the first layer (Tab)")
        self.button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.button.clicked.connect(add)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 8)
        column.addStretch(1)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(self.button)
        row.addStretch(1)
        column.addLayout(row)
        self.setFixedSize(int(3 * _BOX[0] + 2 * _GAP) + 24, _HEIGHT)
        binding.connect(self, theme.changed, self.update)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        event.ignore()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        left = 12.0
        boxes = [QRectF(left + number * (_BOX[0] + _GAP), 24, *_BOX) for number in range(3)]
        pen = QPen(theme.colour("outline"), 1.5)
        pen.setDashPattern([4, 3])
        painter.setPen(pen)
        for one, other in pairwise(boxes):
            start = QPointF(one.right(), one.center().y())
            painter.drawPath(wire_path(start, QPointF(other.left(), start.y()), "straight"))
        painter.setFont(theme.font("ui"))
        for box, text in zip(boxes, ("input", "?", "output"), strict=True):
            painter.setPen(pen)
            painter.drawRoundedRect(box, 8, 8)
            painter.setPen(theme.colour("text3"))
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)
        painter.setPen(theme.colour("text2"))
        line = QRectF(0, 100, self.width(), 24)
        painter.drawText(line, Qt.AlignmentFlag.AlignCenter, "Tab to add a layer")
        painter.setPen(theme.colour("text3"))
        painter.setFont(theme.font("small"))
        hint = "or drag one from the palette, or drop a data file or a project here"
        painter.drawText(line.translated(0, 24), Qt.AlignmentFlag.AlignCenter, hint)
        painter.end()
