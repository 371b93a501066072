"""A scroll bar that shows where in the whole the marked lines are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QScrollBar, QStyle, QStyleOptionSlider, QWidget

from studio.widgets import theme

_THICK = 2.0
_WIDTH = 4.0


class MarkedScrollBar(QScrollBar):
    """A vertical scroll bar with ticks beside its handle.

    Args:
        parent: owner in Qt.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Vertical, parent)
        self.setObjectName("listing.scroll")
        self._marks: dict[str, tuple[float, ...]] = {}

    def set_marks(self, marks: Mapping[str, Iterable[float]]) -> None:
        """Show ticks.

        Args:
            marks: for each colour role the places, 0 at the top to 1 at the bottom.
        """
        made = {role: tuple(places) for role, places in marks.items()}
        if made != self._marks:
            self._marks = made
            self.update()

    @property
    def marks(self) -> Mapping[str, tuple[float, ...]]:
        """The ticks shown."""
        return self._marks

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the bar, then its ticks."""
        super().paintEvent(event)
        if not any(self._marks.values()):
            return
        option = QStyleOptionSlider()
        self.initStyleOption(option)
        groove = self.style().subControlRect(
            QStyle.ComplexControl.CC_ScrollBar, option, QStyle.SubControl.SC_ScrollBarGroove, self
        )
        painter = QPainter(self)
        for role, places in self._marks.items():
            colour = theme.colour(role)
            for place in places:
                top = groove.top() + place * (groove.height() - _THICK)
                painter.fillRect(QRectF(self.width() - _WIDTH - 1, top, _WIDTH, _THICK), colour)
        painter.end()
