"""The instructions of a program as rows: texts, operands, shapes and estimated cost of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Literal, NamedTuple, Protocol, TypeAlias

from studio.engine.compiler.lifetimes import Span, group_spans
from studio.engine.core.tensor import Ref, shape_text
from studio.engine.isa.fields import Access
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.line import format_line, value_text
from studio.engine.isa.ops.group import End, Fuse
from studio.engine.isa.program import Program, Storage
from studio.engine.runtime.entries import Entry, entries
from studio.session.core.quantities import TIMES
from studio.session.listing.line_spans import OperandSpan, operand_spans

How: TypeAlias = Literal["writes", "reads", "changes"]


class Cost(NamedTuple):
    """What an instruction is estimated to do, by its own declaration.

    Attributes:
        flops: arithmetic operations.
        nbytes: bytes read and written, each storage once per direction.
    """

    flops: int = 0
    nbytes: int = 0


class Use(NamedTuple):
    """One instruction that touches a register."""

    row: int
    how: How


class ProgramRows:
    """One program as rows; a cell is made when it is first asked for.

    Args:
        program: as the backend runs it.
        origins: where its instructions came from.
        batch: rows of the batch symbol, for costs.
        data_rows: rows of the resident data set, for costs.
        names: what the user calls layers, by id; an id without one is shown itself.
    """

    def __init__(
        self,
        program: Program,
        origins: Origins,
        batch: int,
        data_rows: int = 0,
        names: Mapping[str, str] | None = None,
    ) -> None:
        self.program = program
        self.origins = origins
        self.batch = batch
        self.data_rows = data_rows
        self._names = names or {}
        located = tuple(program.located())
        self._sections = tuple(section for section, _, _ in located)
        self._lines = tuple(line for _, _, line in located)
        self._groups = group_spans(program)
        self._texts: list[str | None] = [None] * len(located)
        self._costs: dict[int, Cost] = {}
        self._spans: dict[int, tuple[OperandSpan, ...]] = {}

    def __len__(self) -> int:
        return len(self._lines)

    def prepare(self) -> None:
        """Make what a search or a comparison asks of every row; for a thread of its own."""
        for index in range(len(self)):
            self.text(index)
        _ = self.signatures, self._uses, self._producers, self.entries
        _ = self.widest_mnemonic, self.widest_operands, self.widest_shape, self.widest_owners
        _ = self.layers, self.all_owners, self.opcodes, self.output_shapes

    # -- text -----------------------------------------------------------------------------------

    def text(self, index: int) -> str:
        """The line exactly as the compiler prints it."""
        made = self._texts[index]
        if made is None:
            made = self._texts[index] = format_line(self._lines[index])
        return made

    def spans(self, index: int) -> tuple[OperandSpan, ...]:
        """The registers in that text."""
        made = self._spans.get(index)
        if made is None:
            made = self._spans[index] = operand_spans(self._lines[index], self.text(index))
        return made

    @cached_property
    def widest_mnemonic(self) -> int:
        """Characters of the longest mnemonic."""
        return max((len(line.mnemonic) for line in self._lines), default=0)

    @cached_property
    def widest_operands(self) -> int:
        """Characters of the longest line behind its mnemonic."""
        found = (len(self.text(i)) - len(line.mnemonic) for i, line in enumerate(self._lines))
        return max(found, default=0)

    @cached_property
    def widest_shape(self) -> int:
        """Characters of the longest shape of a result."""
        return max((len(self.shape(index)) for index in range(len(self))), default=0)

    @cached_property
    def widest_owners(self) -> int:
        """Characters of the longest list of owners."""
        found = (len(", ".join(self.named_owners(index))) for index in range(len(self)))
        return max(found, default=0)

    def instruction(self, index: int) -> Instruction:
        """The instruction itself."""
        return self._lines[index]

    def mnemonic(self, index: int) -> str:
        """Its mnemonic."""
        return self._lines[index].mnemonic

    def section(self, index: int) -> str:
        """The section it stands in."""
        return self._sections[index]

    def key(self, index: int) -> str:
        """Its key, the same after another compile."""
        return self.origins.key_of(index)

    # -- operands -------------------------------------------------------------------------------

    def written(self, index: int) -> tuple[Ref, ...]:
        """Storages it writes or changes, in printing order."""
        effects = self._lines[index].effects()
        return _ordered(self._lines[index], effects.writes)

    def read(self, index: int) -> tuple[Ref, ...]:
        """Storages it reads and does not change, in printing order."""
        effects = self._lines[index].effects()
        return _ordered(self._lines[index], effects.reads - effects.writes)

    def flow(self, index: int) -> str:
        """Results and sources: ``0x3 ← 0x0, 0x1``."""
        out = ", ".join(str(ref) for ref in self.written(index))
        source = ", ".join(str(ref) for ref in self.read(index))
        return f"{out} ← {source}" if out and source else out or (f"← {source}" if source else "")

    def parameters(self, index: int) -> str:
        """Scalars by name, those of the tail only where they differ from the default."""
        line = self._lines[index]
        shown = (a for a in line.attr_fields if not a.tail or not a.is_default(line.value(a.name)))
        return " ".join(f"{a.name}={value_text(a, line.value(a.name))}" for a in shown)

    def shape(self, index: int) -> str:
        """Shape of the first result, and how many more there are."""
        out = self.written(index)
        if not out:
            return ""
        text = shape_text(self.program.tensor(out[0]).shape)
        return f"{text} +{len(out) - 1}" if len(out) > 1 else text

    def uses(self, ref: Ref) -> tuple[Use, ...]:
        """Every instruction that touches a storage by that register, in program order."""
        return tuple(self._uses.get(ref, ()))

    def producer(self, ref: Ref) -> int | None:
        """The first instruction that writes a register, or the one it is a view of."""
        return self._producers.get(self.program.storage(ref))

    @cached_property
    def _uses(self) -> dict[Ref, list[Use]]:
        found: dict[Ref, list[Use]] = {}
        for index, line in enumerate(self._lines):
            effects = line.effects()
            for ref in effects.reads | effects.writes:
                how: How = "reads"
                if ref in effects.writes:
                    how = "changes" if ref in effects.reads else "writes"
                found.setdefault(ref, []).append(Use(index, how))
        return found

    @cached_property
    def _producers(self) -> dict[Storage, int]:
        found: dict[Storage, int] = {}
        for ref, uses in self._uses.items():
            writer = next((use.row for use in uses if use.how != "reads"), None)
            if writer is not None:
                storage = self.program.storage(ref)
                found[storage] = min(writer, found.get(storage, writer))
        return found

    # -- groups ---------------------------------------------------------------------------------

    def group(self, index: int) -> Span:
        """First and last row of the fused group it is in; itself where it stands alone."""
        return self._groups[index]

    def is_group_begin(self, index: int) -> bool:
        """Whether it begins a fused group."""
        return isinstance(self._lines[index], Fuse)

    def is_group_end(self, index: int) -> bool:
        """Whether it ends a fused group."""
        return isinstance(self._lines[index], End)

    def is_inside(self, index: int) -> bool:
        """Whether it stands between the lines of a fused group."""
        span = self._groups[index]
        return span.first < index < span.last

    @cached_property
    def entries(self) -> Mapping[int, Entry]:
        """What runs as one, by the index of its first row."""
        return {entry.index: entry for entry in entries(self.program)}

    def group_title(self, index: int) -> str:
        """What a fused group computes: ``CONV2D + RELU``; empty for other rows."""
        entry = self.entries.get(index)
        if entry is None or not self.is_group_begin(index):
            return ""
        if entry.kind == "update":
            return f"{entry.mnemonic} {TIMES} {len(entry.parts)}"
        return entry.mnemonic.replace("+", " + ")

    # -- origin and cost ------------------------------------------------------------------------

    def owners(self, index: int) -> tuple[str, ...]:
        """Everything it came from, layers first."""
        return tuple(owner for owner, _ in self.origins.nodes_of(index))

    def name_of(self, owner: str) -> str:
        """The name of a layer; a housekeeping owner is its own name."""
        return self._names.get(owner, owner)

    def named_owners(self, index: int) -> tuple[str, ...]:
        """Names of the layers it came from; housekeeping only where there are none."""
        found = layers_of(self.origins, index) or self.owners(index)
        return tuple(self.name_of(owner) for owner in found)

    def listed_owners(self, index: int) -> tuple[str, ...]:
        """Who it is listed under."""
        return listed_owners(self.origins, index)

    def cost(self, index: int) -> Cost:
        """Estimate of a row; the line that begins a fused group has the cost of the group."""
        made = self._costs.get(index)
        if made is None:
            made = self._costs[index] = self._cost(index)
        return made

    def rows_of(self, owner: str) -> tuple[int, ...]:
        """Rows that came from a layer or housekeeping owner, in program order."""
        return self._rows_by_owner.get(owner, ())

    @cached_property
    def layers(self) -> tuple[str, ...]:
        """Layers in the order the program reaches them."""
        found: dict[str, None] = {}
        for index in range(len(self)):
            found.update(dict.fromkeys(layers_of(self.origins, index)))
        return tuple(found)

    @cached_property
    def all_owners(self) -> tuple[str, ...]:
        """Layers and housekeeping owners, in the order the program reaches them."""
        return tuple(self._rows_by_owner)

    @cached_property
    def _rows_by_owner(self) -> dict[str, tuple[int, ...]]:
        found: dict[str, list[int]] = {}
        for index in range(len(self)):
            for owner in self.owners(index):
                found.setdefault(owner, []).append(index)
        return {owner: tuple(members) for owner, members in found.items()}

    @cached_property
    def output_shapes(self) -> dict[str, str]:
        """Shape of the output of each layer."""
        tensors = self.program.tensors.values()
        return {t.layer: shape_text(t.shape) for t in tensors if t.layer and t.port == "output"}

    @cached_property
    def opcodes(self) -> tuple[str, ...]:
        """Forward mnemonics in order of first use; a gradient counts as its forward one."""
        return tuple(dict.fromkeys(base_mnemonic(line) for line in self._lines))

    @cached_property
    def signatures(self) -> tuple[tuple[object, ...], ...]:
        """What each row is apart from the numbers of its registers, to compare programs by."""
        return tuple(self._signature(line) for line in self._lines)

    def _cost(self, index: int) -> Cost:
        line = self._lines[index]
        if self.is_group_end(index):
            return Cost()
        entry = self.entries.get(index)
        if entry is None:
            entry = Entry(self._sections[index], index, (line,))
        return Cost(
            entry.flops(self.program, self.batch, self.data_rows),
            entry.traffic(self.program, self.batch, self.data_rows),
        )

    def _signature(self, line: Instruction) -> tuple[object, ...]:
        tensors = self.program.tensors
        names = tuple((tensors[r.id].name, r.grad) if r.present else "" for r in line.operands)
        return (line.mnemonic, names, tuple(line.attrs.values()))


def base_mnemonic(line: Instruction) -> str:
    """The forward mnemonic: that of a gradient instruction without its prefix."""
    return line.mnemonic.removeprefix("GRADS_")


def _ordered(line: Instruction, chosen: frozenset[Ref]) -> tuple[Ref, ...]:
    """Storages in the order the line names their tensors; results of a declaration first."""
    order = [ref for spec, ref in line.named_operands() if spec.access is not Access.READ]
    order += [ref for spec, ref in line.named_operands() if spec.access is Access.READ]
    candidates = [r for ref in order if ref.present for r in (ref, ref.gradient)]
    return tuple(dict.fromkeys(ref for ref in candidates if ref in chosen))


class Origins(Protocol):
    """Keys of instructions, and the layers each came from."""

    def key_of(self, index: int) -> str:
        """The key of an instruction, the same after another compile."""
        ...

    def index_of(self, key: str) -> int | None:
        """The running index of an instruction, None when the program has it no more."""
        ...

    def nodes_of(self, index: int) -> Sequence[tuple[str, str]]:
        """Layer (or housekeeping owner) and role of everything an instruction came from."""
        ...

    def key_of_ref(self, ref: Ref) -> str:
        """The key of the tensor an operand names."""
        ...


def layers_of(origins: Origins, index: int) -> tuple[str, ...]:
    """The layers with an instruction, housekeeping owners left out."""
    return tuple(owner for owner, role in origins.nodes_of(index) if role != "synthetic")


def listed_owners(origins: Origins, index: int) -> tuple[str, ...]:
    """Who an instruction is listed under: what it was emitted for, the optimiser for updates."""
    found = origins.nodes_of(index)
    emitted = tuple(owner for owner, role in found if role != "update")
    return emitted or tuple(owner for owner, _ in found)
