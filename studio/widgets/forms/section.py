"""A part of a form under a heading that folds."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFont, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QVBoxLayout, QWidget

from studio.widgets import binding, icons, theme

_ICON = 12
_GAP = 6


class Section(QWidget):
    """A heading and what stands below it.

    Args:
        title: the heading.
        body: what folds.
        is_open: whether it begins unfolded.
        parent: the widget it stands in.
    """

    folded = Signal(bool)

    def __init__(
        self, title: str, body: QWidget, *, is_open: bool = True, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName(f"section_{title.lower().replace(' ', '_')}")
        self.title = title
        self.body = body
        self.heading = SectionHeading(title, self)
        self.heading.clicked.connect(self._toggle)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addWidget(self.heading)
        column.addWidget(body)
        self._is_open = not is_open
        self.set_open(is_open)

    @property
    def is_open(self) -> bool:
        return self._is_open

    def set_open(self, on: bool) -> None:
        """Unfold or fold."""
        if on != self._is_open:
            self._is_open = on
            self.body.setVisible(on)
            self.heading.show_open(on)

    def set_note(self, text: str) -> None:
        """Put a remark at the right end of the heading."""
        self.heading.show_note(text)

    def _toggle(self) -> None:
        self.set_open(not self._is_open)
        self.folded.emit(not self._is_open)


class SectionHeading(QAbstractButton):
    """A heading over the whole width: an arrow, the title, a remark."""

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("fold")
        self.setText(title)
        self.setAccessibleName(title)
        self.setFixedHeight(theme.HIT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._is_open = True
        self._note = ""
        binding.connect(self, theme.changed, self.update)

    def show_open(self, on: bool) -> None:
        """Point the arrow down or to the right."""
        self._is_open = on
        self.setAccessibleDescription("unfolded" if on else "folded")
        self.setToolTip(f"{'Fold' if on else 'Unfold'} {self.text().lower()}")
        self.update()

    def show_note(self, text: str) -> None:
        """Show a remark at the right end."""
        if text != self._note:
            self._note = text
            self.update()

    @property
    def note(self) -> str:
        return self._note

    def sizeHint(self) -> QSize:
        return QSize(120, theme.HIT)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.underMouse():
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.mixed("hover", "dock", 0.5))
            painter.drawRoundedRect(self.rect(), 4, 4)
        if self.hasFocus():
            painter.setPen(QPen(theme.colour("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 4, 4)
        middle = (self.height() - _ICON) / 2
        arrow = "chevron-down" if self._is_open else "chevron-right"
        icons.paint(painter, arrow, QRectF(0, middle, _ICON, _ICON), theme.colour("text2"))
        bold = theme.font("ui")
        bold.setWeight(QFont.Weight.DemiBold)
        painter.setFont(bold)
        painter.setPen(theme.colour("text2"))
        place = self.rect().adjusted(_ICON + _GAP, 0, 0, 0)
        painter.drawText(place, _LEFT, self.text())
        if self._note:
            painter.setFont(theme.font("small"))
            painter.setPen(theme.colour("text3"))
            painter.drawText(self.rect().adjusted(0, 0, -2, 0), _RIGHT, self._note)
        painter.end()


_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
