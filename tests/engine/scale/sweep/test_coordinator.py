"""Whole sweeps with workers that are threads: tables, pruning, resuming, weights."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from studio.engine.core.errors import StudioError
from studio.engine.scale.sweep import coordinator as coordinating
from studio.engine.scale.sweep.coordinator import Coordinator
from studio.engine.scale.sweep.folder import SweepFolder, TrialRow, find_sweep, ranked
from studio.engine.scale.sweep.journal import TrialJournal, numbered_values, rungs_of
from studio.engine.scale.sweep.trial import Outcome
from studio.engine.scale.sweep.workers import Event
from studio.engine.train.runs.run_folder import RunFolder, latest_run, list_runs
from tests.engine.scale.sweep.sweeping import (
    RATE,
    UNITS,
    ThreadPool,
    begin,
    linear,
    run,
    saved,
    swept,
    table,
)


class KilledError(Exception):
    """The coordinator was killed here."""


class KilledPool(ThreadPool):
    """Ends the coordinator after some trials, as a kill would."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self._left = after

    def next(self, timeout: float) -> Event | None:
        if not self._left:
            raise KilledError
        event = super().next(timeout)
        self._left -= event is not None and event.kind == "done"
        return event


@pytest.mark.slow
def test_random_trials_depend_on_their_number_alone(tmp_path: Path) -> None:
    found = saved(tmp_path, epochs=1)
    pools = [ThreadPool(), ThreadPool(), ThreadPool(losing={0: 1, 2: 2})]
    tables = [
        table(swept(found, sampler="random", trials=5, workers=workers, pool=pool))
        for workers, pool in zip((1, 3, 3), pools, strict=True)
    ]
    assert tables[0] == tables[1] == tables[2]
    assert [pool.most for pool in pools[:2]] == [1, 3]
    assert pools[2].begun.count(2) == 3
    assert len({tuple(values.items()) for _, values, *_ in tables[0]}) == 5
    other = table(swept(found, sampler="random", trials=5, seed=1))
    assert [values for _, values, *_ in other] != [values for _, values, *_ in tables[0]]


def test_grid_trials_are_its_points_in_order(tmp_path: Path) -> None:
    found = saved(tmp_path, epochs=1)
    rows = swept(found, "dense.units=2,4", "batch_size=8,16", sampler="grid")
    assert [tuple(row.values.values()) for row in rows] == [(2, 8), (2, 16), (4, 8), (4, 16)]
    assert all(row.state == "finished" for row in rows)


@pytest.mark.slow
def test_every_trial_is_a_run_of_the_project(tmp_path: Path) -> None:
    found = saved(tmp_path, epochs=1)
    with begin(found, UNITS, sampler="grid") as folder:
        rows = run(folder, found)
        name = folder.name
    runs = list_runs(found)
    assert [each.name for each in runs] == [f"{name}-{number:04d}" for number in range(3)]
    for row, each in zip(rows, runs, strict=True):
        assert each.project().graph.layer("dense").config()["units"] == row.values["dense.units"]
        assert each.metrics()[-1]["val_loss"] == row.value
    assert {path.name for path in found.runs_path.iterdir()} == {each.name for each in runs}


@pytest.mark.slow
def test_synchronous_tpe_with_pruning_gives_the_same_table(tmp_path: Path) -> None:
    found = saved(tmp_path, epochs=4)
    wishes = {"trials": 14, "prune": "asha", "synchronous": True, "workers": 3}
    first = table(swept(found, **wishes))
    pool = ThreadPool(losing={1: 1, 12: 2})
    assert table(swept(found, pool=pool, **wishes)) == first
    assert {state for _, _, state, *_ in first} == {"finished", "pruned"}


@pytest.mark.slow
@pytest.mark.parametrize("after", [1, 5, 13])
def test_a_killed_synchronous_sweep_goes_on_to_the_same_table(tmp_path: Path, after: int) -> None:
    found = saved(tmp_path, epochs=4)
    wishes = {"trials": 14, "prune": "asha", "synchronous": True, "workers": 3}
    whole = table(swept(found, **wishes))
    with pytest.raises(KilledError), begin(found, **wishes) as folder:
        run(folder, found, KilledPool(after))
    with SweepFolder(find_sweep(tmp_path / "small.glassbox"), tmp_path / "small.glassbox") as left:
        pool = ThreadPool()
        assert table(run(left, found, pool)) == whole
        # What was whole is not trained again.
        assert len(pool.begun) <= 14 - after


