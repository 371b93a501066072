"""The log: notices, trainings, compiles and warnings, line by line."""

from __future__ import annotations

import logging
import time
import traceback
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from threading import Lock
from typing import Literal, TypeAlias

from studio.engine.core.errors import StudioError
from studio.engine.core.signal import Signal
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.runs.run_folder import RunFolder
from studio.session.compile.compilation import Compilation
from studio.session.core.scheduling import Scheduler
from studio.session.notices.notices import Notice, Notices, Severity
from studio.session.training.state import TrainingOutcome
from studio.session.training.training import TrainingModel

Source: TypeAlias = Literal["studio", "training", "compiler", "engine", "window"]

MOST = 5000
"""Lines kept."""

RANK: dict[Severity, int] = {"info": 0, "ok": 0, "warning": 1, "error": 2}
"""How much a severity matters; a filter shows one and everything above it."""


@dataclass(eq=False)
class LogLine:
    """One thing that happened.

    Attributes:
        number: counts up over the session.
        when: seconds since the epoch.
        severity: how much it matters.
        source: who says it.
        text: one sentence.
        details: more about it, perhaps many lines.
        times: how often it was said in a row.
    """

    number: int
    when: float
    severity: Severity
    source: Source
    text: str
    details: str = ""
    times: int = 1

    @property
    def clock(self) -> str:
        """The time of day."""
        return time.strftime("%H:%M:%S", time.localtime(self.when))

    def plain(self) -> str:
        """The line as text to copy."""
        often = f" ({self.times} times)" if self.times > 1 else ""
        head = f"{self.clock}  {self.severity:<7}  {self.source:<8}  {self.text}{often}"
        indented = "".join(f"\n    {line}" for line in self.details.splitlines())
        return head + indented


@dataclass
class LogFilter:
    """Which lines are shown.

    Attributes:
        least: lines less severe are hidden.
        text: words that all must stand in a line.
        source: one source, or empty for all.
    """

    least: Severity = "info"
    text: str = ""
    source: str = ""

    def passes(self, line: LogLine) -> bool:
        """Whether a line is shown."""
        if RANK[line.severity] < RANK[self.least] or self.source not in ("", line.source):
            return False
        found = f"{line.text} {line.details} {line.source}".casefold()
        return all(word in found for word in self.text.casefold().split())


class Logbook:
    """The lines of this session, newest last.

    Args:
        scheduler: the window's thread; lines may be added from any.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self.changed: Signal[[]] = Signal()
        self.pointed: Signal[[]] = Signal()
        self.pointed_at: LogLine | None = None
        """The line that was asked for last."""
        self._scheduler = scheduler
        self._lines: deque[LogLine] = deque(maxlen=MOST)
        self._numbers = 0
        self._lock = Lock()
        self._waiting: list[LogLine] = []
        self._handler: _Handler | None = None

    @property
    def lines(self) -> tuple[LogLine, ...]:
        """Every line kept, oldest first."""
        return tuple(self._lines)

    def shown(self, which: LogFilter) -> tuple[LogLine, ...]:
        """The lines a filter lets through, oldest first."""
        return tuple(line for line in self._lines if which.passes(line))

    def add(
        self,
        text: str,
        severity: Severity = "info",
        source: Source = "studio",
        details: str = "",
    ) -> None:
        """Write a line; from any thread."""
        line = LogLine(0, time.time(), severity, source, text, details)
        with self._lock:
            self._waiting.append(line)
            first = len(self._waiting) == 1
        # One call brings all that gathered, so that a flood of lines does not flood the window.
        if first:
            self._scheduler.post(self._bring_in)

    def add_error(self, error: StudioError, source: Source) -> None:
        """Write what went wrong, and what to do about it."""
        text = f"{error.who}: {error.message}" if error.who else error.message
        self.add(text, "error", source, "\n".join(p for p in (error.hint, error.origin) if p))

    def point_at(self, text: str) -> None:
        """Ask for the log to be shown, at the latest line that says this."""
        found = (line for line in reversed(self._lines) if line.text == text)
        self.pointed_at = next(found, None)
        self.pointed.emit()

    def clear(self) -> None:
        """Forget every line."""
        self._lines.clear()
        self.pointed_at = None
        self.changed.emit()

    def follow_notices(self, notices: Notices) -> None:
        """Write every notice from now on."""
        notices.added.connect(self._notice)

    def follow_logging(self, name: str = "studio") -> None:
        """Write warnings and errors of a logger from now on; `close` ends it."""
        if self._handler is None:
            self._handler = _Handler(self, name)

    def close(self) -> None:
        """Listen to the logger no longer."""
        if self._handler is not None:
            self._handler.leave()
            self._handler = None

    def _notice(self, notice: Notice) -> None:
        if not notice.in_log:
            self.add(notice.text, notice.severity, "studio", notice.details)

    def _bring_in(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for line in waiting:
            last = self._lines[-1] if self._lines else None
            if last is not None and _same(last, line):
                last.times += 1
                last.when = line.when
                continue
            self._numbers += 1
            line.number = self._numbers
            self._lines.append(line)
        self.changed.emit()


def as_text(lines: Iterable[LogLine]) -> str:
    """Lines as text to copy."""
    return "\n".join(line.plain() for line in lines)


def _same(one: LogLine, other: LogLine) -> bool:
    return (one.severity, one.source, one.text, one.details) == (
        other.severity, other.source, other.text, other.details,
    )  # fmt: skip


class _Handler(logging.Handler):
    """Writes what the engine logs."""

    def __init__(self, book: Logbook, name: str) -> None:
        super().__init__(logging.WARNING)
        self._book = book
        self._logger = logging.getLogger(name)
        self._logger.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record; from any thread."""
        try:
            text = record.getMessage()
            details = ""
            if record.exc_info is not None:
                details = "".join(traceback.format_exception(*record.exc_info)).rstrip()
        except Exception:
            self.handleError(record)
            return
        severity: Severity = "error" if record.levelno >= logging.ERROR else "warning"
        source: Source = "engine" if record.name.startswith("studio.engine") else "window"
        self._book.add(text, severity, source, details)

    def leave(self) -> None:
        """Listen no longer."""
        self._logger.removeHandler(self)


