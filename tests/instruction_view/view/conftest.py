"""A listing pane over a sample, shown and with the keyboard."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pytestqt.qtbot import QtBot

from studio.graph_editor.model.document import Document
from studio.instruction_view.view.listing_pane import ListingPane
from studio.ui.models.studio import Studio

Open = Callable[[str], Document]


@pytest.fixture
def document(opened: Open) -> Document:
    return opened("digits-cnn")


@pytest.fixture
def pane(studio: Studio, document: Document, qtbot: QtBot) -> ListingPane:
    made = ListingPane(studio)
    qtbot.addWidget(made)
    made.resize(900, 500)
    made.show()
    qtbot.waitExposed(made)
    made.view.setFocus()
    return made
