"""What a hover lights in a view of the program: rows by what they do for it, registers by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from studio.engine.core.tensor import Ref
from studio.session.compile.provenance import Provenance
from studio.session.core import entities
from studio.session.core.entities import Entity
from studio.session.listing.line_spans import OperandSpan
from studio.session.listing.rows import ProgramRows

RowStyle: TypeAlias = Literal["solid", "striped", "dotted"]
SpanStyle: TypeAlias = Literal["solid", "dashed"]

_STYLES: Mapping[str, RowStyle] = {"backward": "striped", "update": "dotted"}


@dataclass(frozen=True)
class Light:
    """What is lit.

    Attributes:
        rows: how each lit row is painted: forward solid, backward striped, update dotted.
        register: the storage whose uses are lit, if one is pointed at.
        forward: for a gradient its forward tensor, which is marked with dashes.
        users: rows that touch the storage.
        same_bytes: registers that are views of the same bytes.
    """

    rows: Mapping[int, RowStyle] = field(default_factory=dict)
    register: Ref | None = None
    forward: Ref | None = None
    users: frozenset[int] = frozenset()
    same_bytes: frozenset[Ref] = frozenset()

    def span_styles(self, row: int, spans: Sequence[OperandSpan]) -> tuple[SpanStyle | None, ...]:
        """How each register of a row is marked; None where it is not."""
        register = self.register
        if register is None:
            return (None,) * len(spans)
        # A gradient instruction names the gradient it touches by its tensor alone.
        is_named = any(span.ref == register for span in spans)
        implied = None if is_named or row not in self.users else Ref(register.id)
        return tuple(self._style(span.ref, register, implied) for span in spans)

    def _style(self, ref: Ref, register: Ref, implied: Ref | None) -> SpanStyle | None:
        if ref in (register, implied):
            return "solid"
        if ref == self.forward or Ref(ref.id, register.grad) in self.same_bytes:
            return "dashed"
        return None


NO_LIGHT = Light()


def light_of(entity: Entity | None, rows: ProgramRows, provenance: Provenance) -> Light:
    """What pointing at a thing lights."""
    if entity is None:
        return NO_LIGHT
    if entity.kind == "wire":
        output = provenance.related(entity, "tensor")
        return NO_LIGHT if not output else light_of(output[0], rows, provenance)
    if entity.kind == "tensor":
        return _tensor_light(entity, rows)
    if entity.kind == "node":
        return Light(_node_rows(entity.key, provenance))
    found = (provenance.index_of(line.key) for line in provenance.related(entity, "instruction"))
    return Light({row: "solid" for row in found if row is not None})


def meant_register(rows: ProgramRows, row: int, span: OperandSpan) -> Ref:
    """The storage a printed register stands for in its line.

    A gradient instruction prints the operands of its forward instruction and may touch only the
    gradients of some: those are meant there.
    """
    ref = span.ref
    if ref.grad or not ref.present:
        return ref
    effects = rows.instruction(row).effects()
    touched = effects.reads | effects.writes
    return ref.gradient if ref not in touched and ref.gradient in touched else ref


def entity_of(rows: ProgramRows, ref: Ref) -> Entity:
    """The entity of a register."""
    return entities.tensor(rows.program.tensor(ref).name, grad=ref.grad)


def ref_of(rows: ProgramRows, entity: Entity) -> Ref | None:
    """The register of a tensor; None where the program has none."""
    name, grad = entities.tensor_name(entity)
    tensors = rows.program.tensors
    return Ref(tensors.named(name).id, grad) if tensors.has_name(name) else None


def _tensor_light(entity: Entity, rows: ProgramRows) -> Light:
    ref = ref_of(rows, entity)
    if ref is None:
        return NO_LIGHT
    users = frozenset(use.row for use in rows.uses(ref))
    root = rows.program.tensors.root(ref.id)
    family = (t.id for t in rows.program.tensors.values() if t.view_of is not None or t.id == root)
    same = {Ref(i, ref.grad) for i in family if rows.program.tensors.root(i) == root}
    return Light(
        dict.fromkeys(users, "solid"),
        ref,
        Ref(ref.id) if ref.grad else None,
        users,
        frozenset(same - {ref}),
    )


def _node_rows(node_id: str, provenance: Provenance) -> dict[int, RowStyle]:
    found: dict[int, RowStyle] = {}
    for row in provenance.instructions_of(node_id):
        roles = (role for owner, role in provenance.nodes_of(row) if owner == node_id)
        found[row] = _STYLES.get(next(roles, "forward"), "solid")
    return found
