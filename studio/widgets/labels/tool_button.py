"""The small square button with a picture that stands in headers and beside fields."""

from __future__ import annotations

from PySide6.QtWidgets import QToolButton, QWidget

from studio.widgets import icons, theme


def tool_button(icon: str, name: str, tip: str, parent: QWidget, said: str = "") -> QToolButton:
    """Make a button that is as large as a finger or an unsteady hand needs.

    Args:
        icon: name of its picture.
        name: its object name.
        tip: what it does.
        parent: owner in Qt.
        said: what screen readers say; the tip where it is empty.
    """
    made = QToolButton(parent)
    made.setObjectName(name)
    made.setAccessibleName(said or tip)
    made.setToolTip(tip)
    made.setFixedSize(theme.HIT, theme.HIT)
    icons.keep(made, icon)
    return made
