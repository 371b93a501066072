"""The training bar of the terminal: epoch, step, loss, accuracy, pace and time to go."""

from __future__ import annotations

from collections import deque
from types import TracebackType
from typing import Self

from rich.progress import BarColumn, Progress, TextColumn

from studio.cli import console
from studio.engine.core.signal import Signal
from studio.engine.train.progress import Progress as TrainingProgress

_SCALE = 1000


class ProgressBar:
    """Shows the latest report of a training; on a pipe it prints one line per epoch instead.

    Args:
        progress: the signal of a trainer, heard on the training thread.
        quiet: show nothing.
    """

    def __init__(self, progress: Signal[[TrainingProgress]], *, quiet: bool = False) -> None:
        self._latest: TrainingProgress | None = None
        self._heard_epoch = 0
        self._finished: deque[TrainingProgress] = deque()
        self._live = console.err.is_terminal and not quiet
        self._quiet = quiet
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[facts]}"),
            console=console.err,
            transient=False,
        )
        self._task = self._bar.add_task("training", total=_SCALE, facts="")
        self._signal = progress
        progress.connect(self._hear)

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
        self._signal.disconnect(self._hear)
        if self._live:
            self._bar.stop()

    def refresh(self) -> None:
        """Show the latest report; called on the thread that owns the terminal."""
        report = self._latest
        if report is None or self._quiet:
            return
        if self._live:
            self._bar.update(
                self._task,
                description=f"epoch {min(report.epoch + 1, report.epochs)}/{report.epochs}",
                completed=report.share * _SCALE,
                facts=facts(report),
            )
        while self._finished:
            done = self._finished.popleft()
            if not self._live:
                console.err.print(f"epoch {done.epoch}/{done.epochs}  {facts(done)}")

    def _hear(self, report: TrainingProgress) -> None:
        self._latest = report
        if report.metrics and report.epoch > self._heard_epoch:
            self._heard_epoch = report.epoch
            self._finished.append(report)


def facts(report: TrainingProgress) -> str:
    """The numbers behind the bar."""
    words = [f"{name} {value:.4f}" for name, value in report.metrics.items()]
    words.append(f"{report.rows_per_second:,.0f} rows/s")
    words.append(f"ETA {clock(report.eta)}" if report.eta is not None else "ETA -")
    return "  ".join(words)


def clock(seconds: float) -> str:
    """Seconds as ``m:ss`` or ``h:mm:ss``."""
    whole = max(0, round(seconds))
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{left:02d}" if hours else f"{minutes}:{left:02d}"
