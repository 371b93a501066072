"""One recorded run as the studio lists it: what was trained, how it went, its history."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, TypeAlias

from studio.engine.core.errors import StudioError
from studio.engine.train.callbacks.callback import higher_is_better
from studio.engine.train.project.project import Project
from studio.engine.train.runs.marks import BEGINNINGS, ENDINGS, MARKS, Mark, MarkKind, read_marks
from studio.engine.train.runs.run_folder import RunFolder
from studio.engine.train.runs.run_lock import holder_of
from studio.engine.train.runs.step_log import RATE
from studio.session.core.held_out import is_shared_by
from studio.session.core.metric_names import named_outputs, outputs_in
from studio.session.core.run_notes import (
    NOTES,
    RunNotes,
    numbers_in,
    read_notes,
    started_at,
    text_in,
    title_of,
)
from studio.session.plots.curves import RunCurves
from studio.session.training.state import TrainingStatus

_LOG = logging.getLogger(__name__)

_MOST_WORD, _MOST_VERDICT = 30, 600

RunState: TypeAlias = Literal[
    "running", "finished", "early", "stopped", "failed", "pruned", "imported", "unfinished"
]

RUN_WORDS: Mapping[RunState, str] = {
    "running": "Training",
    "finished": "Finished",
    "early": "Stopped early",
    "stopped": "Stopped",
    "failed": "Failed",
    "pruned": "Pruned",
    "imported": "Imported",
    "unfinished": "Interrupted",
}


_WORDS: Mapping[MarkKind, str] = {
    "finished": "finished",
    "early": "stopped early",
    "stopped": "stopped",
    "failed": "failed",
    "paused": "paused",
    "resumed": "resumed",
}


Best: TypeAlias = tuple[float, int]
"""The best number of a metric, and the epoch that reached it, from 1."""


def best_of(epochs: Iterable[tuple[int, Mapping[str, float]]]) -> dict[str, Best]:
    """The best numbers of some epochs, each with its number from 1; of equals the first."""
    found: dict[str, Best] = {}
    for epoch, numbers in epochs:
        for name, value in numbers.items():
            if name == RATE or not math.isfinite(value):
                continue
            known = found.get(name)
            more = higher_is_better(name.removeprefix("val_"), "auto")
            if known is None or (value > known[0] if more else value < known[0]):
                found[name] = (value, epoch)
    return found


@dataclass(frozen=True, eq=False)
class RunRecord:
    """A run.

    Attributes:
        folder: where it lies.
        project: what was trained; None where that cannot be read.
        problem: why it cannot, or empty.
        state: how it ended.
        reason: one sentence about that, or empty.
        verdict: what to call its end where it has not learned, and what says so; or empty.
        error: code of the error it failed with, empty where it did not.
        device: where it was trained.
        data_hash: fingerprint of the data, empty where it was not recorded.
        version: of Glassbox that trained it, empty where it was not recorded.
        epochs: epochs done.
        steps: steps done.
        seconds: how long it took.
        metrics: the numbers of its last epoch.
        best: the best number of each metric, and the epoch, from 1, that reached it first.
        parameters: numbers the network saves, where known.
        has_weights: whether there is a checkpoint to use.
        test: what it reached on the test part, when that was measured with its last weights.
        marks: when it began, was continued and ended, and changes of its rate, in order.
        notes: what the user wrote about it.
        stamp: changes when its files do.
    """

    folder: RunFolder
    project: Project | None = None
    problem: str = ""
    state: RunState = "unfinished"
    reason: str = ""
    verdict: tuple[str, str] = ("", "")
    error: str = ""
    device: str = ""
    data_hash: str = ""
    version: str = ""
    epochs: int = 0
    steps: int = 0
    seconds: float | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    parameters: int | None = None
    has_weights: bool = False
    test: Mapping[str, float] = field(default_factory=dict)
    marks: tuple[Mark, ...] = ()
    notes: RunNotes = field(default_factory=RunNotes)
    stamp: tuple[int, ...] = ()
    best: Mapping[str, Best] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its identity: the name of its folder."""
        return self.folder.name

    @property
    def outputs(self) -> tuple[str, ...]:
        """Outputs of the network it trained, where there are several."""
        if self.project is None:
            return outputs_in(self.metrics or self.test)
        return named_outputs(self.project.graph)

    @property
    def can_go_on(self) -> bool:
        """Whether it has a place to go on from: imported weights have none."""
        return self.has_weights and self.state != "imported"

    @property
    def title(self) -> str:
        """What to call it."""
        return title_of(self.name, self.notes)

    @property
    def started(self) -> datetime | None:
        """When it began."""
        return started_at(self.name)

    @property
    def is_validated_on_test(self) -> bool:
        """Whether its epochs were measured on the samples it is tested on."""
        return self.project is not None and is_shared_by(self.project.training)

    @property
    def word(self) -> str:
        """How it ended, as users read it."""
        return self.verdict[0] or RUN_WORDS[self.state]

    def living(self, status: TrainingStatus, curves: RunCurves) -> RunRecord:
        """The same as it stands while it trains.

        Args:
            status: how far it is.
            curves: what it has given so far.
        """
        return replace(
            self, state="running", reason="", verdict=("", ""), epochs=status.done,
            steps=status.steps, seconds=status.elapsed,
            metrics={**curves.last_epoch, **status.metrics}, test={}, marks=tuple(curves.marks),
            notes=replace(self.notes, test={}),
            best=best_of(curves.extremes()),
        )  # fmt: skip


