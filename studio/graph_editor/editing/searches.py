"""Opens the search field on the canvas, for the place that is meant."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF

from studio.engine.layers.graph import Port
from studio.graph_editor.editing.adding import place_of
from studio.graph_editor.editing.choosing import AddChooser, SwitchChooser
from studio.graph_editor.editing.context import CanvasContext
from studio.graph_editor.editing.quick_add import QuickAddPopup
from studio.graph_editor.items.marks import PortKey
from studio.session.document.adding.quick_add import NOWHERE, Place

_BESIDE = QPointF(16, -14)
_GHOST = 128.0
"""Height the ghost of a layer takes below the place that was asked for."""


class Searches:
    """The ways to the search field.

    Args:
        context: what it works with.
    """

    def __init__(self, context: CanvasContext) -> None:
        self._context = context
        self.popup = QuickAddPopup(context)
        self._adds = False
        self.popup.ghost_shown.connect(self._keep_clear)

    def add_by_keys(self) -> None:
        """Add after the selected layer, on the selected wire, or at the pointer."""
        context = self._context
        place = place_of(context.bus, context.document.state)
        if place == NOWHERE:
            at = context.pointer_or_middle()
            self._open(place, context.navigation.scene_at(at), at)
        elif place.wire is not None:
            middle = context.graph.wires[place.wire].middle()
            self._open(place, None, context.view.view_point(middle))
        else:
            context.navigation.reveal(context.graph.area_of([place.before]))
            corner = context.graph.area_of([place.before]).topRight()
            self._open(place, None, context.view.view_point(corner))

    def add_at(self, at: QPointF) -> None:
        """Add a layer by itself at a point of the canvas."""
        self._open(NOWHERE, at, self._context.view.view_point(at))

    def add_from_port(self, at: QPointF, node_id: str, key: PortKey) -> None:
        """Add a layer whose port is to lie at a point, connected to a port."""
        before, behind = Place(Port(node_id, key.slot)), Place(target=node_id, slot=key.slot)
        place = before if key.side == "out" else behind
        self._open(place, at, self._context.view.view_point(at))

    def switch_selected(self) -> None:
        """Give the selected layer another type."""
        context = self._context
        nodes = context.document.state.nodes
        layers = [i for i in context.selected_ids() if nodes[i].is_layer]
        if layers:
            corner = context.graph.area_of(layers[-1:]).topRight()
            at = context.view.view_point(corner) + _BESIDE
            self._adds = False
            self.popup.open(SwitchChooser(context.document, layers[-1]), at.toPoint())

    def _open(self, place: Place, at: QPointF | None, seen: QPointF) -> None:
        context = self._context
        studio = context.studio
        studio.palette.reread_blocks()
        chooser = AddChooser(
            context.document, studio.quick_add, place, at, self._added, studio.palette.found_blocks
        )  # fmt: skip
        self._adds = True
        self.popup.open(chooser, seen.toPoint(), clear=round(_GHOST * context.navigation.zoom))

    def _keep_clear(self) -> None:
        """The ghost of what is to be added stays in sight, also that of a net typed meanwhile."""
        ghost = self._context.overlay.ghost.area()
        if self._adds and not ghost.isEmpty():
            self.popup.keep_clear(round(self._context.view.view_point(ghost.bottomLeft()).y()))

    def _added(self, ids: Sequence[str], type_name: str) -> None:
        """The last new layer becomes the selection, so that the next one follows it.

        A net typed at once is shown from what feeds it to its end.
        """
        context = self._context
        if type_name:
            first = context.document.state.nodes[ids[0]]
            context.studio.palette.used(type_name, first.config)
        context.select(ids[-1:])
        whole = context.graph.area_of([*context.document.state.nodes[ids[0]].sources, *ids])
        if len(ids) > 1 and not context.navigation.visible.contains(whole):
            context.navigation.frame(whole, context.navigation.zoom)
        else:
            context.navigation.reveal(context.graph.area_of(ids[-1:]))
