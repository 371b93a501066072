"""The bar of one step: parts side by side that fill the time the step took, and their legend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFontMetricsF,
    QHelpEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from studio.session.profiling.step_bar import MEANINGS, PARTS, Part, StepBar
from studio.widgets import binding, numbers, theme

ROLES: Mapping[Part, str] = {
    "data": "series.4",
    "forward": "series.0",
    "backward": "series.1",
    "update": "series.2",
    "housekeeping": "series.5",
    "transfers": "series.3",
    "gaps": "outline",
    "studio": "series.6",
    "measuring": "series.7",
    "unexplained": "text3",
}

_BAR = 20
_GAP = 8
_LINE = 20
_SWATCH = 9
_COLUMN = 168
_LEAST_SHOWN = 0.0005


@dataclass(frozen=True)
class _Entry:
    """One part where it is drawn.

    Attributes:
        part: which.
        segment: its stretch of the bar; empty where it is too short to see.
        line: its line of the legend.
    """

    part: Part
    segment: QRectF
    line: QRectF


class StepBarView(QWidget):
    """Shows a `StepBar`; the pointer over a part lights it in the bar and in the legend."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("step_bar")
        self.setAccessibleName("Parts of a step")
        self.setMouseTracking(True)
        self.setProperty("richTips", True)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self._bar: StepBar | None = None
        self._is_compact = False
        self._hovered: Part | None = None
        binding.refresh(self, self.update, theme.changed)

    @property
    def bar(self) -> StepBar | None:
        return self._bar

    def set_bar(self, bar: StepBar | None) -> None:
        """Show another step."""
        lines = self._line_count(self.width())
        self._bar = bar
        self.setAccessibleDescription(described(bar))
        if self._line_count(self.width()) != lines:
            self.updateGeometry()
        self.update()

    def set_compact(self, compact: bool) -> None:
        """Show the bar alone, whose parts tell what they are when pointed at; or the legend too."""
        if compact != self._is_compact:
            self._is_compact = compact
            self.updateGeometry()
            self.update()

    # -- geometry -------------------------------------------------------------------------------

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        lines = self._line_count(width)
        return _BAR + _GAP + _LINE * lines if lines else _BAR

    def sizeHint(self) -> QSize:
        return QSize(2 * _COLUMN, self.heightForWidth(2 * _COLUMN))

    def minimumSizeHint(self) -> QSize:
        return QSize(_COLUMN, self.heightForWidth(max(_COLUMN, self.width())))

    def _columns(self, width: int) -> int:
        return max(1, width // _COLUMN)

    def _line_count(self, width: int) -> int:
        if self._is_compact:
            return 0
        columns = self._columns(width)
        return -(-len(self.shown_parts()) // columns)

    def shown_parts(self) -> tuple[Part, ...]:
        """Parts worth a place: those with any time, and always what is unexplained."""
        bar = self._bar
        if bar is None:
            return ()
        return tuple(
            part for part in PARTS if part == "unexplained" or abs(bar.share(part)) >= _LEAST_SHOWN
        )

    def _entries(self) -> list[_Entry]:
        bar = self._bar
        if bar is None:
            return []
        parts = self.shown_parts()
        # Counted too high, the named parts are longer than the step: the bar then holds them all.
        whole = max(bar.seconds, sum(max(0.0, s) for s in bar.parts.values())) or 1.0
        columns = self._columns(self.width())
        lines = -(-len(parts) // columns)
        column = self.width() / columns
        found, x = [], 0.0
        for number, part in enumerate(parts):
            wide = max(0.0, bar.parts[part]) / whole * self.width()
            at, line = divmod(number, lines)
            found.append(
                _Entry(
                    part,
                    QRectF(x, 0, wide, _BAR),
                    QRectF()
                    if self._is_compact
                    else QRectF(at * column, _BAR + _GAP + line * _LINE, column - 12, _LINE),
                )
            )
            x += wide
        return found

    # -- pointer --------------------------------------------------------------------------------

    def part_at(self, point: QPointF) -> Part | None:
        """The part drawn at a point, in the bar or in the legend."""
        for entry in self._entries():
            if entry.segment.contains(point) or entry.line.contains(point):
                return entry.part
        return None

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._hover(self.part_at(event.position()))

    def leaveEvent(self, event: QEvent) -> None:
        self._hover(None)
        super().leaveEvent(event)

    def _hover(self, part: Part | None) -> None:
        if part != self._hovered:
            self._hovered = part
            self.update()

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            part = self.part_at(QPointF(event.pos()))
            if part is None:
                QToolTip.hideText()
            else:
                QToolTip.showText(event.globalPos(), self.tip(part), self)
            return True
        return super().event(event)

    def tip(self, part: Part) -> str:
        """What a part is, and its exact time."""
        bar = self._bar
        if bar is None:
            return ""
        text = MEANINGS[part]
        if part == "studio" and not bar.sees_studio:
            text = "No view was open, or this system has no thread clocks."
        return (
            f"<b>{part.capitalize()}</b>: {bar.parts[part] * 1e6:.2f} µs, {bar.share(part):.2%}"
            f"<br>{text}"
        )

    # -- painting -------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        entries = self._entries()
        self._paint_bar(painter, entries)
        for entry in () if self._is_compact else entries:
            self._paint_line(painter, entry)

    def _paint_bar(self, painter: QPainter, entries: list[_Entry]) -> None:
        painter.setFont(theme.font("small"))
        metrics = QFontMetricsF(painter.font())
        for entry in entries:
            segment = entry.segment
            if segment.width() < 0.5:
                continue
            # A hair of ground between neighbours tells them apart without colour.
            inner = segment.adjusted(0.5, 0, -0.5, 0) if segment.width() > 2 else segment
            ground = self._colour(entry.part)
            painter.setPen(Qt.PenStyle.NoPen)
            if entry.part == "unexplained":
                painter.setBrush(QBrush(ground, Qt.BrushStyle.BDiagPattern))
            else:
                painter.setBrush(ground)
            painter.drawRect(inner)
            if entry.part == self._hovered:
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.setPen(QPen(theme.colour("text"), 1.5))
                painter.drawRect(inner.adjusted(0.75, 0.75, -0.75, -0.75))
            text = entry.part
            if entry.part != "unexplained" and metrics.horizontalAdvance(text) + 10 < inner.width():
                painter.setPen(_on(ground))
                painter.drawText(inner, Qt.AlignmentFlag.AlignCenter, text)

    def _paint_line(self, painter: QPainter, entry: _Entry) -> None:
        bar = self._bar
        if bar is None:
            return
        line, colour = entry.line, self._colour(entry.part)
        if entry.part == self._hovered:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.colour("hover"))
            painter.drawRoundedRect(line.adjusted(-3, 1, 3, -1), 3, 3)
        swatch = QRectF(line.x(), line.center().y() - _SWATCH / 2, _SWATCH, _SWATCH)
        painter.setPen(Qt.PenStyle.NoPen)
        if entry.part == "unexplained":
            painter.setBrush(QBrush(colour, Qt.BrushStyle.BDiagPattern))
        else:
            painter.setBrush(colour)
        painter.drawRoundedRect(swatch, 2, 2)
        worrying = entry.part == "unexplained" and bar.is_worrying
        painter.setFont(theme.font("small"))
        painter.setPen(theme.colour("error" if worrying else "text2"))
        text = line.adjusted(_SWATCH + 7, 0, 0, 0)
        painter.drawText(text, _LEFT, entry.part)
        painter.setFont(theme.font("numbers"))
        painter.setPen(theme.colour("error" if worrying else "text"))
        unseen = entry.part == "studio" and not bar.sees_studio
        share = numbers.DASH if unseen else _percent(bar.share(entry.part))
        painter.drawText(text, _RIGHT, share)

    def _colour(self, part: Part) -> QColor:
        bar = self._bar
        if part == "unexplained" and bar is not None and bar.is_worrying:
            return theme.colour("error")
        return theme.colour(ROLES[part])


_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


def _percent(share: float) -> str:
    """One decimal everywhere, so that the points stand below each other."""
    sign = numbers.MINUS if share <= -0.0005 else ""
    return f"{sign}{abs(share) * 100:.1f}{numbers.THIN}%"


def _on(ground: QColor) -> QColor:
    """The one of the theme's darkest and lightest that reads better on a ground."""
    dark, light = QColor("black"), QColor("white")
    brightness = 0.299 * ground.red() + 0.587 * ground.green() + 0.114 * ground.blue()
    return dark if brightness > 140 else light


def described(bar: StepBar | None) -> str:
    """The bar in words, for those who do not see it."""
    if bar is None:
        return "no step measured"
    parts = (
        f"{part} {bar.share(part):.1%}" for part in PARTS if abs(bar.share(part)) >= _LEAST_SHOWN
    )
    return f"step of {bar.seconds * 1000.0:.3g} ms: " + ", ".join(parts)
