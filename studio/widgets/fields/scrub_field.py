"""A number that can be typed, calculated, dragged sideways or turned with the wheel."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QLineEdit, QWidget

from studio.engine.core.errors import ParameterError
from studio.widgets import numbers, theme
from studio.widgets.fields.arithmetic import evaluate
from studio.widgets.fields.stepping import Pace, Stepping

_THRESHOLD = 4
_NOTCH = 120
_HINT = (
    "Drag sideways to change the value: Shift for fine, Ctrl for coarse "
    "steps.\nClick, then use the wheel to step through common values,\nor type a "
    "number or a calculation such as *2 or 16*3."
)


class ScrubField(QLineEdit):
    """A field for one number.

    While it is dragged or turned, `scrubbed` tells every value on the way; `committed` tells the
    one the user settled on. Between `scrub_started` and `scrub_ended` everything is one change.

    Args:
        stepping: which values there are.
        value: the first.
        parent: the widget it stands in.

    Attributes:
        fits_typing: what is typed becomes the nearest value allowed; otherwise it is told as it
            is, so that a listener may refuse it.
    """

    committed = Signal(float)
    scrubbed = Signal(float)
    scrub_started = Signal()
    scrub_ended = Signal()

    def __init__(
        self, stepping: Stepping | None = None, value: float = 0.0, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._stepping = stepping or Stepping()
        self._value = self._stepping.fitted(value)
        self._pressed_at: QPointF | None = None
        self._start = self._value
        self._is_scrubbing = False
        self._turned = 0
        self.fits_typing = True
        self.setFont(theme.font("numbers"))
        self.setToolTip(_HINT)
        # A press begins a drag; only a click, which ends where it began, puts the caret in.
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.setMinimumWidth(56)
        self.editingFinished.connect(self._finish_typing)
        self.textEdited.connect(self._check_typing)
        self._show()
        self._set_cursor()

    @property
    def value(self) -> float:
        """The number; an int where only whole numbers are allowed."""
        return self._value

    @property
    def is_scrubbing(self) -> bool:
        return self._is_scrubbing

    @property
    def stepping(self) -> Stepping:
        return self._stepping

    def set_stepping(self, stepping: Stepping) -> None:
        """Allow other values; the number becomes the nearest of them, and nothing is emitted."""
        self._stepping = stepping
        self.set_value(stepping.fitted(self._value))

    def set_value(self, value: float) -> None:
        """Show a number set elsewhere; nothing is emitted, typing is not disturbed."""
        self._value = value
        if self.isModified() or self._is_scrubbing or self.text() == self._written():
            return
        # What is selected as a whole is about to be typed over: it stays so.
        about_to_type = self.hasFocus() and self.selectedText() == self.text()
        self._show()
        if about_to_type:
            self.selectAll()

    def set_hint(self, text: str) -> None:
        """Put what the number means before how the field is used."""
        hint = f"{text}\n{_HINT}" if text else _HINT
        if hint != self.toolTip():
            self.setToolTip(hint)

    def minimumSizeHint(self) -> QSize:
        hint = super().minimumSizeHint()
        hint.setHeight(max(hint.height(), theme.ROW))
        return hint

    # -- typing

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        if key == Qt.Key.Key_Escape and (self._is_scrubbing or self.isModified()):
            self._revert()
        elif key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self._step(1 if key == Qt.Key.Key_Up else -1, _pace(event.modifiers(), shift="coarse"))
        elif key in (Qt.Key.Key_PageUp, Qt.Key.Key_PageDown):
            self._step(1 if key == Qt.Key.Key_PageUp else -1, "coarse")
        else:
            super().keyPressEvent(event)
            if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self.selectAll()

    def event(self, event: QEvent) -> bool:
        # Esc belongs to the field while it holds something that can be taken back.
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and event.key() == Qt.Key.Key_Escape
            and (self.isModified() or self._is_scrubbing)
        ):
            event.accept()
            return True
        return super().event(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._set_cursor()
        if event.reason() in (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason):
            self.selectAll()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._set_cursor()
        self.deselect()

    def _check_typing(self, text: str) -> None:
        try:
            evaluate(text, self._value)
        except ParameterError:
            self._mark(wrong=True)
        else:
            self._mark(wrong=False)

    def _finish_typing(self) -> None:
        if not self.isModified():
            return
        try:
            typed = evaluate(self.text(), self._value)
        except ParameterError:
            self._revert()
            return
        self._mark(wrong=False)
        self._settle(self._stepping.fitted(typed) if self.fits_typing else typed)

    def _revert(self) -> None:
        if self._is_scrubbing:
            self._value = self._start
            self.scrubbed.emit(self._value)
            self._end_scrub()
        self._mark(wrong=False)
        self._show()
        if self.hasFocus():
            self.selectAll()

    def _mark(self, *, wrong: bool) -> None:
        if bool(self.property("wrong")) != wrong:
            self.setProperty("wrong", wrong)
            self.style().unpolish(self)
            self.style().polish(self)

    # -- dragging and turning

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if self._can_scrub() and event.button() is Qt.MouseButton.LeftButton:
            self._pressed_at = event.position()
            self._start = self._value
            event.accept()
        else:
            super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._pressed_at is None:
            super().mouseMoveEvent(event)
            return
        moved = event.position().x() - self._pressed_at.x()
        if not self._is_scrubbing:
            if abs(moved) < _THRESHOLD:
                return
            self._is_scrubbing = True
            # So that Esc reaches the drag without moving the focus.
            self.grabKeyboard()
            self.scrub_started.emit()
        found = self._stepping.dragged(self._start, moved, _pace(event.modifiers()))
        if found != self._value:
            self._value = found
            self._show()
            self.scrubbed.emit(found)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._pressed_at is None:
            super().mouseReleaseEvent(event)
        elif self._is_scrubbing:
            changed = self._value != self._start
            self._end_scrub()
            if changed:
                self.committed.emit(self._value)
        else:
            self._pressed_at = None
            self.setFocus(Qt.FocusReason.MouseFocusReason)
            self.selectAll()

    def wheelEvent(self, event: QWheelEvent) -> None:
        # Without the focus the wheel scrolls what the field stands in.
        if not self.hasFocus() or self.isReadOnly():
            event.ignore()
            return
        self._turned += event.angleDelta().y()
        notches = int(self._turned / _NOTCH)
        self._turned -= notches * _NOTCH
        if notches:
            self._step(notches, _pace(event.modifiers()))
        event.accept()

    def _can_scrub(self) -> bool:
        return not self.isReadOnly() and not self.hasFocus()

    def _end_scrub(self) -> None:
        self._is_scrubbing = False
        self._pressed_at = None
        self.releaseKeyboard()
        self.scrub_ended.emit()

    def _step(self, notches: int, pace: Pace) -> None:
        if not self.isReadOnly():
            self._settle(self._stepping.stepped(self._value, notches, pace))
            self.selectAll()

    def _settle(self, value: float) -> None:
        changed = value != self._value
        self._value = value
        self._show()
        if changed:
            self.committed.emit(value)

    def _show(self) -> None:
        self.setText(self._written())
        self.setModified(False)

    def _written(self) -> str:
        whole = self._stepping.integer and float(self._value).is_integer()
        return str(int(self._value)) if whole else numbers.number(self._value, 6)

    def _set_cursor(self) -> None:
        shape = Qt.CursorShape.SizeHorCursor if self._can_scrub() else Qt.CursorShape.IBeamCursor
        self.setCursor(shape)


def _pace(modifiers: Qt.KeyboardModifier, shift: Pace = "fine") -> Pace:
    """Shift is fine and Ctrl coarse under the pointer; for the arrow keys it is the other way."""
    other: Pace = "coarse" if shift == "fine" else "fine"
    if modifiers & Qt.KeyboardModifier.ShiftModifier:
        return shift
    return other if modifiers & Qt.KeyboardModifier.ControlModifier else "normal"
