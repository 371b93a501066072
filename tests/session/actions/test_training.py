"""The actions of training: what each does, and why it cannot, in every state."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from studio.engine.core.signal import Signal
from studio.session.actions.training import ACTIONS
from studio.session.core.action_table import ActionRegistry
from studio.session.document.edits.removal import delete
from studio.session.document.edits.sections import set_data
from studio.session.evaluation.evaluation import EvaluationModel
from studio.session.runs.runs import RunList
from studio.session.studio import WelcomeState
from tests.session.training.bench import TrainingBench
from tests.ui.stand_ins import shows


class ActionBench(TrainingBench):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder, epochs=100_000)
        self.runs = RunList(self.model, self.scheduler, self.tasks, self.errors.append)
        self.evaluation = EvaluationModel(self.model, self.runs, self.tasks, self.preferences)
        self.actions = ActionRegistry(self.errors.append)
        self.shown: list[str] = []
        self.wanted: list[str] = []
        self.pane_wanted: Signal[[str]] = Signal()
        self.pane_wanted.connect(self._want)
        for pane in ("problems", "data"):
            self.actions.attach(shows(f"pane.{pane}", self.shown), None)
        studio = SimpleNamespace(
            actions=self.actions,
            training=self.model,
            evaluation=self.evaluation,
            runs=self.runs,
            pane_wanted=self.pane_wanted,
            welcome_state=WelcomeState(lambda: self.document),
        )
        self.actions.attach(ACTIONS, studio)

    def _want(self, pane: str) -> None:
        self.wanted.append(pane)

    def possible(self) -> set[str]:
        return {spec.id for spec in ACTIONS if not self.actions.why_not(spec.id)}

    def close(self) -> None:
        self.evaluation.close()
        self.runs.close()
        super().close()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[ActionBench]:
    made = ActionBench(tmp_path)
    yield made
    made.close()


STARTS = {"train.start", "train.step_batch", "train.step_epoch", "train.sweep"}


def test_what_is_possible_follows_the_state(bench: ActionBench) -> None:
    assert bench.possible() == STARTS
    bench.actions.trigger("train.start")
    assert bench.model.state == "preparing"
    bench.until_state("running")
    during = {"train.pause", "train.stop", "train.test", *STARTS} - {"train.start"}
    assert bench.possible() == during
    bench.actions.trigger("train.pause")
    bench.until_state("paused")
    assert bench.actions.is_checked("train.pause")
    assert bench.possible() == during | {"train.start"}
    bench.actions.trigger("train.start")
    bench.until_state("running")
    bench.actions.trigger("train.stop")
    bench.until_state("stopped")
    assert bench.possible() == STARTS | {"train.continue", "train.reset", "train.test"}
    bench.actions.trigger("train.reset")
    bench.until(lambda: bool(bench.runs.runs) and bench.runs.runs[0].state == "stopped")
    # The run is still there to go on with.
    assert bench.possible() == STARTS | {"train.continue"}
    bench.actions.trigger("train.continue")
    bench.until_state("running")


def test_training_a_graph_with_problems_shows_them(bench: ActionBench) -> None:
    state = bench.document.state
    first = next(node.id for node in state.layers())
    bench.document.apply("delete", delete(state, [first], heal=False))
    bench.actions.trigger("train.start")
    bench.actions.trigger("train.start")
    assert bench.shown == ["pane.problems"]
    assert bench.model.state == "idle"
    assert "problem" in bench.actions.why_not("train.step_batch")


def test_training_without_data_shows_where_to_choose_some(bench: ActionBench) -> None:
    bench.document.apply("No data", set_data(bench.document.state, None))
    bench.actions.trigger("train.start")
    assert bench.shown == ["pane.data"]
    assert bench.model.state == "idle"
    assert bench.actions.why_not("train.step_batch") == "no data is chosen"


def test_testing_shows_its_pane(bench: ActionBench) -> None:
    bench.actions.trigger("train.step_batch")
    bench.until_state("paused")
    bench.actions.trigger("train.test")
    assert bench.wanted == ["testing"]
    bench.until(lambda: bench.evaluation.status == "ready")


def test_every_action_has_a_sentence_and_no_keys_collide() -> None:
    registry = ActionRegistry()
    registry.declare(ACTIONS)
    assert registry.conflicts() == []
    assert all(spec.tip.endswith(".") for spec in registry)
