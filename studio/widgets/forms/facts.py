"""A small table of facts: what, and how much, numbers aligned at the right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from studio.widgets import theme
from studio.widgets.labels.elided_label import ElidedLabel

Fact: TypeAlias = tuple[str, str, str]
"""What, how much, and the exact value or an explanation for the tip."""


class Facts(QWidget):
    """Lines of a name and a value."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(8)
        self._grid.setVerticalSpacing(2)
        self._grid.setColumnStretch(1, 1)
        self._lines: list[tuple[QLabel, ElidedLabel]] = []

    def show_facts(self, facts: Sequence[Fact]) -> None:
        """Show these facts, in their order."""
        while len(self._lines) < len(facts):
            self._add()
        for index, (name, value) in enumerate(self._lines):
            is_used = index < len(facts)
            name.setVisible(is_used)
            value.setVisible(is_used)
            if is_used:
                what, how_much, tip = facts[index]
                name.setText(what)
                value.set_text(how_much)
                value.setAccessibleName(f"{what}: {how_much}")
                for label in (name, value):
                    label.setToolTip(tip)

    @property
    def texts(self) -> tuple[tuple[str, str], ...]:
        """What is shown."""
        return tuple((n.text(), v.whole) for n, v in self._lines if not n.isHidden())

    def _add(self) -> None:
        line = len(self._lines)
        name, value = QLabel(self), ElidedLabel(self)
        name.setProperty("role", "soft")
        value.setFont(theme.font("numbers"))
        value.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        value.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._grid.addWidget(name, line, 0)
        self._grid.addWidget(value, line, 1)
        self._lines.append((name, value))
