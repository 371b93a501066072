"""A button as narrow as its place: where its words are cut."""

from __future__ import annotations

from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from studio.widgets.labels.elided_button import ElidedButton
from tests.ui.fixtures import shown


def test_names_cut_in_the_middle_keep_the_end_that_tells_them_apart(qtbot: QtBot) -> None:
    cut = []
    for mode in (Qt.TextElideMode.ElideRight, Qt.TextElideMode.ElideMiddle):
        for name in ("embedding_dense_2", "embedding_dense_3"):
            button = ElidedButton(name, mode=mode)
            qtbot.addWidget(button)
            button.resize(90, 28)
            shown(qtbot, button)
            assert button.whole == name
            cut.append(button.text())
    assert cut[0] == cut[1] != "embedding_dense_2"
    assert cut[2] != cut[3]
    assert cut[2].endswith("2")
