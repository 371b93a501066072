"""A program: a tensor map and instructions in running order, each tagged with its section."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from studio.engine.core.tensor import Ref, Role, Tensor, TensorMap, TensorType
from studio.engine.isa.instruction import Instruction, TypeOf

SETUP = "setup"
"""The section whose lines run once, before the first run of all others: they make constants."""
SECTIONS = (SETUP, "data", "forward", "loss", "backward", "update", "metrics")
"""Sections in their usual running order."""


class Storage(NamedTuple):
    """One storage: the root of a view class, and which of its two storages."""

    root: int
    grad: bool

    def __str__(self) -> str:
        return str(Ref(self.root, self.grad))


class SectionRange(NamedTuple):
    """Lines of one section that run one after another.

    Attributes:
        section: their section.
        start: running index of the first.
        lines: the instructions.
    """

    section: str
    start: int
    lines: tuple[Instruction, ...]


@dataclass(frozen=True)
class Program:
    """Everything needed to run a network: tensors, instructions and what is fed and fetched.

    Iterating gives the instructions in running order. A section is a tag of an instruction: usually
    the sections run one after another as in ``SECTIONS``, but their lines may alternate.

    Attributes:
        name: the project's or model's name.
        mode: ``train``, ``evaluate`` or ``infer``.
        tensors: the tensor map.
        sections: instructions by section name; missing sections are empty, and empty ones that are
            named stay so in files.
        order: running order where it is not the usual one: sections with the number of their next
            lines that run then. Empty for the usual order.
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
    order: tuple[tuple[str, int], ...] = ()
    _storages: dict[Ref, Storage] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if self.order:
            object.__setattr__(self, "order", _settled_order(self.sections, self.order))

    def section(self, name: str) -> tuple[Instruction, ...]:
        """The instructions of one section."""
        return self.sections.get(name, ())

    def section_ranges(self) -> Iterator[SectionRange]:
        """All lines in running order, cut where the section changes."""
        at = dict.fromkeys(SECTIONS, 0)
        start = 0
        for name, count in self.order or _usual_order(self.sections):
            lines = self.sections[name]
            if count != len(lines):
                at[name] += count
                lines = lines[at[name] - count : at[name]]
            yield SectionRange(name, start, lines)
            start += count

    def written_sections(self) -> Iterator[tuple[str, tuple[Instruction, ...]]]:
        """What files write one after another: stretches, and sections that are named but empty.

        Those without lines stand at their usual places, or last where sections alternate.
        """
        if not self.order:
            yield from ((n, self.sections[n]) for n in SECTIONS if n in self.sections)
            return
        yield from (
            (section_range.section, section_range.lines) for section_range in self.section_ranges()
        )
        yield from ((n, ()) for n in SECTIONS if n in self.sections and not self.sections[n])

    def __iter__(self) -> Iterator[Instruction]:
        for _, _, lines in self.section_ranges():
            yield from lines

    def __len__(self) -> int:
        return sum(len(self.section(name)) for name in SECTIONS)

    def located(self) -> Iterator[tuple[str, int, Instruction]]:
        """Section, running index over the whole program, and instruction."""
        for name, start, lines in self.section_ranges():
            for index, ins in enumerate(lines, start):
                yield name, index, ins

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
        """The storage an operand touches; found once, since compilers ask often."""
        found = self._storages.get(ref)
        if found is None:
            found = self._storages[ref] = Storage(self.tensors.root(ref.id), ref.grad)
        return found

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

    def with_lines(self, lines: Iterable[tuple[str, Instruction]]) -> Program:
        """A program of these lines, each with its section, in this running order.

        Sections without lines are left out, as text and binary form have it.
        """
        sections: dict[str, list[Instruction]] = {name: [] for name in SECTIONS}
        order: list[tuple[str, int]] = []
        tag, begin = "", 0
        into: list[Instruction] = []
        for name, ins in lines:
            if name != tag:
                order.append((tag, len(into) - begin))
                tag, into = name, sections[name]
                begin = len(into)
            into.append(ins)
        order.append((tag, len(into) - begin))
        kept = {name: tuple(found) for name, found in sections.items() if found}
        return replace(self, sections=kept, order=tuple(order[1:]))

    def with_sections(self, **sections: Iterable[Instruction]) -> Program:
        """A program with the given sections put in place of the old ones.

        In a program whose sections alternate, a section of as many lines as before keeps their
        places. One of another length stands where its first line stood, a new one behind all
        earlier sections.
        """
        merged = dict(self.sections)
        merged.update({name: tuple(found) for name, found in sections.items()})
        order = list(self.order)
        for name in sections if order else ():
            if len(merged[name]) != len(self.section(name)):
                order = _moved(order, name, len(merged[name]))
        return replace(self, sections=merged, order=tuple(order))

    def with_tensors(self, tensors: TensorMap) -> Program:
        """A program over another tensor map."""
        return replace(self, tensors=tensors)

    def map_instructions(self, change: Callable[[Instruction], Instruction]) -> Program:
        """A program with every instruction passed through ``change``."""
        return self.with_sections(
            **{name: tuple(change(i) for i in self.section(name)) for name in self.sections}
        )

    def divided(self) -> tuple[Program | None, Program]:
        """The lines that run once, None where there are none, and the program without them.

        Each has only the tensors that it needs.
        """
        if not self.section(SETUP):
            return None, self
        rest = {name: lines for name, lines in self.sections.items() if name != SETUP}
        order = tuple(each for each in self.order if each[0] != SETUP)
        first = replace(
            self, sections={SETUP: self.section(SETUP)}, inputs=(), outputs=(), order=()
        )
        once = {ref.id for ins in first for ref in ins.operands if ref.present}
        others = replace(self, sections=rest, order=order)
        needed = {ref.id for ins in others for ref in ins.operands if ref.present}
        needed |= {*self.inputs, *self.outputs}
        return first._with_only(once), others._with_only(set(self.tensors) - (once - needed))

    def _with_only(self, ids: set[int]) -> Program:
        """The program with only these tensors, and those that they are views of."""
        wanted = ids | {self.tensors.root(i) for i in ids}
        return self.with_tensors(TensorMap(t for t in self.tensors.values() if t.id in wanted))

    def next_id(self) -> int:
        """The first unused tensor id."""
        return max(self.tensors, default=-1) + 1


