"""Trained weights beside an edited document, reset and closing."""

from __future__ import annotations

import pytest

from studio.session.document.edits.layers import set_option
from tests.session.training.bench import TrainingBench


def test_weights_are_called_stale_when_the_graph_was_edited(bench: TrainingBench) -> None:
    bench.train()
    assert not bench.model.is_stale
    told: list[str] = []

    def hear() -> None:
        told.append(bench.model.staleness)

    bench.model.staleness_changed.connect(hear)
    hidden = next(node for node in bench.document.state.layers() if node.type_name == "Dense")
    state = set_option(bench.document.state, hidden.id, "units", 9)
    bench.document.apply("units", state)
    bench.model.check_staleness()
    assert told == [f"the weights are of an older graph: {hidden.name} changed"]
    bench.document.undo()
    bench.model.check_staleness()
    assert not bench.model.is_stale


def test_reset_forgets_the_weights_and_keeps_the_run(bench: TrainingBench) -> None:
    bench.train()
    run = bench.model.run
    bench.model.reset()
    assert bench.model.state == "idle"
    assert bench.model.network is None
    assert run is not None
    assert run.path.is_dir()


@pytest.mark.slow
def test_closing_while_it_trains_ends_it_cleanly(long: TrainingBench) -> None:
    long.model.start()
    long.until(lambda: long.model.status.steps > 5)
    run = long.model.run
    long.close()
    assert run is not None
    assert run.summary()["state"] == "stopped"


@pytest.mark.parametrize("tasks_first", [True, False], ids=["tasks-first", "model-first"])
def test_closing_while_it_is_prepared_leaves_nothing(
    long: TrainingBench, tasks_first: bool
) -> None:
    long.model.start()
    if tasks_first:
        long.tasks.close()
    long.close()
    assert not long.model.is_busy


def test_an_edit_is_compared_once_it_rests(bench: TrainingBench) -> None:
    bench.train()
    hidden = next(node for node in bench.document.state.layers() if node.type_name == "Dense")
    for units in (9, 10, 11):
        state = set_option(bench.document.state, hidden.id, "units", units)
        bench.model.document_changed(bench.document.apply("units", state))
        assert not bench.model.is_stale
    bench.scheduler.advance(1.0)
    assert bench.model.is_stale
