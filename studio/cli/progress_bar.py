"""The training bar of the terminal: epoch, time to go, loss, accuracy and pace."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Protocol, Self

from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn

from studio.cli import console
from studio.engine.core.progress import Progress as Heard
from studio.engine.core.progress import unheard
from studio.engine.core.signal import Signal
from studio.engine.train.loop.progress import Progress as TrainingProgress

_SCALE = 1000
_WIDTH = 20
# A compilation that is over sooner is not worth a word.
_PATIENCE = 1.0


@contextmanager
def share_bar(*, quiet: bool = False) -> Iterator[Heard]:
    """A bar for work that says how far it is; in a pipe, or ``quiet``, nothing is shown.

    Yields what hears the share, from 0 to 1 or None, and what is done.
    """
    if quiet or not console.err.is_terminal:
        yield unheard
        return
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=_WIDTH),
        console=console.err,
        transient=True,
    )
    task = bar.add_task("starting", total=None)
    with bar:
        yield lambda share, text: bar.update(
            task,
            description=escape(text),
            total=None if share is None else _SCALE,
            completed=None if share is None else share * _SCALE,
        )


class Reports(Protocol):
    """Signals that tell of a training, as `Trainer` has them."""

    progress: Signal[[TrainingProgress]]
    compiling: Signal[[int, int]]
    said: Signal[[str]]
    warned: Signal[[str]]


class ProgressBar:
    """Shows where a training stands; on a pipe it prints one line per epoch instead.

    Reports are heard on the training thread and shown by `refresh` on the caller's.

    Args:
        trainer: whose reports are shown, wherever it trains.
        quiet: show nothing.
    """

    def __init__(self, trainer: Reports, *, quiet: bool = False) -> None:
        self._latest: TrainingProgress | None = None
        self._compiled = (0, 0)
        self._began = time.monotonic()
        self._told = False
        self._lines: deque[str] = deque()
        self._quiet = quiet
        self._live = console.err.is_terminal and not quiet
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=_WIDTH),
            TextColumn("{task.fields[facts]}"),
            console=console.err,
            transient=False,
        )
        self._task = self._bar.add_task("starting", total=_SCALE, facts="")
        self._trainer = trainer
        trainer.progress.connect(self._hear)
        trainer.compiling.connect(self._hear_compiling)
        trainer.said.connect(self._hear_words)
        trainer.warned.connect(self._hear_words)

    def __enter__(self) -> Self:
        if self._live:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._trainer.progress.disconnect(self._hear)
        self._trainer.compiling.disconnect(self._hear_compiling)
        self._trainer.said.disconnect(self._hear_words)
        self._trainer.warned.disconnect(self._hear_words)
        if self._live:
            self._bar.stop()

    def refresh(self) -> None:
        """Show what was heard; called on the thread that owns the terminal."""
        if self._quiet:
            return
        while self._lines:
            console.err.print(escape(self._lines.popleft()))
        done, whole = self._compiled
        if done < whole:
            self._show_compiling(done, whole)
        elif self._latest is not None and self._live:
            report = self._latest
            title = f"epoch {min(report.epoch + 1, report.epochs)}/{report.epochs}"
            room = console.err.width - _WIDTH - len(title) - 3
            self._bar.update(
                self._task,
                description=title,
                completed=report.share * _SCALE,
                facts=escape(facts(report, room)),
            )

    def _show_compiling(self, done: int, whole: int) -> None:
        if self._live:
            self._bar.update(
                self._task,
                description="compiling",
                completed=done / whole * _SCALE,
                facts=f"{done}/{whole} kernels",
            )
        elif not self._told and time.monotonic() - self._began > _PATIENCE:
            self._told = True
            console.note(f"compiling {whole} kernels")

    def _hear(self, report: TrainingProgress) -> None:
        self._latest = report
        # An epoch that is over counts as finished and has no step of its own yet.
        if report.metrics and report.step == 0 and not self._live:
            self._lines.append(f"epoch {report.epoch}/{report.epochs}  {facts(report)}")

    def _hear_words(self, text: str) -> None:
        self._lines.append(text)

    def _hear_compiling(self, done: int, whole: int) -> None:
        if done <= 1:
            self._began = time.monotonic()
        self._compiled = (done, whole)


def facts(report: TrainingProgress, room: int = 10_000) -> str:
    """The numbers behind the bar, the most wanted first, as many as ``room`` characters hold."""
    left, pace = report.left.seconds, report.rows_per_second
    words = ["ETA -" if left is None else f"ETA {clock(left)}", *_numbers(report.metrics)]
    if pace is not None:
        words.append(f"{pace:,.0f} rows/s")
    while len(words) > 1 and len("  ".join(words)) > room:
        words.pop()
    return "  ".join(words)


def clock(seconds: float) -> str:
    """Seconds as ``m:ss`` or ``h:mm:ss``."""
    whole = max(0, round(seconds))
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{left:02d}" if hours else f"{minutes}:{left:02d}"


def _numbers(metrics: Mapping[str, float]) -> list[str]:
    """Names and values; a small one, such as a rate, keeps its digits."""
    return [
        f"{name} {value:.4f}" if value == 0 or abs(value) >= 0.01 else f"{name} {value:.2g}"
        for name, value in metrics.items()
    ]
