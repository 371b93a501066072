"""What gestures, fields and lists on the canvas work with: document, selection and drawing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from PySide6.QtCore import QPointF, Qt
from PySide6.QtWidgets import QApplication

from studio.engine.core.errors import StudioError
from studio.engine.core.signal import Signal
from studio.engine.layers.graph import Port
from studio.graph_editor.editing.picking import Target, pick
from studio.graph_editor.scene.graph_view import GraphView
from studio.session.core import entities
from studio.session.document.document import Document
from studio.session.document.levels import TOP, blocks_around
from studio.session.document.state import DocumentState
from studio.session.notices.settling import EDIT
from studio.session.studio import Studio

CANVAS = "canvas"
"""The canvas's name on the selection bus."""

_NONE = Qt.KeyboardModifier.NoModifier


class Pointer(NamedTuple):
    """Where the pointer is, and which modifier keys are held with it."""

    scene: QPointF
    view: QPointF
    modifiers: Qt.KeyboardModifier = _NONE

    def has(self, modifier: Qt.KeyboardModifier) -> bool:
        return bool(self.modifiers & modifier)

    @property
    def shift(self) -> bool:
        return self.has(Qt.KeyboardModifier.ShiftModifier)

    @property
    def control(self) -> bool:
        return self.has(Qt.KeyboardModifier.ControlModifier)

    @property
    def alt(self) -> bool:
        return self.has(Qt.KeyboardModifier.AltModifier)


class OpenBlock:
    """Changes the level the canvas shows, and returns to where it looked at each.

    Args:
        view: shows the drawing.
    """

    def __init__(self, view: GraphView) -> None:
        self.leaving: Signal[[]] = Signal()
        self._view = view
        self._graph = view.graph
        self._places: dict[str, tuple[QPointF, float]] = {}
        view.navigation.level_wanted.connect(self.open)
        view.graph.level_changed.connect(self._changed)

    @property
    def id(self) -> str:
        """The open block; empty at the top."""
        return self._graph.level

    @property
    def way(self) -> tuple[str, ...]:
        """The levels from the top to the open block."""
        if self.id == TOP:
            return (TOP,)
        return (TOP, *reversed(blocks_around(self._graph.state, self.id)), self.id)

    def open(self, level: str) -> None:
        """Show what is inside a block, or the top, as it was seen last."""
        nodes = self._graph.state.nodes
        if level == self.id or (level != TOP and (level not in nodes or not nodes[level].is_block)):
            return
        self.leaving.emit()
        navigation = self._view.navigation
        self._places[self.id] = (navigation.centre, navigation.zoom)
        self._view.passage.leave(level)
        self._graph.open_level(level)
        if level in self._places:
            navigation.jump(*self._places[level])
        else:
            self._view.show_beginning()
        self._view.passage.arrive()

    def leave(self) -> str:
        """Show what the open block stands in; the id of the block that was open."""
        left = self.id
        if left != TOP:
            self.open(self._graph.state.nodes[left].parent)
        return left

    def show(self, node_ids: Iterable[str]) -> None:
        """Open the block that the first of some things stands in."""
        nodes = self._graph.state.nodes
        found = next((nodes[i] for i in node_ids if i in nodes), None)
        if found is not None and found.id not in self._graph.nodes:
            self.open(found.parent)

    def _changed(self) -> None:
        self._view.navigation.level = self.id

    def forget(self) -> None:
        """Another document was opened."""
        self._places.clear()


class CanvasContext:
    """The open document and the selection, with the view they are shown in.

    Gestures, fields and lists get this and never the canvas itself: the canvas makes them.

    Args:
        view: shows the drawing; parent of fields and lists.
        studio: the models of the window.
    """

    def __init__(self, view: GraphView, studio: Studio) -> None:
        self.view = view
        self.studio = studio
        self.bus = studio.bus
        self.graph = view.graph
        self.marks = view.marks
        self.overlay = view.overlay
        self.navigation = view.navigation
        self.open_block = OpenBlock(view)
        self._pointer = QPointF()

    @property
    def document(self) -> Document:
        return self.studio.document

    # -- selection and edits --------------------------------------------------------------------

    def selected_ids(self) -> list[str]:
        """The selected layers, dots, notes and frames that exist, in the order of selection."""
        nodes = self.document.state.nodes
        return [key for key in self.bus.drawn.of_kind("node") if key in nodes]

    def select(self, node_ids: Iterable[str]) -> None:
        """Select things in place of what was selected, at the level where the first one stands."""
        chosen = list(node_ids)
        self.open_block.show(chosen)
        self.bus.select([entities.node(node_id) for node_id in chosen], source=CANVAS)

    def outputs_of(self, node_id: str) -> int:
        """How many outputs a layer is drawn with."""
        item = self.graph.nodes.get(node_id)
        return 1 if item is None else item.card.outputs

    def choose_output(self, port: Port | None) -> None:
        """Choose which output of the selected layer keys and menu act on; None for the first.

        The choice ends when something else is selected; previews go on showing that output.
        """
        if port is not None and self.outputs_of(port.node) > 1:
            self.marks.show_chosen(port)
            self.bus.choose_output(port)
        else:
            self.marks.show_chosen(None)
            self.bus.act_on_first_output()

    def output_of(self, node_id: str) -> Port:
        """The chosen output of a layer; its first one where none is chosen."""
        chosen = self.bus.acting_output
        if chosen is None or chosen.node != node_id or chosen.output >= self.outputs_of(node_id):
            return Port(node_id)
        return chosen

    def selection_changed(self) -> None:
        """Forget the chosen output when its layer is not the one that keys act on any more."""
        if self.bus.acting_output is None:
            self.choose_output(None)

    def apply(self, text: str, edit: Callable[[DocumentState], DocumentState]) -> bool:
        """Make an edit as one step; the user is told why when it is refused.

        Returns:
            Whether the document changed.
        """
        try:
            change = self.document.apply(text, edit(self.document.state))
        except StudioError as error:
            self.studio.fail(error, EDIT)
            return False
        return not change.is_empty

    # -- pointer --------------------------------------------------------------------------------

    def pointer_at(self, place: QPointF, modifiers: Qt.KeyboardModifier) -> Pointer:
        """The pointer at a place of the viewport, which is remembered as where it is."""
        self._pointer = place
        return Pointer(self.navigation.scene_at(place), place, modifiers)

    def pointer(self, modifiers: Qt.KeyboardModifier | None = None) -> Pointer:
        """The pointer where it was last, by default with the modifier keys held now."""
        held = QApplication.keyboardModifiers() if modifiers is None else modifiers
        return self.pointer_at(self._pointer, held)

    def pointer_or_middle(self) -> QPointF:
        """Where the pointer is in the viewport; the middle when it is outside."""
        area = self.view.viewport().rect()
        inside = area.contains(self._pointer.toPoint()) and self.view.underMouse()
        return self._pointer if inside else QPointF(area.center())

    def new_place(self) -> QPointF:
        """The point of the graph where something added without a place goes."""
        return self.navigation.scene_at(self.pointer_or_middle())

    def target_at(self, at: Pointer) -> Target:
        """What is under a place."""
        return pick(self.graph, at.scene, self.view.viewportTransform())
