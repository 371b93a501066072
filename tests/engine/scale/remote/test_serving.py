"""The worker's side of a training on a cluster: what it is told before there is a process."""

from __future__ import annotations

from pathlib import Path

import pytest

from studio.engine.scale.remote import serving
from studio.engine.scale.sweep.worker_process import WorkerProcess


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
    training = serving.ServedTraining(tmp_path, tmp_path / "run")
    monkeypatch.setitem(serving.trainings, "one", training)
    assert not serving.command("another", "stop", None)
    assert serving.command("one", "rate", 0.5)
    assert serving.command("one", "stop", None)
    process = Hearing()
    training.begin(process, order="this")
    assert serving.command("one", "resume", None)
    assert process.told == [
        {"order": "this"},
        {"do": "rate", "value": 0.5},
        {"do": "stop", "value": None},
        {"do": "resume", "value": None},
    ]