def _usual_order(sections: Mapping[str, tuple[Instruction, ...]]) -> tuple[tuple[str, int], ...]:
    return tuple((name, len(sections[name])) for name in SECTIONS if sections.get(name))


def _settled_order(
    sections: Mapping[str, tuple[Instruction, ...]], order: Iterable[tuple[str, int]]
) -> tuple[tuple[str, int], ...]:
    """The order with neighbours of one section as one; empty where it is the usual one."""
    joined: list[tuple[str, int]] = []
    counts: dict[str, int] = {}
    for name, count in order:
        counts[name] = counts.get(name, 0) + count
        if joined and joined[-1][0] == name:
            joined[-1] = (name, joined[-1][1] + count)
        elif count:
            joined.append((name, count))
        if count < 0:
            raise ValueError(f"the order counts {count} lines of section {name}")
    usual = _usual_order(sections)
    if {name: count for name, count in counts.items() if count} != dict(usual):
        raise ValueError(f"the order holds {counts}, the sections {dict(usual)}")
    return () if tuple(joined) == usual else tuple(joined)


def _moved(order: list[tuple[str, int]], section: str, count: int) -> list[tuple[str, int]]:
    """The order with a section in one piece: at its first place, else behind earlier sections."""
    names = [name for name, _ in order]
    if section in names:
        place = names.index(section)
    else:
        earlier = SECTIONS[: SECTIONS.index(section)]
        place = max((i + 1 for i, name in enumerate(names) if name in earlier), default=0)
    others = [(name, 0 if name == section else found) for name, found in order]
    return [*others[:place], (section, count), *others[place:]]
