"""Every sample project works in the window, and the window never ends a training unasked."""

from __future__ import annotations

from functools import partial

import pytest
from PySide6.QtWidgets import QApplication, QMessageBox

from studio.samples import sample_names
from studio.ui.shell.docks.dock import Dock
from studio.widgets.frames.empty_state import EmptyState
from tests.ui.journeys.person import Person

WORKSPACES = ("Ctrl+1", "Ctrl+2", "Ctrl+3")


def _questions() -> list[QMessageBox]:
    return [
        each
        for each in QApplication.topLevelWidgets()
        if isinstance(each, QMessageBox) and each.isVisible()
    ]


def _all_made(docks: list[Dock]) -> bool:
    return all(dock.pane is not None for dock in docks)


def test_a_window_without_changes_closes_at_once(person: Person) -> None:
    heard: list[bool] = []

    def hear() -> None:
        heard.append(True)

    person.window.closed.connect(hear)
    assert person.window.close()
    assert heard == [True]
    assert not person.window.isVisible()


@pytest.mark.slow
def test_closing_while_it_trains_asks_once_and_obeys(person: Person) -> None:
    studio = person.studio
    person.click(person.card("digits-cnn"))
    person.until(lambda: studio.compilation.result)
    person.press("F5")
    person.until(lambda: studio.training.status.steps > 0)
    assert not person.window.close()
    assert not person.window.close()
    (question,) = _questions()
    assert "is running" in question.text()
    person.click(person.button("Keep training", question))
    person.until(lambda: not _questions())
    assert person.window.isVisible()
    assert studio.training.is_busy
    assert not person.window.close()
    (question,) = person.until(_questions)
    person.click(person.button("Stop training", question))
    person.until(lambda: not person.window.isVisible())
    assert not studio.training.is_busy
    assert not _questions()


@pytest.mark.slow
@pytest.mark.parametrize("name", sample_names())
def test_a_sample_opens_compiles_trains_and_shows_no_error(person: Person, name: str) -> None:
    studio, window = person.studio, person.window
    person.click(person.card(name))
    person.until(lambda: studio.compilation.result and not studio.compilation.is_compiling)
    assert studio.compilation.error is None
    assert not studio.document.report.errors
    person.press("F5")
    person.until(lambda: studio.training.status.steps > 3 or studio.training.error)
    assert studio.training.error is None
    for keys in WORKSPACES:
        person.press(keys)
        docks = [dock for dock in window.docks.all.values() if window.docks.is_in_front(dock)]
        assert len(docks) >= 3
        person.until(partial(_all_made, docks))
        broken = [dock.spec.id for dock in docks if isinstance(dock.pane, EmptyState)]
        assert not broken
    said = [notice.text for notice in studio.notices.all if notice.severity == "error"]
    assert not said
    if studio.training.is_busy:
        person.press("Shift+F5")
        person.until(lambda: not studio.training.is_busy)
    assert studio.training.error is None