@pytest.mark.slow
def test_a_killed_random_sweep_goes_on_to_the_same_table(tmp_path: Path) -> None:
    found = saved(tmp_path, epochs=1)
    wishes = {"sampler": "random", "trials": 6}
    whole = table(swept(found, **wishes))
    with pytest.raises(KilledError), begin(found, **wishes) as folder:
        run(folder, found, KilledPool(2))
    # As a kill in the middle of writing leaves it.
    with (folder.path / "journal.log").open("ab") as journal:
        journal.write(b'{"op_code":4,"worker')
    (folder.path / "journal.log.lock").symlink_to(folder.path / "journal.log")
    leftover = folder.work / "3-1" / "half"
    leftover.mkdir(parents=True)
    with SweepFolder(folder.path, tmp_path / "small.glassbox") as left:
        pool = ThreadPool()
        assert table(run(left, found, pool)) == whole
        assert len(pool.begun) == 4
    assert not leftover.exists()


@pytest.mark.slow
def test_a_run_that_was_moved_but_not_written_down_counts(tmp_path: Path) -> None:
    found = saved(tmp_path, epochs=1)
    with begin(found, UNITS, sampler="grid") as folder:
        whole = table(run(folder, found))
        journal = (folder.path / "journal.log").read_text("utf-8").splitlines(keepends=True)
    # The journal as it was before the last trial was told: its values are chosen, no more.
    end = max(i for i, line in enumerate(journal) if '"param_name":"dense.units"' in line)
    (folder.path / "journal.log").write_text("".join(journal[: end + 1]), encoding="utf-8")
    with SweepFolder(folder.path, tmp_path / "small.glassbox") as left:
        pool = ThreadPool()
        assert table(run(left, found, pool)) == whole
        assert pool.begun == []


@pytest.mark.slow
def test_only_the_best_keep_their_weights(tmp_path: Path) -> None:
    found = saved(tmp_path, epochs=1)
    for keep, count in ((None, 1), (2, 2), (0, 4)):
        with begin(found, sampler="random", trials=4, keep=keep) as folder:
            rows = run(folder, found)
            kept = [row.number for row in rows if row.has_weights]
            best = ranked(rows, maximize=False)
            assert sorted(row.number for row in best[:count]) == kept
            for row in rows:
                own = RunFolder(found.runs_path / f"{folder.name}-{row.number:04d}")
                assert own.has_result is row.has_weights
        if keep is None:
            last = latest_run(found)
            assert last is not None
            assert last.name == f"{folder.name}-{best[0].number:04d}"


@pytest.mark.slow
def test_what_fails_is_a_trial_too(tmp_path: Path) -> None:
    found = saved(tmp_path, linear(), epochs=1, optimizer="SGD")
    rows = swept(found, "learning_rate=0.01,1e30", "dense.units=2,4", sampler="grid")
    assert [row.state for row in rows] == ["finished"] * 2 + ["failed"] * 2
    for row, each in zip(rows, list_runs(found), strict=True):
        assert row.outcome is not None
        assert each.summary()["state"] == row.state
        assert each.summary()["reason"] == row.outcome.reason
        assert bool(row.outcome.reason) == (row.state == "failed")


@pytest.mark.slow
def test_values_that_do_not_go_together_fail_that_trial_alone(tmp_path: Path) -> None:
    found = saved(tmp_path, epochs=1, optimizer="SGD")
    rows = swept(found, "momentum=0.1,0.9", "optimizer=SGD,Adam", sampler="grid")
    assert [row.state for row in rows] == ["finished", "failed", "finished", "failed"]
    assert rows[1].outcome is not None
    assert "momentum" in rows[1].outcome.reason


@pytest.mark.slow
def test_a_trial_that_loses_every_worker_fails(tmp_path: Path) -> None:
    found = saved(tmp_path, epochs=1)
    rows = swept(found, UNITS, sampler="grid", pool=ThreadPool(losing={1: coordinating.ATTEMPTS}))
    assert [(row.state, row.attempts) for row in rows] == [
        ("finished", 1), ("failed", coordinating.ATTEMPTS), ("finished", 1),
    ]  # fmt: skip
    assert rows[1].outcome is not None
    assert "its worker was lost 3 times: it was killed" in rows[1].outcome.reason
    assert len(list_runs(found)) == 3


@pytest.mark.slow
def test_no_trial_begins_when_the_time_is_over(tmp_path: Path) -> None:
    found = saved(tmp_path, epochs=1)
    with begin(found, sampler="random", trials=5, workers=1) as folder:
        now = [0.0]
        first = Coordinator(folder, tmp_path / "small.glassbox", 10.0, clock=lambda: now[0])

        def pass_time(row: TrialRow) -> None:
            now[0] += 6.0

        first.ended.connect(pass_time)
        pool = ThreadPool()
        first.run(pool)
        assert len(pool.begun) == 2
        assert first.left == 3
        assert len(run(folder, found)) == 5


