"""Moving over the canvas: zoom at the pointer, pan, frame what is asked for, slide there."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from PySide6.QtCore import QEasingCurve, QPoint, QPointF, QRectF, Qt, QVariantAnimation
from PySide6.QtGui import QTransform, QWheelEvent
from PySide6.QtWidgets import QGraphicsView

from studio.engine.core.signal import Signal
from studio.session.document.arrange.wrapping import Room

SMALLEST, LARGEST = 0.1, 4.0
SMALLEST_WHOLE = 0.02
"""How small something is shown that is to be seen whole; turning the wheel ends before."""

NOTCH = 1.1
"""What one notch of the wheel multiplies the zoom by, on the canvas and on the minimap."""

NOTCH_DEGREES = 120
_SLIDE_MS = 140
_MARGIN = 32.0
"""Free border around what is framed: wires turn back there."""
_LEAST_ROOM = 160.0
_CLOSE = 0.8
"""The zoom at which a large graph is begun."""
_PLACES = 50
_PIXELS_A_DEGREE = 0.5
"""Pixels for an eighth of a degree, so that a notch of the wheel moves by sixty."""


class Place(NamedTuple):
    """Where the canvas looks: the open block, the point in the middle, the zoom."""

    level: str
    centre: QPointF
    zoom: float


class Sight(NamedTuple):
    """What the canvas shows, to the pixel: the zoom, and how far it is scrolled."""

    zoom: float
    across: int
    down: int


class Navigation:
    """Where the canvas looks, and every way to change it.

    Attributes:
        level: the block that is open; `level_wanted` asks for another.
        keeps: what stays in sight when the canvas gets another size, until the user looks
            elsewhere: the ``beginning`` of the graph or ``all`` of it; empty for its corner.

    Args:
        view: the canvas.
        still: whether places change at once instead of by sliding.
    """

    def __init__(self, view: QGraphicsView, still: Callable[[], bool]) -> None:
        self.moved: Signal[[]] = Signal()
        self.zoomed: Signal[[float]] = Signal()
        self.turned: Signal[[]] = Signal()
        self.level_wanted: Signal[[str]] = Signal()
        self.level = ""
        self.keeps = ""
        self._view = view
        self._still = still
        self._slide: QVariantAnimation | None = None
        self._behind: list[Place] = []
        self._ahead: list[Place] = []

    @property
    def zoom(self) -> float:
        """How large the graph is drawn; 1 is 100 %."""
        return float(self._view.transform().m11())

    @property
    def visible(self) -> QRectF:
        """The part of the graph in sight."""
        area = self._view.viewport().rect()
        return QRectF(
            self._view.mapToScene(area.topLeft()), self._view.mapToScene(area.bottomRight())
        )

    @property
    def centre(self) -> QPointF:
        """The point of the graph in the middle of the canvas."""
        area = self._view.viewport().rect()
        return self.scene_at(QPointF(area.width() / 2, area.height() / 2))

    @property
    def room(self) -> Room:
        """What the canvas has free for a graph that is to be seen whole."""
        area = self._view.viewport().rect()
        return Room(
            max(_LEAST_ROOM, area.width() - 2 * _MARGIN),
            max(_LEAST_ROOM, area.height() - 2 * _MARGIN),
        )

    def wheel(self, degrees: float, at: QPointF | None = None) -> None:
        """Zoom by a turn of the wheel (eighths of a degree), keeping a place, or the middle."""
        self.turned.emit()
        self.zoom_to(self.zoom * NOTCH ** (degrees / NOTCH_DEGREES), at)

    def zoom_to(self, zoom: float, at: QPointF | None = None) -> None:
        """Zoom, keeping the point at ``at`` of the viewport (its middle by default) in place."""
        self.leave()
        place = at if at is not None else QPointF(self._view.viewport().rect().center())
        kept = self.scene_at(place)
        self._set_zoom(_clamped(zoom, min(SMALLEST, self.zoom)))
        self._bring(kept, place)

    def step(self, notches: int) -> None:
        """Zoom by some notches about the middle."""
        self.zoom_to(self.zoom * NOTCH**notches)

    def pan(self, by: QPoint) -> None:
        """Move the graph by pixels."""
        self.leave()
        across, down = self._view.horizontalScrollBar(), self._view.verticalScrollBar()
        across.setValue(across.value() - by.x())
        down.setValue(down.value() - by.y())
        self.moved.emit()

    def look_at(self, centre: QPointF) -> None:
        """Put a point of the graph in the middle, at once."""
        self.leave()
        self._view.centerOn(centre)
        self.moved.emit()

    def jump(self, centre: QPointF, zoom: float) -> None:
        """Look at a point with a zoom, at once."""
        self.leave()
        self._look(centre, zoom)

    @property
    def sight(self) -> Sight:
        """What is in sight now, to `restore` it."""
        across, down = self._view.horizontalScrollBar(), self._view.verticalScrollBar()
        return Sight(self.zoom, across.value(), down.value())

    def restore(self, sight: Sight) -> None:
        """Show again what was in sight, at once."""
        if sight == self.sight:
            return
        self.stop()
        self._set_zoom(sight.zoom)
        self._view.horizontalScrollBar().setValue(sight.across)
        self._view.verticalScrollBar().setValue(sight.down)
        self.moved.emit()

    def actual_size(self) -> None:
        self._go(self.centre, 1.0)

    def frame(self, area: QRectF, largest: float = 1.0) -> None:
        """Bring an area into sight, no larger than ``largest``."""
        if area.isEmpty():
            return
        self._go(area.center(), min(self._fitting(area), largest))

    def begin(self, area: QRectF, least: float) -> None:
        """Show an area at once; its upper left part when it would be smaller than ``least``."""
        self.stop()
        self.keeps = "beginning"
        if area.isEmpty():
            self._look(QPointF(0, 0), 1.0)
            return
        zoom = self._fitting(area)
        if zoom >= least:
            self._look(area.center(), min(zoom, 1.0))
            return
        room = self.room
        # Most of it at the least zoom, or a small part that is seen better.
        zoom = least
        if room.width * room.height / zoom**2 < area.width() * area.height() / 2:
            zoom = max(least, _CLOSE)
        across, down = room.width / 2 / zoom, room.height / 2 / zoom
        self._look(
            QPointF(
                min(area.left() + across, area.center().x()),
                min(area.top() + down, area.center().y()),
            ),
            zoom,
        )

    def show_whole(self, area: QRectF) -> None:
        """Bring all of the graph into sight, and keep it there."""
        self.frame(area)
        self.keeps = "all"

    def reveal(self, area: QRectF, *, remember: bool = False) -> None:
        """Scroll, without zooming, if an area is out of sight: to the middle third then.

        Args:
            area: what to show.
            remember: another view asked for it, so that `back` returns here.
        """
        if self.visible.contains(area):
            return
        if remember:
            self.remember(self.place)
        self._go(area.center(), self.zoom)

    @property
    def place(self) -> Place:
        """Where the canvas looks now."""
        return Place(self.level, self.centre, self.zoom)

    def remember(self, place: Place) -> None:
        """Let `back` return to a place."""
        self._behind = [*self._behind[1 - _PLACES :], place]
        self._ahead.clear()

    @property
    def can_go_back(self) -> bool:
        """Whether another view has moved the canvas."""
        return bool(self._behind)

    @property
    def can_go_forward(self) -> bool:
        """Whether `back` was used."""
        return bool(self._ahead)

    def back(self) -> None:
        """Look where the canvas looked before another view moved it."""
        if self._behind:
            self._ahead.append(self.place)
            self._return(self._behind.pop())

    def forward(self) -> None:
        """Look again where the canvas looked before `back`."""
        if self._ahead:
            self._behind.append(self.place)
            self._return(self._ahead.pop())

    def _return(self, place: Place) -> None:
        if place.level != self.level:
            self.level_wanted.emit(place.level)
        self._go(place.centre, place.zoom)

    def scene_at(self, place: QPointF) -> QPointF:
        """The point of the graph at a place of the viewport, to sub-pixel precision."""
        back, _ = self._view.viewportTransform().inverted()
        return back.map(place)

    def leave(self) -> None:
        """Look where the user wants from now on."""
        self.stop()
        self.keeps = ""

    def stop(self) -> None:
        """End a slide where it is."""
        if self._slide is not None:
            self._slide.stop()
            self._slide = None

    def _fitting(self, area: QRectF) -> float:
        """The zoom at which an area fits, with a margin."""
        return min(self.room.width / area.width(), self.room.height / area.height())

    def _go(self, centre: QPointF, zoom: float) -> None:
        zoom = _clamped(zoom, SMALLEST_WHOLE)
        self.leave()
        if self._still() or not self._view.isVisible():
            self._look(centre, zoom)
            return
        begin, from_zoom = self.centre, self.zoom

        def slide(share: object) -> None:
            at = float(share)  # type: ignore[arg-type]
            self._look(begin + (centre - begin) * at, from_zoom * (zoom / from_zoom) ** at)

        self._slide = QVariantAnimation(self._view)
        self._slide.setDuration(_SLIDE_MS)
        self._slide.setStartValue(0.0)
        self._slide.setEndValue(1.0)
        self._slide.setEasingCurve(QEasingCurve.Type.OutCubic)
        self._slide.valueChanged.connect(slide)
        self._slide.start()

    def _look(self, centre: QPointF, zoom: float) -> None:
        self._set_zoom(zoom)
        self._view.centerOn(centre)
        self.moved.emit()

    def _set_zoom(self, zoom: float) -> None:
        if zoom != self.zoom:
            self._view.setTransform(QTransform.fromScale(zoom, zoom))
            self.zoomed.emit(zoom)

    def _bring(self, point: QPointF, place: QPointF) -> None:
        """Scroll until a point of the graph is at a place of the viewport."""
        away = self._view.viewportTransform().map(point) - place
        across, down = self._view.horizontalScrollBar(), self._view.verticalScrollBar()
        across.setValue(across.value() + round(away.x()))
        down.setValue(down.value() + round(away.y()))
        self.moved.emit()


def _clamped(zoom: float, smallest: float) -> float:
    return min(LARGEST, max(smallest, zoom))


def scroll_of(event: QWheelEvent, wanted: str) -> QPoint | None:
    """How far to scroll; None where the event zooms.

    Args:
        event: what the wheel, or two fingers on a touchpad, did.
        wanted: the preference: ``zoom``, ``scroll``, or ``automatic``, which scrolls for touchpads
            as far as they can be told from wheels.
    """
    touchpad = event.phase() != Qt.ScrollPhase.NoScrollPhase and not event.pixelDelta().isNull()
    scrolls = wanted == "scroll" or (wanted == "automatic" and touchpad)
    if not scrolls or event.modifiers() & Qt.KeyboardModifier.ControlModifier:
        return None
    by = event.pixelDelta() if touchpad else event.angleDelta() * _PIXELS_A_DEGREE
    if event.modifiers() & Qt.KeyboardModifier.ShiftModifier and not by.x():
        return QPoint(by.y(), 0)
    return by
