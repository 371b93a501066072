"""How key sequences are written for people."""

from __future__ import annotations

from PySide6.QtGui import QKeySequence


def shown_keys(keys: str) -> str:
    """A key sequence as this platform writes it, such as ``Ctrl+Shift+P`` or ``⇧⌘P``."""
    return QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)


def with_keys(text: str, keys: tuple[str, ...]) -> str:
    """A tip with the keys behind it: ``Save the project (Ctrl+S)``."""
    if not keys:
        return text
    return f"{text} ({' or '.join(shown_keys(each) for each in keys)})"
