"""Metrics that count over an epoch, chosen by hand and seen in plots, runs and tests."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QComboBox, QScrollArea, QWidget

from studio.samples import open_copy
from studio.session.document.edits.sections import set_training
from studio.ui.panes.inspector.pane import InspectorPane
from studio.ui.panes.plots.pane import PlotsPane
from tests.ui.journeys.person import Person, in_sight

WAIT = 60_000


def scroll_to(widget: QWidget) -> None:
    area = widget
    while not isinstance(area, QScrollArea):
        area = area.parentWidget()
    area.ensureWidgetVisible(widget)


def choose(person: Person, pane: InspectorPane, metric: str) -> None:
    """Add a metric in the inspector."""
    adder = person.until(lambda: pane.findChild(QComboBox, "add_metrics"), WAIT)
    scroll_to(adder)
    person.until(lambda: in_sight(adder), WAIT)
    person.pick(adder, metric)


def test_metrics_that_count_are_chosen_trained_and_seen(person: Person, tmp_path: Path) -> None:
    studio = person.studio
    studio.preferences.set("profile_live", False)
    studio.open(open_copy("iris", tmp_path))
    document = studio.document
    changes = {"epochs": 4, "callbacks": [], "loss": "categorical_crossentropy", "metrics": []}
    document.apply("settings", set_training(document.state, changes))
    person.point_at_canvas()
    person.press("Escape")
    pane = person.until(lambda: person.sees(InspectorPane), WAIT)
    fold = pane.findChild(QWidget, "section_loss_and_metrics").findChild(QWidget, "fold")
    scroll_to(fold)
    person.click(fold)
    for metric in ("F1 score", "Mean IoU", "AUC"):
        choose(person, pane, metric)
    chosen = ["F1Score", "MeanIoU", "AUC"]
    person.until(lambda: document.state.training["metrics"] == chosen, WAIT)

    # One yes-or-no curve does not fit three classes: the window says so before it trains.
    found = person.until(lambda: [p for p in studio.problems.items if "auc" in p.text], WAIT)
    assert "auc takes one probability of yes, the output has 3 numbers" in found[0].text
    remove = person.until(lambda: pane.findChild(QWidget, "remove_metrics_2"), WAIT)
    scroll_to(remove)
    person.until(lambda: in_sight(remove), WAIT)
    person.click(remove)
    person.until(lambda: document.state.training["metrics"] == chosen[:2], WAIT)
    person.until(lambda: not studio.problems.errors, WAIT)

    person.press("F5")
    person.until(lambda: studio.training.state == "finished", WAIT)
    run = person.until(lambda: studio.runs.runs and studio.runs.runs[0], WAIT)
    assert {"f1_score", "val_f1_score", "mean_iou", "val_mean_iou"} <= run.metrics.keys()
    person.click(*person.until(lambda: person.tab("Plots"), WAIT))
    plots = person.until(lambda: person.sees(PlotsPane), WAIT)
    names = [each.accessibleName() for each in plots.findChildren(QWidget)]
    assert "Plot of F1 score" in names
    assert "Plot of Mean IoU" in names
