"""Where the parts of the tensor view stand: under the picture, or beside it in a low pane."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette, QResizeEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

_LEAST_PICTURE = 140
_FLAT = 3
"""So many times wider than high, and a histogram as wide as the pane would say little."""
_UNBOUNDED = (1 << 24) - 1
_BESIDE = 300
"""Width of what stands beside the picture; the pane has at least twice that then."""


class Arrangement(QScrollArea):
    """The picture with its chooser above and numbers below; what finds no room is scrolled to.

    Args:
        chooser: stands above the rest.
        picture: takes what room there is.
        rest: stands one below the other.
        parent: the pane.
    """

    def __init__(
        self, chooser: QWidget, picture: QWidget, rest: tuple[QWidget, ...], parent: QWidget
    ) -> None:
        super().__init__(parent)
        self.setObjectName("tensor_arrangement")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.is_beside = False
        self._chooser, self._picture = chooser, picture
        self._least = picture.minimumHeight()
        body = QWidget(self)
        body.setBackgroundRole(QPalette.ColorRole.Base)
        self.viewport().setBackgroundRole(QPalette.ColorRole.Base)
        self._rest = QWidget(body)
        self._rest.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        column = QVBoxLayout(self._rest)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        for widget in rest:
            column.addWidget(widget)
        self._grid = QGridLayout(body)
        self._grid.setContentsMargins(8, 6, 8, 6)
        self._grid.setSpacing(6)
        self._place()
        self.setWidget(body)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        others = self._chooser.sizeHint().height() + self._rest.sizeHint().height()
        high, wide = event.size().height(), event.size().width()
        is_low = high < others + _LEAST_PICTURE or wide > _FLAT * high
        beside = is_low and wide >= 2 * _BESIDE
        if beside != self.is_beside:
            self.is_beside = beside
            self._place()
        # Beside the numbers the whole picture is in sight, however far those reach down.
        margins = self._grid.contentsMargins()
        room = event.size().height() - margins.top() - margins.bottom()
        self._picture.setMinimumHeight(max(room, self._least) if beside else self._least)
        self._picture.setMaximumHeight(max(room, self._least) if beside else _UNBOUNDED)

    def _place(self) -> None:
        grid, beside = self._grid, self.is_beside
        for widget in (self._chooser, self._picture, self._rest):
            grid.removeWidget(widget)
        if beside:
            grid.addWidget(self._picture, 0, 0, 3, 1, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(self._chooser, 0, 1)
            grid.addWidget(self._rest, 1, 1)
        else:
            grid.addWidget(self._chooser, 0, 0)
            grid.addWidget(self._picture, 1, 0)
            grid.addWidget(self._rest, 2, 0)
        grid.setColumnStretch(0, 1)
        grid.setColumnMinimumWidth(1, _BESIDE if beside else 0)
        grid.setHorizontalSpacing(8 if beside else 0)
        for row, stretch in enumerate((0, 0, 1) if beside else (0, 1, 0)):
            grid.setRowStretch(row, stretch)
