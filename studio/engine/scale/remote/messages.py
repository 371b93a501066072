"""What a training elsewhere is asked for, and what it tells: as events, and as lines of JSON."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from studio.engine.core.errors import StudioError
from studio.engine.core.options import Plain
from studio.engine.train.loop.progress import Progress, TimeLeft
from studio.engine.train.loop.trainer import TrainingResult
from studio.engine.train.loop.verdict import Verdict
from studio.engine.train.runs.marks import Mark
from studio.engine.train.runs.step_log import EpochSize, StepChunk, StepsHeader

Line: TypeAlias = Mapping[str, Any]

RUN = "run"
"""The message that names the run's folder, once the training is there and what it has is here."""


@dataclass(frozen=True)
class Order:
    """What is to be trained elsewhere.

    Attributes:
        run: name of the run's folder.
        settings: the project, as the run records it.
        data: the data section to open instead of the project's.
        backend: device there: ``auto``, ``gl`` or ``cpu``.
        in_order: run kernels one after another.
        resumes: go on from the last checkpoint of the run.
        passes_stop: also where a callback had ended it.
        tests: measure the test part at the end.
    """

    run: str
    settings: Mapping[str, Plain]
    data: Mapping[str, Plain] | None = None
    backend: str = "auto"
    in_order: bool = False
    resumes: bool = False
    passes_stop: bool = False
    tests: bool = False

    def to_json(self) -> dict[str, Plain]:
        """The order as a message holds it."""
        found: dict[str, Plain] = asdict(self)
        return found

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Order:
        """The order of a message; TypeError for one of another version."""
        return cls(**fields)


@dataclass(frozen=True)
class FollowRequest:
    """What a follower is wanted for.

    Attributes:
        address: of the cluster.
        order: what is to be trained; its run is empty for a new one. None to connect again.
        path: file of the project, beside which its data lies; empty without one.
        runs: folder of the runs.
        run: name of the run to connect to again.
    """

    address: str
    order: Order | None
    path: str
    runs: str
    run: str = ""

    def to_json(self) -> dict[str, Plain]:
        """The request as a message holds it."""
        order = None if self.order is None else self.order.to_json()
        return {
            "address": self.address, "order": order, "path": self.path, "runs": self.runs,
            "run": self.run,
        }  # fmt: skip

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> FollowRequest:
        """The request of a message."""
        order = fields["order"]
        return cls(**{**fields, "order": None if order is None else Order.from_json(order)})


@dataclass(frozen=True)
class Began:
    """The first step is about to run, so many are done before."""

    header: StepsHeader
    step: int


@dataclass(frozen=True)
class EpochDone:
    """An epoch with its validation is over after so many steps."""

    step: int
    numbers: Mapping[str, float]


@dataclass(frozen=True)
class Compiled:
    """How many kernels are compiled, of how many."""

    done: int
    total: int


@dataclass(frozen=True)
class Said:
    """A sentence for the user."""

    text: str
    is_warning: bool = False


@dataclass(frozen=True)
class Entered:
    """The training is in a state of `studio.engine.train.loop.control`, or ``waiting`` to begin."""

    state: str


@dataclass(frozen=True)
class Opened:
    """The device there is open; one sentence about it."""

    why: str


@dataclass(frozen=True)
class Ended:
    """It has ended.

    Attributes:
        result: what came out.
        test: numbers on the test part, where they were asked for.
        cleaning: counts of what was left out of the data or filled in; empty where nothing was.
    """

    result: TrainingResult
    test: Mapping[str, float]
    cleaning: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Failed:
    """It has failed."""

    error: StudioError


@dataclass(frozen=True)
class Lost:
    """The process that trained is gone, or the connection; the training goes on in that case."""

    why: str
    goes_on: bool


RemoteEvent: TypeAlias = (
    "Began | StepChunk | EpochDone | Mark | Progress | Compiled | Said | Entered | Opened | Ended "
    "| Failed | Lost"
)


class RemoteError(StudioError):
    """What a training elsewhere failed with."""

    def __init__(self, code: str, message: str, who: str, hint: str) -> None:
        super().__init__(message, who=who, hint=hint)
        self.code = code  # type: ignore[misc]


def line_of(event: RemoteEvent) -> dict[str, Plain]:
    """An event as a line of JSON."""
    found: Plain
    if isinstance(event, StepChunk):
        values = np.ascontiguousarray(event.values, "<f4")
        text = base64.b64encode(values.tobytes()).decode("ascii")
        found = [event.first, values.shape[-1], text, list(event.wall), list(event.relative)]
    elif isinstance(event, Failed):
        error = event.error
        found = [error.code, error.message, error.who, error.hint]
    elif isinstance(event, Ended):
        result = event.result
        unsaved = "" if result.unsaved is None else str(result.unsaved)
        plain = asdict(replace(result, unsaved=None, history={}))
        found = {
            "result": {**plain, "unsaved": unsaved}, "test": dict(event.test),
            "cleaning": dict(event.cleaning),
        }  # fmt: skip
    else:
        found = asdict(event)
    return {type(event).__name__: found}


def event_of(line: Line) -> RemoteEvent | None:
    """The event of a line; None for one that is damaged, or of another version."""
    try:
        ((kind, found),) = line.items()
        return _event(str(kind), found)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _event(kind: str, found: Any) -> RemoteEvent | None:
    plain = {"EpochDone": EpochDone, "Mark": Mark, "Compiled": Compiled, "Said": Said}
    plain |= {"Entered": Entered, "Opened": Opened, "Lost": Lost}
    if kind in plain:
        made: RemoteEvent = plain[kind](**found)
        return made
    if kind == "StepChunk":
        first, columns, text, wall, relative = found
        values = np.frombuffer(base64.b64decode(text), "<f4").reshape(-1, int(columns))
        return StepChunk(int(first), values, (wall[0], wall[1]), (relative[0], relative[1]))
    if kind == "Progress":
        return Progress(**{**found, "left": TimeLeft(**found["left"])})
    if kind == "Began":
        header = found["header"]
        size = EpochSize(**header["size"])
        metrics = tuple(map(str, header["metrics"]))
        return Began(StepsHeader(**{**header, "size": size, "metrics": metrics}), found["step"])
    if kind == "Failed":
        return Failed(RemoteError(*map(str, found)))
    return _ended(found) if kind == "Ended" else None


def _ended(found: Any) -> Ended:
    fields = dict(found["result"])
    unsaved, verdict = str(fields["unsaved"]), fields["verdict"]
    fields |= {
        "unsaved": StudioError(unsaved) if unsaved else None,
        "verdict": None if verdict is None else Verdict(**verdict),
        "epochs": tuple(fields["epochs"]),
    }
    return Ended(TrainingResult(**fields), dict(found["test"]), dict(found["cleaning"]))
