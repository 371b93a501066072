"""A line of text that gives way: what does not fit is cut, and whole in its tip."""

from __future__ import annotations

import re

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLabel, QWidget

_ELLIPSIS = "\u2026"
_NUMBER_BEGUN = re.compile(r"(?<![^\s(\[])[-\u2212]?\d[\d.,\u2009]*$")
"""A number at the end of a text, standing for itself: not digits within a name."""


class ElidedLabel(QLabel):
    """A label as narrow as its place.

    Args:
        parent: the widget it stands in.
        mode: where the text is cut.
    """

    def __init__(
        self,
        parent: QWidget | None = None,
        mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
    ) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self._mode = mode
        self._whole = ""

    @property
    def whole(self) -> str:
        """The text, uncut."""
        return self._whole

    def set_text(self, text: str) -> None:
        """Show another text."""
        self._whole = text
        self.setAccessibleName(text)
        self._cut()

    def minimumSizeHint(self) -> QSize:
        return QSize(self.fontMetrics().averageCharWidth() * 4, super().minimumSizeHint().height())

    def sizeHint(self) -> QSize:
        wide = self.fontMetrics().horizontalAdvance(self._whole) + 2
        return QSize(wide, super().sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._cut()

    def _cut(self) -> None:
        shown = whole_numbers(
            self._whole, self.fontMetrics().elidedText(self._whole, self._mode, self.width())
        )
        self.setText(shown)
        self.setToolTip(self._whole if shown != self._whole else "")


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
