"""Files that were mended or damaged meanwhile, read again: every part of the window knows."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from studio.samples import open_copy
from studio.session.document.edits.layers import set_option
from studio.session.studio import Studio
from studio.ui.panes.data.pane import DataPane
from tests.ui.fixtures import shown

LEFT = Qt.MouseButton.LeftButton
HEAD = "a,b,c,d,kind\n"
GOOD = "".join(f"{n},{n + 1},{n * n},1.5,{'xyz'[n % 3]}\n" for n in range(30))
BAD = "1,2,3\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return tmp_path / "flowers.csv"


@pytest.fixture
def pane(studio: Studio, qtbot: QtBot, tmp_path: Path, table: Path) -> DataPane:
    """The pane of a project whose network takes four numbers, with a table of its own."""
    studio.open(open_copy("iris", tmp_path))
    made = DataPane(studio)
    qtbot.addWidget(made)
    made.resize(280, 900)
    shown(qtbot, made)
    return made


def use(studio: Studio, qtbot: QtBot, table: Path, text: str) -> None:
    table.write_text(text)
    reference = {"source": "csv", "path": str(table), "label": "kind"}
    studio.data.attach(reference)
    settle(studio, qtbot)


def settle(studio: Studio, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: not studio.tasks.running and not studio.compilation.is_compiling)


def read_again(studio: Studio, qtbot: QtBot, pane: DataPane) -> None:
    qtbot.waitUntil(lambda: any(b.text() == "Reload" for b in visible(pane)))
    button = next(b for b in visible(pane) if b.text() == "Reload")
    qtbot.mouseClick(button, LEFT)
    settle(studio, qtbot)


def visible(pane: DataPane) -> list[QPushButton]:
    return [button for button in pane.findChildren(QPushButton) if button.isVisible()]


def told(studio: Studio) -> list[str]:
    """Which parts have something to say."""
    return [item.source for item in studio.problems.items]


@pytest.mark.slow
def test_a_mended_table_is_no_problem_any_more_and_is_trained_on(
    studio: Studio, pane: DataPane, qtbot: QtBot, table: Path
) -> None:
    use(studio, qtbot, table, HEAD + GOOD + BAD)
    assert told(studio) == ["data"]
    result = studio.compilation.result
    assert result is not None
    assert "train" not in result.programs
    table.write_text(HEAD + GOOD)
    read_again(studio, qtbot, pane)
    assert told(studio) == []
    result = studio.compilation.result
    assert result is not None
    assert "train" in result.programs


@pytest.mark.slow
def test_what_was_wrong_with_a_mended_table_is_not_told_beside_what_is(
    studio: Studio, pane: DataPane, qtbot: QtBot, table: Path
) -> None:
    first = next(n for n in studio.document.state.layers() if n.type_name == "Input")
    studio.document.apply("Shape", set_option(studio.document.state, first.id, "shape", [5]))
    use(studio, qtbot, table, HEAD + GOOD + BAD)
    assert "data" in told(studio)
    table.write_text(HEAD + GOOD)
    read_again(studio, qtbot, pane)
    assert told(studio) == ["graph"]


@pytest.mark.slow
def test_a_table_damaged_meanwhile_is_told(
    studio: Studio, pane: DataPane, qtbot: QtBot, table: Path
) -> None:
    use(studio, qtbot, table, HEAD + GOOD)
    assert told(studio) == []
    table.write_text(HEAD + GOOD + BAD)
    studio.actions.trigger("data.reload")
    settle(studio, qtbot)
    assert told(studio) == ["data"]
