"""How far the training is: state, epoch and batch, time left, over a thin bar."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.engine.core.signal import Signal
from studio.session.training.staleness import foreign_graph
from studio.session.training.state import State, TrainingStatus
from studio.session.training.training import TrainingModel
from studio.widgets import binding, icons, numbers, theme
from studio.widgets.training_tick import tick_of

STATE_ICONS: dict[State, tuple[str, str]] = {
    "idle": ("idle", "text3"),
    "preparing": ("busy", "accent"),
    "running": ("play", "ok"),
    "pausing": ("pause", "warning"),
    "paused": ("pause", "warning"),
    "stopping": ("stop", "warning"),
    "finished": ("ok", "ok"),
    "stopped": ("stop", "text2"),
    "failed": ("error", "error"),
}
"""Icon of a state and the role of its colour; its word stands beside it."""


def look_of(training: TrainingModel) -> tuple[str, str]:
    """Icon and role of its colour for how the training stands."""
    return STATE_ICONS[training.state] if training.verdict is None else ("warning", "warning")


_BAR = 4
_ICON = 14
_GAP = 6
_WIDE = 280


class _Line(NamedTuple):
    """What stands in the line, from left to right."""

    word: str
    text: str
    time: str = ""
    pace: str = ""


class _Shown(NamedTuple):
    state: State
    look: tuple[str, str]
    whole: _Line
    share: float | None
    lines: tuple[_Line, ...]
    """Ways to say it, the longest first."""
    rooms: tuple[_Line, ...]
    """The same where every count has come to its end, so that nothing changes on the way there."""


class ProgressView(QWidget):
    """Shows where the training stands; a click leads to what it is about.

    Args:
        training: the model.
        open_place: what a click does.
        parent: the transport.
    """

    def __init__(
        self, training: TrainingModel, open_place: Callable[[], object], parent: QWidget
    ) -> None:
        super().__init__(parent)
        self.setObjectName("training_progress")
        self.setFont(theme.font("small"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(theme.ROW)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._training = training
        self._open = open_place
        self._now = _Shown("idle", STATE_ICONS["idle"], _Line("", ""), None, (), ())
        changed: Signal[[]] = theme.changed
        binding.connect(self, changed, self.update)
        self._tick = tick_of(training)
        binding.connect(self, self._tick.ticked, self.show_status)
        self.show_status()

    def sizeHint(self) -> QSize:
        return QSize(_WIDE, theme.ROW)

    def minimumSizeHint(self) -> QSize:
        return QSize(120, theme.ROW)

    @property
    def worth(self) -> int:
        """Width at which it tells of a usual training epoch, batch and the time that is left."""
        usual = _Line("", "epoch 100/100, batch 100/100", "59 min 59 s left")
        return round(_width(QFontMetricsF(self.font()), usual))

    @property
    def shown(self) -> str:
        """What there is room for, in the order it stands there."""
        line = self._line()
        return " ".join(words for words in (line.word, line.text, line.pace, line.time) if words)

    @property
    def text(self) -> str:
        """What it says besides the state's word."""
        return self._now.whole.text

    @property
    def time(self) -> str:
        """Time left, or how long it took."""
        return self._now.whole.time

    @property
    def pace(self) -> str:
        """How fast it goes and how long it has, while it trains; for where there is room."""
        return self._now.whole.pace

    @property
    def share(self) -> float | None:
        """The part that is done; None where there is nothing to do."""
        return self._now.share

    def show_status(self) -> None:
        """Show the training as it stands now."""
        training, status = self._training, self._tick.status
        # It is painted again for many reasons; other places tell of it by the same clock.
        end = replace(status, epoch=status.epochs, batch=status.batches)
        lines, rooms = _lines(training, status), _lines(training, end)
        now = _Shown(
            training.state, look_of(training), lines[0], _share(training, status), lines, rooms
        )
        self.setToolTip(self._tip())
        if now != self._now:
            self._now = now
            whole = now.whole
            self.setAccessibleName("Training")
            said = (whole.word, whole.text, whole.time)
            self.setAccessibleDescription(" ".join(part for part in said if part))
            self.update()

    def _tip(self) -> str:
        training, status = self._training, self._tick.status
        lines = [training.word]
        if training.error is not None:
            lines += [str(training.error)]
        elif training.verdict is not None:
            lines += [training.verdict.evidence, f"Hint: {training.verdict.hint}"]
        elif training.outcome is not None and training.outcome.reason:
            lines.append(training.outcome.reason)
        if training.device:
            lines.append(training.device)
        if status.items_per_second:
            lines.append(f"{numbers.quantity(status.items_per_second)} samples/s")
        if status.elapsed:
            lines.append(f"{numbers.duration(status.elapsed)} training time")
        if training.is_busy and status.left.note:
            lines.append(f"The time left changes: {status.left.note}")
        if training.staleness:
            lines.append(training.staleness)
        return "\n".join(line[:1].upper() + line[1:] for line in lines if line)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self.rect().contains(
            event.position().toPoint()
        ):
            self._open()

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        icon, role = self._now.look
        # Without a bar the words stand in the middle.
        high = self.height() - (_BAR + 4.0 if self.share is not None else 0.0)
        square = QRectF(0, (high - _ICON) / 2, _ICON, _ICON)
        icons.paint(painter, icon, square, theme.colour(role))
        painter.setFont(self.font())
        self._paint_line(painter, self._line(), high)
        self._paint_bar(painter, role)
        painter.end()

    def _line(self) -> _Line:
        """The longest way to say it for which there is room."""
        metrics, now = QFontMetricsF(self.font()), self._now
        both = zip(now.lines, now.rooms, strict=True)
        fitting = (line for line, room in both if _width(metrics, room) <= self.width())
        return next(fitting, now.lines[-1])

    def _paint_line(self, painter: QPainter, line: _Line, high: float) -> None:
        metrics = QFontMetricsF(self.font())
        left, right = float(_ICON + _GAP), float(self.width())
        for words, role in ((line.time, "text2"), (line.pace, "text3")):
            if words:
                room = metrics.horizontalAdvance(words) + 1
                painter.setPen(theme.colour(role))
                place = QRectF(right - room, 0, room, high)
                painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, words)
                right -= room + 2 * _GAP
        if line.word:
            painter.setPen(theme.colour("text"))
            wide = metrics.horizontalAdvance(line.word) + 1
            place = QRectF(left, 0, wide, high)
            painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, line.word)
            left += wide + _GAP
        painter.setPen(theme.colour("error" if self._now.state == "failed" else "text2"))
        text = metrics.elidedText(line.text, Qt.TextElideMode.ElideRight, max(0.0, right - left))
        painter.drawText(QRectF(left, 0, right - left, high), Qt.AlignmentFlag.AlignVCenter, text)

    def _paint_bar(self, painter: QPainter, role: str) -> None:
        share = self.share
        if share is None:
            return
        top = self.height() - _BAR - 1
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour("field"))
        painter.drawRoundedRect(QRectF(0, top, self.width(), _BAR), _BAR / 2, _BAR / 2)
        if share > 0.0:
            painter.setBrush(theme.colour(role if role != "text2" else "outline"))
            wide = max(float(_BAR), self.width() * min(1.0, share))
            painter.drawRoundedRect(QRectF(0, top, wide, _BAR), _BAR / 2, _BAR / 2)


