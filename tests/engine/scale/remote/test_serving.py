"""The worker's side of a training on a cluster: what it is told before there is a process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from studio.engine.core.process_identity import own_identity
from studio.engine.scale.remote import serving, training
from studio.engine.scale.remote.tickets import Ticket, write_ticket
from studio.engine.scale.remote.training import ClusterTraining
from studio.engine.scale.sweep.worker_process import WorkerProcess
from studio.engine.train.runs.run_folder import RunFolder


class Hearing(WorkerProcess):
    """A process that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[dict[str, object]] = []

    def send(self, **fields: object) -> None:
        """Keep a message."""
        self.told.append(fields)


def test_a_command_waits_until_the_process_has_its_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = serving.ServedTraining(tmp_path, tmp_path / "run")
    monkeypatch.setitem(serving.trainings, "one", served)
    assert not serving.command("another", "stop", None)
    assert serving.command("one", "rate", 0.5)
    assert serving.command("one", "stop", None)
    process = Hearing()
    served.begin(process, order="this")
    assert serving.command("one", "resume", None)
    assert process.told == [
        {"order": "this"},
        {"do": "rate", "value": 0.5},
        {"do": "stop", "value": None},
        {"do": "resume", "value": None},
    ]


class Cluster:
    """A cluster of this process alone."""

    def run(
        self, function: Callable[..., object], *values: object, workers: list[str]
    ) -> dict[str, object]:
        """What a function gives on each worker."""
        return {place: function(*values) for place in workers}

    def run_on_scheduler(self, *_: object) -> bool:
        """Every training is known."""
        return True

    def close(self, **_: object) -> None:
        """There is nothing to leave."""


def test_what_is_asked_while_a_training_waits_for_its_worker_is_done_when_it_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, here = RunFolder(tmp_path / "here"), own_identity()
    run.path.mkdir()
    write_ticket(run, Ticket("tcp://127.0.0.1:1", "one", "worker", here.pid, here.started))
    monkeypatch.setattr(training, "open_client", lambda _: Cluster())
    monkeypatch.setattr(training, "Future", lambda *_, **__: SimpleNamespace(status="pending"))
    with ClusterTraining("127.0.0.1:1") as following:
        following.again(run)
        following.tell("pause")
        assert following.look() == []
        served, process = serving.ServedTraining(tmp_path, tmp_path / "there"), Hearing()
        monkeypatch.setitem(serving.trainings, "one", served)
        served.begin(process)
        following.look()
        assert process.told[1:] == [{"do": "pause", "value": None}]
        following.look()
        assert len(process.told) == 2
