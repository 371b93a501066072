"""A network with two outputs, set up by hand for each of them, trained, and seen everywhere."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QLabel, QLineEdit, QWidget

from studio.session.document.edits.sections import set_training
from studio.ui.panes.inspector.pane import InspectorPane
from studio.ui.panes.plots.pane import PlotsPane
from studio.ui.panes.runs.run_table import RunTable
from studio.widgets.forms.number_editors import NumberField
from tests.session.two_outputs import save_two_outputs
from tests.ui.journeys.person import Person

WAIT = 60_000
TITLES = ("Loss", "kind: loss", "kind: accuracy", "age: loss", "age: mean squared error",
          "Learning rate")  # fmt: skip


def test_two_outputs_are_set_up_trained_and_seen(person: Person, tmp_path: Path) -> None:
    studio = person.studio
    studio.preferences.set("profile_live", False)
    studio.open(save_two_outputs(tmp_path))
    document = studio.document
    person.until(lambda: document.data_facts is not None, WAIT)
    document.apply("settings", set_training(document.state, {"epochs": 3}))
    person.point_at_canvas()
    person.press("Escape")
    pane = person.until(lambda: person.sees(InspectorPane), WAIT)
    section = person.reach(QWidget, "section_loss_and_metrics", pane)
    person.click(person.reach(QWidget, "fold", section))
    person.fill(person.reach(NumberField, "field_loss_weights", section), "1e31")
    refusal = person.reach(QLabel, "refusal_loss_weights", section)
    person.until(lambda: "from -1e+30 to 1e+30" in refusal.text(), WAIT)
    person.press("Escape")
    assert "loss_weights" not in document.state.training

    age = person.reach(QWidget, "group_age", section)
    assert age.findChild(QComboBox, "field_loss").accessibleName() == "Loss of output age"
    kind = person.reach(QWidget, "group_kind", section)
    assert age.findChild(QWidget, "field_class_weights") is None
    person.pick(person.reach(QComboBox, "field_class_weights", kind), "by class")
    person.fill(person.reach(NumberField, "field_high", kind), "3")
    age = person.reach(QWidget, "group_age", section)
    person.pick(person.reach(QComboBox, "field_loss", age), "Mean absolute error")
    person.pick(person.reach(QComboBox, "add_metrics", age), "Mean squared error")
    person.fill(person.reach(NumberField, "field_loss_weights", age), "0.5")
    training = document.state.training
    assert training["loss"] == {"age": "MeanAbsoluteError"}
    assert training["metrics"] == {"age": ["MeanSquaredError"]}
    assert training["loss_weights"] == {"age": 0.5}
    assert training["class_weights"] == {"kind": {"low": 1.0, "mid": 1.0, "high": 3.0}}
    assert document.history.texts[1:3] == ("Change class weights of kind",) * 2

    person.press("F5")
    person.until(lambda: studio.training.state in ("finished", "failed"), WAIT)
    assert studio.training.state == "finished", studio.training.error
    numbers = {"loss", "kind_loss", "kind_accuracy", "age_loss", "age_mean_squared_error"}
    told = numbers | {f"val_{name}" for name in numbers}
    person.until(lambda: any(told <= run.metrics.keys() for run in studio.runs.runs), WAIT)
    person.press("Ctrl+2")
    plots = person.until(lambda: person.sees(PlotsPane), WAIT)
    titles = ["Plot of " + each for each in TITLES]
    person.until(lambda: [each.accessibleName() for each in plots.plots] == titles, WAIT)
    table = person.until(lambda: person.sees(RunTable), WAIT)
    heads = [
        table.entries.headerData(place, Qt.Orientation.Horizontal)
        for place in range(len(table.entries.columns))
        if not table.isColumnHidden(place)
    ]
    assert {"kind: val. acc.", "age: val. loss"} <= set(heads)


def test_an_output_without_a_loss_is_seen_everywhere(person: Person, tmp_path: Path) -> None:
    studio = person.studio
    studio.preferences.set("profile_live", False)
    studio.open(save_two_outputs(tmp_path))
    document = studio.document
    person.until(lambda: document.data_facts is not None, WAIT)
    document.apply("settings", set_training(document.state, {"epochs": 3}))
    person.point_at_canvas()
    person.press("Escape")
    pane = person.until(lambda: person.sees(InspectorPane), WAIT)
    section = person.reach(QWidget, "section_loss_and_metrics", pane)
    person.click(person.reach(QWidget, "fold", section))
    age = person.reach(QWidget, "group_age", section)
    person.pick(person.reach(QComboBox, "field_loss", age), "None")
    person.until(lambda: document.state.training.get("loss") == {"age": None}, WAIT)
    assert age.findChild(QComboBox, "field_loss").currentText() == "None"
    kind = person.reach(QWidget, "group_kind", section)
    person.pick(person.reach(QComboBox, "field_loss", kind), "None")
    refusal = person.reach(QLabel, "refusal_loss", kind)
    person.until(lambda: "at least one output needs a loss" in refusal.text(), WAIT)
    assert document.state.training["loss"] == {"age": None}
    person.pick(person.reach(QComboBox, "add_weighted_metrics", kind), "Accuracy")
    assert document.state.training["weighted_metrics"] == {"kind": ["Accuracy"]}

    person.press("F5")
    person.until(lambda: studio.training.state in ("finished", "failed"), WAIT)
    assert studio.training.state == "finished", studio.training.error
    plots = person.until(lambda: person.sees(PlotsPane), WAIT)
    titles = ["Plot of " + each for each in
              ("Loss", "kind: accuracy", "kind: weighted accuracy", "Learning rate")]  # fmt: skip
    person.until(lambda: [each.accessibleName() for each in plots.plots] == titles, WAIT)
    person.until(lambda: studio.evaluation.results is not None, WAIT)
    studio.evaluation.choose_output(1)
    results = studio.evaluation.results
    assert results is not None
    assert results.shown_metrics.keys() == {"total_loss"}
    assert len(results.outcome.losses) == len(results)


def test_a_renamed_output_trains_and_a_deleted_one_leaves_plain_settings(
    person: Person, tmp_path: Path
) -> None:
    studio = person.studio
    studio.preferences.set("profile_live", False)
    watched = {"loss": {"age": "mae"}, "early_stopping": {"monitor": "val_age_loss"}}
    studio.open(save_two_outputs(tmp_path, watched))
    document = studio.document
    person.until(lambda: document.data_facts is not None, WAIT)
    document.apply("settings", set_training(document.state, {"epochs": 2}))
    person.point_at_canvas()
    person.press("Escape")
    pane = person.until(lambda: person.sees(InspectorPane), WAIT)
    settings = pane.graph_view.settings
    kind = person.until(lambda: settings.groups("Loss and metrics").get("kind"), WAIT)
    person.click_layer("age")
    field = person.reach(QLineEdit, "layer_name", pane)
    person.until(lambda: field.text() == "age", WAIT)
    person.fill(field, "years")
    person.until(lambda: document.state.nodes["age"].name == "years", WAIT)
    assert document.state.training["loss"] == {"years": "MeanAbsoluteError"}
    assert document.history.texts[-1] == "Rename"
    # The data is read again under the new name; nothing is wrong meanwhile.
    person.until(lambda: studio.data.status == "ready" and studio.data.dataset is not None, WAIT)
    assert not studio.problems.errors

    person.point_at_canvas()
    person.press("F5")
    person.until(lambda: studio.training.state in ("finished", "failed"), WAIT)
    assert studio.training.state == "finished", studio.training.error
    assert "val_years_loss" in studio.training.curves.last_epoch

    person.press("Escape")
    person.until(lambda: list(settings.groups("Loss and metrics")) == ["kind", "years"], WAIT)
    assert settings.groups("Loss and metrics")["kind"] is kind
    person.click_layer("age")
    person.press("Delete")
    person.until(lambda: "age" not in document.state.nodes, WAIT)
    assert "loss" not in document.state.training
    person.until(lambda: studio.data.status == "ready", WAIT)
    person.until(lambda: not studio.problems.errors, WAIT)
    person.press("Escape")
    section = person.reach(QWidget, "section_loss_and_metrics", pane)
    person.click(person.reach(QWidget, "fold", section))
    assert person.until(lambda: section.findChild(QComboBox, "field_loss"), WAIT)
    assert section.findChild(QWidget, "group_kind") is None

    person.press("Ctrl+Z")
    person.until(lambda: "age" in document.state.nodes, WAIT)
    assert document.state.training["loss"] == {"years": "MeanAbsoluteError"}
    person.reach(QWidget, "group_years", pane)
    groups = settings.groups("Loss and metrics")
    assert list(groups) == ["kind", "years"]
