"""The inspector by real events: fields, refusals, drags as one step, several layers, repairs."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QComboBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QToolButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from studio.engine.layers.catalog import all_layers
from studio.engine.train.settings import TrainingSettings
from studio.session.core import entities
from studio.session.core.theme import Theme
from studio.session.document.document import Document
from studio.session.document.edits.comments import add_note
from studio.session.document.edits.layers import add_layer, rename, set_option
from studio.session.document.edits.removal import delete
from studio.session.document.edits.sharing import place_again
from studio.session.document.layer_types import layer_at
from studio.session.studio import Studio
from studio.ui.panes.inspector.pane import InspectorPane
from studio.widgets import theme
from studio.widgets.forms.number_editors import NumberField
from tests.ui.fixtures import shown

PROJECT = Path(__file__).resolve().parents[4] / "projects" / "digits-cnn" / "digits-cnn.glassbox"


@pytest.fixture
def pane(studio: Studio, qtbot: QtBot) -> InspectorPane:
    studio.open(PROJECT)
    made = InspectorPane(studio)
    qtbot.addWidget(made)
    made.resize(280, 900)
    shown(qtbot, made)
    qtbot.waitUntil(lambda: studio.compilation.result is not None)
    qtbot.waitUntil(lambda: made.graph_view.settings.forms[0].rows != ())
    return made


def select(studio: Studio, pane: InspectorPane, qtbot: QtBot, *kinds: str) -> list[str]:
    found = [n for n in studio.document.state.layers() if n.type_name in kinds]
    studio.bus.select(entities.node(n.id) for n in found)
    qtbot.waitUntil(lambda: len(pane.inspector.nodes) == len(found))
    return [n.id for n in found]


def one(studio: Studio, pane: InspectorPane, qtbot: QtBot, kind: str) -> str:
    node = next(n for n in studio.document.state.layers() if n.type_name == kind)
    studio.bus.select([entities.node(node.id)])
    qtbot.waitUntil(lambda: [n.id for n in pane.inspector.nodes] == [node.id])
    return node.id


def child(pane: QWidget, kind: type, name: str) -> QWidget:
    """The widget of that name that is shown."""
    found = [w for w in pane.findChildren(kind, name) if not w.isHidden() and w.isVisible()]
    assert len(found) == 1, f"{name}: {len(found)} widgets"
    return found[0]


def type_into(qtbot: QtBot, line: QLineEdit, text: str) -> None:
    qtbot.mouseClick(line, Qt.MouseButton.LeftButton)
    line.selectAll()
    qtbot.keyClicks(line, text)
    qtbot.keyClick(line, Qt.Key.Key_Return)


def config(studio: Studio, node_id: str) -> dict[str, object]:
    return studio.document.state.nodes[node_id].config.plain()


@pytest.mark.slow
def test_a_typed_number_is_one_step(studio: Studio, pane: InspectorPane, qtbot: QtBot) -> None:
    node = one(studio, pane, qtbot, "Conv2D")
    type_into(qtbot, child(pane, NumberField, "field_filters"), "16*3")
    assert config(studio, node)["filters"] == 48
    assert studio.document.history.texts == ("Change filters",)
    studio.document.undo()
    qtbot.waitUntil(lambda: child(pane, NumberField, "field_filters").text() == "16")


def test_what_was_refused_in_one_project_is_not_said_of_the_next(
    studio: Studio, pane: InspectorPane, qtbot: QtBot
) -> None:
    type_into(qtbot, child(pane, NumberField, "field_batch_size"), "99999999999")
    assert "99999999999" in child(pane, QLabel, "refusal_batch_size").text()
    studio.new()
    field = child(pane, NumberField, "field_batch_size")
    qtbot.waitUntil(lambda: field.text() == "32", timeout=60_000)
    refusals = pane.findChildren(QLabel, "refusal_batch_size")
    assert all(refusal.isHidden() for refusal in refusals)


def test_dragging_a_number_is_one_step_and_esc_takes_it_back(
    studio: Studio, pane: InspectorPane, qtbot: QtBot
) -> None:
    node = one(studio, pane, qtbot, "Conv2D")
    field = child(pane, NumberField, "field_filters")
    middle = field.rect().center()
    qtbot.mousePress(field, Qt.MouseButton.LeftButton, pos=middle)
    for x in (10, 30, 50, 80):
        qtbot.mouseMove(field, middle + QPoint(x, 0))
    assert config(studio, node)["filters"] == 128
    qtbot.mouseRelease(field, Qt.MouseButton.LeftButton, pos=middle + QPoint(80, 0))
    assert studio.document.history.texts == ("Change filters",)
    assert config(studio, node)["filters"] == 128
    qtbot.mousePress(field, Qt.MouseButton.LeftButton, pos=middle)
    qtbot.mouseMove(field, middle + QPoint(20, 0))
    qtbot.mouseMove(field, middle + QPoint(60, 0))
    assert config(studio, node)["filters"] != 128
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    assert config(studio, node)["filters"] == 128
    assert studio.document.history.texts == ("Change filters",)


def test_a_refused_value_is_said_in_place_and_esc_reverts(
    studio: Studio, pane: InspectorPane, qtbot: QtBot
) -> None:
    node = one(studio, pane, qtbot, "Conv2D")
    before = studio.document.state
    field = child(pane, NumberField, "field_filters")
    type_into(qtbot, field, "0")
    refusal = child(pane, QLabel, "refusal_filters")
    assert refusal.text().startswith("filters: expected a whole number from 1 to")
    assert field.text() == "0"
    assert studio.document.state is before
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    assert field.text() == "16"
    assert refusal.isHidden()
    type_into(qtbot, field, "2.5")
    assert "got 2.5" in child(pane, QLabel, "refusal_filters").text()
    qtbot.keyClick(field, Qt.Key.Key_Tab)
    assert field.text() == "16", "a refused value is not shown as if it held"
    type_into(qtbot, field, "24")
    assert not pane.findChildren(QLabel, "refusal_filters")[0].isVisible()
    assert config(studio, node)["filters"] == 24


@pytest.mark.slow
def test_changed_options_can_be_reset(studio: Studio, pane: InspectorPane, qtbot: QtBot) -> None:
    node = one(studio, pane, qtbot, "Conv2D")
    assert not pane.findChildren(QToolButton, "reset_strides")
    type_into(qtbot, child(pane, NumberField, "field_strides_1"), "2")
    assert config(studio, node)["strides"] == [1, 2]
    qtbot.waitUntil(lambda: bool(pane.findChildren(QToolButton, "reset_strides")))
    button = child(pane, QToolButton, "reset_strides")
    assert button.isEnabled()
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert "strides" not in config(studio, node)
    qtbot.waitUntil(lambda: not button.isEnabled())


def test_an_initialiser_and_its_numbers_are_chosen(
    studio: Studio, pane: InspectorPane, qtbot: QtBot
) -> None:
    node = one(studio, pane, qtbot, "Dense")
    section = pane.node_view.options.section("Initial values")
    assert not section.is_open
    qtbot.mouseClick(section.heading, Qt.MouseButton.LeftButton)
    assert section.is_open
    row = next(f for f in pane.node_view.options.forms if "kernel_initializer" in names(f)).row(
        "kernel_initializer"
    )
    box = row.editor.box
    box.setFocus()
    index = box.findData("constant")
    box.setCurrentIndex(index)
    box.activated.emit(index)
    assert config(studio, node)["kernel_initializer"] == "constant"
    qtbot.waitUntil(lambda: bool(row.editor.form.rows))
    type_into(qtbot, child(pane, NumberField, "field_value"), "0.25")
    assert config(studio, node)["kernel_initializer"] == "constant(0.25)"


def names(form: object) -> list[str]:
    return [row.row.option.name for row in form.rows]  # type: ignore[attr-defined]


def test_several_layers_share_what_they_have_in_common(
    studio: Studio, pane: InspectorPane, qtbot: QtBot
) -> None:
    ids = select(studio, pane, qtbot, "Conv2D", "Dense")
    assert child(pane, QLineEdit, "layer_name").isReadOnly()
    assert pane.note == f"{len(ids)} layers"
    shown = {name for form in pane.node_view.options.forms for name in names(form)}
    assert "filters" not in shown
    bias = child(pane, QCheckBox, "field_use_bias")
    qtbot.mouseClick(bias, Qt.MouseButton.LeftButton, pos=QPoint(8, bias.height() // 2))
    assert {config(studio, i).get("use_bias", True) for i in ids} == {False}
    assert studio.document.history.position == 1


@pytest.mark.slow
def test_a_layer_is_renamed_and_a_taken_name_refused(
    studio: Studio, pane: InspectorPane, qtbot: QtBot
) -> None:
    one(studio, pane, qtbot, "Conv2D")
    line = child(pane, QLineEdit, "layer_name")
    type_into(qtbot, line, "stem")
    assert pane.inspector.nodes[0].name == "stem"
    other = next(n.name for n in studio.document.state.layers() if n.type_name == "Dense")
    type_into(qtbot, line, other)
    assert "taken" in child(pane, QLabel, "name_refusal").text()
    qtbot.keyClick(line, Qt.Key.Key_Escape)
    assert line.text() == "stem"


@pytest.mark.slow
def test_freeze_bypass_and_their_refusals(
    studio: Studio, pane: InspectorPane, qtbot: QtBot
) -> None:
    node = one(studio, pane, qtbot, "Conv2D")
    freeze = child(pane, QCheckBox, "freeze")
    qtbot.mouseClick(freeze, Qt.MouseButton.LeftButton, pos=QPoint(8, freeze.height() // 2))
    assert studio.document.state.nodes[node].frozen
    assert freeze.isEnabled()
    one(studio, pane, qtbot, "Input")
    assert not freeze.isEnabled()
    assert freeze.toolTip() == "It has no parameters."
    bypass = child(pane, QCheckBox, "bypass")
    qtbot.mouseClick(bypass, Qt.MouseButton.LeftButton, pos=QPoint(8, bypass.height() // 2))
    assert "cannot be bypassed" in child(pane, QLabel, "behaviour_refusal").text()
    assert not bypass.isChecked()


@pytest.mark.slow
def test_an_error_offers_repairs_that_repair(
    studio: Studio, pane: InspectorPane, qtbot: QtBot
) -> None:
    state = studio.document.state
    flat = next(n.id for n in state.layers() if n.type_name == "Flatten")
    studio.document.apply("Delete", delete(state, [flat]))
    problem = next(p for p in studio.document.report.problems if p.node and p.fixes)
    studio.bus.select([entities.node(problem.node)])
    qtbot.waitUntil(lambda: bool(pane.node_view.head.trouble.buttons))
    assert problem.message.lower()[:20] in child(pane, QLabel, "trouble_text").text().lower()
    first = pane.node_view.head.trouble.buttons[0]
    qtbot.mouseClick(first, Qt.MouseButton.LeftButton)
    assert studio.document.report.is_valid
    qtbot.waitUntil(lambda: not pane.node_view.head.trouble.isVisible())


def test_numbers_are_those_of_checks_and_program(
    studio: Studio, pane: InspectorPane, qtbot: QtBot
) -> None:
    node = one(studio, pane, qtbot, "Conv2D")
    qtbot.waitUntil(lambda: len(pane.node_view.facts.texts) >= 4)
    shown = dict(pane.node_view.facts.texts)
    status = studio.document.report.status(node)
    assert shown["parameters"] == str(status.parameters)
    assert shown["out"] == "[" + ",".join(str(d) for d in status.shape or ()) + "]"
    facts = pane.inspector.facts()
    assert facts is not None
    assert "FLOP" in shown["forward"]
    assert "FLOP" in shown["backward"]


def test_training_settings_and_notes_belong_to_the_project(
    studio: Studio, pane: InspectorPane, qtbot: QtBot
) -> None:
    type_into(qtbot, child(pane, NumberField, "field_epochs"), "7")
    assert studio.document.state.training["epochs"] == 7
    notes = child(pane, QPlainTextEdit, "notes")
    qtbot.mouseClick(notes.viewport(), Qt.MouseButton.LeftButton)
    qtbot.keyClicks(notes, "try more filters")
    assert "try more filters" in studio.document.state.notes
    texts = studio.document.history.texts
    assert texts.count("Edit notes") == 1
    studio.document.undo()
    qtbot.waitUntil(lambda: "try more" not in notes.toPlainText())


@pytest.mark.slow
def test_optimiser_schedule_and_lists_are_edited(
    studio: Studio, pane: InspectorPane, qtbot: QtBot
) -> None:
    row = pane.graph_view.settings.section("Optimiser").body.form.row("optimizer")
    index = row.editor.box.findData("SGD")
    row.editor.box.setCurrentIndex(index)
    row.editor.box.activated.emit(index)
    optimiser = studio.document.state.training["optimizer"]
    assert optimiser["type"] == "SGD"
    assert optimiser["config"]["learning_rate"]["type"] == "CosineDecay"
    pane.graph_view.settings.section("Loss and metrics").set_open(True)
    metrics = pane.graph_view.settings.section("Loss and metrics").body.form.row("metrics").editor
    index = metrics.adder.findData("MeanSquaredError")
    metrics.adder.activated.emit(index)
    assert studio.document.state.training["metrics"] == ["MeanSquaredError"]
    qtbot.waitUntil(
        lambda: any(w.isVisible() for w in pane.findChildren(QWidget, "remove_metrics_0"))
    )
    qtbot.mouseClick(child(pane, QWidget, "remove_metrics_0"), Qt.MouseButton.LeftButton)
    assert "metrics" not in studio.document.state.training


@pytest.mark.slow
def test_every_layer_type_and_setting_has_an_editor_that_fits_280_points(
    studio: Studio, pane: InspectorPane, qtbot: QtBot
) -> None:
    for title in ("Optimiser", "Loss and metrics", "Stopping", "Checkpoints", "Program"):
        pane.graph_view.settings.section(title).set_open(True)
    shown = {n for form in pane.graph_view.settings.forms for n in names(form)}
    assert shown | {"validation_fraction", "loss_weights"} == {
        o.name for o in TrainingSettings.options
    }
    for kind in all_layers():
        state = add_layer(studio.document.state, kind.__name__)
        added = next(i for i in state.nodes if i not in studio.document.state.nodes)
        studio.document.apply("Add", state)
        studio.bus.select([entities.node(added)])
        pane.refresh()
        assert [n.id for n in pane.inspector.nodes] == [added]
        shown = {n for form in pane.node_view.options.forms for n in names(form)}
        layer = layer_at(state.nodes[added])
        assert shown == {option.name for option, _ in layer.form_values()}
        for title in ("Options", "Constants", "Initial values", "Regularisation", "Read-only"):
            if title in pane.node_view.options._sections:
                pane.node_view.options.section(title).set_open(True)
        qtbot.wait(1)
        assert pane.node_view.minimumSizeHint().width() <= 252, kind.__name__
    assert pane.graph_view.minimumSizeHint().width() <= 252


def test_a_pin_keeps_the_layer_and_the_next_project_is_shown(
    studio: Studio, pane: InspectorPane, qtbot: QtBot
) -> None:
    node = one(studio, pane, qtbot, "Conv2D")
    pane.set_pinned(True)
    studio.bus.clear()
    assert [n.id for n in pane.inspector.nodes] == [node]
    pane.set_pinned(False)
    assert pane.inspector.nodes == ()
    studio.new()
    qtbot.waitUntil(lambda: pane.graph_view.name.text() == "untitled")


@pytest.mark.slow
def test_every_field_has_a_name_and_a_tip(
    studio: Studio, pane: InspectorPane, qtbot: QtBot
) -> None:
    one(studio, pane, qtbot, "Conv2D")
    for kind in (QLineEdit, QCheckBox, QPushButton, QPlainTextEdit):
        for widget in pane.findChildren(kind):
            if widget.objectName().startswith("qt_"):
                continue
            name = widget.objectName() or type(widget).__name__
            assert widget.accessibleName() or getattr(widget, "text", str)(), name


@pytest.mark.slow
def test_what_was_changed_stays_bold_in_another_theme(
    studio: Studio, pane: InspectorPane, qtbot: QtBot
) -> None:
    epochs = child(pane, QLabel, "label_epochs")
    seed = child(pane, QLabel, "label_seed")
    before = theme.current()
    assert epochs.font().bold()
    assert not seed.font().bold()
    try:
        theme.install(QApplication.instance(), Theme("light" if before.mode == "dark" else "dark"))
        assert epochs.font().bold()
        assert not seed.font().bold()
    finally:
        theme.install(QApplication.instance(), before)
    assert epochs.font().bold()


@pytest.mark.slow
def test_the_sign_of_a_problem_has_the_colours_of_the_theme(
    studio: Studio, pane: InspectorPane, qtbot: QtBot
) -> None:
    flat = next(n.id for n in studio.document.state.layers() if n.type_name == "Flatten")
    studio.document.apply("Delete", delete(studio.document.state, [flat]))
    problem = next(p for p in studio.document.report.problems if p.node and p.fixes)
    studio.bus.select([entities.node(problem.node)])
    trouble = pane.node_view.head.trouble
    qtbot.waitUntil(lambda: bool(trouble.buttons))
    sign = child(trouble, QLabel, "trouble_sign")
    before, first = theme.current(), sign.pixmap().toImage()
    try:
        theme.install(QApplication.instance(), Theme("light" if before.mode == "dark" else "dark"))
        assert sign.pixmap().toImage() != first
    finally:
        theme.install(QApplication.instance(), before)
    assert sign.pixmap().toImage() == first


def test_the_uses_of_a_shared_layer_are_listed_and_one_gets_its_own_weights(
    studio: Studio, pane: InspectorPane, qtbot: QtBot
) -> None:
    dense = one(studio, pane, qtbot, "Dense")
    sharing = pane.node_view.sharing
    assert not sharing.isVisible()
    source = studio.document.state.nodes[dense].sources[0]
    state = place_again(studio.document.state, dense, "again", after=source)
    studio.document.apply("Place again", state)
    qtbot.waitUntil(sharing.isVisible)
    text = sharing.findChild(QLabel, "shared_text")
    assert text is not None
    assert text.text() == "One set of weights, used 2 times:"
    words = f"after {studio.document.state.nodes[source].name}"
    assert [row.whole for row in sharing.buttons] == [f"1. {words} (this one)", f"2. {words}"]
    sharing.buttons[1].click()
    qtbot.waitUntil(lambda: [n.id for n in pane.inspector.nodes] == ["again"])
    sharing.detach.click()
    assert studio.document.state.nodes["again"].shares == ""
    assert studio.document.state.nodes["again"].name != studio.document.state.nodes[dense].name
    qtbot.waitUntil(lambda: not sharing.isVisible())


def test_a_selected_note_is_not_called_nothing(
    studio: Studio, pane: InspectorPane, qtbot: QtBot
) -> None:
    remark = child(pane, QLabel, "project_remark")
    assert isinstance(remark, QLabel)
    assert remark.text().startswith("Nothing selected")
    document = studio.document
    document.apply("Note", add_note(document.state, 0.0, 0.0, "look here"))
    note = next(node.id for node in document.state.nodes.values() if node.kind == "note")
    studio.bus.select([entities.node(note)], source="canvas")
    qtbot.waitUntil(lambda: remark.text().startswith("No layer selected"), timeout=60_000)


@pytest.mark.slow
def test_a_tied_layer_is_chosen_among_those_that_fit_and_follows_renames(
    studio: Studio, pane: InspectorPane, qtbot: QtBot
) -> None:
    state = add_layer(Document.new().state, "Input", config={"shape": [6]})
    for units in (4, 3, 4):
        state = add_layer(state, "Dense", after=list(state.nodes)[-1], config={"units": units})
    state = add_layer(
        state, "TiedDense", after="dense_2", config={"units": 6, "tied_to": "dense_2"}
    )
    state = add_layer(state, "Dense", after="tied_dense", config={"units": 4})
    studio.document.apply("network", rename(state, "dense", "first_code"))
    studio.bus.select([entities.node("tied_dense")])
    qtbot.waitUntil(lambda: [n.id for n in pane.inspector.nodes] == ["tied_dense"])
    box = child(pane, QComboBox, "field_tied_to")
    # Those before it that have as many units as it has inputs, as they are called.
    assert [box.itemText(n) for n in range(box.count())] == ["first_code", "dense_2"]
    assert box.currentText() == "dense_2"
    box.setFocus()
    qtbot.keyClick(box, Qt.Key.Key_Up)
    config = lambda: studio.document.state.nodes["tied_dense"].config  # noqa: E731
    qtbot.waitUntil(lambda: config()["tied_to"] == "first_code")
    assert studio.document.history.texts[-1] == "Change tied to"

    studio.document.apply("Rename", rename(studio.document.state, "dense", "code_1"))
    assert config()["tied_to"] == "code_1"
    qtbot.waitUntil(lambda: child(pane, QComboBox, "field_tied_to").currentText() == "code_1")
    # One that fits no more is still shown, and what fits is offered beside it.
    studio.document.apply("width", set_option(studio.document.state, "dense", "units", 5))
    box = lambda: child(pane, QComboBox, "field_tied_to")  # noqa: E731
    qtbot.waitUntil(lambda: [box().itemText(n) for n in range(box().count())]
                    == ["dense_2", "code_1"])  # fmt: skip
    assert box().currentText() == "code_1"


def test_a_normalisation_is_synchronized_by_a_click(
    studio: Studio, pane: InspectorPane, qtbot: QtBot
) -> None:
    studio.document.apply("Add", add_layer(studio.document.state, "BatchNormalization"))
    node = one(studio, pane, qtbot, "BatchNormalization")
    box = child(pane, QCheckBox, "field_synchronized")
    assert "several workers" in box.toolTip()
    assert not box.isChecked()
    qtbot.mouseClick(box, Qt.MouseButton.LeftButton, pos=QPoint(8, box.height() // 2))
    assert config(studio, node)["synchronized"] is True
    qtbot.mouseClick(box, Qt.MouseButton.LeftButton, pos=QPoint(8, box.height() // 2))
    assert "synchronized" not in config(studio, node)
