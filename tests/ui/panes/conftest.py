"""Panes as a window shows them, each by itself, over a studio with or without a small project."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from studio.session.studio import Studio
from tests.ui.panes.stage import Stage
from tests.ui.panes.trainings import Trainings


@pytest.fixture
def stage(studio: Studio, qtbot: QtBot) -> Iterator[Stage]:
    """Shows panes; they are closed before the studio is."""
    made = Stage(qtbot)
    yield made
    made.close()


@pytest.fixture
def sample(studio: Studio, qtbot: QtBot, tmp_path: Path) -> Callable[..., Trainings]:
    """Opens a sample project with settings of its own; its trainings are waited for."""

    def opened(name: str, **settings: object) -> Trainings:
        made = Trainings(studio, qtbot, tmp_path, name)
        made.settings(**settings)
        return made

    return opened
