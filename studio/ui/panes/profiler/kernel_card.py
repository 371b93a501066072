"""What is known of one kernel, pinned under the table until it is closed."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QWidget

from studio.session.profiling.columns import COLUMNS
from studio.session.profiling.kernel_rows import KernelRow
from studio.ui.panes.profiler.kernel_table import shown_text
from studio.widgets import binding, theme
from studio.widgets.labels.tool_button import tool_button

_NAMED = ("instruction", "layer")
_BLANK = "\N{NO-BREAK SPACE}"


class KernelCard(QFrame):
    """Every column of a row; the numbers go on with the measuring."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("kernel_card")
        self.setAccessibleName("Kernel")
        self._row: KernelRow | None = None
        self._has_room = True
        self._text = QLabel(self)
        self._text.setObjectName("kernel_card.text")
        self._text.setTextFormat(Qt.TextFormat.RichText)
        self._text.setWordWrap(True)
        self._text.setFont(theme.font("small"))
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        close = tool_button("close", "kernel_card.close", "Close the card", self)
        close.clicked.connect(self.close_card)
        line = QHBoxLayout(self)
        line.setContentsMargins(7, 4, 0, 4)
        line.setSpacing(4)
        line.addWidget(self._text, 1)
        line.addWidget(close, 0, Qt.AlignmentFlag.AlignTop)
        binding.refresh(self, self._show, theme.changed)
        self.hide()

    @property
    def row(self) -> KernelRow | None:
        return self._row

    def pin(self, row: KernelRow) -> None:
        """Show a row until another one is pinned or the card is closed."""
        self._row = row
        self._show()

    def take(self, rows: Iterable[KernelRow]) -> None:
        """Take the row's newer numbers; the card goes where there is no such row any more."""
        if self._row is not None:
            wanted = self._row.id
            self._row = next((row for row in rows if row.id == wanted), None)
            self._show()

    def set_room(self, has_room: bool) -> None:
        """Whether there is room for a card beside the table."""
        self._has_room = has_room
        self._show()

    def close_card(self) -> None:
        """Show nothing."""
        self._row = None
        self._show()

    def _show(self) -> None:
        row = self._row
        self.setVisible(row is not None and self._has_room)
        if row is None:
            return
        soft = theme.colour("text2").name()
        head = " · ".join(shown_text(c, row) for c in COLUMNS if c.id in _NAMED)
        facts = (
            f"<span style='color:{soft}'>{_kept(column.title)}</span>"
            f"{_BLANK}{_kept(shown_text(column, row))}"
            for column in COLUMNS
            if column.id not in _NAMED and column.form != "line"
        )
        self._text.setText(f"<b>{escape(head)}</b><br>{' &nbsp; '.join(facts)}")


def _kept(text: str) -> str:
    """A text that is not broken where it is short: kernels of many parts may be long."""
    return escape(text if len(text) > _LONG else text.replace(" ", _BLANK))


_LONG = 32
