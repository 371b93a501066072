"""A program: a tensor map and sections of instructions, immutable, the currency of the compiler."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from studio.engine.core.tensor import Ref, Role, Tensor, TensorMap, TensorType
from studio.engine.isa.instruction import Instruction, TypeOf

SECTIONS = ("data", "forward", "loss", "backward", "update", "metrics")
"""Sections in running order."""


class Storage(NamedTuple):
    """One storage: the root of a view class, and which of its two storages."""

    root: int
    grad: bool

    def __str__(self) -> str:
        return str(Ref(self.root, self.grad))


@dataclass(frozen=True)
class Program:
    """Everything needed to run a network: tensors, instructions and what is fed and fetched.

    Attributes:
        name: the project's or model's name.
        mode: ``train``, ``evaluate`` or ``infer``.
        tensors: the tensor map.
        sections: instructions by section name; missing sections are empty, and empty ones that are
            named stay so in files.
        inputs: tensors the caller feeds (none in a program that gathers its own batches).
        outputs: tensors the caller fetches.
        meta: plain text facts that travel with exports (class names, data hash, input kind).
    """

    name: str
    mode: str
    tensors: TensorMap
    sections: Mapping[str, tuple[Instruction, ...]]
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    meta: Mapping[str, str] = field(default_factory=dict)

    def section(self, name: str) -> tuple[Instruction, ...]:
        """The instructions of one section."""
        return self.sections.get(name, ())

    def __iter__(self) -> Iterator[Instruction]:
        for name in SECTIONS:
            yield from self.section(name)

    def __len__(self) -> int:
        return sum(len(self.section(name)) for name in SECTIONS)

    def located(self) -> Iterator[tuple[str, int, Instruction]]:
        """Section, running index over the whole program, and instruction."""
        index = 0
        for name in SECTIONS:
            for ins in self.section(name):
                yield name, index, ins
                index += 1

    def tensor(self, ref: Ref | int) -> Tensor:
        """The tensor an operand names."""
        return self.tensors[ref.id if isinstance(ref, Ref) else ref]

    def type_of(self, ref: Ref) -> TensorType:
        """The type of an operand, symbols unbound."""
        return self.tensors[ref.id].type

    def bound(self, batch: int, rows: int = 0) -> TypeOf:
        """A function from operand to type with symbols bound, as ``flops`` wants it."""
        return lambda ref: self.tensors[ref.id].type.bind(batch, rows)

    def storage(self, ref: Ref) -> Storage:
        """The storage an operand touches."""
        return Storage(self.tensors.root(ref.id), ref.grad)

    def reads(self, ins: Instruction) -> frozenset[Storage]:
        """Storages an instruction reads."""
        return frozenset(self.storage(r) for r in ins.effects().reads)

    def writes(self, ins: Instruction) -> frozenset[Storage]:
        """Storages an instruction writes."""
        return frozenset(self.storage(r) for r in ins.effects().writes)

    def gradients(self) -> frozenset[int]:
        """Ids of tensors whose gradient storage is touched anywhere."""
        touched: set[int] = set()
        for ins in self:
            effects = ins.effects()
            touched.update(r.id for r in effects.reads | effects.writes if r.grad)
        return frozenset(touched)

    def of_role(self, *roles: Role) -> tuple[Tensor, ...]:
        """Tensors of the given roles, in id order."""
        return tuple(t for t in self.tensors.values() if t.role in roles)

    def with_sections(self, **sections: Iterable[Instruction]) -> Program:
        """A program with the given sections put in place of the old ones."""
        merged = dict(self.sections)
        merged.update({name: tuple(found) for name, found in sections.items()})
        return replace(self, sections=merged)

    def with_tensors(self, tensors: TensorMap) -> Program:
        """A program over another tensor map."""
        return replace(self, tensors=tensors)

    def map_instructions(self, change: Callable[[Instruction], Instruction]) -> Program:
        """A program with every instruction passed through ``change``."""
        return self.with_sections(
            **{name: tuple(change(i) for i in self.section(name)) for name in self.sections}
        )

    def next_id(self) -> int:
        """The first unused tensor id."""
        return max(self.tensors, default=-1) + 1
