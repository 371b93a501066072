"""The base of all editors: an option, its value, and a callback for changes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import TypeAlias

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication, QComboBox, QWidget

from studio.engine.core.options import AnyOption, Plain
from studio.session.core.option_rows import tip

Take: TypeAlias = Callable[[Plain, str], None]
"""Takes a value and a merge key; raises StudioError where the value is refused."""

MIXED = "several values"
"""What stands where several things are edited and differ."""

_numbers = count(1)


def merge_key(option: AnyOption) -> str:
    """A key for one gesture at an option: all its values become one undo step."""
    return f"{option.name}#{next(_numbers)}"


class Editor(QWidget):
    """Edits one value.

    `edited` tells a value the user settled on, with a merge key. An editor that holds editors hands
    their values to ``submit``, which raises where the value is refused.

    Args:
        option: what is edited.
        parent: the widget it stands in.
        nesting: how many forms it stands in.

    Attributes:
        below: what the form places below the row, over its whole width; None for nothing.
        is_bare: only that is shown, because there is nothing to choose in the row itself.
    """

    edited = Signal(object, str)

    def __init__(self, option: AnyOption, parent: QWidget | None = None, nesting: int = 0) -> None:
        super().__init__(parent)
        self.option = option
        self.nesting = nesting
        self.below: QWidget | None = None
        self.is_bare = False
        self.submit: Take = self._ignore
        self.setObjectName(f"editor_{option.name}")
        self.setAccessibleName(option.label)
        self.setAccessibleDescription(tip(option))

    def show_value(self, value: Plain, *, is_mixed: bool = False) -> None:
        """Show a value that was set elsewhere; nothing is emitted."""
        raise TypeError(f"{type(self).__name__} shows no value")

    def _ignore(self, value: Plain, key: str) -> None:
        """Takes values of an editor that stands in no form."""
        self.edited.emit(value, key)

    def prepare(self, widget: QWidget, name: str = "") -> None:
        """Give a widget of the editor its tip and the names that people and tests need."""
        widget.setObjectName(name or f"field_{self.option.name}")
        if not widget.accessibleName():
            widget.setAccessibleName(self.option.label)
        widget.setToolTip(tip(self.option))

    @property
    def has_focus_inside(self) -> bool:
        """Whether the keyboard is in the editor."""
        focus = QApplication.focusWidget()
        parts = [part for part in (self, self.below) if part is not None]
        return focus is not None and any(p is focus or p.isAncestorOf(focus) for p in parts)


class QuietWheel(QObject):
    """Lets the wheel scroll the form unless the widget under it has the focus."""

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        is_wheel = event.type() == QEvent.Type.Wheel and isinstance(watched, QWidget)
        if is_wheel and isinstance(watched, QWidget) and not watched.hasFocus():
            event.ignore()
            return True
        return False


def choice_box(parent: QWidget) -> QComboBox:
    """A box of choices that gives way to a narrow pane and leaves the wheel alone."""
    box = QComboBox(parent)
    box.setMinimumContentsLength(3)
    box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    box.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    box.installEventFilter(QuietWheel(box))
    return box


def is_escape(event: QEvent) -> bool:
    """Whether an event is the press of Esc."""
    return (
        event.type() == QEvent.Type.KeyPress
        and isinstance(event, QKeyEvent)
        and event.key() == Qt.Key.Key_Escape
    )