@pytest.mark.slow
def test_the_table_on_disk_is_that_of_the_journal(tmp_path: Path) -> None:
    found = saved(tmp_path, epochs=1)
    with begin(found, UNITS, sampler="grid", seeds=2) as folder:
        rows = run(folder, found)
        listed = json.loads((folder.path / "trials.json").read_text("utf-8"))["trials"]
        assert [each["trial"] for each in listed] == [0, 1, 2]
        assert [each["value"] for each in listed] == [row.value for row in rows]
        assert listed[1]["runs"] == [f"{folder.name}-0001-1", f"{folder.name}-0001-2"]
        assert all(len(each["by_seed"]) == 2 for each in listed)
    assert len(list_runs(found)) == 6


# -- the journal -----------------------------------------------------------------------------------


def test_rungs_grow_by_a_factor_up_to_the_last_epoch() -> None:
    assert rungs_of(1) == ()
    assert rungs_of(10) == (1, 3, 9)
    assert rungs_of(81) == (3, 9, 27)
    assert rungs_of(1000) == (37, 111, 333, 999)


def test_draws_are_spread_over_their_range(tmp_path: Path) -> None:
    found = saved(tmp_path)
    with begin(found, "beta_1=0..0.5", UNITS, sampler="random") as folder:
        axes = folder.plan.axes()
        drawn = [numbered_values(folder.plan, axes, number) for number in range(2000)]
        other = replace(folder.plan, seed=1)
        assert numbered_values(other, axes, 0) != drawn[0]
    numbers = [float(values["beta_1"]) for values in drawn]
    assert all(0.0 <= number < 0.5 for number in numbers)
    assert sum(numbers) / len(numbers) == pytest.approx(0.25, abs=0.01)
    counts = [sum(values["dense.units"] == units for values in drawn) for units in (2, 4, 8)]
    assert all(abs(count - 2000 / 3) < 100 for count in counts)


def test_an_answer_about_a_rung_is_given_once(tmp_path: Path) -> None:
    found = saved(tmp_path, epochs=9)
    with begin(found, sampler="random", prune="asha") as folder:
        journal = TrialJournal(folder.journal, folder.plan, folder.plan.axes())
        for _ in range(4):
            journal.ask()
        assert journal.decide(0, 1, 0.5)
        assert not journal.decide(1, 1, 0.9)
        assert journal.decide(2, 1, 0.1)
        # Tried again, with a value that would do now.
        assert not journal.decide(1, 1, 0.0)
        again = TrialJournal(folder.journal, folder.plan, folder.plan.axes())
        assert not again.decide(1, 1, 0.0)
        assert again.decide(0, 1, 0.5)


def test_a_damaged_journal_is_refused(tmp_path: Path) -> None:
    found = saved(tmp_path)
    with begin(found, sampler="random") as folder:
        journal = TrialJournal(folder.journal, folder.plan, folder.plan.axes())
        journal.ask()
        lines = folder.journal.read_bytes().splitlines(keepends=True)
        folder.journal.write_bytes(lines[0] + b"nothing\n" + b"".join(lines[1:]))
        with pytest.raises(StudioError, match="the journal of the sweep is damaged"):
            TrialJournal(folder.journal, folder.plan, folder.plan.axes())


def test_the_best_is_that_of_the_direction() -> None:
    rows = [
        TrialRow(number, {}, Outcome("finished", "", (value,)))
        for number, value in enumerate((0.5, 0.2, 0.9, 0.2))
    ]
    rows.append(TrialRow(4, {}, Outcome("pruned", "")))
    assert [row.number for row in ranked(rows, maximize=False)] == [1, 3, 0, 2]
    assert [row.number for row in ranked(rows, maximize=True)] == [2, 0, 1, 3]


@pytest.mark.slow
def test_a_larger_objective_wins_where_its_metric_has_it_so(tmp_path: Path) -> None:
    found = saved(tmp_path, epochs=1)
    with begin(found, RATE, sampler="random", trials=2, objective="val_accuracy") as folder:
        assert folder.plan.maximize
        coordinator = Coordinator(folder, tmp_path / "small.glassbox")
        pool = ThreadPool()
        coordinator.run(pool)
        best = coordinator.best
        assert best is not None
        assert best.value == max(row.value for row in coordinator.rows if row.value is not None)