class LogEvents:
    """Writes into the log what compiler and trainings report.

    Args:
        compilation: says what it made, or why it could not.
        training: says when it begins and how it ends.
    """

    def __init__(self, log: Logbook, compilation: Compilation, training: TrainingModel) -> None:
        self._log = log
        self._compilation = compilation
        self._training = training
        self._told: float | None = None
        self._error = ""
        compilation.changed.connect(self._compiled)
        training.started.connect(self._started)
        training.sent.connect(self._sent)
        training.ended.connect(self._ended)

    def _compiled(self) -> None:
        found, stop = self._compilation.result, self._compilation.stop
        if stop is not None:
            # What the checks of the graph say comes and goes as one draws: it is no event.
            if stop.stage and str(stop.error) != self._error:
                self._error = str(stop.error)
                self._log.add_error(stop.error, "compiler")
            return
        self._error = ""
        # Kernels that a device takes over into a result are no compile.
        if found is None or found.ended == self._told:
            return
        self._told = found.ended
        parts = (
            f"{len(made.provenance)} instructions to {mode}"
            for mode, made in found.programs.items()
        )
        name = found.task.name if found.task is not None else found.state.name
        self._log.add(f"Compiled {name}: {', '.join(parts)}", source="compiler")

    def _started(self, trainer: Trainer) -> None:
        run = "" if trainer.run_folder is None else f" as run {trainer.run_folder.name}"
        device = self._training.device
        self._log.add(f"Training started{run}", source="training", details=device)

    def _sent(self, run: RunFolder) -> None:
        where = f"on the cluster at {self._training.address}"
        self._log.add(f"Training sent as run {run.name}", source="training", details=where)

    def _ended(self, outcome: TrainingOutcome) -> None:
        if outcome.is_lost:
            # A notice says so, and notices are in the log.
            return
        if outcome.error is not None:
            # The user is told of it, and what the user is told is in the log.
            return
        numbers = ", ".join(f"{name} {value:.4g}" for name, value in outcome.metrics.items())
        word = {"stopped": "Training stopped", "finished": "Training finished"}[outcome.state]
        # A verdict is a notice, and notices are in the log.
        is_well = outcome.state == "finished" and outcome.verdict is None
        reason = f": {outcome.reason}" if outcome.reason else ""
        self._log.add(
            f"{word} after {outcome.seconds:.1f} s{reason}",
            "ok" if is_well else "info",
            "training",
            numbers,
        )
