"""Offers repairs on the canvas: chips under a layer with an error, a ghost of what they do."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

from PySide6.QtCore import QPointF, QRectF, QTimer

from studio.engine.core.errors import StudioError
from studio.engine.core.signal import Signal
from studio.graph_editor.editing.context import CanvasContext
from studio.graph_editor.editing.fix_chips import MOST_CHIPS, FixChip
from studio.session.document.checks.validation import validate
from studio.session.document.report import Fix, Problem

_REST_MS = 150
_MOST_LAYERS = 4
_EDGE = 4.0


class FixOffers:
    """Keeps the chips in step with the problems of a document.

    Args:
        context: what it works with.
    """

    def __init__(self, context: CanvasContext) -> None:
        self.changed: Signal[[]] = Signal()
        self._context = context
        self._graph = graph = context.graph
        # Repairs are looked for when the document has rested; the timer ends with the drawing.
        self._rested = QTimer(graph)
        self._rested.setSingleShot(True)
        self._rested.setInterval(_REST_MS)
        self._rested.timeout.connect(self.show)
        self._chips: list[FixChip] = []
        self._hovered: FixChip | None = None

    @property
    def chips(self) -> tuple[FixChip, ...]:
        return tuple(self._chips)

    @property
    def is_waiting(self) -> bool:
        """Whether repairs will be looked for when the document rests."""
        return self._rested.isActive()

    @property
    def hovered(self) -> FixChip | None:
        """The chip whose repair is shown on the canvas."""
        return self._hovered

    def step(self, node_id: str) -> FixChip | None:
        """Show what the next repair would do: of a layer, or of any where that has none."""
        offered = [chip for chip in self._chips if chip.node_id == node_id] or self._chips
        if not offered:
            return None
        at = offered.index(self._hovered) + 1 if self._hovered in offered else 0
        chip = offered[at % len(offered)]
        self.hover(chip)
        return chip

    def apply_hovered(self) -> None:
        """Make the repair that is shown."""
        chip = self._hovered
        if chip is not None:
            self.apply(chip.node_id, chip.fix)

    def ask(self) -> None:
        """The document changed: remove the chips and look for new ones when it rests."""
        self.clear()
        self._rested.start()

    def clear(self) -> None:
        """Take the chips away."""
        self.hover(None)
        had = bool(self._chips)
        for chip in self._chips:
            self._graph.removeItem(chip)
        self._chips.clear()
        if had:
            self.changed.emit()

    def show(self) -> None:
        """Show the repairs of the layers with errors."""
        self.clear()
        offered: set[str] = set()
        for problem in self._context.document.report.errors:
            if len(offered) == _MOST_LAYERS:
                break
            if problem.node in self._graph.nodes and problem.node not in offered:
                offered.add(problem.node)
                self._offer(problem)
        if self._chips:
            self.changed.emit()

    def place(self) -> None:
        """Stay under the layers after they moved."""
        for chip in self._chips:
            if chip.node_id in self._graph.nodes:
                chip.put_below(self._graph.nodes[chip.node_id].scene_area)
        if self._chips:
            self.changed.emit()

    def keep_within(self, room: QRectF, seen: Callable[[QPointF], QPointF]) -> list[QRectF]:
        """Keep the chips inside the view; where they are seen then.

        Args:
            room: the view.
            seen: tells where a point of the graph is in it.
        """
        areas = []
        left, right = room.left() + _EDGE, room.right() - _EDGE
        for _node, group in groupby(self._chips, lambda chip: chip.node_id):
            chips = list(group)
            at = seen(chips[0].pos())
            widest = max(chip.width for chip in chips)
            inside = left <= at.x() <= right
            shift = max(min(0.0, right - at.x() - widest), left - at.x()) if inside else 0.0
            for chip in chips:
                chip.set_shift(shift)
                areas.append(chip.boundingRect().translated(at))
        return areas

    def show_colours(self) -> None:
        """Paint with the colours the drawing has now."""
        for chip in self._chips:
            chip.show_colours(self._graph.colours)

    def hover(self, chip: FixChip | None) -> None:
        """Show what a repair would do, while the pointer is on it."""
        if chip is self._hovered:
            return
        if self._hovered is not None:
            self._hovered.set_hovered(False)
            self._context.overlay.hide_ghost()
        self._hovered = chip
        if chip is None:
            return
        chip.set_hovered(True)
        document = self._context.document
        try:
            after = chip.fix.apply(document.state)
        except StudioError:
            return
        report = validate(after, document.data_facts)
        self._context.overlay.show_ghost(document.state, after, report)

    def apply(self, node_id: str, fix: Fix) -> None:
        """Make the repair, as one step."""
        document = self._context.document
        self.clear()
        try:
            document.apply(fix.text, fix.apply(document.state))
        except StudioError as error:
            self._context.studio.fail(error)

    def _offer(self, problem: Problem) -> None:
        area = self._graph.nodes[problem.node].scene_area
        for number, fix in enumerate(problem.fixes[:MOST_CHIPS]):
            chip = FixChip(problem.node, fix, number, self._graph.colours)
            chip.put_below(area)
            self._chips.append(chip)
            self._graph.addItem(chip)
