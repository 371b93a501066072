"""A listing and a tensor map over a sample, shown; the listing has the keyboard."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pytestqt.qtbot import QtBot

from studio.graph_editor.model.document import Document
from studio.instruction_view.view.listing_pane import ListingPane
from studio.instruction_view.view.tensor_map_pane import TensorMapPane
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


@pytest.fixture
def tensor_map(studio: Studio, document: Document, qtbot: QtBot) -> TensorMapPane:
    made = TensorMapPane(studio)
    qtbot.addWidget(made)
    made.resize(900, 800)
    made.show()
    qtbot.waitExposed(made)
    return made
