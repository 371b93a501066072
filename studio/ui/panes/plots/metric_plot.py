"""One plot: the curves of a metric over the axis all plots share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyqtgraph as pg  # type: ignore[import-untyped]
from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import (
    QBrush,
    QFocusEvent,
    QFontMetricsF,
    QPainter,
    QPainterPath,
    QPen,
    QPixmap,
    QPolygonF,
)
from PySide6.QtWidgets import QGraphicsPathItem, QGraphicsRectItem, QLabel, QSizePolicy, QWidget

from studio.session.core.metric_names import metric_title
from studio.session.plots.scale import Tick, place_text, place_ticks
from studio.session.plots.series import Line
from studio.session.runs.columns import is_share
from studio.session.runs.curves_display import Content, CurveKey, CurvesDisplay, Drawn, Stroke
from studio.ui.panes.plots import strokes
from studio.ui.panes.plots.axes import (
    LEFT_WIDTH,
    EndAxis,
    EndLabel,
    apply_theme,
    quiet_axis,
    set_ticks,
    untitled,
)
from studio.ui.panes.plots.box import Gestures, PlotBox
from studio.widgets import contexts, numbers, theme

_MOST_SMOOTH = 5000
_TICK_PIXELS, _ROW_PIXELS, _LEAST_ROW_PIXELS = 60, 30, 14
_BAD_HEIGHT = 0.05
_DOT = 5
_MOST_MARKS = 60
_MARK_GAP = 3


def value_text(metric: str, value: float) -> str:
    """A value as the plots print it."""
    return numbers.share(value) if is_share(metric) else numbers.number(value, 3)


class MetricPlot(pg.PlotWidget):  # type: ignore[misc]
    """The plot of one metric.

    Args:
        metric: which.
        display: what is drawn.
        gestures: what its gestures lead to.
        parent: the pane.
    """

    def __init__(
        self, metric: str, display: CurvesDisplay, gestures: Gestures, parent: QWidget
    ) -> None:
        self.box = PlotBox(gestures)
        self._ends = EndAxis()
        axes = {"left": quiet_axis("left"), "bottom": quiet_axis("bottom"), "right": self._ends}
        super().__init__(parent=parent, viewBox=self.box, axisItems=axes)
        # Not ``metric``, which is a method of every widget that Qt itself calls.
        self.metric_name = metric
        self._display = display
        self.setObjectName(f"plot.{metric}")
        self.setAccessibleName(f"Plot of {metric_title(metric, display.outputs)}")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setFrameShape(self.Shape.NoFrame)
        self.setAntialiasing(False)
        self.viewport().setMouseTracking(True)
        self.plotItem.hideButtons()
        self.plotItem.showAxis("right")
        for side in ("right", "top"):
            untitled(self.plotItem.getAxis(side))
        self.plotItem.layout.setContentsMargins(2, 20, 0, 0)
        self._content: Content | None = None
        self.left_needed = LEFT_WIDTH
        """Width its numbers on the left need; narrower, and none would be drawn."""
        self._lines: list[Any] = []
        self._bands = _Bands(self.box)
        self._dots: list[Any] = []
        self._grid = self._item(pg.PlotCurveItem(connect="pairs"), -10)
        self._minor = self._item(pg.PlotCurveItem(connect="pairs"), -11)
        self._zone = QGraphicsRectItem()
        self._zone.setZValue(-20)
        self.box.addItem(self._zone, ignoreBounds=True)
        self._bad = self._item(pg.PlotCurveItem(connect="pairs"), 30)
        self._marks = self._item(pg.PlotCurveItem(connect="pairs"), 5)
        self._cursor = self._item(pg.InfiniteLine(angle=90, movable=False), 40)
        self._cursor.setVisible(False)
        self._title = self._label("title")
        self._note = self._label("note")
        self._reading = self._label("reading")
        self._mark_labels: list[QLabel] = []
        contexts.register("plot", self)
        self.scene().sigMouseMoved.connect(self._moved)
        self.box.sigResized.connect(self._resized)
        self._live = False
        self.apply_theme()

    def sizeHint(self) -> QSize:
        return QSize(320, 160)

    def minimumSizeHint(self) -> QSize:
        return QSize(180, 96)

    @property
    def content(self) -> Content | None:
        return self._content

    @property
    def end_labels(self) -> tuple[EndLabel, ...]:
        """The values printed at the right edge."""
        return self._ends.labels

    @property
    def reading_text(self) -> str:
        """What is written for the place under the pointer."""
        return self._reading.text() if self._reading.isVisible() else ""

    @property
    def note_text(self) -> str:
        """What is written about numbers that are none; empty where there are none."""
        return self._note.text()

    # -- drawing --------------------------------------------------------------------------------

    def apply_theme(self) -> None:
        """Take the theme's colours."""
        self.setBackground(theme.colour("dock"))
        for side in ("left", "bottom"):
            apply_theme(self.plotItem.getAxis(side))
        self._set_pens()
        self._zone.setBrush(QBrush(theme.colour("hairline", 60)))
        self._title.setFont(theme.font("ui"))
        self._show_title()
        for label in self._mark_labels:
            self._dress_mark(label)

    def _set_pens(self) -> None:
        ratio, thin = self.devicePixelRatioF(), strokes.thin
        self._cursor.setPen(thin(theme.colour("text3"), ratio))
        self._marks.setPen(thin(theme.colour("warning"), ratio, Qt.PenStyle.DashLine))
        self._bad.setPen(thin(theme.colour("error"), ratio))
        self._zone.setPen(thin(theme.colour("hairline"), ratio, Qt.PenStyle.DotLine))
        # Lines of more than one device pixel take long to draw while values keep coming.
        fine = 1.0 if self._live else ratio
        self._grid.setPen(thin(theme.colour("hairline", 110), fine))
        self._minor.setPen(thin(theme.colour("hairline", 45), fine))

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.DevicePixelRatioChange:
            self._set_pens()
        return bool(super().event(event))

    def draw(self, *, live: bool) -> None:
        """Draw the curves as they are now.

        Args:
            live: a training is under way: quickly before beautifully.
        """
        if live != self._live:
            self._live = live
            self._set_pens()
        display = self._display
        pixels = max(32, round(self.box.width()))
        content = self._content = display.content(self.metric_name, pixels)
        view = display.view or display.extent
        self.box.setRange(xRange=view, yRange=content.y, padding=0.0, disableAutoRange=True)
        total = sum(len(s.line.x) for d in content.drawn for s in d.strokes)
        smooth = not live and total <= _MOST_SMOOTH
        wanted = [(d, s) for d in content.drawn for s in d.strokes]
        self._bands.show(content.drawn, display.hovered)
        self._draw_lines(wanted, smooth)
        self._draw_dots([(d, s) for d, s in wanted if s.points])
        self._draw_axes(content, view)
        self._draw_bad(content)
        self._draw_marks(content, view)
        self._ends.show_labels(tuple(self._end_label(d) for d in content.drawn if d.latest))
        self._show_title()
        self.show_cursor()
        self._place_labels()
        # Otherwise it is found while it paints that items have moved, and all is painted twice.
        self.scene().prepareForPaint()

    def _draw_lines(self, wanted: list[tuple[Drawn, Stroke]], smooth: bool) -> None:
        while len(self._lines) < len(wanted):
            self._lines.append(self._item(pg.PlotCurveItem(connect="finite"), 0))
        for number, item in enumerate(self._lines):
            if number >= len(wanted):
                item.setVisible(False)
                continue
            drawn, stroke = wanted[number]
            raised = drawn.entry.key == self._display.hovered
            width = 1.75 if smooth and not stroke.ghost else 1.0
            ratio = self.devicePixelRatioF() if smooth else 1.0
            pen = strokes.pen(
                drawn.entry.style, width, ghost=stroke.ghost, raised=raised, ratio=ratio
            )
            item.setData(stroke.line.x, stroke.line.y, connect="finite", antialias=smooth)
            item.setPen(pen)
            item.setZValue(10 + raised - 5 * stroke.ghost)
            item.setVisible(True)

    def _draw_dots(self, wanted: list[tuple[Drawn, Stroke]]) -> None:
        while len(self._dots) < len(wanted):
            self._dots.append(self._item(pg.ScatterPlotItem(pxMode=True, antialias=True), 20))
        for number, item in enumerate(self._dots):
            if number >= len(wanted):
                item.setVisible(False)
                continue
            drawn, stroke = wanted[number]
            style = drawn.entry.style
            size = _DOT + 2 * (drawn.entry.key == self._display.hovered)
            fine = np.isfinite(stroke.line.y)
            item.setData(
                stroke.line.x[fine], stroke.line.y[fine], size=size, pen=pg.mkPen(None),
                brush=strokes.colour(style), symbol="o" if style.dotted else "s",
            )  # fmt: skip
            item.setVisible(style.dotted or len(stroke.line.x) == 1)

    def _draw_axes(self, content: Content, view: tuple[float, float]) -> None:
        axis = self._display.shown_axis
        wide, high = self.box.width(), self.box.height()
        low, top = content.y
        across = place_ticks(axis, *view, max(2, round(wide / _TICK_PIXELS)))
        rows, room = max(2, round(high / _ROW_PIXELS)), round(high / _LEAST_ROW_PIXELS)
        up, minor = content.scale.telling_ticks(low, top, rows, room)
        if is_share(self.metric_name):
            up = [Tick(t.place, f"{content.scale.back(t.place) * 100:.4g}%") for t in up]
        set_ticks(self.plotItem.getAxis("bottom"), across)
        set_ticks(self.plotItem.getAxis("left"), up)
        metrics = QFontMetricsF(theme.font("small"))
        wide_text = max((metrics.horizontalAdvance(tick.text) for tick in up), default=0.0)
        self.left_needed = max(LEFT_WIDTH, round(wide_text) + 10)
        lines = [(view[0], t.place, view[1], t.place) for t in up]
        lines += [(t.place, low, t.place, top) for t in across]
        _set_pairs(self._grid, lines)
        _set_pairs(self._minor, [(view[0], place, view[1], place) for place in minor])
        symmetric = content.scale.kind == "symmetric"
        self._zone.setVisible(symmetric)
        if symmetric:
            self._zone.setRect(QRectF(view[0], -1.0, view[1] - view[0], 2.0))

    def _draw_bad(self, content: Content) -> None:
        bad = content.bad
        self._note.setVisible(bad.total > 0)
        low, high = content.y
        tall = low + _BAD_HEIGHT * (high - low)
        _set_pairs(self._bad, [(place, low, place, tall) for place in bad.places])
        if bad.total:
            noun = "value" if bad.total == 1 else "values"
            self._note.setText(f"{numbers.count(bad.total)} NaN or Inf {noun}")

    def _draw_marks(self, content: Content, view: tuple[float, float]) -> None:
        marks = _marks_in(content, view)
        low, high = content.y
        _set_pairs(self._marks, [(place, low, place, high) for place, _ in marks])
        while len(self._mark_labels) < len(marks):
            self._mark_labels.append(self._label("mark"))
            self._dress_mark(self._mark_labels[-1])
        for number, label in enumerate(self._mark_labels):
            label.setVisible(number < len(marks))
            if number < len(marks):
                label.setText(f"rate {numbers.number(marks[number][1], 3)}")

    def _end_label(self, drawn: Drawn) -> EndLabel:
        value, place = drawn.latest or (0.0, 0.0)
        strong = drawn.entry.key == self._display.hovered
        colour = strokes.colour(drawn.entry.style)
        text, kind = value_text(self.metric_name, value), ", last recorded"
        if drawn.recorded is not None:
            recorded = value_text(self.metric_name, drawn.recorded)
            kind = f" smoothed; {recorded} at the last step"
        return EndLabel(place, text, colour, strong, f"{drawn.entry.label}: {text}{kind}")

    def _show_title(self) -> None:
        """The metric, and whether an average of it is what ends in a number."""
        title = metric_title(self.metric_name, self._display.outputs)
        faint = theme.colour("text3").name()
        if self._content is not None and any(d.recorded is not None for d in self._content.drawn):
            title += f' <span style="color:{faint}">smoothed</span>'
        if title != self._title.text():
            self._title.setText(title)

    @property
    def right_needed(self) -> int:
        """Width its values at the right edge need."""
        return self._ends.needed

    def set_left_width(self, width: int) -> None:
        """Begin as far from the left as the other plots do."""
        self._set_width(self.plotItem.getAxis("left"), width)

    def set_right_width(self, width: int) -> None:
        """End as far from the right as the other plots do."""
        self._set_width(self._ends, width)

    def _set_width(self, axis: Any, width: int) -> None:
        if axis.width() != width:
            axis.setWidth(width)
            # Laid out only later, the curves would first be painted where they no longer belong.
            self.plotItem.layout.activate()

    def _resized(self, _box: object) -> None:
        """The area has another size: more or less of the curves can be seen."""
        if self._content is not None:
            self.draw(live=self._live)

    # -- the pointer ----------------------------------------------------------------------------

    def show_cursor(self) -> None:
        """Show the line under the pointer and what the curves are worth there."""
        place = self._display.cursor
        visible = place is not None and self._content is not None
        self._cursor.setVisible(visible)
        self._reading.setVisible(visible)
        if place is None or self._content is None:
            return
        self._cursor.setPos(place)
        lines = []
        for reading in self._display.readings(self.metric_name, place):
            name = strokes.colour(reading.entry.style).name()
            text = (
                f'<span style="color:{name}">■</span> {value_text(self.metric_name, reading.value)}'
            )
            raw = value_text(self.metric_name, reading.raw)
            if reading.reach is None and raw != value_text(self.metric_name, reading.value):
                text += f' <span style="color:{theme.colour("text3").name()}">{raw}</span>'
            if reading.reach is not None:
                ends = [value_text(self.metric_name, end) for end in reading.reach]
                faint = theme.colour("text3").name()
                text += f' <span style="color:{faint}">{ends[0]} to {ends[1]}</span>'
            lines.append(f"{text} {reading.entry.label.lower()}")
        head = f"{self._display.shown_axis} {place_text(self._display.shown_axis, place)}"
        self._reading.setText("<br>".join([head, *lines]))
        self._place_labels()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._display.move_cursor(None)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._title.setStyleSheet(f"color: {theme.colour('accent').name()};")

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._title.setStyleSheet("")

    def picture(self) -> QPixmap:
        """The plot as it is shown."""
        made: QPixmap = self.grab()
        return made

    def _moved(self, place: QPointF) -> None:
        if self.box.sceneBoundingRect().contains(place) and not self._display.is_empty:
            self._display.move_cursor(float(self.box.mapSceneToView(place).x()))
        else:
            self._display.move_cursor(None)

    # -- labels ---------------------------------------------------------------------------------

    def _label(self, name: str) -> QLabel:
        label = QLabel(self)
        label.setObjectName(f"plot_{name}")
        label.setFont(theme.font("small"))
        label.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        if name == "note":
            label.setProperty("role", "error")
            label.hide()
        elif name == "reading":
            label.setTextFormat(Qt.TextFormat.RichText)
            label.setMargin(4)
            label.hide()
        return label

    def _dress_mark(self, label: QLabel) -> None:
        """Words that may lie over curves need a ground of their own."""
        label.setStyleSheet(
            f"background: {theme.colour('dock').name()}; color: {theme.colour('warning').name()};"
        )

    def _place_labels(self) -> None:
        area = self.mapFromScene(self.box.sceneBoundingRect()).boundingRect()
        self._title.adjustSize()
        self._title.move(8, 2)
        self._note.adjustSize()
        left = area.right() - self._note.width()
        # Beside a long title there is no room for it; in the plot there is.
        fits = left >= self._title.geometry().right() + _MARK_GAP
        self._note.move(left, 3 if fits else area.top() + 1)
        self._place_marks(area)
        if self._reading.isVisible() and self._display.cursor is not None:
            self._reading.setStyleSheet(
                f"background: {theme.colour('field').name()}; color: {theme.colour('text').name()};"
                f" border: 1px solid {theme.colour('hairline').name()}; border-radius: 4px;"
            )
            self._reading.adjustSize()
            x = self.mapFromScene(self.box.mapViewToScene(QPointF(self._display.cursor, 0.0))).x()
            right = x + 8 + self._reading.width() <= area.right()
            left = x + 8 if right else x - 8 - self._reading.width()
            self._reading.move(round(max(0, left)), max(0, min(area.top() + 4,
                               self.height() - self._reading.height())))  # fmt: skip

    def _place_marks(self, area: QRect) -> None:
        """Write each change of the rate beside its line; of those too near, the latest alone."""
        marks, free = self._shown_marks(), float("inf")
        for label, (place, _) in reversed([*zip(self._mark_labels, marks, strict=False)]):
            label.adjustSize()
            x = self.mapFromScene(self.box.mapViewToScene(QPointF(place, 0.0))).x()
            # At the right edge the latest values follow.
            fits = x + _MARK_GAP + label.width() <= min(free, area.right() - _MARK_GAP)
            left = round(x + _MARK_GAP if fits else x - _MARK_GAP - label.width())
            has_room = left + label.width() + _MARK_GAP <= free
            label.setVisible(has_room)
            if has_room:
                label.move(left, area.top() + 1)
                free = left

    def _shown_marks(self) -> list[tuple[float, float]]:
        if self._content is None:
            return []
        return _marks_in(self._content, self._display.view or self._display.extent)

    def _item(self, item: Any, depth: float) -> Any:
        item.setZValue(depth)
        self.box.addItem(item, ignoreBounds=True)
        return item

    def paintEvent(self, event: Any) -> None:
        super().paintEvent(event)
        if self.hasFocus():
            painter = QPainter(self.viewport())
            painter.setPen(theme.colour("accent"))
            painter.drawRect(self.viewport().rect().adjusted(0, 0, -1, -1))
            painter.end()


