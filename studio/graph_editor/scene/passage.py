"""The way into a block and out of it: its card grows into what is in it, or this shrinks into it.

Only pictures move. The drawing shows the new level from the start, and takes input.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QEasingCurve, QPointF, QRectF, Qt, QVariantAnimation
from PySide6.QtGui import QPainter, QPixmap, QTransform

from studio.engine.core.signal import Signal
from studio.graph_editor.scene.overview import OVERVIEW_ZOOM
from studio.session.document.levels import TOP, blocks_around, shown_at
from studio.widgets import theme

if TYPE_CHECKING:
    from studio.graph_editor.scene.graph_view import GraphView

PASSAGE_MS = 120
_MOST = 400
"""Above this many things a picture takes too long to make."""


@dataclass(frozen=True)
class _Sight:
    """What a level looks like.

    Attributes:
        level: which.
        picture: of what is in sight.
        frame: where the block between the levels is in it: its card, or what is in it.
    """

    level: str
    picture: QPixmap
    frame: QRectF


class Passage:
    """Moves from the picture of one level to that of another; the block's frame stays in its place.

    Args:
        view: shows the drawing.
    """

    def __init__(self, view: GraphView) -> None:
        self._view = view
        self._left: _Sight | None = None
        self._reached: _Sight | None = None
        self._run: QVariantAnimation | None = None
        self.share = 1.0

    @property
    def is_under_way(self) -> bool:
        return self._run is not None

    def leave(self, level: str) -> None:
        """Another level is about to be opened."""
        self.finish()
        self._left = self._sight(level)

    def arrive(self) -> None:
        """The other level is drawn, and seen as it will be."""
        left, self._left = self._left, None
        reached = None if left is None else self._sight(left.level)
        if left is None or reached is None:
            return
        self._left, self._reached = left, reached
        run = self._run = QVariantAnimation(self._view)
        run.setDuration(theme.duration(PASSAGE_MS))
        run.setStartValue(0.0)
        run.setEndValue(1.0)
        run.setEasingCurve(QEasingCurve.Type.OutCubic)
        run.valueChanged.connect(self.put)
        run.finished.connect(self.finish)
        for signal in self._what_ends_it():
            signal.connect(self.finish)
        self.put(0.0)
        run.start()

    def put(self, share: object) -> None:
        """Show so much of the way, from 0 to 1."""
        self.share = float(share)  # type: ignore[arg-type]
        self._view.viewport().update()

    def finish(self) -> None:
        """Show the level that was reached, at once."""
        run, self._run = self._run, None
        if run is None:
            return
        self._left = self._reached = None
        for signal in self._what_ends_it():
            signal.disconnect(self.finish)
        run.stop()
        run.deleteLater()
        self._view.viewport().update()

    def paint(self, painter: QPainter) -> None:
        """Draw both pictures, so that the block is at one place in them."""
        left, reached = self._left, self._reached
        if left is None or reached is None:
            return
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        middle = _between(left.frame.center(), reached.frame.center(), self.share)
        width = _between_lengths(left.frame.width(), reached.frame.width(), self.share)
        for sight, opacity in ((left, 1.0 - self.share), (reached, self.share)):
            scale = width / max(1.0, sight.frame.width())
            way = QTransform.fromTranslate(middle.x(), middle.y()).scale(scale, scale)
            own = sight.frame.center()
            painter.setTransform(way.translate(-own.x(), -own.y()))
            painter.setOpacity(opacity)
            painter.drawPixmap(QPointF(), sight.picture)
        painter.resetTransform()
        painter.setOpacity(1.0)

    def _what_ends_it(self) -> tuple[Signal[[]], ...]:
        """Signals of what would not be seen in the pictures."""
        return self._view.navigation.moved, self._view.graph.redrawn

    def _sight(self, other: str) -> _Sight | None:
        """The level as it is seen, with the frame that it shares with another; None without one."""
        view, graph = self._view, self._view.graph
        level, state = graph.level, graph.state
        far = view.navigation.zoom < OVERVIEW_ZOOM or len(graph.nodes) > _MOST
        if not theme.duration(PASSAGE_MS) or far or not view.isVisible():
            return None
        if level == TOP or level in blocks_around(state, other):
            area = graph.area_of([shown_at(state, other, level)])
        elif other == TOP or other in blocks_around(state, level):
            area = graph.content_area()
        else:
            return None
        if area.isEmpty():
            return None
        return _Sight(level, self._picture(), view.viewportTransform().mapRect(area))

    def _picture(self) -> QPixmap:
        view, area = self._view, QRectF(self._view.viewport().rect())
        ratio = view.devicePixelRatioF()
        picture = QPixmap((area.size() * ratio).toSize())
        picture.setDevicePixelRatio(ratio)
        picture.fill(Qt.GlobalColor.transparent)
        back, _ = view.viewportTransform().inverted()
        painter = QPainter(picture)
        painter.setRenderHints(view.renderHints())
        part = back.mapRect(area)
        view.graph.render(painter, area, part, Qt.AspectRatioMode.IgnoreAspectRatio)
        painter.end()
        return picture


def _between(start: QPointF, end: QPointF, share: float) -> QPointF:
    return start * (1.0 - share) + end * share


def _between_lengths(start: float, end: float, share: float) -> float:
    """Lengths grow by factors, so that the speed looks even."""
    start, end = max(1.0, start), max(1.0, end)
    return float(start ** (1.0 - share) * end**share)
