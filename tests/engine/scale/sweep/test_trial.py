"""One trial: its runs, its objective, and how it ends."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from studio.engine.formats.checkpoint import Checkpoint
from studio.engine.scale.sweep.trial import (
    Job,
    Outcome,
    failed_runs,
    outcome_of_run,
    run_names,
    run_trial,
    sweep_of,
)
from studio.engine.train.devices import open_backend
from studio.engine.train.loop.resuming import beyond_an_early_stop
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.engine.train.runs.run_folder import RunFolder
from tests.engine.scale.sweep.sweeping import linear, saved


def job_of(folder: Path, found: Project, **changes: object) -> Job:
    made = Job(
        7, 1, "2026-01-02_03-04-05", str(found.path), str(folder / "private"), (found.to_json(),),
        None, "", {"batch_size": 16}, "val_loss", False, (), "cpu", 1, False, None,
    )  # fmt: skip
    return replace(made, **changes)


def run_of(job: Job, seed: int = 0) -> RunFolder:
    return RunFolder(Path(job.place) / job.run_names()[seed])


def test_a_trial_is_an_ordinary_run(tmp_path: Path) -> None:
    found = saved(tmp_path, epochs=3)
    job = job_of(tmp_path, found)
    heard: list[tuple[int, float, bool]] = []
    outcome = run_trial(job, lambda *said: heard.append(said) or True)
    run = run_of(job)
    assert (outcome.state, outcome.epochs) == ("finished", 3)
    assert [metrics["val_loss"] for metrics in run.metrics()] == [value for _, value, _ in heard]
    assert outcome.value == heard[-1][1]
    assert [epochs for epochs, _, _ in heard] == [1, 2, 3]
    assert not any(asks for _, _, asks in heard)
    summary = run.summary()
    assert (summary["state"], summary["epochs"]) == ("finished", 3)
    assert summary["started"] == "2026-01-02_03-04-05-0007"
    assert run.project().training == found.training
    assert run.best_result() is not None
    assert outcome_of_run(run, job.sweep, 7) == outcome
    assert outcome_of_run(run, job.sweep, 8) is None
    assert sweep_of(run) == job.sweep


def test_every_seed_is_a_run_and_the_mean_counts(tmp_path: Path) -> None:
    found = saved(tmp_path)
    other = found.with_training(seed=1)
    job = job_of(tmp_path, found, settings=(found.to_json(), other.to_json()))
    outcome = run_trial(job, lambda *said: True)
    assert job.run_names() == run_names(job.sweep, 7, 2)
    ends = [run_of(job, seed).metrics()[-1]["val_loss"] for seed in (0, 1)]
    assert outcome.values == tuple(ends)
    assert ends[0] != ends[1]
    assert outcome.value == pytest.approx(sum(ends) / 2)
    assert run_of(job, 1).project().training.seed == 1


def test_a_trial_is_pruned_where_the_answer_is_no(tmp_path: Path) -> None:
    found = saved(tmp_path, epochs=9)
    other = found.with_training(seed=1)
    job = job_of(tmp_path, found, rungs=(1, 3), settings=(found.to_json(), other.to_json()))
    asked: list[int] = []

    def report(epochs: int, value: float, asks: bool) -> bool:
        if asks:
            asked.append(epochs)
        return epochs < 3

    outcome = run_trial(job, report)
    assert asked == [1, 3]
    assert (outcome.state, outcome.value, outcome.epochs) == ("pruned", None, 3)
    summary = run_of(job).summary()
    assert (summary["state"], summary["reason"]) == ("pruned", "pruned after epoch 3")
    assert not run_of(job).has_result
    assert not run_of(job, 1).path.exists()


def test_a_rung_at_the_last_epoch_decides_nothing(tmp_path: Path) -> None:
    job = job_of(tmp_path, saved(tmp_path, epochs=3), rungs=(1, 3))
    outcome = run_trial(job, lambda epochs, value, asks: not asks or epochs == 1)
    assert outcome.state == "finished"


def test_weights_put_back_by_early_stopping_are_those_that_count(tmp_path: Path) -> None:
    stopping = {"monitor": "val_loss", "mode": "max", "patience": 2, "restore_best_weights": True}
    job = job_of(tmp_path, saved(tmp_path, epochs=20, early_stopping=stopping))
    outcome = run_trial(job, lambda *said: True)
    values = [metrics["val_loss"] for metrics in run_of(job).metrics()]
    assert len(values) < 20
    assert outcome.value == max(values) != values[-1]


def test_what_fails_is_the_outcome_and_a_run_says_why(tmp_path: Path) -> None:
    optimizer = {"type": "SGD", "config": {"learning_rate": 1e30}}
    job = job_of(tmp_path, saved(tmp_path, linear(), optimizer=optimizer))
    outcome = run_trial(job, lambda *said: True)
    assert (outcome.state, outcome.value) == ("failed", None)
    summary = run_of(job).summary()
    assert (summary["state"], summary["reason"]) == ("failed", outcome.reason)
    assert "NaN" in outcome.reason or "not finite" in outcome.reason or "inf" in outcome.reason
    assert "\n" not in outcome.reason
    assert not run_of(job).has_result


def test_other_data_than_at_the_beginning_is_refused(tmp_path: Path) -> None:
    found = saved(tmp_path)
    task = Task.of_project(found)
    assert run_trial(job_of(tmp_path, found, data_hash=task.data_hash), lambda *_: True).value
    outcome = run_trial(job_of(tmp_path, found, data_hash="0" * 64), lambda *_: True)
    assert "the data is not the same as when the sweep began" in outcome.reason


def test_a_worker_may_read_data_elsewhere_and_records_the_users(tmp_path: Path) -> None:
    found = saved(tmp_path)
    other = {"source": "moons", "n": 60}
    job = job_of(tmp_path, found, data=other)
    outcome = run_trial(job, lambda *_: True)
    own = run_trial(job_of(tmp_path / "b", found), lambda *_: True)
    assert outcome.state == "finished"
    assert outcome.value != own.value
    assert run_of(job).project().data == found.data


@pytest.mark.parametrize(("worth", "kept"), [(1e9, True), (-1e9, False)])
def test_weights_of_no_use_are_not_kept(tmp_path: Path, worth: float, kept: bool) -> None:
    job = job_of(tmp_path, saved(tmp_path), worth=worth)
    run_trial(job, lambda *said: True)
    assert run_of(job).has_result is kept
    assert (run_of(job).summary()["checkpoint"] != "") is kept


def test_a_pruned_trial_whose_weights_are_kept_can_go_on(tmp_path: Path) -> None:
    found = saved(tmp_path, epochs=9)
    job = job_of(tmp_path, found, rungs=(1,), keeps_all=True)
    assert run_trial(job, lambda epochs, value, asks: not asks).state == "pruned"
    path = run_of(job).last_checkpoint()
    assert path is not None
    checkpoint = beyond_an_early_stop(Checkpoint.load(path))
    task = Task.of_project(found)
    with (
        open_backend("cpu") as device,
        Trainer(task, device.backend, run=run_of(job)) as trainer,
    ):
        trainer.resume(checkpoint)
        assert trainer.run().outcome == "finished"
    assert len(run_of(job).metrics()) == 9
    assert run_of(job).summary()["state"] == "finished"


def test_a_trial_that_no_worker_could_finish_has_a_run(tmp_path: Path) -> None:
    job = job_of(tmp_path, saved(tmp_path))
    outcome = failed_runs(job, "its worker was lost")
    assert run_of(job).summary()["state"] == "failed"
    assert outcome_of_run(run_of(job), job.sweep, 7) == outcome


def test_jobs_and_outcomes_travel_as_json(tmp_path: Path) -> None:
    job = job_of(tmp_path, saved(tmp_path), rungs=(1, 3), worth=0.5)
    assert Job.from_json(json.loads(json.dumps(job.to_json()))) == job
    outcome = Outcome("finished", "", (0.25, 0.5), 4, 1.5, "somewhere")
    assert Outcome.from_json(json.loads(json.dumps(outcome.to_json()))) == outcome
    for damage in ({"state": "well"}, {"values": 3}, {"values": ["x"]}, {"epochs": "x"}):
        with pytest.raises((ValueError, TypeError)):
            Outcome.from_json({**outcome.to_json(), **damage})
