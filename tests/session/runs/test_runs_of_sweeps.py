"""Runs of a sweep in the list of runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from studio.engine.scale.sweep.trial import run_names
from studio.engine.train.runs.run_folder import list_runs
from studio.session.core.run_notes import RunNotes, title_of
from studio.session.runs.records import read_record
from tests.engine.scale.sweep.sweeping import ThreadPool, saved, swept


class PruningPool(ThreadPool):
    """Ends every trial that asks."""

    def answer(self, number: int, go_on: bool) -> None:
        super().answer(number, False)


@pytest.mark.slow
def test_trials_are_runs_with_states_and_titles_of_their_own(tmp_path: Path) -> None:
    found = saved(tmp_path, epochs=3)
    swept(found, "dense.units=2,4", sampler="grid", seeds=2, prune="asha", pool=PruningPool())
    swept(found, "dense.units=2,4", sampler="grid", seeds=2)
    records = [read_record(run) for run in list_runs(found)]
    assert [record.state for record in records] == ["pruned"] * 2 + ["finished"] * 4
    assert [record.word for record in records[:2]] == ["Pruned"] * 2
    assert records[0].reason == "pruned after epoch 1"
    assert records[0].epochs == 1
    ends = [record.title.rpartition(", ")[0] for record in records]
    assert ends == ["Trial 0, seed 1", "Trial 1, seed 1", "Trial 0, seed 1", "Trial 0, seed 2",
                    "Trial 1, seed 1", "Trial 1, seed 2"]  # fmt: skip
    assert all(record.started is not None for record in records)


def test_names_of_other_runs_say_no_trial() -> None:
    when = title_of("2026-01-02_03-04-05", RunNotes())
    assert title_of("2026-01-02_03-04-05_002", RunNotes()) == when
    (name,) = run_names("2026-01-02_03-04-05_002", 12, 1)
    assert title_of(name, RunNotes()) == f"Trial 12, {when}"
