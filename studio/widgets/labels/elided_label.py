"""A line of text that gives way: what does not fit is cut, and whole in its tip.

What else the tip says of a text, set with `setToolTip`, goes with that text.
"""

from __future__ import annotations

import re

from PySide6.QtCore import QEvent, QPointF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QLabel, QWidget

from studio.widgets import theme

_ELLIPSIS = "\u2026"
_DOT, _DOT_ROOM = 2.5, 10
_NUMBER_BEGUN = re.compile(r"(?<![^\s(\[])[-\u2212]?\d[\d.,\u2009]*$")
"""A number at the end of a text, standing for itself: not digits within a name."""


class ElidedLabel(QLabel):
    """A label as narrow as its place.

    Args:
        parent: the widget it stands in.
        mode: where the text is cut.
    """

    # Qt may tell of a font while it makes the label.
    _mode = Qt.TextElideMode.ElideRight
    _whole = ""
    _tip = ""
    _is_marked = False

    def __init__(
        self,
        parent: QWidget | None = None,
        mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
    ) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self._mode = mode

    @property
    def whole(self) -> str:
        return self._whole

    def set_text(self, text: str) -> None:
        """Show another text."""
        self._whole, self._tip = text, ""
        self.setAccessibleName(text)
        self._cut()

    @property
    def is_marked(self) -> bool:
        return self._is_marked

    def set_marked(self, on: bool) -> None:
        """Put a small dot at its end, or none."""
        if on != self._is_marked:
            self._is_marked = on
            self._cut()
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._is_marked:
            painter = QPainter(self)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.colour("accent"))
            middle = QPointF(self.width() - _DOT_ROOM / 2, self.height() / 2 + 0.5)
            painter.drawEllipse(middle, _DOT, _DOT)
            painter.end()

    def minimumSizeHint(self) -> QSize:
        return QSize(self.fontMetrics().averageCharWidth() * 4, super().minimumSizeHint().height())

    def sizeHint(self) -> QSize:
        wide = self.fontMetrics().horizontalAdvance(self._whole) + 2
        return QSize(wide, super().sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._cut()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._cut()

    def setToolTip(self, tip: str) -> None:
        self._tip = tip
        self._show_tip()

    def _show_tip(self) -> None:
        is_cut = self.text() != self._whole
        parts = (self._whole if is_cut else "", self._tip)
        super().setToolTip("\n".join(part for part in parts if part))

    def _cut(self) -> None:
        room = self.width() - (_DOT_ROOM if self._is_marked else 0)
        shown = whole_numbers(
            self._whole, self.fontMetrics().elidedText(self._whole, self._mode, room)
        )
        self.setText(shown)
        self._show_tip()


def whole_numbers(whole: str, shown: str) -> str:
    """A text cut at its end without a number that was cut in its digits.

    Args:
        whole: the text, uncut.
        shown: what is left of it, an ellipsis at its end where it was cut.
    """
    kept = shown.removesuffix(_ELLIPSIS)
    if kept == shown or not whole.startswith(kept):
        return shown
    begun = _NUMBER_BEGUN.search(kept)
    if begun is None or not re.match(r"[\d.,\u2009]*\d", whole[len(kept) :]):
        return shown
    return kept[: begun.start()] + _ELLIPSIS