def rounded_time(seconds: float) -> str:
    """A time to the second: fractions would only flicker."""
    if seconds < 1.0:
        return f"<{numbers.THIN}1{numbers.THIN}s"
    return numbers.duration(float(round(seconds)))


def _text(training: TrainingModel, status: TrainingStatus) -> str:
    """What it says besides the state's word."""
    if training.state == "idle":
        return ""
    if training.state == "preparing":
        compiling = training.compiling
        if compiling.total:
            return f"compiling kernels, {compiling.done} of {compiling.total}"
        return training.doing
    if training.state == "failed":
        return "" if training.error is None else training.error.message
    if training.state == "pausing":
        return "after the current step"
    return _counts(training, status, " of ")


def _counts(training: TrainingModel, status: TrainingStatus, between: str) -> str:
    if not status.epochs or not status.epoch:
        return ""
    count = numbers.count
    words = f"epoch {count(status.epoch)}{between}{count(status.epochs)}"
    if training.is_busy and (status.counts_batches or training.state == "paused"):
        words += f", batch {count(status.batch)}{between}{count(status.batches)}"
    return words


def _lines(training: TrainingModel, status: TrainingStatus) -> tuple[_Line, ...]:
    """Ways to say where it stands, the longest first."""
    word, text = training.word, _text(training, status)
    foreign = foreign_graph(is_busy=training.is_busy, is_stale=training.is_stale)
    if foreign:
        word = f"{word} · {foreign}"
    time, pace = _time(training, status), _pace(training, status)
    found = [_Line(word, text, time, pace), _Line(word, text, time)]
    short = _counts(training, status, "/")
    if training.state in ("running", "paused"):
        # The icon tells these states too, and the status bar the time that is left.
        found += [_Line(word, short, time), _Line("", short, time), _Line("", short)]
        found += [_Line("", short.partition(",")[0])]
    elif training.state in ("finished", "stopped"):
        found += [_Line(word, text), _Line(word, short)]
    else:
        found += [_Line(word, text)]
    return tuple(found)


def _width(metrics: QFontMetricsF, line: _Line) -> float:
    """The room a line needs."""
    wide = [metrics.horizontalAdvance(words) + 1 for words in line if words]
    apart = _GAP * (bool(line.word) + 2 * bool(line.time) + 2 * bool(line.pace))
    return _ICON + _GAP + sum(wide) + apart


def _time(training: TrainingModel, status: TrainingStatus) -> str:
    """Time left, or how long it took."""
    if training.is_busy and status.left.seconds is not None:
        return f"{rounded_time(status.left.seconds)} left"
    if training.state in ("finished", "stopped") and status.elapsed:
        return rounded_time(status.elapsed)
    return ""


def _pace(training: TrainingModel, status: TrainingStatus) -> str:
    """How fast it goes and how long it has, while it trains; for where there is room."""
    if training.state not in ("running", "pausing", "paused"):
        return ""
    parts = [rounded_time(status.elapsed)] if status.elapsed else []
    if status.items_per_second and training.state == "running":
        parts.insert(0, f"{numbers.quantity(status.items_per_second)} samples/s")
    return " · ".join(parts)


def _share(training: TrainingModel, status: TrainingStatus) -> float | None:
    """The part that is done; None where there is nothing to do."""
    if training.state == "idle":
        return None
    if training.state == "preparing":
        compiling = training.compiling
        return compiling.done / compiling.total if compiling.total else 0.0
    return status.share
