"""What lies over the canvas and keeps its place: map, find bar, what an empty canvas shows."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QPushButton, QWidget

from studio.graph_editor.canvas.breadcrumbs import Breadcrumbs
from studio.graph_editor.editing.context import CanvasContext
from studio.graph_editor.editing.find_bar import FindBar
from studio.graph_editor.editing.fix_offers import FixOffers
from studio.graph_editor.items.wire_paths import wire_path
from studio.graph_editor.scene.minimap import Minimap
from studio.widgets import binding, theme
from studio.widgets.keys import shown_keys, with_keys

_MARGIN = 12
_BOX = QSizeF(112, 56)
_GAP = 56.0
_TEXTS = ("input", "?", "output")
_SIDE = 16.0
_ADD = "canvas.quick_add"
_BUTTON_BELOW = 122.0
_HINT = "or drag one from the palette, or drop a data file or project here"


class Chrome:
    """Makes them, shows them when they are of use, puts them where they belong.

    Args:
        context: what it works with.
        fixes: repairs, which nothing covers.
    """

    def __init__(self, context: CanvasContext, fixes: FixOffers) -> None:
        self._view = view = context.view
        self._graph = graph = context.graph
        self._fixes = fixes
        self._preferences = preferences = context.studio.preferences
        navigation, actions = context.navigation, context.studio.actions
        self.minimap = Minimap(graph, navigation)
        self.find_bar = FindBar(context)
        self.breadcrumbs = Breadcrumbs(context)
        self.empty = EmptyCanvas(lambda: actions.trigger(_ADD), lambda: actions[_ADD].keys, view)
        self._deliveries = [
            binding.connect(view, signal, self._changed)
            for signal in (graph.redrawn, graph.ghosts_changed, navigation.moved, fixes.changed)
        ]
        self._deliveries.append(binding.connect(view, navigation.zoomed, self._zoomed))
        self._deliveries.append(binding.connect(view, preferences.changed, self._preferred))

    def arrange(self) -> None:
        """Put everything where it belongs, after the canvas got another size."""
        room = self._view.rect()
        bar = self.find_bar
        bar.fit(room.width() - 2 * _MARGIN)
        bar.move(room.width() - bar.width() - _MARGIN, _MARGIN)
        self.breadcrumbs.move(_MARGIN, _MARGIN)
        self.breadcrumbs.fit()
        self._changed()

    def paint(self, painter: QPainter) -> None:
        """Draw the map, or what an empty canvas shows, where there is any."""
        if self.empty.is_shown:
            self.empty.paint(painter, self._room())
        if self.minimap.is_shown:
            self.minimap.paint(painter, self._view.devicePixelRatioF())

    def scrolled(self, dx: int, dy: int) -> None:
        """What was painted went along: paint the map where it is, and what it left behind."""
        area, viewport = self.minimap.area, self._view.viewport()
        if not area.isEmpty():
            viewport.update(area)
            viewport.update(area.translated(dx, dy))
        if self.empty.is_shown:
            viewport.update()

    def takes(self, at: QPointF) -> bool:
        """Whether a place of the viewport is on the minimap."""
        return self.minimap.holds(at)

    def _changed(self) -> None:
        viewport, before = self._view.viewport(), self.minimap.area
        taken = self._fixes.keep_within(self._room(), self._view.view_point)
        if self.breadcrumbs.isVisible():
            taken = [*taken, QRectF(self.breadcrumbs.geometry())]
        wanted = self._preferences.flag("minimap")
        if self.minimap.place(viewport.rect(), wanted=wanted, taken=taken):
            viewport.update(before)
        viewport.update(self.minimap.area)
        is_empty = not self._graph.nodes and not self._graph.ghosts
        if self.empty.place(self._room(), shown=is_empty):
            viewport.update()

    def _room(self) -> QRectF:
        return QRectF(self._view.viewport().rect())

    def _zoomed(self, _zoom: float) -> None:
        self._changed()

    def _preferred(self, _name: str) -> None:
        self._changed()


class EmptyCanvas:
    """A ghost of a chain, input to output, with a button to add the first layer.

    The chain is painted on the canvas itself, so that things can be dropped on it; only the button
    is a widget.

    Args:
        add: opens the search for a layer.
        keys: those that do so, too.
        parent: the canvas.
    """

    def __init__(
        self, add: Callable[[], object], keys: Callable[[], tuple[str, ...]], parent: QWidget
    ) -> None:
        self.is_shown = False
        self._keys = keys
        self.button = QPushButton("Add a layer", parent)
        self.button.setObjectName("empty_add")
        self.button.setAccessibleName("Add a layer: the canvas is empty")
        self.button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.button.clicked.connect(add)
        self.button.hide()

    def place(self, room: QRectF, *, shown: bool) -> bool:
        """Take the middle of the canvas, if it is empty; whether that changed."""
        changed, self.is_shown = shown != self.is_shown, shown
        self.button.setVisible(shown)
        if shown:
            self.button.setToolTip(with_keys("Search for the first layer", self._keys()[:1]))
            self.button.adjustSize()
            left = room.center().x() - self.button.width() / 2
            self.button.move(round(left), round(_top(room) + _BUTTON_BELOW))
        return changed

    def paint(self, painter: QPainter, room: QRectF) -> None:
        """Draw the chain and what to do about it."""
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        boxes = chain(room)
        pen = QPen(theme.colour("outline"), 1.5)
        pen.setDashPattern([4, 3])
        painter.setPen(pen)
        for one, other in pairwise(boxes):
            start = QPointF(one.right(), one.center().y())
            painter.drawPath(wire_path(start, QPointF(other.left(), start.y()), "straight"))
        painter.setFont(theme.font("ui"))
        for box, text in zip(boxes, _TEXTS, strict=True):
            painter.setPen(pen)
            painter.drawRoundedRect(box, 8, 8)
            painter.setPen(theme.colour("text3"))
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)
        painter.setPen(theme.colour("text2"))
        line = QRectF(room.left(), boxes[0].top() + 76, room.width(), 24)
        keys = self._keys()
        how = shown_keys(keys[0]) if keys else "Double-click"
        painter.drawText(line, Qt.AlignmentFlag.AlignCenter, f"{how} to add a layer")
        painter.setPen(theme.colour("text3"))
        painter.setFont(theme.font("small"))
        below = line.translated(0, 28).adjusted(_SIDE, 0, -_SIDE, 12)
        flags = Qt.AlignmentFlag.AlignHCenter | Qt.TextFlag.TextWordWrap
        painter.drawText(below, int(flags), _HINT)
        painter.restore()


def chain(room: QRectF) -> list[QRectF]:
    """Where the boxes of the chain are drawn, narrower where the canvas is."""
    wanted = len(_TEXTS) * _BOX.width() + (len(_TEXTS) - 1) * _GAP
    share = min(1.0, max(0.0, room.width() - 2 * _SIDE) / wanted)
    size = QSizeF(_BOX.width() * share, _BOX.height())
    step = (_BOX.width() + _GAP) * share
    corner = QPointF(room.center().x() - wanted * share / 2, _top(room) - 40)
    return [QRectF(corner + QPointF(number * step, 0), size) for number in range(len(_TEXTS))]


def _top(room: QRectF) -> float:
    return room.center().y() - 60
