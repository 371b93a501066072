"""What is typed counts before an action that uses it, and what was refused is told."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot

from studio.engine.train.project.project import Project
from studio.session.core import entities
from studio.session.document.edits.sections import set_training
from studio.ui.shell.window import MainWindow
from tests.ui.shell.driving import press


@pytest.fixture
def field(qtbot: QtBot, opened: MainWindow) -> Callable[[str], QLineEdit]:
    """Clicks into a field of the inspector and selects what stands in it."""
    document = opened.studio.document
    document.apply("Train long", set_training(document.state, {"epochs": 50_000}))
    opened.studio.preferences.set("backend", "cpu")

    def found(name: str) -> QLineEdit:
        qtbot.waitUntil(
            lambda: any(f.isVisible() for f in opened.findChildren(QLineEdit, name)), timeout=60_000
        )
        line = next(f for f in opened.findChildren(QLineEdit, name) if f.isVisible())
        line.setFocus()
        line.selectAll()
        return line

    return found


def warnings(window: MainWindow) -> list[str]:
    return [n.text for n in window.studio.notices.all if n.severity == "warning"]


def ended(qtbot: QtBot, window: MainWindow) -> None:
    window.studio.training.stop()
    qtbot.waitUntil(lambda: not window.studio.training.is_busy, timeout=60_000)


def trained(qtbot: QtBot, window: MainWindow) -> Project:
    training = window.studio.training
    qtbot.waitUntil(lambda: training.state == "running", timeout=60_000)
    found = training.trained_project
    assert found is not None
    return found


def test_a_number_that_was_typed_is_what_f5_trains_with(
    qtbot: QtBot, opened: MainWindow, field: Callable[[str], QLineEdit]
) -> None:
    line = field("field_batch_size")
    qtbot.keyClicks(line, "24")
    press("F5", line)
    assert trained(qtbot, opened).training.batch_size == 24
    assert warnings(opened) == []
    ended(qtbot, opened)


@pytest.mark.parametrize(
    ("name", "typed", "option"),
    [
        ("field_batch_size", "99999999", "batch_size"),
        ("field_epochs", "0", "epochs"),
        ("field_batch_size", "many", "batch_size"),
    ],
)
def test_a_number_that_is_refused_is_told_with_the_one_that_is_used(
    qtbot: QtBot, opened: MainWindow, field: Callable[[str], QLineEdit], name: str, typed: str,
    option: str,
) -> None:  # fmt: skip
    before = getattr(opened.studio.document.project().training, option)
    line = field(name)
    qtbot.keyClicks(line, typed)
    press("F5", line)
    assert getattr(trained(qtbot, opened).training, option) == before
    (said,) = warnings(opened)
    assert f" is still {before}: " in said
    assert typed in said.replace(",", "")
    ended(qtbot, opened)


def test_what_was_refused_before_is_told_once_more_unless_it_was_taken_back(
    qtbot: QtBot, opened: MainWindow, field: Callable[[str], QLineEdit]
) -> None:
    line = field("field_batch_size")
    qtbot.keyClicks(line, "99999999")
    qtbot.keyClick(line, Qt.Key.Key_Return)
    assert warnings(opened) == []
    opened.studio.actions.trigger("train.start")
    trained(qtbot, opened)
    assert len(warnings(opened)) == 1
    # A training that goes on uses nothing of the forms.
    opened.studio.actions.trigger("train.pause")
    qtbot.waitUntil(lambda: opened.studio.training.state == "paused", timeout=60_000)
    opened.studio.actions.trigger("train.start")
    assert len(warnings(opened)) == 1
    ended(qtbot, opened)
    line.setFocus()
    qtbot.keyClick(line, Qt.Key.Key_Escape)
    opened.studio.actions.trigger("train.start")
    trained(qtbot, opened)
    assert len(warnings(opened)) == 1
    ended(qtbot, opened)


def test_options_of_layers_are_told_too(
    qtbot: QtBot, opened: MainWindow, field: Callable[[str], QLineEdit]
) -> None:
    document = opened.studio.document
    dense = next(n for n in document.state.layers() if n.type_name == "Dense")
    opened.studio.bus.select([entities.node(dense.id)], source="test")
    line = field("field_units")
    before = line.text()
    qtbot.keyClicks(line, "0")
    press("Ctrl+S", line)
    (said,) = warnings(opened)
    assert f"is still {before}: " in said
