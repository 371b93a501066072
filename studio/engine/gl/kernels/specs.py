"""How an instruction runs: variants, the dispatches of each, and what a choice depends on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from studio.engine.core.tensor import Ref, Shape, Tensor, bind_shape
from studio.engine.gl.kernels.partial_sums import PartGrid, RowSplit
from studio.engine.gl.kernels.product import Product
from studio.engine.gl.kernels.tiles import Tile
from studio.engine.gl.shader.dispatch import Groups
from studio.engine.gl.shader.layout import Layout
from studio.engine.gl.shader.planned import StorageBinding
from studio.engine.isa.instruction import GradInstruction, Instruction
from studio.engine.isa.program import Program, Storage


class Choices:
    """What is known better than the shipped tables, which choose wherever this has no answer."""

    @property
    def name(self) -> str:
        """What records call these choices; empty for the shipped ones."""
        return ""

    def variant(self, op: BoundInstruction) -> str:
        """The variant an instruction is to take; empty where nothing is known."""
        return ""

    def tile(
        self, op: BoundInstruction, product: Product, tiles: Sequence[Tile]
    ) -> tuple[Tile, int] | None:
        """One of the tiles, and into how many parts to cut the depth; None where unknown."""
        return None


SHIPPED = Choices()


@dataclass(frozen=True)
class DeviceCaps:
    """What the choice of a kernel may depend on: plain data about the device.

    Attributes:
        is_software: a CPU does the work; barriers and shared memory are dear there.
        storage_blocks: storage buffers one kernel may use.
        offered_blocks: storage buffers it may use where fewer would do, with a dispatch more.
        shared_bytes: shared memory a work group may have.
        choices: what is known better than the shipped tables.
    """

    is_software: bool = False
    storage_blocks: int = 8
    offered_blocks: int = 8
    shared_bytes: int = 32 << 10
    choices: Choices = SHIPPED


@dataclass(frozen=True)
class DispatchSpec:
    """One dispatch of an instruction.

    Attributes:
        kernel: stem of its file in ``kernels/``.
        result: accessor whose elements a value kernel computes; empty for a kernel that has a
            ``main`` of its own.
        groups: work groups of a kernel with its own ``main``; ignored for a value kernel. A long
            line ``(n, 1, 1)`` is folded by the recorder, see ``dispatch.split_line``.
        local: invocations per axis of a work group.
        bind: accessor names that stand for other storages than the operands' own.
        adds: bound names whose stores add (gradient targets follow ``set`` by themselves).
        vector: accessor names to be declared as vec4 where their layout allows.
        defines: further macros, numbers or words.
        launch: two numbers that may change with the batch: ``LAUNCH_0`` and ``LAUNCH_1``.
        scratch: floats of scratch storage the dispatch reads or writes.
        fills_scratch: only writes scratch storage, whatever its text says.
        tickets: atomic counters by which a work group finds out that it is the last; the dispatch
            then reads no scratch storage but its own, as vec4.
        scratch_vec4: scratch storage is read as vec4.
        scratch_ints: scratch storage holds whole numbers.
        saves_dispatch: does the work of another dispatch too, and may therefore use as many
            storage buffers as the device offers.
        sum_grid: the grid in which it can also sum the columns of what it stores.
        sums: a partial tensor's storage, which stands in the place of scratch storage.
        row_split: how the rows of the partial tensor it writes are split.
        slack: levels it may be scheduled later, since its result is read late.
        held_stores: stores of ``y`` (or ``dx``) whose reads its text does before the first of
            them, by ``hold_y4`` and ``store_y4_held`` where ``Y_HOLDS`` is defined.
        partial: fills scratch storage only; stores of ``y`` in its text are compiled out by the
            macro ``PARTIAL``.
    """

    kernel: str
    result: str = ""
    groups: Groups = (1, 1, 1)
    local: Groups = (64, 1, 1)
    bind: Mapping[str, Ref] = field(default_factory=dict)
    adds: frozenset[str] = frozenset()
    vector: tuple[str, ...] = ()
    defines: Mapping[str, int | str] = field(default_factory=dict)
    launch: tuple[int, int] = (0, 0)
    scratch: int = 0
    fills_scratch: bool = False
    tickets: int = 0
    scratch_vec4: bool = False
    scratch_ints: bool = False
    saves_dispatch: bool = False
    sum_grid: PartGrid | None = None
    sums: StorageBinding | None = None
    row_split: RowSplit | None = None
    slack: int = 0
    held_stores: int = 0
    partial: bool = False


class BoundInstruction:
    """One instruction with everything about its operands, as a variant sees it.

    Accessor names are operand names for data (``x``) and operand names behind a ``d`` for
    gradients (``dx``).

    Args:
        program: the program the instruction stands in.
        ins: the instruction.
        batch: rows the batch symbol is bound to.
        rows: rows of the resident data set.
        caps: capabilities of the device.
        layouts: layouts found before, for this program and these rows; new ones are added.
        row_splits: how the rows of partial tensors are split, as far as they are planned.
        tail_storages: storages that what follows in its group brings to its kernel.
    """

    def __init__(
        self,
        program: Program,
        ins: Instruction,
        batch: int,
        rows: int,
        caps: DeviceCaps,
        layouts: dict[Ref, Layout] | None = None,
        row_splits: Mapping[Storage, RowSplit] | None = None,
        tail_storages: int = 0,
    ) -> None:
        self.program = program
        self.ins = ins
        self.batch = batch
        self.rows = rows
        self.caps = caps
        self._layouts = {} if layouts is None else layouts
        self._row_splits = {} if row_splits is None else row_splits
        self._merged: dict[int, int] = {}
        self.see_as(ins)
        self._fields = {spec.name: spec for spec in ins.operand_fields}
        targets = ins.targets() if isinstance(ins, GradInstruction) else ()
        self._wanted = frozenset(name for name, _ in targets)
        self.tail_storages = tail_storages

    def see_as(self, ins: Instruction) -> None:
        """Merge the leading dimensions of operands of another instruction as that one does."""
        self._merged |= ins.merged(self.program.type_of)

    def has(self, name: str) -> bool:
        """Whether an accessor name stands for a present operand or the gradient of one."""
        stem = name if name in self._fields else name.removeprefix("d")
        spec = self._fields.get(stem)
        return spec is not None and not spec.variadic and self.ins.ref(stem).present

    def ref(self, name: str) -> Ref:
        """The storage an accessor name stands for."""
        if name in self._fields:
            return self.ins.ref(name)
        return self.ins.ref(name.removeprefix("d")).gradient

    def tensor(self, name: str) -> Tensor:
        """The tensor behind an accessor name."""
        return self.program.tensor(self.ref(name))

    def shape(self, name: str) -> Shape:
        """Its shape with symbols bound."""
        return self.shape_of(self.ref(name))

    def shape_of(self, ref: Ref) -> Shape:
        """The bound shape of any storage, its leading dimensions merged where kernels do that."""
        shape = bind_shape(self.program.tensor(ref).shape, self.batch, self.rows)
        if ref.id not in self._merged:
            return shape
        count = len(shape) - self._merged[ref.id]
        return (prod(shape[:count]), *shape[count:])

    def numel(self, name: str) -> int:
        """Its number of elements with symbols bound."""
        return prod(self.shape(name))

    def layout(self, name: str) -> Layout:
        """How it lies in storage."""
        return self.layout_of(self.ref(name))

    def layout_of(self, ref: Ref) -> Layout:
        """How any storage lies."""
        found = self._layouts.get(ref)
        if found is None:
            found = Layout.of(self.program.tensor(ref), self.batch, self.rows)
            self._layouts[ref] = found
        return found.merged(self._merged[ref.id]) if ref.id in self._merged else found

    def row_split(self, name: str) -> RowSplit:
        """How the rows of an operand that may be partial are split."""
        return self._row_splits.get(self.program.storage(self.ref(name)), RowSplit())

    def wants(self, operand: str) -> bool:
        """Whether a gradient instruction computes the gradient of that operand."""
        return operand in self._wanted

    def adds(self, name: str) -> bool:
        """Whether stores to an accessor add to what is there."""
        ins = self.ins
        return (
            isinstance(ins, GradInstruction) and name not in self._fields and not ins.sets(name[1:])
        )


Plan = Callable[[BoundInstruction], tuple[DispatchSpec, ...]]


@dataclass(frozen=True)
class Variant:
    """One way to run an instruction.

    Attributes:
        name: unique among the variants of a mnemonic; profiles and autotune records show it.
        plan: the dispatches, in order.
        applies: whether it can run this instruction at all.
        software: how much it suits software renderers; the highest that applies is taken.
        hardware: the same for GPUs.
        row_loss: for a dense layer, the one dispatch that also has the losses of its rows, and of
            gradients what is given: that of the losses, and the layer's for its input.
    """

    name: str
    plan: Plan
    applies: Callable[[BoundInstruction], bool] = lambda _: True
    software: int = 0
    hardware: int = 0
    row_loss: (
        Callable[
            [BoundInstruction, BoundInstruction, BoundInstruction | None, BoundInstruction | None],
            DispatchSpec,
        ]
        | None
    ) = None


def value_kernel(kernel: str, result: str = "y", *, local: int = 64) -> tuple[Variant, ...]:
    """The single variant of an instruction whose file holds a value kernel over ``result``."""
    return (Variant("simple", lambda _: (DispatchSpec(kernel, result, local=(local, 1, 1)),)),)


def value_gradient(kernel: str) -> tuple[Variant, ...]:
    """The single variant of a gradient whose file holds a value kernel over ``dx``, if wanted."""

    def plan(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
        return (DispatchSpec(kernel, "dx"),) if op.wants("x") else ()

    return (Variant("simple", plan),)
