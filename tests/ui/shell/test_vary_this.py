"""*Vary this…* in the whole window: the plan of the next sweep comes into view."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from studio.ui.shell.window import MainWindow
from studio.widgets.fields.scrub_field import ScrubField
from studio.widgets.labels.elided_label import ElidedLabel


def in_sight(window: MainWindow, name: str) -> list[QPoint]:
    """Where fields of that name can be clicked on."""
    found = []
    for each in window.findChildren(ScrubField, name):
        place = each.mapTo(window, QPoint(12, each.height() // 2))
        if each.isVisible() and window.childAt(place) is each:
            found.append(place)
    return found


def open_menu() -> QMenu | None:
    found = QApplication.activePopupWidget()
    return found if isinstance(found, QMenu) else None


@pytest.mark.slow
def test_the_pane_of_sweeps_comes_with_what_is_varied(qtbot: QtBot, opened: MainWindow) -> None:
    studio = opened.studio
    studio.actions.trigger("workspace.train")
    assert not studio.actions.is_checked("pane.sweeps")
    qtbot.waitUntil(lambda: bool(in_sight(opened, "field_batch_size")))
    QTest.mouseClick(
        opened.windowHandle(), Qt.MouseButton.RightButton,
        pos=in_sight(opened, "field_batch_size")[0],
    )  # fmt: skip
    qtbot.waitUntil(lambda: open_menu() is not None)
    menu = open_menu()
    assert menu is not None
    action = next(each for each in menu.actions() if each.objectName() == "vary")
    qtbot.mouseClick(menu, Qt.MouseButton.LeftButton, pos=menu.actionGeometry(action).center())
    qtbot.waitUntil(lambda: studio.actions.is_checked("pane.sweeps"))
    assert studio.sweeps.draft.axes == (("batch_size", "8,16,32"),)
    assert studio.sweeps.is_planning
    # The field is still in sight, and marked.
    assert in_sight(opened, "field_batch_size")
    labels = opened.findChildren(ElidedLabel, "label_batch_size")
    qtbot.waitUntil(lambda: any(each.isVisible() and each.is_marked for each in labels))
