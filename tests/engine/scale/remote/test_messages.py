"""Events of a training elsewhere as lines of JSON, and where a run says that it trains."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from studio.engine.core.errors import NumericError
from studio.engine.scale.remote.messages import (
    Began,
    Compiled,
    Ended,
    Entered,
    EpochDone,
    Failed,
    FollowRequest,
    Lost,
    Opened,
    Order,
    RemoteEvent,
    Said,
    event_of,
    line_of,
)
from studio.engine.scale.remote.mirror import TICKET
from studio.engine.scale.remote.tickets import Ticket, remove_ticket, ticket_of, write_ticket
from studio.engine.train.loop.progress import Progress, TimeLeft
from studio.engine.train.loop.trainer import TrainingResult
from studio.engine.train.loop.verdict import Verdict
from studio.engine.train.runs.marks import Mark
from studio.engine.train.runs.run_folder import RunFolder
from studio.engine.train.runs.step_log import EpochSize, StepChunk, StepsHeader

VERDICT = Verdict("stuck", 2.0, 8, 2.1, None, 0.1, 0.01)
RESULT = TrainingResult("early", "enough", {}, (0, 1), 16, 2.5, None, 3.5, VERDICT)
EVENTS: tuple[RemoteEvent, ...] = (
    Began(StepsHeader(("loss", "learning_rate"), EpochSize(8, 16, 120), 1.5), 8),
    EpochDone(16, {"loss": 0.5}),
    Mark("learning_rate", 4, 2.0, 0.1),
    Progress(1, 5, 2, 8, 10, {"loss": 0.25}, 0.01, 1.5, TimeLeft(2.0, "slower"), None, 120),
    Compiled(1, 3),
    Said("a sentence", is_warning=True),
    Entered("paused"),
    Opened("training on the CPU"),
    Ended(RESULT, {"loss": 0.75}, {"skipped": 2, "filled": 7}),
    Lost("it is gone", goes_on=True),
)


def through(event: RemoteEvent) -> RemoteEvent | None:
    return event_of(json.loads(json.dumps(line_of(event))))


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_arrives_as_it_was_sent(event: RemoteEvent) -> None:
    assert through(event) == event


def test_steps_and_errors_arrive() -> None:
    values = np.array([[0.5, np.nan], [0.25, 0.1]], np.float32)
    chunk = through(StepChunk(3, values, (1.0, 2.0), (0.5, 1.5)))
    assert isinstance(chunk, StepChunk)
    np.testing.assert_array_equal(chunk.values, values)
    assert (chunk.first, chunk.wall, chunk.relative) == (3, (1.0, 2.0), (0.5, 1.5))
    failed = through(Failed(NumericError("the loss is NaN", who="training", hint="less")))
    assert isinstance(failed, Failed)
    error = failed.error
    assert (error.code, error.message, error.who, error.hint) == (
        NumericError.code, "the loss is NaN", "training", "less",
    )  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [
        {}, {"Unknown": {}}, {"Progress": 1}, {"StepChunk": [1, 2]}, {"Ended": {}},
        {"Mark": {"x": 1}},
        {"StepChunk": [0, 3, "AAAA", [0, 0], [0, 0]]}, {"Began": {"header": {}}}, {"Failed": ["x"]},
        {"Said": {"text": "a"}, "Opened": {"why": "b"}},
    ],
)  # fmt: skip
def test_a_damaged_line_is_no_event(line: dict) -> None:
    assert event_of(line) is None


def test_orders_and_errands_arrive() -> None:
    order = Order("run", {"epochs": 3}, None, "cpu", resumes=True, tests=True)
    request = FollowRequest("tcp://127.0.0.1:1", order, "/a/b.glassbox", "/a/b.runs")
    assert FollowRequest.from_json(json.loads(json.dumps(request.to_json()))) == request
    again = FollowRequest("tcp://127.0.0.1:1", None, "", "/a/b.runs", "run")
    assert FollowRequest.from_json(json.loads(json.dumps(again.to_json()))) == again


def test_a_ticket_is_kept_until_all_is_here(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    assert ticket_of(run) is None
    ticket = Ticket("tcp://127.0.0.1:1", "glassbox-1", "tcp://127.0.0.1:2", 3, "4")
    write_ticket(run, ticket)
    assert ticket_of(run) == ticket
    remove_ticket(tmp_path)
    remove_ticket(tmp_path)
    assert ticket_of(run) is None


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{", '{"address": "tcp://127.0.0.1:1"}',
        '{"address": "tcp://10.0.0.1:1", "training": "a", "worker": "b", "pid": 1, "started": ""}',
        '{"address": 1, "training": "a", "worker": "b", "pid": 1, "started": ""}',
    ],
)  # fmt: skip
def test_a_damaged_ticket_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / TICKET).write_text(text, encoding="utf-8")
    assert ticket_of(RunFolder(tmp_path)) is None
