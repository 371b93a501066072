"""What is measured: how late a window's event loop is, how long a paint takes, and an epoch."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise

from PySide6.QtCore import QObject, QPointF, QRectF, Qt, QTimer
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from studio.engine.train.loop.trainer import Trainer

TICK_MS = 5
PAINT_EVERY_MS = 100
PAINT_CALLS = 150


@dataclass(frozen=True)
class Spread:
    """Milliseconds: median, tails, and the worst."""

    count: int
    p50: float
    p95: float
    p99: float
    worst: float

    @classmethod
    def of(cls, seconds: list[float]) -> Spread:
        """The spread of times given in seconds."""
        found = sorted(1e3 * each for each in seconds)
        if not found:
            return cls(0, 0.0, 0.0, 0.0, 0.0)
        at = [found[min(len(found) - 1, int(len(found) * share))] for share in (0.5, 0.95, 0.99)]
        return cls(len(found), *(round(each, 3) for each in at), round(found[-1], 3))

    def to_json(self) -> dict[str, float]:
        """As plain data."""
        return asdict(self)


class LatencyProbe(QObject):
    """A precise timer of 5 ms, started anew at each tick: how much later than that it comes."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.late: list[float] = []
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(TICK_MS)
        self._timer.timeout.connect(self._tick)
        self._begun = 0.0

    def start(self) -> None:
        """Measure from now on."""
        self.late = []
        self._begun = time.perf_counter()
        self._timer.start()

    def stop(self) -> Spread:
        """What was measured."""
        self._timer.stop()
        return Spread.of(self.late)

    def _tick(self) -> None:
        now = time.perf_counter()
        self.late.append(max(0.0, now - self._begun - TICK_MS * 1e-3))
        self._begun = now
        self._timer.start()


class PaintProbe(QWidget):
    """A small child of the window that paints 150 things ten times a second and takes the time."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.setGeometry(window.width() // 2, 60, 200, 120)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.spent: list[float] = []
        self._inside = 0.0
        self._timer = QTimer(self)
        self._timer.setInterval(PAINT_EVERY_MS)
        self._timer.timeout.connect(self.repaint)

    def start(self) -> None:
        """Paint and measure from now on."""
        self.spent = []
        self.show()
        self.raise_()
        self._timer.start()

    def stop(self) -> Spread:
        """What was measured."""
        self._timer.stop()
        self.hide()
        return Spread.of(self.spent)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802, D102 (Qt's)
        begun = time.perf_counter()
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor("#202430"))
        for number in range(PAINT_CALLS // 3):
            x, y = 4.0 * (number % 48), 2.0 * number % 110
            painter.setPen(QPen(QColor(120, 160, 40 + number), 1))
            painter.drawLine(QPointF(x, 0), QPointF(y, 120))
            painter.drawText(QPointF(x, y), "0.42")
            painter.drawRect(QRectF(x, y, 10, 6))
        painter.end()
        self.spent.append(time.perf_counter() - begun)


def whole_epochs(ends: Sequence[float], begun: float, ended: float) -> list[float]:
    """Seconds of each epoch that lies wholly between two readings of the clock."""
    inside = [each for each in ends if begun <= each <= ended]
    return [after - before for before, after in pairwise(inside)]


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """The mean of two values or more, and its standard error."""
    return statistics.mean(values), statistics.stdev(values) / math.sqrt(len(values))


class EpochClock:
    """When each epoch of a training ended.

    Steps are queued and heard of many at a time, so their count over a second is off by as many;
    an epoch ends when its numbers are there.

    Args:
        trainer: the training.
    """

    def __init__(self, trainer: Trainer) -> None:
        self._ends: list[float] = []
        trainer.epoch_ended.connect(self._ended)

    def within(self, begun: float, ended: float) -> list[float]:
        """Seconds of each epoch that lies wholly between two readings of the clock."""
        return whole_epochs(self._ends, begun, ended)

    def _ended(self, _epoch: int, _logs: object) -> None:
        self._ends.append(time.perf_counter())


@dataclass
class Phase:
    """One stretch of training, with the window in some state.

    Attributes:
        kind: ``asleep``: the window's thread does nothing; ``default`` and ``quiet``: it works.
        seconds: how long it was watched.
        epochs: seconds of each whole epoch in that time.
        others: cores used by other processes meanwhile.
        busy: processor seconds of the training's threads.
        interface: processor seconds of the window's thread.
        waited: seconds that thread was ready to run and had no processor.
        latency: of the event loop; None where it was not measured.
        paint: of the painting job; None where it was not measured.
        blocks: times the window's thread stood still for more than 100 ms, with the place.
    """

    kind: str
    seconds: float
    epochs: list[float]
    others: float = 0.0
    busy: float = 0.0
    interface: float = 0.0
    waited: float = 0.0
    latency: Spread | None = None
    paint: Spread | None = None
    blocks: list[str] = field(default_factory=list)

    @property
    def epoch(self) -> float:
        """Seconds an epoch took on average; not a number where none was whole."""
        return sum(self.epochs) / len(self.epochs) if self.epochs else float("nan")

    @property
    def busy_cores(self) -> float:
        """Cores that the training's threads used on average."""
        return self.busy / self.seconds

    def to_json(self) -> dict[str, object]:
        """As plain data."""
        return asdict(self)
