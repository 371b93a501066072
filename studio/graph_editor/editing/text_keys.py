"""Which keys belong to a text that is being written on the canvas, and which to the window."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence

from studio.session.core.action_table import ActionRegistry

_ENDS = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Escape)
"""Keys that end the writing, with whatever is held besides."""


def claim_keys(event: QEvent, actions: ActionRegistry) -> None:
    """Keep the canvas's own keys from working while a field on it has the focus.

    The field is asked first about every key; those of the window are left to it and the window,
    but for those that end the writing.
    """
    if not isinstance(event, QKeyEvent) or event.type() != QEvent.Type.ShortcutOverride:
        return
    pressed = QKeySequence(event.keyCombination()).toString(
        QKeySequence.SequenceFormat.PortableText
    )
    if event.key() in _ENDS or not any(
        pressed in spec.keys for spec in actions if spec.context == "window"
    ):
        event.accept()
