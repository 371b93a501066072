"""The fields of text on and beside a canvas, each opened as a person opens it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit

from tests.graph_editor.hands import CTRL, Hands

K = Qt.Key


def open_search(hands: Hands) -> QLineEdit:
    hands.key(K.Key_Tab)
    return hands.canvas.searches.popup.field


def open_find(hands: Hands) -> QLineEdit:
    hands.key(K.Key_F, CTRL)
    return hands.canvas.chrome.find_bar.field


def open_rename(hands: Hands) -> QLineEdit:
    hands.key(K.Key_F2)
    field = hands.canvas.inline_editor.field
    assert isinstance(field, QLineEdit)
    return field


def beside(hands: Hands) -> QLineEdit:
    field = hands.canvas.window().findChild(QLineEdit, "text_beside")
    assert isinstance(field, QLineEdit)
    field.setFocus()
    return field
