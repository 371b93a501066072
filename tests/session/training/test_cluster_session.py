"""A training on a cluster, as the window's session has it: what is asked before it was sent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest

from studio.engine.scale.sweep.worker_process import WorkerProcess
from studio.session.training import cluster_session
from studio.session.training.cluster_session import ClusterPlan, ClusterSession
from tests.session.training.bench import TrainingBench


@pytest.mark.parametrize("ask", [ClusterSession.stop, ClusterSession.pause])
def test_what_is_asked_before_it_was_sent_goes_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ask: Callable[[ClusterSession], None]
) -> None:
    told: list[dict[str, object]] = []

    class Hearing(WorkerProcess):
        """A process that keeps what it is told."""

        def __init__(self, *_: object) -> None:
            """Starts nothing."""

        def send(self, **fields: object) -> None:
            told.append(fields)

        def close(self) -> None:
            """There is nothing to end."""

    monkeypatch.setattr(cluster_session, "WorkerProcess", Hearing)
    bench = TrainingBench(tmp_path)
    wanted = ClusterPlan(
        "tcp://127.0.0.1:9", bench.document.project(), tmp_path / "small.runs", "cpu"
    )
    session = ClusterSession(wanted, bench.scheduler, bench.tasks, lambda *_: None)
    closed = Event()
    session.begin(closed.wait)
    ask(session)
    closed.set()
    bench.until(lambda: len(told) > 1)
    request, word = told
    assert list(request) == ["request"]
    assert word == {"do": ask.__name__, "value": None}
    session.leave()()
    bench.close()
