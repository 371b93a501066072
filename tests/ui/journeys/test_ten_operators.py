"""A network with ten operations of the table is put together by mouse and keyboard, and trained."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox, QLineEdit

from studio.graph_editor.panes.palette import PalettePane
from studio.session.document.layer_types import layer_at
from studio.ui.panes.inspector.pane import InspectorPane
from tests.ui.journeys.person import Person
from tests.ui.journeys.test_main_job import attach_digits

pytestmark = pytest.mark.slow

# What people call them: names of NumPy, Keras and ONNX beside those of the table.
BEGINNING = ("input", "abs", "log1p", "reduce_mean", "flatten", "dense 24", "erf", "neg")


def test_ten_operations_are_added_changed_and_trained(person: Person) -> None:
    studio = person.studio
    person.new_project()
    for word in BEGINNING:
        person.add(word)
    _mean_becomes_square(person)
    _from_the_palette(person, "exp")
    person.click_layer("exp")
    _also_select(person, "erf")
    person.add("subtract")
    assert studio.document.state.nodes["subtract"].sources == ("exp", "erf")
    _at_least(person, "-2")
    for word in ("arctan", "rsqrt", "dense 10"):
        person.add(word)
    _root_becomes(person, "standardize")
    attach_digits(person)
    operators = [n for n in studio.document.state.layers() if n.type_name == "Operator"]
    assert [layer_at(n).first_name() for n in operators] == [
        "absolute", "log1p", "square", "erf", "negative", "exp", "subtract", "maximum",
        "arctan", "standardize",
    ]  # fmt: skip
    person.point_at_canvas()
    person.press("Escape")
    person.fill(person.see(QLineEdit, "field_epochs", person.see(InspectorPane)), "6")
    person.until(lambda: studio.compilation.result and not studio.compilation.stale_edits)
    person.press("F5")
    person.until(lambda: studio.training.state == "finished", 300_000)
    accuracy = person.until(lambda: studio.runs.runs[0].metrics.get("val_accuracy"))
    assert accuracy > 0.6, "a tenth would be guessing"


def _from_the_palette(person: Person, word: str) -> None:
    """Search the palette and press Enter."""
    pane = person.see(PalettePane)
    person.click(pane.field)
    person.type(word)
    person.press("Return")
    person.press("Escape")


def _also_select(person: Person, node_id: str) -> None:
    area = person.canvas.graph.nodes[node_id].scene_area
    at = person.canvas.view_point(QPointF(area.center().x(), area.top() + 12)).toPoint()
    shift = Qt.KeyboardModifier.ShiftModifier
    QTest.mouseClick(person.canvas.viewport(), Qt.MouseButton.LeftButton, shift, at)


def _mean_becomes_square(person: Person) -> None:
    """The inspector gives a layer another operation; its name follows."""
    person.click_layer("mean")
    box = person.reach(QComboBox, "field_operation", person.see(InspectorPane))
    person.pick(box, "square")
    assert person.studio.document.state.nodes["mean"].name == "square"
    last = next(n.id for n in person.studio.document.state.layers() if n.name == "negative")
    person.click_layer(last)


def _at_least(person: Person, number: str) -> None:
    """The operation out of the search; a number in the inspector takes the place of an input."""
    person.add("maximum")
    assert person.studio.document.report.status("maximum").state == "error"
    line = person.reach(QLineEdit, "field_constants.b", person.see(InspectorPane))
    person.fill(line, number)
    assert person.studio.document.state.nodes["maximum"].config["constants"] == {"b": -2}
    person.point_at_canvas()
    person.click_layer("maximum")


def _root_becomes(person: Person, operation: str) -> None:
    person.click_layer("rsqrt")
    box = person.reach(QComboBox, "field_operation", person.see(InspectorPane))
    person.pick(box, operation)
