"""Fades the left and right edges of a view that can be scrolled further that way."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QColor, QLinearGradient, QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QAbstractScrollArea, QTableView, QWidget

FADE = 24
"""Pixels over which a table runs out."""
_THIN = 6
"""Pixels beside a column that is whole, which is all the room its numbers keep from its edge."""


class SideFades(QObject):
    """Covers the ends of what scrolls sideways, the more the nearer to the edge.

    They let the pointer through, and lie over the heading of a table too.

    Args:
        area: what scrolls; it owns this.
        wide: pixels of each.
    """

    def __init__(self, area: QAbstractScrollArea, wide: int = FADE) -> None:
        super().__init__(area)
        self._area = area
        self._wide = wide
        self._ends = _Fade(area, at_right=False), _Fade(area, at_right=True)
        bar = area.horizontalScrollBar()
        bar.valueChanged.connect(self._show)
        bar.rangeChanged.connect(self._show)
        if isinstance(area, QTableView):
            for told in ("sectionResized", "sectionMoved", "sectionCountChanged"):
                getattr(area.horizontalHeader(), told).connect(self._show)
        # The viewport is laid out again by more than a change of the area's size.
        area.viewport().installEventFilter(self)
        self._show()

    @property
    def shown(self) -> tuple[bool, bool]:
        """Whether there is more at the left, and at the right."""
        left, right = self._ends
        return not left.isHidden(), not right.isHidden()

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Move):
            self._show()
        return False

    def _show(self) -> None:
        bar = self._area.horizontalScrollBar()
        room = self._area.viewport().geometry()
        top = room.top()
        if isinstance(self._area, QTableView) and not self._area.horizontalHeader().isHidden():
            top = self._area.horizontalHeader().geometry().top()
        more = bar.value() > bar.minimum(), bar.value() < bar.maximum()
        left, right = self._ends
        for end, is_on in zip(self._ends, more, strict=True):
            wide = self._wide_at(0 if end is left else room.width() - 1, at_right=end is right)
            at = room.left() if end is left else room.right() + 1 - wide
            end.setGeometry(at, top, wide, room.bottom() + 1 - top)
            end.setVisible(is_on)
            end.raise_()

    def _wide_at(self, x: int, *, at_right: bool) -> int:
        """A column that is whole is not covered: its numbers end where it does."""
        area = self._area
        place = area.columnAt(x) if isinstance(area, QTableView) else -1
        if not isinstance(area, QTableView) or place < 0:
            return self._wide
        begin = area.columnViewportPosition(place)
        end = begin + area.columnWidth(place)
        is_cut = end > x + 1 if at_right else begin < 0
        seen = x + 1 - begin if at_right else end
        return max(_THIN, min(self._wide, seen)) if is_cut else _THIN


class _Fade(QWidget):
    """Covers one end."""

    def __init__(self, area: QWidget, *, at_right: bool) -> None:
        super().__init__(area)
        self.setObjectName("side_fade")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()
        self._at_right = at_right

    def paintEvent(self, _event: QPaintEvent) -> None:
        ground = self.palette().color(QPalette.ColorRole.Window)
        clear = QColor(ground)
        clear.setAlpha(0)
        shade = QLinearGradient(0, 0, self.width(), 0)
        shade.setColorAt(0, clear if self._at_right else ground)
        shade.setColorAt(1, ground if self._at_right else clear)
        painter = QPainter(self)
        painter.fillRect(self.rect(), shade)
        painter.end()
