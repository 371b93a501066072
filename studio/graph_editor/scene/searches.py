"""Opens the search field on the canvas, for the place that is meant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF

from studio.graph_editor.editing.adding import place_of
from studio.graph_editor.editing.choosing import AddChooser, SwitchChooser
from studio.graph_editor.editing.quick_add import QuickAddPopup
from studio.graph_editor.items.marks import PortKey
from studio.session.core import entities
from studio.session.document.adding.quick_add import NOWHERE, Place

if TYPE_CHECKING:
    from studio.graph_editor.canvas.view import CanvasView

_BESIDE = QPointF(16, -14)
_GHOST = 128.0
"""Height the ghost of a layer takes below the place that was asked for."""


class Searches:
    """The ways to the search field.

    Args:
        canvas: where it opens.
    """

    def __init__(self, canvas: CanvasView) -> None:
        self._canvas = canvas
        self.popup = QuickAddPopup(
            lambda: canvas.document,
            canvas.overlay,
            canvas.studio.fail,
            canvas.studio.actions,
            canvas,
        )
        self._adds = False
        self.popup.ghost_shown.connect(self._keep_clear)

    def add_by_keys(self) -> None:
        """Add after the selected layer, on the selected wire, or at the pointer."""
        canvas = self._canvas
        place = place_of(canvas.bus.drawn, canvas.document.state)
        if place == NOWHERE:
            at = canvas.pointer_or_middle()
            self._open(place, canvas.navigation.scene_at(at), at)
        elif place.wire is not None:
            self._open(place, None, canvas.view_point(canvas.graph.wires[place.wire].middle()))
        else:
            canvas.navigation.reveal(canvas.graph.area_of([place.source]))
            corner = canvas.graph.area_of([place.source]).topRight()
            self._open(place, None, canvas.view_point(corner))

    def add_at(self, at: QPointF) -> None:
        """Add a layer by itself at a point of the canvas."""
        self._open(NOWHERE, at, self._canvas.view_point(at))

    def add_from_port(self, at: QPointF, node_id: str, key: PortKey) -> None:
        """Add a layer whose port is to lie at a point, connected to a port."""
        before, behind = Place(source=node_id), Place(target=node_id, slot=key.slot)
        place = before if key.side == "out" else behind
        self._open(place, at, self._canvas.view_point(at))

    def switch_selected(self) -> None:
        """Give the selected layer another type."""
        canvas = self._canvas
        nodes = canvas.document.state.nodes
        layers = [i for i in canvas.selected_ids() if nodes[i].is_layer]
        if layers:
            corner = canvas.graph.area_of(layers[-1:]).topRight()
            at = canvas.view_point(corner) + _BESIDE
            self._adds = False
            self.popup.open(SwitchChooser(canvas.document, layers[-1]), at.toPoint())

    def _open(self, place: Place, at: QPointF | None, seen: QPointF) -> None:
        canvas = self._canvas
        chooser = AddChooser(canvas.document, canvas.studio.quick_add, place, at, self._added)
        self._adds = True
        self.popup.open(chooser, seen.toPoint(), clear=round(_GHOST * canvas.navigation.zoom))

    def _keep_clear(self) -> None:
        """The ghost of what is to be added stays in sight, also that of a net typed meanwhile."""
        ghost = self._canvas.overlay.ghost.area()
        if self._adds and not ghost.isEmpty():
            self.popup.keep_clear(round(self._canvas.view_point(ghost.bottomLeft()).y()))

    def _added(self, ids: Sequence[str], type_name: str) -> None:
        """The last new layer becomes the selection, so that the next one follows it.

        A net typed at once is shown from what feeds it to its end.
        """
        canvas = self._canvas
        canvas.studio.palette.used(type_name)
        canvas.bus.select([entities.node(ids[-1])], source=canvas.source)
        whole = canvas.graph.area_of([*canvas.document.state.nodes[ids[0]].inputs, *ids])
        if len(ids) > 1 and not canvas.navigation.visible.contains(whole):
            canvas.navigation.frame(whole, canvas.navigation.zoom)
        else:
            canvas.navigation.reveal(canvas.graph.area_of(ids[-1:]))
