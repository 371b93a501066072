"""Parallel coordinates of a sweep: each trial is a line over the axes of what is varied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QEvent, QLineF, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QPolygonF,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from studio.engine.scale.sweep.folder import TrialRow
from studio.engine.scale.sweep.search_space import Axis
from studio.session.sweeps.parallel import Flags, ParallelTrials, Places
from studio.session.tensor_view.colours import colour_map
from studio.widgets import binding, numbers, theme

_LEFT, _RIGHT, _TOP, _BOTTOM = 14, 58, 30, 30
_NEAR_AXIS, _NEAR_LINE, _LEAST_DRAG = 10, 7, 4
_TICK_HEIGHT, _TEXT_GAP, _NARROW = 30, 5, 40
_BUCKETS = 24
_MOST_SMOOTH = 600
_DARK, _LIGHT = (80, 255), (190, 0)
"""The worst and the best of the colour map, where the ground is dark and where it is light."""

Brush = tuple[float, float]


@dataclass(frozen=True)
class Grid:
    """Where the axes stand in a view.

    Attributes:
        width: of the view.
        height: of the view.
        axes: how many there are.
    """

    width: int
    height: int
    axes: int

    @property
    def room(self) -> QRectF:
        """What the axes span."""
        high = max(self.height - _TOP - _BOTTOM, 1)
        return QRectF(_LEFT, _TOP, max(self.width - _LEFT - _RIGHT, 1), high)

    @property
    def spacing(self) -> float:
        """From one axis to the next."""
        return self.room.width() / max(self.axes - 1, 1)

    def axis_x(self, axis: int) -> float:
        """Where an axis stands."""
        return _LEFT + self.spacing * axis

    def place_y(self, place: float) -> float:
        """Where a place of an axis stands."""
        return self.room.bottom() - place * self.room.height()

    def heights(self, places: Places) -> Places:
        """Where many places stand."""
        return np.asarray(self.room.bottom() - places * self.room.height())

    def place_at(self, y: float) -> float:
        """The place of an axis at a height; its ends beyond them."""
        return min(max((self.room.bottom() - y) / self.room.height(), 0.0), 1.0)

    def axis_at(self, at: QPointF) -> int | None:
        """The axis at a point, or beside it."""
        near = min(_NEAR_AXIS, self.spacing / 3)
        found = (axis for axis in range(self.axes) if abs(at.x() - self.axis_x(axis)) <= near)
        return next(found, None)

    def name_box(self, axis: int) -> QRectF:
        """Where the name of an axis stands: over its axis, the outer ones within the edges."""
        x, room, high = self.axis_x(axis), self.spacing - 6, _TOP - 12
        left, right = x - room / 2, x + room / 2
        if axis == 0:
            left, right = 4.0, min(right, self.width / 2)
        elif axis == self.axes - 1:
            right = self.width - 4.0
        return QRectF(left, 4, right - left, high)


class ParallelView(QWidget):
    """Draws the trials; ranges of the axes can be dragged to see only what lies within.

    A click on a line chooses its trial, the arrow keys go through the trials from the best. Esc
    shows all again.

    Attributes:
        chosen: number of a trial that the user chose.
        brushed: numbers of the trials within the ranges that were dragged, or None for all.
    """

    chosen = Signal(int)
    brushed = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("parallel")
        self.setAccessibleName("Parallel coordinates of the trials")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setFont(theme.font("small"))
        self._trials = ParallelTrials()
        self._brushes: dict[int, Brush] = {}
        self._picture: QPixmap | None = None
        self._hovered: int | None = None
        self._selected: int | None = None
        self._pressed: QPointF | None = None
        self._dragged: int | None = None
        binding.connect(self, theme.changed, self._forget)

    def sizeHint(self) -> QSize:
        return QSize(480, 220)

    def minimumSizeHint(self) -> QSize:
        return QSize(200, 140)

    # -- for others -----------------------------------------------------------------------------

    def show_trials(
        self,
        rows: Sequence[TrialRow],
        axes: Sequence[Axis],
        maximize: bool,
        objective: str = "objective",
    ) -> None:
        """Show the trials of a sweep; ranges that were dragged stay while the axes do.

        Args:
            rows: the table.
            axes: what was varied.
            maximize: whether more of the objective is better.
            objective: what it is called.
        """
        before = [axis.name for axis in self._trials.axes]
        kept = self._number(self._selected)
        self._trials = ParallelTrials.of(rows, axes, objective, maximize=maximize)
        if before != [axis.name for axis in self._trials.axes]:
            self._brushes = {}
        self._hovered = None
        self.select(kept)
        self._describe()
        self._forget()

    def select(self, number: int | None) -> None:
        """Draw a trial that was chosen elsewhere above the others; None for none."""
        known = self._trials.numbers
        self._selected = known.index(number) if number in known else None
        self.update()

    @property
    def trials(self) -> ParallelTrials:
        return self._trials

    @property
    def selected(self) -> int | None:
        """Number of the trial that is chosen."""
        return self._number(self._selected)

    @property
    def grid(self) -> Grid:
        """Where axes and places stand."""
        return Grid(self.width(), self.height(), len(self._trials.axes))

    @property
    def hovered(self) -> int | None:
        """Number of the trial under the pointer."""
        return self._number(self._hovered)

    @property
    def note(self) -> str:
        """What stands below the axes."""
        total, left = len(self._trials.numbers), int((~self._trials.reached).sum())
        parts = []
        if self._brushes:
            parts.append(f"{int(self._within().sum())} of {numbers.counted(total, 'trial')}")
        if left:
            parts.append(f"{numbers.count(left)} without a result, drawn faintly")
        return ", ".join(parts)

    def tip_of(self, number: int) -> str:
        """What is said of a trial under the pointer."""
        place = self._trials.numbers.index(number)
        is_best = place == self._trials.best
        lines = [f"Trial {number}{', the best' if is_best else ''}"]
        lines += [f"{name} {value}" for name, value in self._trials.words(place)]
        return "\n".join(lines)

    def _number(self, place: int | None) -> int | None:
        return None if place is None else self._trials.numbers[place]

    def _within(self) -> Flags:
        return self._trials.within([(axis, *ends) for axis, ends in self._brushes.items()])

    def _describe(self) -> None:
        best = self._trials.best
        text = numbers.counted(len(self._trials.numbers), "trial")
        if best is not None:
            text += "; " + self.tip_of(self._trials.numbers[best]).replace("\n", ", ")
        self.setAccessibleDescription(f"{text}. {self.note}".strip())

    def _forget(self) -> None:
        """What was painted is no longer how it is."""
        self._picture = None
        self.update()

    # -- painting -------------------------------------------------------------------------------

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), theme.colour("dock"))
        if not self._trials.numbers:
            painter.setPen(theme.colour("text3"))
            painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, "No trial has ended yet")
            painter.end()
            return
        painter.drawPixmap(0, 0, self.lines())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_special(painter)
        self._paint_axes(painter)
        if self.hasFocus():
            painter.setPen(QPen(theme.colour("accent"), 1.0))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5))
        painter.end()

    def lines(self) -> QPixmap:
        """The lines of all trials; painted once until something changes."""
        ratio = self.devicePixelRatioF()
        if self._picture is not None and self._picture.devicePixelRatioF() == ratio:
            return self._picture
        made = QPixmap(self.size() * ratio)
        made.setDevicePixelRatio(ratio)
        made.fill(Qt.GlobalColor.transparent)
        painter = QPainter(made)
        trials, within = self._trials, self._within()
        total = len(trials.numbers)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, total <= _MOST_SMOOTH)
        strength = 200 if total <= 100 else 110 if total <= 1000 else 45
        faint = theme.colour("text3", 90 if total <= 100 else 45 if total <= 1000 else 16)
        dim = np.flatnonzero(~(within & trials.reached))
        painter.setPen(_pen(faint, 1.0))
        painter.drawLines(self._segments(dim))
        # The best are painted last, so that they lie on top.
        lit = np.array([place for place in trials.order if within[place]], int)
        shares = trials.shares()[lit] if lit.size else np.empty(0)
        buckets = np.minimum((shares * _BUCKETS).astype(int), _BUCKETS - 1)
        for bucket in range(_BUCKETS):
            painter.setPen(_pen(_colour((bucket + 0.5) / _BUCKETS, strength), 1.25))
            painter.drawLines(self._segments(lit[buckets == bucket]))
        painter.end()
        self._picture = made
        return made

    def _segments(self, places: np.ndarray) -> list[QLineF]:
        """The pieces of the lines of some trials; none where an end has no place."""
        if not len(places) or len(self._trials.axes) < 2:
            return []
        heights = self.grid.heights(self._trials.places[places])
        found = []
        for axis in range(len(self._trials.axes) - 1):
            left, right = self.grid.axis_x(axis), self.grid.axis_x(axis + 1)
            known = np.isfinite(heights[:, axis]) & np.isfinite(heights[:, axis + 1])
            pairs = np.unique(np.round(heights[known][:, axis : axis + 2], 1), axis=0)
            found += [QLineF(left, y, right, end) for y, end in pairs.tolist()]
        return found

    def _paint_special(self, painter: QPainter) -> None:
        """The best trial, the one chosen and the one under the pointer, above all others."""
        best, within = self._trials.best, self._within()
        if best is not None and within[best]:
            self._paint_line(painter, best, _colour(1.0, 255), 2.5)
        for place, role in ((self._selected, "accent"), (self._hovered, "text")):
            if place is not None:
                self._paint_line(painter, place, theme.colour("dock"), 4.5)
                self._paint_line(painter, place, theme.colour(role), 2.0)

    def _paint_line(self, painter: QPainter, place: int, colour: QColor, width: float) -> None:
        points = [
            QPointF(self.grid.axis_x(axis), self.grid.place_y(float(height)))
            for axis, height in enumerate(self._trials.places[place])
            if np.isfinite(height)
        ]
        painter.setPen(_pen(colour, width))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPolyline(QPolygonF(points))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        for point in points:
            painter.drawEllipse(point, width + 0.5, width + 0.5)

    def _paint_axes(self, painter: QPainter) -> None:
        room, metrics = self.grid.room, QFontMetricsF(self.font())
        most = max(2, int(room.height() // _TICK_HEIGHT) + 1)
        wide = self.grid.spacing if len(self._trials.axes) > 1 else float(_RIGHT)
        ground = theme.colour("dock", 190)
        for number, axis in enumerate(self._trials.axes):
            x = round(self.grid.axis_x(number)) + 0.5
            is_last = number == len(self._trials.axes) - 1
            painter.setPen(_pen(theme.colour("outline"), 1.0))
            painter.drawLine(QPointF(x, room.top()), QPointF(x, room.bottom()))
            self._paint_brush(painter, number, x)
            reach = (_RIGHT if is_last else wide) - 2 * _TEXT_GAP
            if reach >= _NARROW - 2 * _TEXT_GAP:
                for tick in axis.ticks(most):
                    y = self.grid.place_y(tick.place)
                    text = metrics.elidedText(tick.text, Qt.TextElideMode.ElideRight, reach)
                    box = QRectF(x + _TEXT_GAP - 1, y - metrics.height() / 2,
                                 metrics.horizontalAdvance(text) + 2, metrics.height())  # fmt: skip
                    painter.fillRect(box, ground)
                    painter.setPen(theme.colour("text2"))
                    painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)
                    painter.setPen(_pen(theme.colour("outline"), 1.0))
                    painter.drawLine(QPointF(x - 2, y), QPointF(x + 2, y))
            self._paint_name(painter, number, metrics)
        painter.setPen(theme.colour("text3"))
        below = QRectF(_LEFT, self.height() - 18, self.width() - 2 * _LEFT, 16)
        note = metrics.elidedText(self.note, Qt.TextElideMode.ElideRight, below.width())
        painter.drawText(below, Qt.AlignmentFlag.AlignLeft, note)

    def _paint_name(self, painter: QPainter, number: int, metrics: QFontMetricsF) -> None:
        box = self.grid.name_box(number)
        is_last = number == len(self._trials.axes) - 1
        # The end of layer.option tells axes apart.
        text = metrics.elidedText(
            self._trials.axes[number].name, Qt.TextElideMode.ElideLeft, box.width()
        )
        align = Qt.AlignmentFlag.AlignHCenter
        if number == 0:
            align = Qt.AlignmentFlag.AlignLeft
        elif is_last:
            align = Qt.AlignmentFlag.AlignRight
        painter.setPen(theme.colour("text" if is_last else "text2"))
        painter.drawText(box, align | Qt.AlignmentFlag.AlignVCenter, text)

    def _paint_brush(self, painter: QPainter, axis: int, x: float) -> None:
        if axis in self._brushes:
            low, high = self._brushes[axis]
            top, bottom = self.grid.place_y(high), self.grid.place_y(low)
            painter.setPen(_pen(theme.colour("accent"), 1.0))
            painter.setBrush(theme.colour("accent", 70))
            painter.drawRoundedRect(QRectF(x - 5, top, 10, max(bottom - top, 1.0)), 2, 2)

    # -- the pointer and the keys ---------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton and self._trials.numbers:
            self._pressed = event.position()
            self._dragged = self.grid.axis_at(event.position())
            event.accept()
        else:
            super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        at, pressed = event.position(), self._pressed
        if pressed is None:
            self._hover(at)
        elif self._dragged is not None and abs(at.y() - pressed.y()) >= _LEAST_DRAG:
            ends = sorted((self.grid.place_at(pressed.y()), self.grid.place_at(at.y())))
            self._brush(self._dragged, (ends[0], ends[1]))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        pressed, axis = self._pressed, self._dragged
        self._pressed = self._dragged = None
        if pressed is None or event.button() is not Qt.MouseButton.LeftButton:
            super().mouseReleaseEvent(event)
            return
        moved = event.position() - pressed
        if max(abs(moved.x()), abs(moved.y())) >= _LEAST_DRAG:
            return
        if axis is not None and axis in self._brushes:
            self._brush(axis, None)
            return
        found = self._line_at(event.position())
        if found is not None:
            self._choose(found)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._show_hovered(None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        if key == Qt.Key.Key_Escape and self._brushes:
            self._brushes = {}
            self._brushes_changed()
        elif key in (Qt.Key.Key_Up, Qt.Key.Key_Down) and self._trials.order:
            self._walk(1 if key == Qt.Key.Key_Up else -1)
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            self._show_tip(event)
            return True
        is_override = event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent)
        if is_override and self._brushes and event.key() == Qt.Key.Key_Escape:  # type: ignore[attr-defined]
            # Esc belongs to the view while there are ranges to take back.
            event.accept()
            return True
        return super().event(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._forget()

    def _line_at(self, at: QPointF) -> int | None:
        room = self.grid.room
        if not room.adjusted(-_NEAR_LINE, -_NEAR_LINE, _NEAR_LINE, _NEAR_LINE).contains(at):
            return None
        across = min(max((at.x() - room.left()) / max(self.grid.spacing, 1.0), 0.0),
                     float(len(self._trials.axes) - 1))  # fmt: skip
        height = (room.bottom() - at.y()) / max(room.height(), 1.0)
        found = self._trials.nearest(across, height, self._within())
        if found is None or found[1] * room.height() > _NEAR_LINE:
            return None
        return found[0]

    def _hover(self, at: QPointF) -> None:
        axis = self.grid.axis_at(at)
        self.setCursor(
            Qt.CursorShape.SizeVerCursor if axis is not None else Qt.CursorShape.ArrowCursor
        )
        self._show_hovered(self._line_at(at))

    def _show_hovered(self, place: int | None) -> None:
        if place != self._hovered:
            self._hovered = place
            QToolTip.hideText()
            self.update()

    def _show_tip(self, event: QHelpEvent) -> None:
        at, number = QPointF(event.pos()), self.hovered
        names = [a for a in range(len(self._trials.axes)) if self.grid.name_box(a).contains(at)]
        if names:
            QToolTip.showText(event.globalPos(), self._trials.axes[names[0]].name, self)
        elif number is not None:
            QToolTip.showText(event.globalPos(), self.tip_of(number), self)
        elif self.grid.axis_at(at) is not None and self._trials.numbers:
            text = "Drag along an axis to see only the trials within. Esc shows all again."
            QToolTip.showText(event.globalPos(), text, self)
        else:
            QToolTip.hideText()

    def _choose(self, place: int) -> None:
        self._selected = place
        self.update()
        self.chosen.emit(self._trials.numbers[place])

    def _walk(self, way: int) -> None:
        """Choose the next better or worse of the trials that are not left out."""
        within = self._within()
        order = [place for place in self._trials.order if within[place]]
        if not order:
            return
        if self._selected in order:
            at = order.index(self._selected)
            self._choose(order[min(max(at + way, 0), len(order) - 1)])
        else:
            self._choose(order[-1])

    def _brush(self, axis: int, ends: Brush | None) -> None:
        if ends is None:
            self._brushes.pop(axis, None)
        else:
            self._brushes[axis] = ends
        self._brushes_changed()

    def _brushes_changed(self) -> None:
        self._hovered = None
        self._describe()
        self._forget()
        within = np.flatnonzero(self._within())
        self.brushed.emit(tuple(self._trials.numbers[n] for n in within) if self._brushes else None)


def _pen(colour: QColor, width: float) -> QPen:
    made = QPen(colour, width)
    made.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
    return made


def _colour(share: float, alpha: int) -> QColor:
    """The colour of a trial: the better, the further from the ground."""
    worst, best = _DARK if theme.current().is_dark else _LIGHT
    red, green, blue = colour_map("sequential")[round(worst + (best - worst) * share)].tolist()
    return QColor(red, green, blue, alpha)
