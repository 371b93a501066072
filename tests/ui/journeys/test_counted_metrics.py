"""Metrics that count over an epoch, chosen by hand and seen in plots, runs and tests."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QComboBox, QWidget

from studio.samples import open_copy
from studio.session.document.edits.sections import set_training
from studio.ui.panes.inspector.pane import InspectorPane
from studio.ui.panes.plots.pane import PlotsPane
from tests.ui.journeys.person import Person

WAIT = 60_000


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
    section = person.reach(QWidget, "section_loss_and_metrics", pane)
    person.click(person.reach(QWidget, "fold", section))
    for count, metric in enumerate(("F1 score", "Mean IoU", "AUC")):
        person.pick(person.reach(QComboBox, "add_metrics", pane), metric)
        # The list is made again with the new metric; the box before it goes.
        person.reach(QWidget, f"remove_metrics_{count}", pane)
    chosen = ["F1Score", "MeanIoU", "AUC"]
    person.until(lambda: document.state.training["metrics"] == chosen, WAIT)

    # One yes-or-no curve does not fit three classes: the window says so before it trains.
    found = person.until(lambda: [p for p in studio.problems.items if "auc" in p.text], WAIT)
    assert "auc takes one probability of yes, the output has 3 numbers" in found[0].text
    person.click(person.reach(QWidget, "remove_metrics_2", pane))
    person.until(lambda: document.state.training["metrics"] == chosen[:2], WAIT)
    person.until(lambda: not studio.problems.errors, WAIT)

    person.press("F5")
    person.until(lambda: studio.training.state == "finished", WAIT)
    told = {"f1_score", "val_f1_score", "mean_iou", "val_mean_iou"}
    person.until(lambda: any(told <= run.metrics.keys() for run in studio.runs.runs), WAIT)
    plots = person.until(lambda: person.sees(PlotsPane), WAIT)
    drawn = {"Plot of F1 score", "Plot of Mean IoU"}
    person.until(
        lambda: drawn <= {each.accessibleName() for each in plots.findChildren(QWidget)}, WAIT
    )
