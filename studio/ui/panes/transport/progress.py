"""How far the training is: state, epoch and batch, time left, over a thin bar."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.engine.core.signal import Signal
from studio.ui.kit import binding, icons, numbers, theme
from studio.ui.kit.training_tick import tick_of
from studio.ui.models.training import TrainingModel
from studio.ui.models.training_state import Standing, State

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

_BAR = 4
_ICON = 14
_GAP = 6
_WIDE = 280


class _Shown(NamedTuple):
    state: State
    word: str
    text: str
    time: str
    pace: str
    share: float | None


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
        self._now = _Shown("idle", "", "", "", "", None)
        changed: Signal[[]] = theme.changed
        binding.connect(self, changed, self.update)
        self._tick = tick_of(training)
        binding.connect(self, self._tick.ticked, self.show_standing)
        self.show_standing()

    def sizeHint(self) -> QSize:
        return QSize(_WIDE, theme.ROW)

    def minimumSizeHint(self) -> QSize:
        return QSize(120, theme.ROW)

    @property
    def text(self) -> str:
        """What it says besides the state's word."""
        return self._now.text

    @property
    def time(self) -> str:
        """Time left, or how long it took."""
        return self._now.time

    @property
    def pace(self) -> str:
        """How fast it goes and how long it has, while it trains; for where there is room."""
        return self._now.pace

    @property
    def share(self) -> float | None:
        """The part that is done; None where there is nothing to do."""
        return self._now.share

    def show_standing(self) -> None:
        """Show the training as it stands now."""
        training, standing = self._training, self._tick.standing
        # It is painted again for many reasons; other places tell of it by the same clock.
        now = _Shown(
            training.state, training.word, _text(training, standing),
            _time(training, standing), _pace(training, standing), _share(training, standing),
        )  # fmt: skip
        self.setToolTip(self._tip())
        if now != self._now:
            self._now = now
            self.setAccessibleName("Training")
            self.setAccessibleDescription(" ".join(p for p in (now.word, now.text, now.time) if p))
            self.update()

    def _tip(self) -> str:
        training, standing = self._training, self._tick.standing
        lines = [training.word]
        if training.error is not None:
            lines += [str(training.error)]
        elif training.ending is not None and training.ending.reason:
            lines.append(training.ending.reason)
        if training.device:
            lines.append(training.device)
        if standing.items_per_second:
            lines.append(f"{numbers.quantity(standing.items_per_second)} samples a second")
        if standing.elapsed:
            lines.append(f"{numbers.duration(standing.elapsed)} of training")
        if training.is_busy and standing.left.note:
            lines.append(f"The time left changes: {standing.left.note}")
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
        icon, role = STATE_ICONS[self._now.state]
        # Without a bar the words stand in the middle.
        high = self.height() - (_BAR + 4.0 if self.share is not None else 0.0)
        square = QRectF(0, (high - _ICON) / 2, _ICON, _ICON)
        icons.paint(painter, icon, square, theme.colour(role))
        metrics = QFontMetricsF(self.font())
        left, right = float(_ICON + _GAP), float(self.width())
        painter.setFont(self.font())
        if self.time:
            room = metrics.horizontalAdvance(self.time) + 1
            painter.setPen(theme.colour("text2"))
            place = QRectF(right - room, 0, room, high)
            painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, self.time)
            right -= room + 2 * _GAP
        painter.setPen(theme.colour("text"))
        word = self._now.word
        wide = metrics.horizontalAdvance(word) + 1
        painter.drawText(QRectF(left, 0, wide, high), Qt.AlignmentFlag.AlignVCenter, word)
        left += wide + _GAP
        pace = metrics.horizontalAdvance(self.pace) + 1
        if self.pace and left + metrics.horizontalAdvance(self.text) + 2 * _GAP + pace <= right:
            painter.setPen(theme.colour("text3"))
            place = QRectF(right - pace, 0, pace, high)
            painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, self.pace)
            right -= pace + 2 * _GAP
        painter.setPen(theme.colour("error" if self._now.state == "failed" else "text2"))
        text = metrics.elidedText(self.text, Qt.TextElideMode.ElideRight, max(0.0, right - left))
        painter.drawText(QRectF(left, 0, right - left, high), Qt.AlignmentFlag.AlignVCenter, text)
        self._paint_bar(painter, role)
        painter.end()

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


def _text(training: TrainingModel, standing: Standing) -> str:
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
        return "after the step that runs now"
    if not standing.epochs or not standing.epoch:
        return ""
    words = f"epoch {numbers.count(standing.epoch)} of {numbers.count(standing.epochs)}"
    if training.is_busy:
        words += f", batch {numbers.count(standing.batch)} of {numbers.count(standing.batches)}"
    return words


def _time(training: TrainingModel, standing: Standing) -> str:
    """Time left, or how long it took."""
    if training.is_busy and standing.left.seconds is not None:
        return f"{rounded_time(standing.left.seconds)} left"
    if training.state in ("finished", "stopped") and standing.elapsed:
        return rounded_time(standing.elapsed)
    return ""


def _pace(training: TrainingModel, standing: Standing) -> str:
    """How fast it goes and how long it has, while it trains; for where there is room."""
    if training.state not in ("running", "pausing", "paused"):
        return ""
    parts = [rounded_time(standing.elapsed)] if standing.elapsed else []
    if standing.items_per_second and training.state == "running":
        parts.insert(0, f"{numbers.quantity(standing.items_per_second)} samples/s")
    return " · ".join(parts)


def _share(training: TrainingModel, standing: Standing) -> float | None:
    """The part that is done; None where there is nothing to do."""
    if training.state == "idle":
        return None
    if training.state == "preparing":
        compiling = training.compiling
        return compiling.done / compiling.total if compiling.total else 0.0
    return standing.share
