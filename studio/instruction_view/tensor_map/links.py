"""Joins picture and table of the tensor map to the selection of the window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from studio.engine.core.signal import Signal
from studio.engine.core.tensor import Ref
from studio.instruction_view.lights import entity_of, ref_of
from studio.session.compile.provenance import Provenance
from studio.session.compile.selection import Selection, SelectionBus
from studio.session.core.entities import Entity
from studio.session.listing.rows import ProgramRows

SOURCE = "tensor_map"

Glow: TypeAlias = Literal["solid", "dashed"]


class TensorLinks:
    """Translates between registers and what can be selected.

    Args:
        bus: the selection of the window.
        provenance: gives the map of the program shown.
    """

    def __init__(self, bus: SelectionBus, provenance: Callable[[], Provenance]) -> None:
        self.lit: Signal[[]] = Signal()
        self.marked: Signal[[bool]] = Signal()
        self.wanted: Signal[[Ref]] = Signal()
        self.rows: ProgramRows | None = None
        self.pinned = False
        self.glow: dict[Ref, Glow] = {}
        self.marks: frozenset[Ref] = frozenset()
        self.primary: Ref | None = None
        self.row = -1
        self.lit_row = -1
        self._bus = bus
        self._provenance = provenance
        self._selection = bus.selection
        bus.hovered.connect(self._hovered)
        bus.selected.connect(self._selected)
        bus.revealed.connect(self._revealed)

    def use_rows(self, rows: ProgramRows | None) -> None:
        """The program shown is another one."""
        self.rows = rows
        self._mark(self._selection)
        self._light(self._bus.hover_entity)
        self.marked.emit(False)

    def set_pinned(self, pinned: bool) -> None:
        """Keep what is marked, whatever is selected elsewhere; or follow again."""
        self.pinned = pinned
        if not pinned:
            self._selected(self._bus.selection, "")

    def note(self) -> str:
        """How many tensors belong to the selection: ``marked 1 of 7``; empty for one or none."""
        if len(self.marks) < 2 or self.primary is None or self.primary not in self.marks:
            return ""
        return f"marked {sorted(self.marks).index(self.primary) + 1} of {len(self.marks)}"

    # -- what the user does here ----------------------------------------------------------------

    def hover(self, ref: Ref | None) -> None:
        """The pointer is over a register, or has left."""
        entity = None if ref is None or self.rows is None else entity_of(self.rows, ref)
        if self.pinned:
            self._light(entity)
            self.lit.emit()
        else:
            self._bus.hover(entity, SOURCE)

    def choose(self, refs: tuple[Ref, ...], primary: Ref | None = None) -> None:
        """Registers were selected here."""
        if self.rows is None or not refs:
            return
        chosen = tuple(entity_of(self.rows, ref) for ref in refs)
        first = None if primary is None else entity_of(self.rows, primary)
        if self.pinned:
            self._mark(Selection(chosen, first or chosen[-1]))
            self.marked.emit(False)
        else:
            self._bus.select(chosen, first, SOURCE)

    def reveal(self, ref: Ref) -> None:
        """Ask the other views to bring a register's layer into sight."""
        if self.rows is not None:
            self._bus.reveal(entity_of(self.rows, ref), SOURCE)

    # -- hearing the others ---------------------------------------------------------------------

    def _hovered(self, entity: Entity | None, _source: str) -> None:
        if not self.pinned:
            self._light(entity)
            self.lit.emit()

    def _selected(self, selection: Selection, source: str) -> None:
        if not self.pinned:
            self._mark(selection)
            self.marked.emit(source != SOURCE)

    def _revealed(self, entity: Entity, source: str) -> None:
        refs = () if source == SOURCE or self.pinned else self._refs(entity)
        if refs:
            self.wanted.emit(refs[0])

    def _light(self, entity: Entity | None) -> None:
        self.glow, self.lit_row = {}, -1
        rows = self.rows
        if rows is None or entity is None:
            return
        self.glow = dict.fromkeys(self._refs(entity), "solid")
        if entity.kind == "tensor":
            own = ref_of(rows, entity)
            if own is not None and own.grad:
                self.glow.setdefault(Ref(own.id), "dashed")
        self.lit_row = self._row_of(entity)

    def _mark(self, selection: Selection) -> None:
        self._selection = selection
        self.marks, self.primary, self.row = frozenset(), None, -1
        if self.rows is None or selection.primary is None:
            return
        self.marks = frozenset(ref for each in selection.entities for ref in self._refs(each))
        path = self._provenance().path(selection.primary, self._bus.path)
        tensor = path.tensor
        self.primary = None if tensor is None else ref_of(self.rows, tensor)
        if self.primary not in self.marks:
            self.primary = min(self.marks, default=None)
        self.row = -1 if path.instruction is None else self._row_of(path.instruction)

    def _refs(self, entity: Entity) -> tuple[Ref, ...]:
        """The registers of a thing: all an instruction touches, the ports of a layer."""
        rows = self.rows
        if rows is None:
            return ()
        if entity.kind == "wire":
            found = self._provenance().related(entity, "tensor")[:1]
        elif entity.kind == "node":
            names = self._provenance().tensors_of(entity.key)
            found = tuple(Entity("tensor", name) for name in names)
        else:
            found = self._provenance().related(entity, "tensor")
        refs = (ref_of(rows, each) for each in found)
        return tuple(ref for ref in refs if ref is not None)

    def _row_of(self, entity: Entity) -> int:
        if entity.kind not in ("instruction", "kernel"):
            return -1
        lines = self._provenance().related(entity, "instruction")
        row = self._provenance().index_of(lines[0].key) if lines else None
        return -1 if row is None else row
