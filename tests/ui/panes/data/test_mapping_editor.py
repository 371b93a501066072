"""Parts of a source mapped to inputs and outputs by hand: dropped, mapped, left out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QLabel,
    QMenu,
    QPushButton,
    QScrollArea,
    QWidget,
)
from pytestqt.qtbot import QtBot

from studio.session.data.mapping import mapped
from studio.session.studio import Studio
from studio.ui.panes.data.mapping_editor import MappingEditor
from studio.ui.panes.data.pane import DataPane
from studio.widgets.labels.elided_label import ElidedLabel
from tests.session.data.test_mapping import arrays, network, segmentation, write_pairs
from tests.ui.fixtures import shown
from tests.ui.panes.data.test_data_pane import LEFT, drop, one, settled

WAIT = 60_000


@pytest.fixture
def pane(studio: Studio, qtbot: QtBot) -> DataPane:
    made = DataPane(studio)
    qtbot.addWidget(made)
    made.resize(320, 1400)
    shown(qtbot, made)
    studio.document.apply("network", network())
    return made


def goes_to(pane: DataPane, part: str) -> QPushButton:
    found = one(pane, QPushButton, f"goes_to_{part}")
    assert isinstance(found, QPushButton)
    return found


def choose(pane: DataPane, qtbot: QtBot, part: str, *words: str) -> None:
    """Open the menu of a part by a click, and click its entries."""
    for text in words:
        clicked: list[str] = []

        def take(wanted: str = text, clicked: list[str] = clicked) -> None:
            menu = QApplication.activePopupWidget()
            if not isinstance(menu, QMenu):
                QTimer.singleShot(20, take)
                return
            action = next(each for each in menu.actions() if each.text() == wanted)
            qtbot.mouseClick(menu, LEFT, pos=menu.actionGeometry(action).center())
            clicked.append(wanted)

        # The click opens the menu in an event loop of its own.
        QTimer.singleShot(0, take)
        qtbot.mouseClick(goes_to(pane, part), LEFT)
        qtbot.waitUntil(lambda clicked=clicked: bool(clicked), timeout=WAIT)


def missing(pane: DataPane) -> str:
    label = pane.findChild(QLabel, "mapping_missing")
    assert isinstance(label, QLabel)
    return label.text() if label.isVisible() else ""


@pytest.mark.slow
def test_a_dropped_archive_is_mapped_and_changed_by_hand(
    studio: Studio, pane: DataPane, qtbot: QtBot, tmp_path: Path
) -> None:
    path = tmp_path / "scenes.npz"
    np.savez(path, **arrays())
    drop(pane, path)
    settled(studio, qtbot)
    qtbot.waitUntil(lambda: pane.sections["Inputs and outputs"].isVisible(), timeout=WAIT)
    qtbot.waitUntil(lambda: not pane.is_refreshing, timeout=WAIT)
    texts = {name: goes_to(pane, name).whole for name in ("left", "RIGHT", "kind", "other")}
    assert texts == {"left": "left", "RIGHT": "right", "kind": "kind", "other": "not used"}
    line = one(pane, QLabel, "data_line").text()
    assert line.startswith("60 samples for 2 inputs and 2 outputs")
    assert missing(pane) == ""
    (told,) = [each.details for each in studio.notices.all if each.text.startswith("Attached")]
    assert told.splitlines() == [
        "Input left: left", "Input right: RIGHT", "Output kind: kind", "Output size: size"
    ]  # fmt: skip
    # As wide as the dock is by default, everything fits in.
    pane.resize(240, 700)
    bar = pane.findChildren(QScrollArea)[0].horizontalScrollBar()
    qtbot.waitUntil(lambda: not bar.isVisible(), timeout=WAIT)
    assert bar.maximum() == 0
    pane.resize(320, 1400)

    choose(pane, qtbot, "kind", "Not used")
    qtbot.waitUntil(lambda: "Nothing goes to the output kind." in missing(pane), timeout=WAIT)
    settled(studio, qtbot)
    assert mapped(studio.data.data, "targets") == {"size": ("size",)}
    found = [p.message for p in studio.document.report.problems]
    assert found == ["the data has no targets for the output kind"]

    choose(pane, qtbot, "size", "output kind")
    qtbot.waitUntil(lambda: goes_to(pane, "size").whole == "size, kind", timeout=WAIT)
    settled(studio, qtbot)
    assert missing(pane) == ""
    qtbot.mouseClick(one(pane, QPushButton, "map_by_name"), LEFT)
    qtbot.waitUntil(lambda: goes_to(pane, "kind").whole == "kind", timeout=WAIT)
    settled(studio, qtbot)
    studio.document.undo()
    qtbot.waitUntil(lambda: goes_to(pane, "size").whole == "size, kind", timeout=WAIT)
    settled(studio, qtbot)


@pytest.mark.slow
def test_normalisation_and_task_are_chosen_by_input_and_output(
    studio: Studio, pane: DataPane, qtbot: QtBot, tmp_path: Path
) -> None:
    path = tmp_path / "scenes.npz"
    np.savez(path, **arrays())
    drop(pane, path)
    settled(studio, qtbot)
    qtbot.waitUntil(lambda: not pane.is_refreshing, timeout=WAIT)
    box = pane.findChild(QComboBox, "field_normalization:left")
    assert isinstance(box, QComboBox)
    box.setFocus()
    qtbot.keyClicks(box, "none")
    qtbot.waitUntil(
        lambda: studio.data.data["inputs"]["left"] == {"array": "left", "normalization": "none"},
        timeout=WAIT,
    )
    settled(studio, qtbot)
    task = pane.findChild(QComboBox, "field_task:kind")
    assert isinstance(task, QComboBox)
    task.setFocus()
    qtbot.keyClicks(task, "regr")
    qtbot.waitUntil(
        lambda: studio.data.data["targets"]["kind"] == {"array": "kind", "task": "regression"},
        timeout=WAIT,
    )
    settled(studio, qtbot)


def test_arrays_that_do_not_fit_leave_the_mapping_to_change(
    studio: Studio, pane: DataPane, qtbot: QtBot, tmp_path: Path
) -> None:
    path = tmp_path / "scenes.npz"
    np.savez(path, **arrays(left=np.zeros((7, 3)), other=np.zeros((60, 3))))
    drop(pane, path)
    settled(studio, qtbot, "failed")
    qtbot.waitUntil(lambda: not pane.is_refreshing, timeout=WAIT)
    said = " ".join(
        label.text() for label in one(pane, QWidget, "data_refusal").findChildren(QLabel)
    )
    assert "all arrays need the same number of samples" in said
    choose(pane, qtbot, "other", "input left")
    settled(studio, qtbot)
    assert mapped(studio.data.data, "inputs")["left"] == ("other",)


def test_a_dropped_folder_of_pictures_and_masks(
    studio: Studio, pane: DataPane, qtbot: QtBot, tmp_path: Path
) -> None:
    studio.document.apply("network", segmentation())
    drop(pane, write_pairs(tmp_path / "cells"))
    settled(studio, qtbot)
    qtbot.waitUntil(lambda: not pane.is_refreshing, timeout=WAIT)
    qtbot.waitUntil(lambda: pane.sections["Inputs and outputs"].isVisible(), timeout=WAIT)
    assert (goes_to(pane, "images").whole, goes_to(pane, "masks").whole) == ("picture", "classes")
    assert not pane.sections["Classes"].isVisible()
    assert pane.samples.browser is not None
    assert len(pane.samples.browser) == 16
    mask = next(each.mask for each in pane.samples.grid.shown)
    assert mask is not None
    assert set(np.unique(mask)) == {0, 1}


@pytest.mark.slow
def test_samples_of_each_input_are_shown(
    studio: Studio, pane: DataPane, qtbot: QtBot, tmp_path: Path
) -> None:
    path = tmp_path / "scenes.npz"
    np.savez(path, **arrays())
    drop(pane, path)
    settled(studio, qtbot)
    qtbot.waitUntil(lambda: not pane.is_refreshing, timeout=WAIT)
    assert pane.samples.table.isVisible()
    columns = [each.title for each in pane.samples.table.entries.columns]
    assert columns == ["kind", "size", "0", "1", "2"]
    box = one(pane, QComboBox, "sample_input")
    assert isinstance(box, QComboBox)
    box.setFocus()
    qtbot.keyClick(box, Qt.Key.Key_Down)
    qtbot.waitUntil(pane.samples.grid.isVisible, timeout=WAIT)
    assert not pane.samples.table.isVisible()
    assert pane.samples.grid.shown[0].values.shape == (4, 4, 1)


@pytest.mark.parametrize(
    "changes",
    [
        {"inputs": 5},
        {"inputs": {"left": 5, "right": None}},
        {"inputs": {"left": ["a", 7]}},
        {"inputs": {"left": {"array": 5, "normalization": "sideways"}}},
        {"targets": {"kind": {"task": 5, "class_names": 7}}},
        {"targets": {"kind": {"array": "kind", "task": "none", "class_names": [1, None]}}},
        {"targets": []},
        {"weights": 5},
        {"weights": {"kind": 5}},
    ],
)
@pytest.mark.slow
def test_a_mapping_of_another_form_is_refused_and_can_be_mended(
    studio: Studio, pane: DataPane, qtbot: QtBot, tmp_path: Path, changes: dict[str, object]
) -> None:
    path = tmp_path / "scenes.npz"
    np.savez(path, **arrays())
    good = {"inputs": {"left": "left", "right": "RIGHT"}, "targets": {"kind": "kind"}}
    studio.data.attach({"source": "arrays", "path": str(path), **good, **changes})  # type: ignore[dict-item]
    settled(studio, qtbot, "failed")
    qtbot.waitUntil(lambda: not pane.is_refreshing, timeout=WAIT)
    assert one(pane, QWidget, "data_refusal").isVisible()
    qtbot.mouseClick(one(pane, QPushButton, "map_by_name"), LEFT)
    qtbot.waitUntil(lambda: missing(pane) == "", timeout=WAIT)
    settled(studio, qtbot)


@pytest.mark.parametrize("wide", [228, 700])
def test_the_mapping_fits_a_narrow_pane_and_can_be_read(
    studio: Studio, pane: DataPane, qtbot: QtBot, tmp_path: Path, wide: int
) -> None:
    path = tmp_path / "scenes.npz"
    np.savez(path, **arrays())
    pane.resize(wide, 1400)
    drop(pane, path)
    settled(studio, qtbot)
    qtbot.waitUntil(lambda: pane.sections["Inputs and outputs"].isVisible(), timeout=WAIT)
    qtbot.waitUntil(lambda: not pane.is_refreshing, timeout=WAIT)
    for section in pane.sections.values():
        section.set_open(True)
    area = pane.findChild(QScrollArea)
    assert area is not None
    qtbot.waitUntil(lambda: area.horizontalScrollBar().maximum() == 0, timeout=WAIT)
    for name, end in (("left", "left"), ("RIGHT", "right"), ("other", "not used")):
        assert goes_to(pane, name).text() == end
    editor = one(pane, MappingEditor, "mapping_editor")
    (about,) = (label for label in editor.findChildren(ElidedLabel) if "9" in label.whole)
    (named,) = (label for label in editor.findChildren(ElidedLabel) if label.whole == "other")
    assert about.text() == about.whole
    is_below = about.y() > named.y()
    assert is_below is (wide < 300)
    pane.resize(928 - wide, 1400)
    qtbot.waitUntil(lambda: (about.y() > named.y()) is not is_below, timeout=WAIT)


@pytest.mark.slow
def test_a_table_with_names_of_its_own_says_what_to_choose_and_leads_there(
    studio: Studio, pane: DataPane, qtbot: QtBot, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    rows = [f"{a:.3f},{b:.3f},{c:.3f},{a < b}" for a, b, c in rng.normal(size=(40, 3))]
    path = tmp_path / "houses.csv"
    path.write_text("\n".join(["area,rooms,age,sold", *rows]) + "\n")
    pane.resize(240, 260)
    drop(pane, path)
    settled(studio, qtbot, "failed")
    qtbot.waitUntil(lambda: pane.head.refusal.isVisible(), timeout=WAIT)
    wanted = "hoose which columns go to the inputs left and right and to the outputs kind and size"
    qtbot.waitUntil(lambda: pane.head.refusal.text.text() == f"C{wanted}.", timeout=WAIT)
    assert studio.notices.all[-1].text == f"Attached houses.csv as table; c{wanted}"
    qtbot.waitUntil(lambda: not pane.is_refreshing, timeout=WAIT)
    first = goes_to(pane, "area")
    assert not pane.rect().contains(first.mapTo(pane, first.rect().center()))
    button = pane.head.refusal.button
    assert button is not None
    qtbot.mouseClick(button, LEFT)
    assert pane.rect().contains(first.mapTo(pane, first.rect().center()))
    assert first.hasFocus()
    choose(pane, qtbot, "area", "input left")
    qtbot.waitUntil(lambda: "to the input right" in pane.head.refusal.text.text(), timeout=WAIT)
