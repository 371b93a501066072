"""Skipping, filling and reading text as categories in the data pane, by real clicks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QLabel,
    QListWidget,
    QPushButton,
    QTableView,
    QWidget,
)
from pytestqt.qtbot import QtBot

from studio.session.studio import Studio
from studio.ui.panes.data.pane import DataPane
from tests.session.data.files import write_pictures, write_table
from tests.ui.fixtures import shown
from tests.ui.panes.data.test_data_pane import one, settled

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def pane(studio: Studio, qtbot: QtBot) -> DataPane:
    made = DataPane(studio)
    qtbot.addWidget(made)
    made.resize(300, 900)
    shown(qtbot, made)
    return made


def attach(studio: Studio, qtbot: QtBot, path: Path, status: str) -> None:
    studio.data.attach_path(path)
    settled(studio, qtbot, status)


def click(pane: DataPane, qtbot: QtBot, name: str, says: str) -> None:
    """Click on a button that must say what it does; wait until its section is there."""
    qtbot.waitUntil(lambda: any(b.isVisible() for b in pane.findChildren(QPushButton, name)))
    button = one(pane, QPushButton, name)
    assert button.whole == says
    assert says in button.toolTip()
    qtbot.mouseClick(button, LEFT)


def pick(box: QComboBox, row: int) -> None:
    """Choose an entry with the keyboard, as a person does."""
    box.setFocus()
    QTest.keyClick(box, Qt.Key.Key_Home)
    for _ in range(row):
        QTest.keyClick(box, Qt.Key.Key_Down)
    assert box.currentIndex() == row


@pytest.mark.slow
def test_bad_cells_are_filled_and_the_rest_is_skipped(
    studio: Studio, pane: DataPane, qtbot: QtBot, tmp_path: Path
) -> None:
    rows = [f"{n},{n * 2},{'ab'[n % 2]}" for n in range(40)]
    rows[3], rows[9], rows[11], rows[20] = "3,,b", "9,x,b", ",22,b", "1,2"
    path = tmp_path / "t.csv"
    path.write_text("p,q,kind\n" + "\n".join(rows) + "\n")
    attach(studio, qtbot, path, "failed")
    qtbot.waitUntil(lambda: pane.sections["Problems"].isVisible())
    assert one(pane, QLabel, "problem_kinds").text().split("\n") == [
        "3 cells without a number: row 5 (q), row 11 (q), row 13 (p)",
        "1 row of another width: row 22",
    ]
    box = one(pane, QComboBox, "fill_with")
    pick(box, 1)
    click(pane, qtbot, "fill_bad_numbers", "Fill 3 cells with the median")
    # What is left is shown then, and only that.
    settled(studio, qtbot, "failed")
    assert studio.data.data["fill"] == {"q": "median", "p": "median"}
    qtbot.waitUntil(lambda: len(studio.data.problems.rows) == 1)
    qtbot.waitUntil(lambda: not pane.problems.fill.isVisible())
    click(pane, qtbot, "skip_bad", "Skip 1 row")
    settled(studio, qtbot)
    assert one(pane, QLabel, "cleaned_count").text() == "1 row skipped, 3 cells filled"
    table = one(pane, QTableView, "cleaned_places").model()
    cells = [
        [table.index(r, 0).data(), table.index(r, 1).data().partition(":")[0]]
        for r in range(table.rowCount())
    ]
    assert cells == [
        ["row 5 (q)", "filled"], ["row 11 (q)", "filled"], ["row 13 (p)", "filled"],
        ["row 22", "skipped"],
    ]  # fmt: skip
    # Each click was one step.
    studio.document.undo()
    settled(studio, qtbot, "failed")
    assert "bad_rows" not in studio.data.data
    assert "fill" in studio.data.data
    studio.document.undo()
    settled(studio, qtbot, "failed")
    assert "fill" not in studio.data.data
    studio.document.redo()
    studio.document.redo()
    settled(studio, qtbot)
    click(pane, qtbot, "refuse_bad", "Refuse them again")
    settled(studio, qtbot, "failed")
    assert not {"fill", "bad_rows"} & set(studio.data.data)
    qtbot.waitUntil(lambda: pane.sections["Problems"].isVisible())
    assert not pane.sections["Skipped and filled"].isVisible()


@pytest.mark.slow
def test_pictures_that_cannot_be_read_are_skipped(
    studio: Studio, pane: DataPane, qtbot: QtBot, tmp_path: Path
) -> None:
    folder = write_pictures(tmp_path / "pets")
    for name in ("cat/3.png", "dog/1.png"):
        (folder / name).write_bytes((folder / name).read_bytes()[:45])
    attach(studio, qtbot, folder, "failed")
    qtbot.waitUntil(lambda: pane.sections["Problems"].isVisible())
    assert "2 unreadable images: cat/3.png, dog/1.png" in one(pane, QLabel, "problem_kinds").text()
    assert not [b for b in pane.findChildren(QPushButton, "fill_bad_numbers") if b.isVisible()]
    click(pane, qtbot, "skip_bad", "Skip 2 images")
    settled(studio, qtbot)
    assert studio.data.data["bad_images"] == "skip"
    assert one(pane, QLabel, "cleaned_count").text() == "2 images skipped"


@pytest.mark.slow
def test_a_text_column_is_ticked_and_becomes_inputs(
    studio: Studio, pane: DataPane, qtbot: QtBot, tmp_path: Path
) -> None:
    attach(studio, qtbot, write_table(tmp_path), "ready")
    features = one(pane, QListWidget, "feature_columns")
    qtbot.waitUntil(lambda: features.count() == 5)
    town = features.item(3)
    assert town.checkState() is Qt.CheckState.Unchecked
    features.scrollToItem(town)
    place = features.visualItemRect(town)
    qtbot.mouseClick(features.viewport(), LEFT, pos=QPoint(place.left() + 12, place.center().y()))
    settled(studio, qtbot)
    assert studio.data.data["categories"] == {"town": "one-hot"}
    dataset = studio.data.dataset
    assert dataset is not None
    assert dataset.feature_names == ("rooms", "area", "town=Basel", "town=Bern")
    assert np.array_equal(dataset.x[:, 2:].sum(axis=1), np.ones(60))
    # The same column as an index, chosen in the box below.
    qtbot.waitUntil(lambda: "(one-hot)" in features.item(3).text())
    features.scrollToItem(features.item(3))
    place = features.visualItemRect(features.item(3))
    qtbot.mouseClick(features.viewport(), LEFT, pos=QPoint(place.right() - 20, place.center().y()))
    box = one(pane, QComboBox, "column_use")
    assert box.currentData() == "one-hot"
    box.showPopup()
    view = box.view()
    qtbot.waitUntil(view.isVisible)
    index = box.model().index(2, 0)
    qtbot.mouseClick(view.viewport(), LEFT, pos=view.visualRect(index).center())
    settled(studio, qtbot)
    assert studio.data.data["categories"] == {"town": "index"}
    assert studio.data.dataset.feature_names == ("rooms", "area", "town")
    # Unticked, it is left out, and nothing is said of it any more.
    studio.document.undo()
    studio.document.undo()
    settled(studio, qtbot)
    assert "categories" not in studio.data.data
    assert QApplication.activePopupWidget() is None


@pytest.mark.slow
def test_a_column_of_texts_among_the_features_is_offered_as_categories(
    studio: Studio, pane: DataPane, qtbot: QtBot, tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("town,kind\n" + "Bern,a\nBasel,b\n,a\nBern,b\n" * 10)
    attach(studio, qtbot, path, "failed")
    qtbot.waitUntil(lambda: pane.sections["Problems"].isVisible())
    assert not [b for b in pane.findChildren(QPushButton, "fill_bad_numbers") if b.isVisible()]
    click(pane, qtbot, "use_categories", "Read town as categories")
    settled(studio, qtbot, "failed")
    qtbot.waitUntil(lambda: len(studio.data.problems.rows) == 10)
    click(pane, qtbot, "fill_bad_categories", "Fill 10 cells with the most frequent category")
    settled(studio, qtbot)
    assert studio.data.dataset.x.sum(axis=0).tolist() == [10.0, 30.0]
    assert one(pane, QLabel, "cleaned_count").text() == "10 cells filled"


@pytest.mark.slow
def test_nothing_is_wider_than_a_narrow_pane(
    studio: Studio, pane: DataPane, qtbot: QtBot, tmp_path: Path
) -> None:
    rows = [f"{n},{'x' if n % 9 == 4 else n},{'ab'[n % 2]}" for n in range(40)]
    path = tmp_path / "t.csv"
    path.write_text("a long name of a column,q,kind\n" + "\n".join([*rows, ",1,a", "1"]) + "\n")
    pane.resize(228, 700)
    attach(studio, qtbot, path, "failed")
    qtbot.waitUntil(lambda: pane.sections["Problems"].isVisible())
    holder = pane.problems.window()
    for widget in (pane.problems, pane.cleaned):
        qtbot.waitUntil(widget.isVisible)
        for each in widget.findChildren(QWidget):
            if each.isVisible():
                right = each.mapTo(widget, QPoint(each.width(), 0)).x()
                assert right <= widget.width(), each.objectName()
        assert widget.mapTo(holder, QPoint(widget.width(), 0)).x() <= holder.width()
        if widget is pane.problems:
            click(pane, qtbot, "skip_bad", "Skip 6 rows")
            settled(studio, qtbot)
