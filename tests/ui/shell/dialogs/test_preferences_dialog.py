"""The preferences: searched, in force at once, taken back; a scale that must be confirmed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QLabel, QPushButton, QToolButton
from pytestqt.qtbot import QtBot

from studio.session.core.action_table import ActionRegistry
from studio.session.core.preferences import PREFERENCES, Preferences
from studio.session.core.theme import Theme
from studio.ui.shell.dialogs.plugin_list import PluginList
from studio.ui.shell.dialogs.preferences import PreferenceRow, PreferencesDialog
from studio.ui.shell.start.scale import ScaleQuestion, ScaleTrial
from studio.widgets.fields.scrub_field import ScrubField


@pytest.fixture
def preferences(tmp_path: Path) -> Preferences:
    return Preferences(tmp_path / "preferences.json")


@pytest.fixture
def restarts() -> list[int]:
    return []


@pytest.fixture
def box(qtbot: QtBot, dark: Theme, preferences: Preferences, restarts: list[int], tmp_path: Path):
    window = QLabel("window")
    qtbot.addWidget(window)
    window.show()
    made = PreferencesDialog(
        preferences, lambda error: None, lambda: restarts.append(1),
        lambda changed, parent: PluginList(tmp_path, changed, lambda error: None, parent),
        ActionRegistry(), window,
    )  # fmt: skip
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    made.show()
    yield made
    made.close()


def row(box: PreferencesDialog, name: str) -> PreferenceRow:
    found = box.findChild(PreferenceRow, f"preference.{name}")
    assert found is not None
    return found


@pytest.mark.slow
def test_every_preference_is_there_with_a_name_and_a_sentence(box: PreferencesDialog) -> None:
    for preference in PREFERENCES:
        editor = row(box, preference.name).editor
        assert editor.accessibleName() == preference.label
        assert editor.accessibleDescription().endswith(".")


@pytest.mark.slow
def test_a_choice_is_in_force_at_once_and_kept(
    qtbot: QtBot, box: PreferencesDialog, preferences: Preferences, tmp_path: Path
) -> None:
    editor = row(box, "theme").editor
    assert isinstance(editor, QComboBox)
    editor.setFocus()
    qtbot.keyClick(editor, Qt.Key.Key_Down)
    assert preferences.text("theme") == "dark"
    assert json.loads((tmp_path / "preferences.json").read_text()) == {"theme": "dark"}


@pytest.mark.slow
def test_each_can_be_taken_back(
    qtbot: QtBot, box: PreferencesDialog, preferences: Preferences
) -> None:
    found = row(box, "reduced_motion")
    reset = found.findChild(QToolButton, "reset.reduced_motion")
    assert not reset.isVisible()
    found.editor.setFocus()
    qtbot.keyClick(found.editor, Qt.Key.Key_Space)
    assert preferences.flag("reduced_motion")
    assert reset.isVisible()
    qtbot.mouseClick(reset, Qt.MouseButton.LeftButton)
    assert not preferences.flag("reduced_motion")
    assert not reset.isVisible()


@pytest.mark.slow
def test_search_hides_what_does_not_fit(qtbot: QtBot, box: PreferencesDialog) -> None:
    qtbot.keyClicks(box.field, "wires")
    assert row(box, "wire_style").isVisible()
    assert not row(box, "theme").isVisible()
    box.field.clear()
    assert row(box, "theme").isVisible()


@pytest.mark.slow
def test_what_was_changed_can_be_listed(
    qtbot: QtBot, box: PreferencesDialog, preferences: Preferences
) -> None:
    preferences.set("minimap", False)
    box.only_changed.setChecked(True)
    shown = [p.name for p in PREFERENCES if row(box, p.name).isVisible()]
    assert shown == ["minimap"]


def test_changes_from_elsewhere_are_shown(
    qtbot: QtBot, box: PreferencesDialog, preferences: Preferences
) -> None:
    preferences.set("theme", "light")
    editor = row(box, "theme").editor
    assert isinstance(editor, QComboBox)
    assert editor.currentData() == "light"


def test_another_scale_offers_to_restart(
    qtbot: QtBot, box: PreferencesDialog, preferences: Preferences, restarts: list[int]
) -> None:
    button = box.findChild(QPushButton, "restart")
    assert not button.isVisible()
    editor = row(box, "scale").editor
    assert isinstance(editor, ScrubField)
    editor.setFocus()
    qtbot.keyClick(editor, Qt.Key.Key_Up)
    assert preferences.number("scale") == 125
    assert button.isVisible()
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert restarts == [1]


# -- the scale that is tried ----------------------------------------------------------------------


def start(tmp_path: Path) -> ScaleTrial:
    """What the start of the studio decides."""
    return ScaleTrial(tmp_path / "scale.json", Preferences(tmp_path / "preferences.json"))


def test_a_new_scale_is_tried_and_stays_when_it_is_kept(tmp_path: Path) -> None:
    assert (start(tmp_path).scale, start(tmp_path).is_trial) == (100, False)
    Preferences(tmp_path / "preferences.json").set("scale", 200)
    trial = start(tmp_path)
    assert (trial.scale, trial.is_trial) == (200, True)
    trial.keep()
    again = start(tmp_path)
    assert (again.scale, again.is_trial) == (200, False)


def test_a_scale_given_up_goes_back(tmp_path: Path) -> None:
    Preferences(tmp_path / "preferences.json").set("scale", 300)
    start(tmp_path).give_up()
    again = start(tmp_path)
    assert (again.scale, again.is_trial) == (100, False)
    assert Preferences(tmp_path / "preferences.json").number("scale") == 100


def test_a_start_that_nobody_could_answer_is_not_tried_twice(tmp_path: Path) -> None:
    Preferences(tmp_path / "preferences.json").set("scale", 300)
    assert start(tmp_path).is_trial
    again = start(tmp_path)
    assert (again.scale, again.is_trial) == (100, False)
    assert Preferences(tmp_path / "preferences.json").number("scale") == 100


@pytest.mark.parametrize("content", ["", "[]", '{"kept": "x"}', '{"kept": 100000}'])
def test_a_damaged_memory_counts_as_the_usual_scale(tmp_path: Path, content: str) -> None:
    (tmp_path / "scale.json").write_text(content)
    assert start(tmp_path).scale == 100


@pytest.fixture
def asked(qtbot: QtBot, dark: Theme):
    heard: list[str] = []
    window = QLabel("window")
    qtbot.addWidget(window)
    window.show()
    made = ScaleQuestion(150, 2, lambda: heard.append("keep"), lambda: heard.append("back"), window)
    made.open()
    return made, heard, window


def test_keeping_is_heard_once(qtbot: QtBot, asked) -> None:
    box, heard, _ = asked
    qtbot.mouseClick(box.findChild(QPushButton, "keep"), Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: heard == ["keep"])


@pytest.mark.slow
def test_without_an_answer_it_goes_back_by_itself(qtbot: QtBot, asked) -> None:
    box, heard, _ = asked
    assert "2 seconds" in box.findChild(QLabel, "seconds_left").text()
    qtbot.waitUntil(lambda: heard == ["back"])


def test_escape_goes_back(qtbot: QtBot, asked) -> None:
    box, heard, _ = asked
    qtbot.keyClick(box, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: heard == ["back"])
