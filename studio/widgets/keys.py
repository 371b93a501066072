"""How key sequences are written for people."""

from __future__ import annotations

from PySide6.QtCore import QKeyCombination, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence

_ALONE = (Qt.Key.Key_Control, Qt.Key.Key_Alt, Qt.Key.Key_Shift, Qt.Key.Key_Meta,
          Qt.Key.Key_AltGr, Qt.Key.Key_CapsLock, Qt.Key.Key_unknown)  # fmt: skip
_FIRST_UNPRINTED = 0x01000000


def shown_keys(keys: str) -> str:
    """A key sequence as this platform writes it, such as ``Ctrl+Shift+P`` or ``⇧⌘P``."""
    return QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)


def with_keys(text: str, keys: tuple[str, ...]) -> str:
    """A tip with the keys behind it: ``Save the project (Ctrl+S)``."""
    if not keys:
        return text
    return f"{text} ({' or '.join(shown_keys(each) for each in keys)})"


def is_alone(event: QKeyEvent) -> bool:
    """Whether only a key was pressed that means something with others, such as Ctrl."""
    return event.key() in _ALONE


def pressed_keys(event: QKeyEvent) -> str:
    """What was pressed, as the action table writes it; empty while keys are only held."""
    if is_alone(event) or not event.key():
        return ""
    held = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
    key = event.key()
    if key == Qt.Key.Key_Backtab:
        key = Qt.Key.Key_Tab
    elif key < _FIRST_UNPRINTED and not chr(key).isalnum() and key != Qt.Key.Key_Space:
        # Shift only makes the sign: a question mark is one on every keyboard.
        held &= ~Qt.KeyboardModifier.ShiftModifier
    sequence = QKeySequence(QKeyCombination(held, Qt.Key(key)))
    return sequence.toString(QKeySequence.SequenceFormat.PortableText)
