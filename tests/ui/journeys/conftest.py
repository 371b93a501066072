"""The whole window, shown, for a person to work with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from studio.session.studio import Studio
from studio.ui.shell.docks.layout_store import LayoutStore
from studio.ui.shell.window import MainWindow
from tests.ui.fixtures import shown
from tests.ui.journeys.person import Person


@pytest.fixture
def person(qtbot: QtBot, studio: Studio, tmp_path: Path) -> Iterator[Person]:
    studio.preferences.set("backend", "cpu")
    window = MainWindow(studio, LayoutStore(tmp_path / "places" / "config"))
    window.resize(1600, 1000)
    shown(qtbot, window)
    yield Person(qtbot, window)
    studio.document.history.mark_clean()
    studio.training.close()
    window.close()
    window.deleteLater()
