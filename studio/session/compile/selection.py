"""One selection for the whole window: what the pointer is over, what is selected, what to show."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

from studio.engine.core.signal import Signal
from studio.engine.layers.graph import Port
from studio.session.compile.provenance import EntityPath, Provenance
from studio.session.core.entities import Entity

Mode: TypeAlias = Literal["replace", "add", "toggle"]


class Selection(NamedTuple):
    """What is selected, in the order it was, and the one that keys and panes act on."""

    entities: tuple[Entity, ...] = ()
    primary: Entity | None = None

    def __contains__(self, entity: object) -> bool:
        return entity in self.entities

    def of_kind(self, kind: str) -> tuple[str, ...]:
        """Keys of the selected things of one kind."""
        return tuple(entity.key for entity in self.entities if entity.kind == kind)


class SelectionBus:
    """Carries hover, selection and requests to show something between views.

    Hover never changes the selection and never scrolls. A view that hears a selection of its own
    ``source`` leaves its scroll position alone; the others mark what belongs to the selection and
    scroll only when its primary thing is out of sight.
    """

    def __init__(self) -> None:
        self.hovered: Signal[[Entity | None, str]] = Signal()
        self.selected: Signal[[Selection, str]] = Signal()
        self.revealed: Signal[[Entity, str]] = Signal()
        self.path_changed: Signal[[EntityPath]] = Signal()
        self.output_chosen: Signal[[str]] = Signal()
        self._hover: Entity | None = None
        self.selection = Selection()
        self.path = EntityPath()
        """The primary thing seen as layer, instruction, tensor and kernel."""
        self._provenance: Provenance | None = None
        self._outputs: dict[str, int] = {}
        self._acting: Port | None = None

    @property
    def hover_entity(self) -> Entity | None:
        """What the pointer is over, in whichever view."""
        return self._hover

    @property
    def drawn(self) -> Selection:
        """The selection as layers and wires: what the canvas marks, and actions on layers act on.

        Layers that an instruction, tensor or kernel belongs to are selected with it.
        """
        return self.as_drawn(self.selection)

    def hover(self, entity: Entity | None, source: str) -> None:
        """The pointer came over something in view ``source``, or left with None."""
        if entity != self._hover:
            self._hover = entity
            self.hovered.emit(entity, source)

    def select(
        self,
        chosen: Iterable[Entity],
        primary: Entity | None = None,
        source: str = "",
        mode: Mode = "replace",
    ) -> None:
        """Select things.

        Args:
            chosen: the things; none clears with ``replace``.
            primary: the one to act on; the last one chosen by default.
            source: the view where the user did it.
            mode: whether they replace, join, or (those selected already) leave the selection.
        """
        given = tuple(dict.fromkeys(chosen))
        before = self.selection.entities
        if mode == "replace":
            entities = given
        elif mode == "add":
            entities = tuple(dict.fromkeys((*before, *given)))
        else:
            entities = (*(e for e in before if e not in given),
                        *(e for e in given if e not in before))  # fmt: skip
        first = primary if primary in entities else None
        if first is None and entities:
            first = next((e for e in reversed(given) if e in entities), entities[-1])
        made = Selection(entities, first)
        if made == self.selection:
            return
        self.selection = made
        self._follow(first)
        self.selected.emit(made, source)

    def choose_output(self, port: Port) -> None:
        """Act on this one of the outputs of its layer, and show it in previews and tensor views.

        Actions are on the first output again when the layer is not the primary one any more;
        previews go on showing what was chosen.
        """
        self._acting = port
        self._outputs[port.node] = port.output
        self.output_chosen.emit(port.node)

    def act_on_first_output(self) -> None:
        """Act on the first output of the primary layer."""
        self._acting = None

    @property
    def acting_output(self) -> Port | None:
        """The output of the primary layer that was chosen to act on; None without a choice."""
        primary, port = self.drawn.primary, self._acting
        if port is None or primary is None or (primary.kind, primary.key) != ("node", port.node):
            return None
        return port

    def output_of(self, node_id: str) -> int:
        """Which output of a layer is shown: the one chosen last, the first without a choice."""
        return self._outputs.get(node_id, 0)

    def clear(self, source: str = "") -> None:
        """Select nothing."""
        self.select((), source=source)

    def leave_document(self) -> None:
        """Select, hover and choose nothing: another document is about to be opened."""
        self.hover(None, "")
        self.clear()
        self._outputs.clear()
        self._acting = None

    def forget(self, gone: Iterable[Entity]) -> None:
        """Drop things that no longer exist from selection and hover."""
        lost = set(gone)
        for entity in lost:
            self._outputs.pop(entity.key, None)
        if self._hover in lost:
            self.hover(None, "")
        kept = tuple(e for e in self.selection.entities if e not in lost)
        if kept != self.selection.entities:
            primary = self.selection.primary
            self.select(kept, None if primary in lost else primary)

    def reveal(self, entity: Entity, source: str) -> None:
        """Ask every view to bring something into sight, at the user's wish."""
        self.revealed.emit(entity, source)

    def use(self, provenance: Provenance | None) -> None:
        """Follow a newly compiled program; the selection stays, its path is looked up again."""
        self._provenance = provenance
        self._follow(self.selection.primary)

    def as_drawn(self, selection: Selection) -> Selection:
        """Things as layers and wires; the first layer that the primary one maps to is primary."""
        chosen: dict[Entity, None] = {}
        primary = None
        for entity in selection.entities:
            found = self._layers_of(entity)
            chosen.update(dict.fromkeys(found))
            if entity == selection.primary and found:
                primary = found[0]
        return Selection(tuple(chosen), primary)

    def _layers_of(self, entity: Entity) -> tuple[Entity, ...]:
        if entity.kind in ("node", "wire"):
            return (entity,)
        if self._provenance is None or entity.kind not in ("instruction", "tensor", "kernel"):
            return ()
        return self._provenance.related(entity, "node")

    def _follow(self, entity: Entity | None) -> None:
        if entity is None:
            path = EntityPath()
        elif self._provenance is None:
            path = EntityPath(node=entity) if entity.kind == "node" else EntityPath()
        else:
            path = self._provenance.path(entity, self.path)
        if path != self.path:
            self.path = path
            self.path_changed.emit(path)
