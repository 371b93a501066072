"""Keys in a field of text: they write, and do nothing to the graph."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QLineEdit

from studio.session.core.action_table import Action, ActionTable
from tests.graph_editor.hands import CTRL, Hands
from tests.graph_editor.text_fields import K, beside, open_find, open_rename, open_search
from tests.session.document.networks import chain

LETTERS = [K.Key_C, K.Key_M, K.Key_H, K.Key_L, K.Key_Q, K.Key_F, K.Key_S, K.Key_K, K.Key_Z,
           K.Key_T, K.Key_Space, K.Key_Delete, K.Key_Backspace, K.Key_Home, K.Key_Left]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("field", [open_search, open_find, open_rename, beside])
@pytest.mark.parametrize("key", LETTERS, ids=[key.name for key in LETTERS])
def test_key_does_nothing_to_the_graph_in_a_text_field(
    hands: Hands, key: Qt.Key, field: Callable[[Hands], QLineEdit]
) -> None:
    hands.open(chain(), zoom=0.8)
    hands.click(hands.body("re_lu"))
    opened = field(hands)
    assert opened.hasFocus()
    heard: list[str] = []
    hear = heard.append
    hands.studio.actions.triggered.connect(hear)
    before, zoom = hands.state.content_hash, hands.canvas.navigation.zoom
    hands.key(key)
    assert heard == []
    assert hands.state.content_hash == before
    assert hands.steps == 0
    assert hands.canvas.navigation.zoom == zoom
    assert opened.hasFocus()


@pytest.mark.parametrize("field", [open_search, open_find, open_rename])
def test_keys_of_the_window_work_while_something_is_written(
    hands: Hands, field: Callable[[Hands], QLineEdit]
) -> None:
    hands.open(chain(), zoom=0.8)
    hands.click(hands.body("re_lu"))
    opened = field(hands)
    heard: list[str] = []
    action = QAction(opened.window())
    action.setShortcut(QKeySequence("Ctrl+S"))
    action.triggered.connect(lambda: heard.append("saved"))
    opened.window().addAction(action)
    hands.studio.actions.declare(
        ActionTable(0, Action("test.save", "Save", "Save.", ("Ctrl+S",), run=lambda _: None))
    )
    hands.key(K.Key_S, CTRL)
    assert heard == ["saved"]
    hands.key(K.Key_D, CTRL)
    assert set(hands.state.nodes) == set(chain().nodes)


def test_undo_in_a_field_is_that_of_the_text(hands: Hands) -> None:
    hands.open(chain())
    hands.click(hands.body("re_lu"))
    hands.key(K.Key_H)
    hands.key(K.Key_Tab)
    hands.type("con")
    hands.key(K.Key_Z, CTRL)
    assert hands.popup_field.text() != "con"
    assert hands.steps == 1
