"""Joins a listing to the selection of the window: what is lit, what is marked, what is chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal, TypeAlias

from studio.engine.core.signal import Signal
from studio.engine.core.tensor import Ref
from studio.instruction_view.lights import (
    NO_LIGHT,
    Light,
    entity_of,
    light_of,
    meant_register,
)
from studio.session.compile.provenance import Provenance
from studio.session.compile.selection import Selection, SelectionBus
from studio.session.core import entities
from studio.session.core.entities import Entity
from studio.session.listing.arrangement import Line
from studio.session.listing.listing import Listing
from studio.session.listing.rows import ProgramRows

SOURCE = "listing"

RowMark: TypeAlias = Literal["primary", "member"]


class ListingLinks:
    """Translates between lines and what can be selected.

    Args:
        listing: what is shown.
        bus: the selection of the window.
        provenance: gives the map of the program shown.
    """

    def __init__(
        self, listing: Listing, bus: SelectionBus, provenance: Callable[[], Provenance]
    ) -> None:
        self.lit: Signal[[]] = Signal()
        self.marked: Signal[[bool]] = Signal()
        self.wanted: Signal[[int]] = Signal()
        self.light: Light = NO_LIGHT
        self.pinned = False
        self._listing = listing
        self._bus = bus
        self._provenance = provenance
        self._selection = bus.selection
        self._rows: Mapping[int, RowMark] = {}
        self._kernels: frozenset[str] = frozenset()
        self._owners: frozenset[str] = frozenset()
        self._primary = -1
        bus.hovered.connect(self._hovered)
        bus.selected.connect(self._selected)
        bus.revealed.connect(self._revealed)

    # -- what is lit and marked -----------------------------------------------------------------

    @property
    def primary_row(self) -> int:
        """The row of the primary thing selected, -1 where it has none."""
        return self._primary

    @property
    def marked_rows(self) -> tuple[int, ...]:
        """Rows that belong to the selection, in program order."""
        return tuple(sorted(self._rows))

    def note(self) -> str:
        """Which of several rows is the primary one: ``marked 3 of 7``; empty for one or none."""
        marked = self.marked_rows
        if len(marked) < 2 or self._primary not in marked:
            return ""
        return f"marked {marked.index(self._primary) + 1} of {len(marked)}"

    def next_marked(self, step: int) -> int:
        """The row of the next marked one, around the ends; -1 without any."""
        marked = self.marked_rows
        if not marked:
            return -1
        if self._primary not in marked:
            return marked[0]
        return marked[(marked.index(self._primary) + step) % len(marked)]

    def walk_to(self, row: int) -> None:
        """Make another of the marked rows the primary one."""
        if row not in self._rows:
            return
        chosen = self._selection.entities
        line = entities.instruction(self._provenance().key_of(row))
        if line in chosen and not self.pinned:
            self._bus.select(chosen, line, SOURCE)
            return
        self._rows = {**dict.fromkeys(self._rows, "member"), row: "primary"}
        self._primary = row
        self.marked.emit(False)

    def mark_of(self, line: Line) -> RowMark | None:
        """How a line is marked."""
        if line.kind == "heading":
            return self._heading_mark(line)
        if line.row < 0:
            return None
        if line.kind != "kernel":
            return self._rows.get(line.row)
        if line.key in self._kernels:
            return "primary"
        rows = self._listing.rows
        if self._kernels or rows is None:
            return None
        span = rows.group(line.row)
        marks = [self._rows[i] for i in range(span.first, span.last + 1) if i in self._rows]
        return min(marks, key=lambda mark: mark != "primary", default=None)

    def refresh(self) -> None:
        """Another program is shown: find everything in it again, without scrolling."""
        self._mark(self._selection)
        self.light = self._light(self._bus.hover_entity)
        self.marked.emit(False)

    def set_pinned(self, pinned: bool) -> None:
        """Keep what is marked, whatever is selected elsewhere; or follow again."""
        self.pinned = pinned
        if not pinned:
            self._selected(self._bus.selection, "")

    # -- what the user does here ----------------------------------------------------------------

    def entity_at(self, line: Line, operand: int = -1) -> Entity | None:
        """What the pointer means on a line, or on one of its registers."""
        rows = self._listing.rows
        if rows is None:
            return None
        if line.kind == "heading":
            return entities.node(line.title) if line.key.startswith("layer:") else None
        if line.row < 0:
            return None
        if operand >= 0:
            ref = self.register_at(line, operand)
            return None if ref is None else entity_of(rows, ref)
        if line.kind == "kernel":
            return Entity("kernel", line.key)
        return entities.instruction(rows.key(line.row))

    def register_at(self, line: Line, operand: int) -> Ref | None:
        """The storage a register of a line stands for."""
        rows, spans = self._listing.rows, self._listing.spans(line)
        if rows is None or not 0 <= operand < len(spans):
            return None
        ref = meant_register(rows, line.row, spans[operand])
        return ref if ref.present else None

    def hover(self, line: Line | None, operand: int = -1) -> None:
        """The pointer is over a line, or has left."""
        entity = None if line is None else self.entity_at(line, operand)
        if self.pinned:
            self._show_light(self._light(entity))
        else:
            self._bus.hover(entity, SOURCE)

    def choose(self, lines: Iterable[Line], primary: Line | None, operand: int = -1) -> None:
        """Lines, or a register of one, were selected here."""
        if operand >= 0 and primary is not None:
            each = [self.entity_at(primary, operand)]
            first = each[0]
        else:
            each = [self.entity_at(line) for line in lines]
            first = None if primary is None else self.entity_at(primary)
        chosen = tuple(dict.fromkeys(e for e in each if e is not None))
        if self.pinned:
            self._mark(Selection(chosen, first))
            self.marked.emit(False)
        elif chosen:
            self._bus.select(chosen, first, SOURCE)

    def reveal(self, line: Line | None) -> None:
        """Ask the other views to bring a line's layer into sight."""
        entity = None if line is None else self.entity_at(line)
        if entity is None:
            return
        nodes = self._provenance().related(entity, "node")
        self._bus.reveal(nodes[0] if nodes else entity, SOURCE)

    # -- hearing the others ---------------------------------------------------------------------

    def _hovered(self, entity: Entity | None, source: str) -> None:
        if not self.pinned:
            self._show_light(self._light(entity))

    def _show_light(self, light: Light) -> None:
        if light != self.light:
            self.light = light
            self.lit.emit()

    def _selected(self, selection: Selection, source: str) -> None:
        if not self.pinned:
            self._mark(selection)
            self.marked.emit(source != SOURCE)

    def _revealed(self, entity: Entity, source: str) -> None:
        if source == SOURCE or self.pinned:
            return
        lines = self._provenance().related(entity, "instruction")
        row = self._provenance().index_of(lines[0].key) if lines else None
        if row is not None:
            self.wanted.emit(row)

    # -- inside ---------------------------------------------------------------------------------

    def _light(self, entity: Entity | None) -> Light:
        rows = self._listing.rows
        return NO_LIGHT if rows is None else light_of(entity, rows, self._provenance())

    def _mark(self, selection: Selection) -> None:
        self._selection = selection
        provenance, rows = self._provenance(), self._listing.rows
        chosen = selection.entities
        self._owners = frozenset(e.key for e in chosen if e.kind == "node")
        self._kernels = frozenset(e.key for e in chosen if e.kind == "kernel")
        self._rows, self._primary = {}, -1
        if rows is None:
            return
        found = dict.fromkeys(
            line.key for entity in chosen for line in provenance.related(entity, "instruction")
        )
        indices = (provenance.index_of(key) for key in found)
        members: dict[int, RowMark] = {i: "member" for i in indices if i is not None}
        self._primary = self._primary_of(selection, provenance, members)
        if self._primary >= 0:
            members[self._primary] = "primary"
        self._rows = members

    def _primary_of(
        self, selection: Selection, provenance: Provenance, members: Mapping[int, RowMark]
    ) -> int:
        """The row that stands for the primary thing: that of the path, if it is one of them."""
        if selection.primary is None:
            return -1
        path = provenance.path(selection.primary, self._bus.path)
        line = path.instruction
        row = None if line is None else provenance.index_of(line.key)
        if row is not None and (row in members or selection.primary.kind == "tensor"):
            return row
        return min(members, default=-1)

    def _heading_mark(self, line: Line) -> RowMark | None:
        if line.key.startswith("layer:") and line.title in self._owners:
            return "primary"
        rows = self._listing.rows
        is_open = self._listing.level != "layers" and not self._listing.is_folded(line)
        if rows is None or is_open:
            return None
        hidden = (i for row in line.members for i in _group(rows, row))
        return "member" if any(i in self._rows for i in hidden) else None


def _group(rows: ProgramRows, row: int) -> range:
    span = rows.group(row)
    return range(span.first, span.last + 1)
