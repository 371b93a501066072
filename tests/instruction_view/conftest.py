"""Tests of the program's views run on a display of their own, over a studio with a sample open."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pytestqt.qtbot import QtBot

from studio.graph_editor.model.document import Document
from studio.ui.models.studio import Studio
from tests.instruction_view.programs import sample_path
from tests.ui.fixtures import (
    dark,
    no_hanging_dialogs,
    nothing_left_behind,
    qapp_args,
    scheduler,
    studio,
)

__all__ = [
    "dark",
    "no_hanging_dialogs",
    "nothing_left_behind",
    "opened",
    "qapp_args",
    "scheduler",
    "settled",
    "studio",
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
