"""The colours of tensor roles, and a legend with their bytes; a click keeps only that role."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QSize, Qt
from PySide6.QtCore import Signal as QtSignal
from PySide6.QtGui import QColor, QIcon, QPixmap, QWheelEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QScrollArea, QToolButton, QWidget

from studio.session.core.quantities import bytes_text, exact_text
from studio.session.listing.tensor_map.rows import (
    ROLE_NOTES,
    TensorRole,
    TensorRow,
    bytes_by_role,
)
from studio.widgets import binding, theme
from studio.widgets.frames.side_fades import SideFades

_CHIP = 10
_FADE = 40

_GROUPS = (
    (
        "during a run",
        "Tensors that exist during part of a run. The peak is the most needed at once.",
    ),
    ("kept between runs", "Tensors that exist as long as the program is loaded."),
)
"""What the buttons after a title are of, and what to know of it."""
ROLE_COLOURS: dict[TensorRole, str] = {
    "activation": "series.0",
    "gradient": "series.1",
    "input": "series.2",
    "target": "series.5",
    "scratch": "series.7",
    "partial": "family.norm",
    "parameter": "series.3",
    "slot": "series.6",
    "state": "series.4",
    "data": "family.data",
    "constant": "text3",
    "step": "text3",
    "metric": "text3",
    "register": "hairline",
}


class RoleLegend(QScrollArea):
    """A button for each role; wider than the pane it scrolls sideways.

    Args:
        parent: owner in Qt.
    """

    chosen = QtSignal(object)
    """The roles to keep have changed: a frozen set, empty for all."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("tensor_map.legend")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFixedHeight(theme.ROW)
        self.fades = SideFades(self, _FADE)
        self._buttons: dict[TensorRole, QToolButton] = {}
        self._sums: tuple[Mapping[TensorRole, int], Mapping[TensorRole, int]] = ({}, {})
        binding.connect(self, theme.changed, self._restyle)

    @property
    def buttons(self) -> Mapping[TensorRole, QToolButton]:
        return self._buttons

    @property
    def roles(self) -> frozenset[TensorRole]:
        """The roles to keep; none for all."""
        return frozenset(role for role, button in self._buttons.items() if button.isChecked())

    def take(self, found: Sequence[TensorRow]) -> None:
        """Show the roles of these tensors."""
        sums = bytes_by_role(found, kept=False), bytes_by_role(found, kept=True)
        if sums == self._sums:
            return
        before, self._sums = self.roles, sums
        self._buttons = {}
        strip = QWidget(self)
        row = QHBoxLayout(strip)
        row.setContentsMargins(8, 0, 8, 0)
        row.setSpacing(2)
        for (title, tip), each in zip(_GROUPS, sums, strict=True):
            label = QLabel(title, strip)
            label.setProperty("role", "faint")
            label.setToolTip(tip)
            row.addWidget(label)
            for role, nbytes in each.items():
                row.addWidget(self._button(strip, role, nbytes, is_on=role in before))
            row.addSpacing(12)
        row.addStretch(1)
        self.setWidget(strip)
        if self.roles != before:
            self.chosen.emit(self.roles)

    def _button(self, strip: QWidget, role: TensorRole, nbytes: int, *, is_on: bool) -> QToolButton:
        button = QToolButton(strip)
        button.setObjectName(f"tensor_map.role.{role}")
        button.setText(f"{role} {bytes_text(nbytes)}")
        button.setToolTip(
            f"{ROLE_NOTES[role].capitalize()}.\n{exact_text(nbytes)} bytes in total. Click to show "
            "only this role."
        )
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        button.setIconSize(QSize(_CHIP, _CHIP))
        button.setIcon(_chip(role))
        button.setCheckable(True)
        button.setChecked(is_on)
        button.toggled.connect(lambda _on: self.chosen.emit(self.roles))
        self._buttons[role] = button
        return button

    def wheelEvent(self, event: QWheelEvent) -> None:
        bar = self.horizontalScrollBar()
        bar.setValue(bar.value() - event.angleDelta().y())
        event.accept()

    def _restyle(self) -> None:
        for role, button in self._buttons.items():
            button.setIcon(_chip(role))


def _chip(role: TensorRole) -> QIcon:
    picture = QPixmap(_CHIP, _CHIP)
    picture.fill(role_colour(role))
    return QIcon(picture)


def role_colour(role: TensorRole, alpha: int = 255) -> QColor:
    """The colour of a role in the theme in force."""
    return theme.colour(ROLE_COLOURS[role], alpha)
