"""What a sweep varies is chosen at the options themselves, by real events."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QCheckBox, QComboBox, QLineEdit, QMenu, QWidget
from pytestqt.qtbot import QtBot

from studio.samples import sample_root
from studio.session.core import entities
from studio.session.document.edits.layers import rename
from studio.session.studio import Studio
from studio.ui.panes.inspector.pane import InspectorPane
from studio.ui.panes.inspector.training_pane import TrainingPane
from studio.widgets.labels.elided_label import ElidedLabel
from tests.ui.fixtures import shown

CNN = sample_root() / "digits-cnn" / "digits-cnn.glassbox"


@pytest.fixture
def pane(studio: Studio, qtbot: QtBot) -> InspectorPane:
    studio.open(CNN)
    made = InspectorPane(studio)
    qtbot.addWidget(made)
    made.resize(280, 900)
    shown(qtbot, made)
    qtbot.waitUntil(lambda: made.graph_view.settings.forms[0].rows != ())
    return made


@pytest.fixture
def training(studio: Studio, qtbot: QtBot) -> TrainingPane:
    studio.open(CNN)
    made = TrainingPane(studio)
    qtbot.addWidget(made)
    made.resize(280, 1400)
    return shown(qtbot, made)


def select(studio: Studio, pane: InspectorPane, qtbot: QtBot, *names: str) -> None:
    ids = [n.id for n in studio.document.state.layers() if n.name in names]
    studio.bus.select(entities.node(i) for i in ids)
    qtbot.waitUntil(lambda: [n.id for n in pane.inspector.nodes] == ids)


def child(pane: QWidget, kind: type, name: str) -> QWidget:
    found = [w for w in pane.findChildren(kind, name) if w.isVisible()]
    assert len(found) == 1, f"{name}: {len(found)} widgets"
    return found[0]


def right_click(qtbot: QtBot, widget: QWidget) -> None:
    """With the window's own event, which Qt turns into that of a menu."""
    window = widget.window()

    def place() -> QPoint:
        return widget.mapTo(window, QPoint(min(12, widget.width() // 2), widget.height() // 2))

    # What was selected just now is laid out soon.
    qtbot.waitUntil(lambda: window.childAt(place()) is widget, timeout=60_000)
    QTest.mouseClick(window.windowHandle(), Qt.MouseButton.RightButton, pos=place())


def open_menu() -> QMenu | None:
    found = QApplication.activePopupWidget()
    return found if isinstance(found, QMenu) else None


def menu(qtbot: QtBot) -> QMenu:
    qtbot.waitUntil(lambda: open_menu() is not None)
    found = open_menu()
    assert found is not None
    return found


def texts(found: QMenu) -> list[str]:
    return [action.text() for action in found.actions() if action.text()]


def choose(qtbot: QtBot, found: QMenu, text: str) -> None:
    action = next(a for a in found.actions() if a.text() == text)
    qtbot.mouseClick(found, Qt.MouseButton.LeftButton, pos=found.actionGeometry(action).center())
    qtbot.waitUntil(lambda: open_menu() is None)


def vary(qtbot: QtBot, widget: QWidget, text: str = "Vary this…") -> None:
    right_click(qtbot, widget)
    choose(qtbot, menu(qtbot), text)


@pytest.mark.slow
def test_a_number_of_a_layer_is_varied_from_its_field_and_left_from_its_label(
    studio: Studio, pane: InspectorPane, qtbot: QtBot
) -> None:
    select(studio, pane, qtbot, "conv1")
    field = child(pane, QLineEdit, "field_filters")
    label = child(pane, ElidedLabel, "label_filters")
    assert not label.is_marked
    right_click(qtbot, field)
    found = menu(qtbot)
    # What a field of text offers is still there.
    assert texts(found)[-1] == "Vary this…"
    assert len(texts(found)) > 3
    choose(qtbot, found, "Vary this…")
    assert studio.sweeps.draft.axes == (("conv1.filters", "8,16,32"),)
    qtbot.waitUntil(lambda: label.is_marked)
    assert label.toolTip().endswith("Varied in the next sweep: 8,16,32.")
    assert field.text() == "16"
    assert not studio.document.dirty
    right_click(qtbot, label)
    assert texts(menu(qtbot)) == ["Do not vary"]
    choose(qtbot, menu(qtbot), "Do not vary")
    assert studio.sweeps.draft.axes == ()
    qtbot.waitUntil(lambda: not label.is_marked)
    assert "Varied" not in label.toolTip()


@pytest.mark.slow
def test_the_menu_opens_by_keys_at_the_field_with_the_keyboard(
    studio: Studio, pane: InspectorPane, qtbot: QtBot
) -> None:
    select(studio, pane, qtbot, "hidden")
    field = child(pane, QLineEdit, "field_units")
    field.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.waitUntil(field.hasFocus)
    # Window systems, and Shift+F10 of the window, send this for the menu key.
    reason, at = QContextMenuEvent.Reason.Keyboard, field.rect().center()
    QApplication.sendEvent(field, QContextMenuEvent(reason, at, field.mapToGlobal(at)))
    found = menu(qtbot)
    QTest.keyClick(found, Qt.Key.Key_Up)
    QTest.keyClick(found, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: studio.sweeps.draft.holds("hidden.units"))
    assert studio.sweeps.draft.axes == (("hidden.units", "32,64,128"),)


@pytest.mark.slow
def test_choices_and_flags_are_varied_too(
    studio: Studio, pane: InspectorPane, qtbot: QtBot
) -> None:
    select(studio, pane, qtbot, "conv1")
    vary(qtbot, child(pane, QComboBox, "field_padding"))
    vary(qtbot, child(pane, QCheckBox, "field_use_bias"))
    vary(qtbot, child(pane, QLineEdit, "field_kernel_size_0"))
    assert studio.sweeps.draft.axes == (
        ("conv1.padding", "valid,same"),
        ("conv1.use_bias", "true,false"),
        ("conv1.kernel_size", "1,3,5"),
    )


@pytest.mark.slow
def test_what_cannot_be_varied_does_not_offer_it(
    studio: Studio, training: TrainingPane, qtbot: QtBot
) -> None:
    right_click(qtbot, child(training, ElidedLabel, "label_validation"))
    right_click(qtbot, child(training, QComboBox, "field_validation"))
    assert open_menu() is None
    # A right click that opens a menu comes later, so that one that opens none was heard.
    right_click(qtbot, child(training, ElidedLabel, "label_batch_size"))
    assert texts(menu(qtbot)) == ["Vary this…"]
    menu(qtbot).close()


@pytest.mark.slow
def test_training_settings_are_named_by_themselves_and_options_of_a_schedule_behind_it(
    studio: Studio, training: TrainingPane, qtbot: QtBot
) -> None:
    vary(qtbot, child(training, QLineEdit, "field_batch_size"))
    vary(qtbot, child(training, QLineEdit, "field_beta_1"))
    vary(qtbot, child(training, QLineEdit, "field_initial_learning_rate"))
    vary(qtbot, child(training, QComboBox, "field_optimizer"))
    names = [name for name, _ in studio.sweeps.draft.axes]
    assert names == [
        "batch_size", "beta_1", "learning_rate.initial_learning_rate", "optimizer",
    ]  # fmt: skip
    assert all(studio.sweeps.draft.problem_of(name) == "" for name in names)
    nested = child(training, ElidedLabel, "label_initial_learning_rate")
    qtbot.waitUntil(lambda: nested.is_marked)
    studio.sweeps.draft.clear()
    qtbot.waitUntil(lambda: not nested.is_marked)


@pytest.mark.slow
def test_several_layers_are_varied_each_by_itself(
    studio: Studio, pane: InspectorPane, qtbot: QtBot
) -> None:
    select(studio, pane, qtbot, "conv1", "conv2")
    vary(qtbot, child(pane, QLineEdit, "field_filters"))
    assert studio.sweeps.draft.axes == (
        ("conv1.filters", "8,16,32"),
        ("conv2.filters", "16,32,64"),
    )
    select(studio, pane, qtbot, "conv2")
    vary(qtbot, child(pane, QLineEdit, "field_filters"), "Do not vary")
    assert studio.sweeps.draft.axes == (("conv1.filters", "8,16,32"),)


@pytest.mark.slow
def test_the_mark_follows_the_layer_that_is_shown_and_its_name(
    studio: Studio, pane: InspectorPane, qtbot: QtBot
) -> None:
    studio.sweeps.draft.add("conv1.filters")
    label = lambda: child(pane, ElidedLabel, "label_filters")  # noqa: E731
    select(studio, pane, qtbot, "conv2")
    qtbot.waitUntil(lambda: not label().is_marked)
    select(studio, pane, qtbot, "conv1")
    qtbot.waitUntil(lambda: label().is_marked)
    node = pane.inspector.nodes[0].id
    studio.document.apply("Rename", rename(studio.document.state, node, "first"))
    assert studio.sweeps.draft.axes == (("first.filters", "8,16,32"),)
    qtbot.waitUntil(lambda: pane.inspector.nodes[0].name == "first" and label().is_marked)


@pytest.mark.slow
def test_another_project_begins_without_marks(
    studio: Studio, training: TrainingPane, qtbot: QtBot, tmp_path: Path
) -> None:
    vary(qtbot, child(training, QLineEdit, "field_batch_size"))
    qtbot.waitUntil(lambda: child(training, ElidedLabel, "label_batch_size").is_marked)
    studio.new()
    assert studio.sweeps.draft.axes == ()
    label = child(training, ElidedLabel, "label_batch_size")
    qtbot.waitUntil(lambda: not child(training, ElidedLabel, "label_batch_size").is_marked)
    assert "Varied" not in label.toolTip()
