"""What is measured in a window: how late its event loop is, how long a paint takes."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field

from PySide6.QtCore import QObject, QPointF, QRectF, Qt, QTimer
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

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


@dataclass
class Phase:
    """One stretch of training, with a window in some state or without one.

    Attributes:
        kind: ``bare``: no window; ``asleep``: the window's thread does nothing; ``default`` and
            ``quiet``: the window at work.
        seconds: how long it was watched.
        steps: steps the training made in that time.
        others: cores used by other processes meanwhile.
        busy: processor seconds of the training's threads.
        interface: processor seconds of the window's thread.
        latency: of the event loop; None without a window.
        paint: of the painting job; None without a window.
        blocks: times the window's thread stood still for more than 100 ms, with the place.
    """

    kind: str
    seconds: float
    steps: int
    others: float = 0.0
    busy: float = 0.0
    interface: float = 0.0
    latency: Spread | None = None
    paint: Spread | None = None
    blocks: list[str] = field(default_factory=list)

    @property
    def pace(self) -> float:
        """Steps a second."""
        return self.steps / self.seconds

    def to_json(self) -> dict[str, object]:
        """As plain data."""
        return {**asdict(self), "steps_per_second": round(self.pace, 3)}

    @property
    def busy_ms(self) -> float:
        """Processor milliseconds of the training's threads for a step."""
        return 1e3 * self.busy / self.steps if self.steps else 0.0
