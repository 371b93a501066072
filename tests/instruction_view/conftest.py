"""A listing and a tensor map over a sample, on a display of their own."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pytestqt.qtbot import QtBot

from studio.instruction_view.listing.pane import ListingPane
from studio.instruction_view.tensor_map.pane import TensorMapPane
from studio.session.document.document import Document
from studio.session.studio import Studio
from tests.instruction_view.programs import sample_path
from tests.ui.fixtures import (
    dark,
    no_hanging_dialogs,
    nothing_left_behind,
    qapp_args,
    qtbot,
    scheduler,
    shown,
    studio,
)

__all__ = [
    "dark",
    "document",
    "no_hanging_dialogs",
    "nothing_left_behind",
    "opened",
    "pane",
    "qapp_args",
    "qtbot",
    "scheduler",
    "settled",
    "studio",
    "tensor_map",
]


@pytest.fixture
def settled(studio: Studio, qtbot: QtBot) -> Callable[[], None]:
    """Wait until everything that runs in the background has ended."""

    def wait() -> None:
        qtbot.waitUntil(
            lambda: not studio.compilation.is_compiling and not studio.tasks.running, timeout=20_000
        )

    return wait


@pytest.fixture
def opened(studio: Studio, settled: Callable[[], None]) -> Callable[[str], Document]:
    """Open a sample and wait for its program."""

    def open_sample(name: str) -> Document:
        document = Document.open(sample_path(name))
        studio.replace(document)
        settled()
        return document

    return open_sample


@pytest.fixture
def document(opened: Callable[[str], Document]) -> Document:
    return opened("digits-cnn")


@pytest.fixture
def pane(studio: Studio, document: Document, qtbot: QtBot) -> ListingPane:
    made = ListingPane(studio)
    qtbot.addWidget(made)
    made.resize(900, 500)
    shown(qtbot, made)
    made.view.setFocus()
    return made


@pytest.fixture
def tensor_map(studio: Studio, document: Document, qtbot: QtBot) -> TensorMapPane:
    made = TensorMapPane(studio)
    qtbot.addWidget(made)
    made.resize(900, 800)
    shown(qtbot, made)
    return made