def stamp_of(folder: RunFolder) -> tuple[int, ...]:
    """Times of the files a record is made of."""
    files = ("settings.json", "summary.json", "metrics.jsonl", MARKS, NOTES, "checkpoints")
    found = []
    for name in files:
        try:
            found.append((folder.path / name).stat().st_mtime_ns)
        except OSError:
            found.append(0)
    return tuple(found)


def read_record(folder: RunFolder, *, active: bool = False) -> RunRecord:
    """What a run's folder says; damage is said in ``problem``, never raised.

    Args:
        active: whether this window is training it.
    """
    active = active or holder_of(folder.path) is not None
    stamp, summary = stamp_of(folder), folder.summary()
    project, parameters, problem = None, None, ""
    try:
        project = folder.project()
        parameters = project.graph.parameter_count()
    except StudioError as error:
        problem = str(error)
    metrics, notes = numbers_in(summary.get("metrics")), read_notes(folder)
    test = numbers_in(summary.get("test"))
    epochs = summary.get("epochs")
    state = _state(summary.get("state"), active)
    is_over = state not in ("running", "unfinished")
    recorded = _epochs(folder)
    if not is_over or not metrics or not isinstance(epochs, int):
        # While it goes on, the summary tells of the part before.
        epochs, metrics = recorded[-1] if recorded else (0, {})
    if not is_over and "test" in summary:
        # What was measured before it went on was measured with other weights.
        notes, test = replace(notes, test={}), {}
    steps, seconds = summary.get("steps"), summary.get("seconds")
    return RunRecord(
        folder,
        project,
        problem,
        state,
        text_in(summary.get("reason")),
        ("", "") if active else _verdict(summary.get("verdict")),
        text_in(summary.get("error")) if summary.get("state") == "failed" else "",
        text_in(summary.get("device")),
        text_in(summary.get("data_hash")),
        text_in(summary.get("version")),
        epochs,
        steps if isinstance(steps, int) else 0,
        float(seconds) if isinstance(seconds, int | float) else None,
        metrics,
        parameters,
        folder.has_result,
        test or notes.test,
        tuple(read_marks(folder.path)),
        notes,
        stamp,
        best_of(recorded),
    )


def _epochs(folder: RunFolder) -> list[tuple[int, dict[str, float]]]:
    """Number, from 1, and numbers of every epoch that was recorded."""
    try:
        records = folder.metrics()
    except (StudioError, OSError) as error:
        _LOG.warning("the metrics of a run are left out: %s", error)
        return []
    return [
        (int(each["epoch"]) + 1, {name: value for name, value in each.items() if name != "epoch"})
        for each in records
    ]


def _state(value: object, active: bool) -> RunState:
    if active:
        return "running"
    found: dict[object, RunState] = {
        "finished": "finished", "early": "early", "stopped": "stopped", "failed": "failed",
        "pruned": "pruned", "imported": "imported",
    }  # fmt: skip
    return found.get(value, "unfinished") if isinstance(value, str) else "unfinished"


def _verdict(value: object) -> tuple[str, str]:
    if not isinstance(value, Mapping):
        return "", ""
    word, text = (" ".join(text_in(value.get(key)).split()) for key in ("word", "text"))
    return (word[:_MOST_WORD], text[:_MOST_VERDICT]) if word and text else ("", "")


def parts_of(marks: Sequence[Mark]) -> int:
    """How many parts a run was trained in."""
    return sum(mark.kind in BEGINNINGS for mark in marks)


def history_of(marks: Sequence[Mark], *, is_training: bool = False) -> tuple[str, ...]:
    """A line for each thing that happened; none for a run that was trained in one go."""
    if _in_one_go(marks):
        return ()
    return tuple(
        f"{when}  {what}".strip() for when, what in events_of(marks, is_training=is_training)
    )


def _in_one_go(marks: Sequence[Mark]) -> bool:
    kinds = [mark.kind for mark in marks]
    return kinds in ([], ["start"], ["start", "finished"])


def events_of(marks: Sequence[Mark], *, is_training: bool = False) -> tuple[tuple[str, str], ...]:
    """When each thing happened, and what."""
    events = []
    # Older runs record no ends; only where there are some does a missing one mean an interruption.
    knows_ends = any(mark.kind in ENDINGS for mark in marks)
    under_way = False
    for mark in marks:
        if mark.kind in BEGINNINGS:
            what = _begun(mark, was_cut=under_way and knows_ends)
        elif mark.kind == "learning_rate":
            what = _rate(mark)
        else:
            what = f"{_WORDS[mark.kind]} after {_steps(mark.step)}"
        events.append((_when(mark), what))
        if mark.kind in BEGINNINGS or mark.kind in ENDINGS:
            under_way = mark.kind in BEGINNINGS
    if under_way and knows_ends and not is_training:
        events.append(("", "interrupted after"))
    return tuple(events)


def _begun(mark: Mark, *, was_cut: bool) -> str:
    if mark.kind == "start":
        return "started"
    cut = ", interrupted before" if was_cut else ""
    return f"continued after {_steps(mark.step)}{cut}"


def _rate(mark: Mark) -> str:
    rate = "by the optimiser" if math.isnan(mark.value) else f"{mark.value:.4g}"
    return f"learning rate {rate} from step {mark.step + 1:,}"


def _steps(count: int) -> str:
    return f"{count:,} step{'' if count == 1 else 's'}"


def _when(mark: Mark) -> str:
    try:
        return datetime.fromtimestamp(mark.wall).astimezone().strftime("%d %b %H:%M").lstrip("0")
    except (OverflowError, OSError, ValueError):
        return "?"