class _Bands:
    """The areas behind curves that are means.

    Args:
        box: what they lie in.
    """

    def __init__(self, box: PlotBox) -> None:
        self._box = box
        self._items: list[QGraphicsPathItem] = []

    def show(self, drawn: Sequence[Drawn], hovered: CurveKey | None) -> None:
        """Show those of these curves; stronger where the pointer is on a curve's name."""
        wanted = [(each.entry, band) for each in drawn for band in each.bands]
        while len(self._items) < len(wanted):
            made = QGraphicsPathItem()
            made.setPen(QPen(Qt.PenStyle.NoPen))
            made.setZValue(1)
            self._box.addItem(made, ignoreBounds=True)
            self._items.append(made)
        for number, item in enumerate(self._items):
            item.setVisible(number < len(wanted))
            if number < len(wanted):
                entry, band = wanted[number]
                strength = strokes.BAND * (2 if entry.key == hovered else 1)
                item.setBrush(strokes.colour(entry.style, strength))
                item.setPath(_area_of(*band))


def _area_of(low: Line, high: Line) -> QPainterPath:
    """The area between two lines, where both are numbers."""
    made = QPainterPath()
    known = np.zeros(len(low.y), bool)
    if len(low.y) == len(high.y):
        known = np.isfinite(low.y) & np.isfinite(high.y)
    # Stretches of numbers, by their first places and those after their last.
    edges = np.flatnonzero(np.diff(np.concatenate([[0], known.astype(int), [0]])))
    for begin, end in edges.reshape(-1, 2).tolist():
        x = np.concatenate([low.x[begin:end], high.x[begin:end][::-1]])
        y = np.concatenate([low.y[begin:end], high.y[begin:end][::-1]])
        made.addPolygon(QPolygonF([QPointF(*place) for place in zip(x, y, strict=True)]))
        made.closeSubpath()
    return made


def _set_pairs(item: Any, lines: list[tuple[float, float, float, float]]) -> None:
    """Draw single lines, each from one place to another; without any there is nothing to ask."""
    item.setVisible(bool(lines))
    if not lines:
        return
    places = np.array(lines, float).reshape(-1, 2, 2)
    item.setData(places[:, :, 0].ravel(), places[:, :, 1].ravel(), connect="pairs")


def _marks_in(content: Content, view: tuple[float, float]) -> list[tuple[float, float]]:
    """Changes of the rate in a stretch of the axis; where they are many, some way apart."""
    marks = [mark for mark in content.marks if view[0] <= mark[0] <= view[1]]
    if len(marks) <= _MOST_MARKS:
        return marks
    kept: list[tuple[float, float]] = []
    for mark in sorted(marks, reverse=True):
        if not kept or kept[-1][0] - mark[0] >= (view[1] - view[0]) / _MOST_MARKS:
            kept.append(mark)
    return kept[::-1]
