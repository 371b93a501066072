"""Trainings that learn nothing or break, as a person meets them in the window."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QLabel, QPushButton, QToolButton, QTreeWidgetItem

from studio.graph_editor.panes.outline import OutlinePane
from studio.session.document.edits.sections import set_training
from studio.ui.panes.problems.pane import ProblemsPane
from studio.ui.panes.tensor_view.pane import TensorViewPane
from studio.ui.panes.transport.progress import ProgressView
from tests.ui.journeys.person import Person

PATIENCE = 120_000


def train(person: Person, optimizer: str, rate: float) -> None:
    """Train the digits at a learning rate until that has ended."""
    studio = person.studio
    person.click(person.card("digits-mlp"))
    person.until(lambda: person.window.canvas is not None and person.canvas.isVisible())
    chosen = {"type": optimizer, "config": {"learning_rate": rate}}
    state = set_training(studio.document.state, {"epochs": 1, "optimizer": chosen})
    studio.document.apply("Change the rate", state)
    person.until(lambda: studio.compilation.result and not studio.compilation.stale_edits)
    person.point_at_canvas()
    person.press("F5")
    person.until(lambda: studio.training.state in ("finished", "failed"), PATIENCE)


def repair_button(pane: ProblemsPane) -> QPushButton | None:
    found = (b for b in pane.findChildren(QPushButton) if b.text().startswith("Train again"))
    return next((button for button in found if button.isVisible()), None)


@pytest.mark.slow
def test_a_training_that_did_not_learn_is_trained_again_at_the_offered_rate(
    person: Person,
) -> None:
    studio = person.studio
    train(person, "Adam", 1e6)
    verdict = studio.training.verdict
    assert verdict is not None
    progress = person.see(ProgressView, "training_progress")
    person.until(lambda: progress.shown.startswith("Did not learn"))
    assert verdict.evidence.removeprefix("loss") in progress.toolTip()
    assert "Finished" not in progress.toolTip()
    fact = person.see(QToolButton, "fact.state")
    person.until(lambda: fact.text().strip() == "Did not learn")
    assert "guessing gives 2.30" in fact.toolTip()
    person.click(progress)
    pane = person.until(lambda: person.sees(ProblemsPane, "problems_pane"))
    # The repairs of a problem stand under it once it is in hand.
    first = pane.list.visualItemRect(pane.list.item(0))
    person.click(pane.list.viewport(), first.topLeft() + QPoint(60, 8))
    button = person.until(lambda: repair_button(pane))
    assert any(verdict.text in label.text() for label in pane.findChildren(QLabel))
    before = studio.document.state.training
    person.click(button)
    training = studio.training
    person.until(lambda: training.state == "finished" and not training.verdict, PATIENCE)
    person.until(lambda: progress.shown.startswith("Finished"))
    person.until(lambda: not studio.problems.items)
    person.point_at_canvas()
    person.press("Ctrl+Z")
    assert studio.document.state.training == before


@pytest.mark.slow
def test_the_culprit_is_a_tensor_of_the_step_that_broke(person: Person) -> None:
    studio = person.studio
    train(person, "SGD", 1e30)
    step = studio.culprit.shown
    assert step is not None
    assert step.label == f"step {step.step}, where NaN or infinity appeared"
    person.click(person.until(lambda: person.sees(QPushButton, "notice_action")))
    pane = person.until(lambda: person.sees(TensorViewPane, "tensor_view_pane"))
    person.until(lambda: pane.view.badge == f"AT REST · {step.label}")
    assert pane.view.entity == step.entity
    frame = pane.view.frame
    assert frame is not None
    assert not np.isfinite(frame.snapshot.array()).all()
    statistics = pane.view.statistics
    assert statistics is not None
    assert statistics.nan + statistics.plus_inf + statistics.minus_inf > 0
    item = person.canvas.graph.nodes[step.node_id]
    assert item.card.condition == "error"
    assert step.text in item.card.message
    others = {n.card.condition for i, n in person.canvas.graph.nodes.items() if i != step.node_id}
    assert others == {"ok"}
    assert person.canvas.marks.of(step.node_id).selected
    person.click(*person.until(lambda: person.tab("Outline")))
    outline = person.until(lambda: person.sees(OutlinePane))
    rows = {item.text(0): item for item in _rows(outline)}
    name = studio.document.state.nodes[step.node_id].name
    person.until(lambda: step.text in rows[name].toolTip(0))
    # The list of problems leads there too, from wherever the person is.
    person.studio.actions.trigger("pane.tensor_view")
    assert person.sees(TensorViewPane, "tensor_view_pane") is None
    person.click(person.see(QToolButton, "fact.validity"))
    problems = person.until(lambda: person.sees(ProblemsPane, "problems_pane"))
    at = problems.list.visualItemRect(problems.list.item(0)).topLeft() + QPoint(60, 8)
    person.double_click(problems.list.viewport(), at)
    person.until(lambda: person.sees(TensorViewPane, "tensor_view_pane"))
    # Another network: nothing of that step is shown for it; the same again after undo.
    person.point_at_canvas()
    person.press("Ctrl+A", "Delete", "Ctrl+Z")
    person.until(lambda: studio.culprit.shown is step)
    person.until(lambda: person.canvas.graph.nodes[step.node_id].card.condition == "error")
    person.press("F5")
    person.until(lambda: studio.culprit.kept is not step, PATIENCE)
    person.until(lambda: studio.training.state == "failed", PATIENCE)


def _rows(outline: OutlinePane) -> list[QTreeWidgetItem]:
    tree = outline.tree
    rows = (tree.topLevelItem(place) for place in range(tree.topLevelItemCount()))
    return [row for row in rows if row is not None]
