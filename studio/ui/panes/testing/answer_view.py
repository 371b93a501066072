"""What the network says: a bar for the share of each class, or the numbers it predicts."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.session.evaluation.answers import Answer
from studio.widgets import binding, icons, numbers, theme

_ROW = 20
_GAP = 8
_MOST_NAME = 110
_MOST_ROWS = 16
_LEAST_ROW = 12.0
_EDGE = 4.0
_LITTLE = 0.0005
_TICK = 12


class AnswerView(QWidget):
    """The answer about one row."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("answer")
        self.setAccessibleName("Answer")
        self.setFont(theme.font("small"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self._answer: Answer | None = None
        self._row = 0
        self._message = ""
        self._is_error = False
        binding.connect(self, theme.changed, self.update)

    def sizeHint(self) -> QSize:
        return QSize(220, 12 + _ROW * min(_MOST_ROWS, max(4, len(self._bars()) + 1)))

    def minimumSizeHint(self) -> QSize:
        return QSize(150, 80)

    @property
    def answer(self) -> Answer | None:
        return self._answer

    def show_answer(self, answer: Answer | None, row: int = 0) -> None:
        """Show another answer."""
        self._answer, self._row, self._message, self._is_error = answer, row, "", False
        self.setAccessibleDescription(self.text())
        origin = None if answer is None else answer.origin
        self.setToolTip("" if origin is None else f"Answered by {origin.brief}")
        self.updateGeometry()
        self.update()

    def show_message(self, text: str, *, error: bool = False) -> None:
        """Say why there is no answer."""
        self._answer, self._message, self._is_error = None, text, error
        self.setAccessibleDescription(text)
        self.update()

    def text(self) -> str:
        """The answer in words."""
        if self._answer is None:
            return self._message
        return ", ".join(map(self._line, self._bars()))

    def _line(self, bar: tuple[str, float]) -> str:
        """A bar in words, with a mark where the data says that it is this class."""
        if self._answer is None:
            return ""
        mark = " (true)" if bar[0] == self._true else ""
        return f"{bar[0]} {_value_text(self._answer, bar[1])}{mark}"

    @property
    def _true(self) -> str | None:
        """The class that the data says it is, where it says one."""
        answer = self._answer
        if answer is None or answer.truth is None or answer.truth.place < 0:
            return None
        return answer.classes[answer.truth.place] if answer.classes else None

    def _bars(self) -> list[tuple[str, float]]:
        """Classes in their order, or the likeliest where there are many; or numbers."""
        if self._answer is None:
            return []
        values = [float(v) for v in self._answer.values[self._row]]
        names = self._answer.classes or tuple(
            "predicted" if len(values) == 1 else f"output {n}" for n in range(len(values))
        )
        pairs = list(zip(names, values, strict=True))
        if self._answer.classes and len(pairs) > _MOST_ROWS:
            ranked = sorted(pairs, key=lambda pair: (pair[0] != self._true, -pair[1]))
            pairs = sorted(ranked[:_MOST_ROWS], key=lambda pair: -pair[1])
        return pairs

    def _in_sight(
        self, bars: list[tuple[str, float]]
    ) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
        """What has room, the likeliest classes in their order; and what is left out."""
        fits = max(2, int((self.height() - _EDGE) / _LEAST_ROW))
        if len(bars) <= fits:
            return bars, []
        places = range(len(bars))
        are_classes = self._answer is not None and bool(self._answer.classes)
        ranked = list(places)
        if are_classes:
            # The true class stays in sight, however unlikely it is found.
            ranked.sort(key=lambda n: (bars[n][0] != self._true, -bars[n][1]))
        kept = set(ranked[: fits - 1])
        return [bars[n] for n in places if n in kept], [bars[n] for n in places if n not in kept]

    def _rest_text(self, rest: list[tuple[str, float]]) -> str:
        if self._answer is None or not self._answer.classes:
            return f"{len(rest)} more"
        together = sum(value for _, value in rest)
        return f"{len(rest)} more, together {_value_text(self._answer, together)}"

    def shown(self) -> tuple[str, ...]:
        """The lines that have room, from above."""
        if self._answer is None:
            return (self._message,) if self._message else ()
        bars, rest = self._in_sight(self._bars())
        lines = list(map(self._line, bars))
        return (*lines, self._rest_text(rest)) if rest else tuple(lines)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(self.font())
        bars = self._bars()
        if not bars:
            painter.setPen(theme.colour("error" if self._is_error else "text3"))
            flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            painter.drawText(QRectF(self.rect()).adjusted(8, 8, -8, -8), flags, self._message)
        elif self._answer is not None:
            self._paint_bars(painter, self._answer, bars)
        painter.end()

    def _paint_bars(self, painter: QPainter, answer: Answer, bars: list[tuple[str, float]]) -> None:
        metrics = QFontMetricsF(self.font())
        bars, rest = self._in_sight(bars)
        lines = len(bars) + bool(rest)
        high = min(_ROW + 6.0, max(_LEAST_ROW, (self.height() - 2 * _EDGE) / lines))
        wide = min(_MOST_NAME, max(metrics.horizontalAdvance(name) for name, _ in bars) + 2)
        texts = [_value_text(answer, value) for _, value in bars]
        room = max(metrics.horizontalAdvance(text) for text in texts) + 2
        # A tick stands before the name of the class that it truly is.
        ahead = _GAP + (_TICK if self._true is not None else 0)
        left = ahead + wide + _GAP
        span = max(8.0, self.width() - left - room - 2 * _GAP)
        best = max(range(len(bars)), key=lambda n: bars[n][1]) if answer.classes else -1
        top = min(24.0, max(_EDGE, (self.height() - high * lines) / 2))
        for n, ((name, value), text) in enumerate(zip(bars, texts, strict=True)):
            line = QRectF(0, top + n * high, self.width(), high)
            painter.setPen(theme.colour("text" if n == best or best < 0 else "text2"))
            place = QRectF(ahead, line.top(), wide, high)
            if name == self._true:
                tick = QRectF(_EDGE, line.center().y() - _TICK / 2, _TICK, _TICK)
                icons.paint(painter, "check", tick, theme.colour("ok"))
                painter.setPen(theme.colour("ok"))
            shown = metrics.elidedText(name, Qt.TextElideMode.ElideRight, wide)
            flags = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(place, flags, shown)
            if answer.classes:
                bar = QRectF(left, line.center().y() - 4, span, 8)
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(theme.colour("field"))
                painter.drawRoundedRect(bar, 3, 3)
                if value > 0:
                    painter.setBrush(theme.colour("accent" if n == best else "outline"))
                    bar.setWidth(max(3.0, span * min(1.0, value)))
                    painter.drawRoundedRect(bar, 3, 3)
                painter.setPen(theme.colour("text" if n == best else "text2"))
            end = QRectF(left + span + _GAP, line.top(), room, high)
            painter.drawText(end, flags, text)
        if rest:
            painter.setPen(theme.colour("text2"))
            line = QRectF(left, top + high * len(bars), self.width() - left - _GAP, high)
            flags = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(line, flags, self._rest_text(rest))


def _value_text(answer: Answer, value: float) -> str:
    if not answer.classes:
        return numbers.number(value)
    if 0.0 < value < _LITTLE:
        return f"<{numbers.THIN}0.1{numbers.THIN}%"
    return f"{value * 100:.1f}{numbers.THIN}%"
