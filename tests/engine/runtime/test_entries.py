"""Entries: fused groups as one, with owners, costs and what they touch."""

from __future__ import annotations

import pytest

from studio.engine.compiler.fusion import in_groups
from studio.engine.compiler.lifetimes import Span, group_spans, inner_gradients
from studio.engine.compiler.pipeline import compile_program
from studio.engine.compiler.target import GL
from studio.engine.core.dtypes import DType
from studio.engine.core.errors import BackendError
from studio.engine.core.tensor import BATCH, ROWS, Role, Tensor, TensorMap
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops.activation import Relu
from studio.engine.isa.ops.data import STEP_WORDS, GatherBatch
from studio.engine.isa.ops.group import End, Fuse
from studio.engine.isa.program import Program
from studio.engine.runtime.entries import entries, unfused
from tests.engine.compiler.networks import mlp
from tests.engine.cpu.programs import epilogue, updates


def test_a_group_is_one_entry_at_its_first_line() -> None:
    (entry,) = entries(epilogue(True))
    assert (entry.section, entry.index, entry.kind) == ("forward", 0, "epilogue")
    assert len(entry.parts) == 5
    assert [e.index for e in unfused(epilogue(True))] == [1, 2, 3, 4, 5]


def test_the_parts_of_a_group_may_be_of_several_sections() -> None:
    x, y, z = (Tensor(i, name, (BATCH, 2)) for i, name in enumerate("xyz"))
    first, second = Relu(x=0, y=1), Relu(x=1, y=2)
    program = Program("p", "infer", TensorMap([x, y, z]), {}, (0,), (2,)).with_lines(
        [("data", Fuse()), ("forward", first), ("loss", second), ("forward", End()),
         ("loss", Relu(x=0, y=2))]
    )  # fmt: skip
    group, single = entries(program)
    assert (group.section, group.index, group.parts) == ("forward", 0, (first, second))
    assert (single.section, single.index) == ("loss", 4)
    assert group_spans(program) == [Span(0, 3)] * 4 + [Span(4, 4)]
    assert in_groups(program) == {0, 1, 2, 3}
    assert [e.section for e in unfused(program)] == ["forward", "loss", "loss"]


def test_an_update_group_is_named_once() -> None:
    last = entries(updates(True))[-1]
    assert last.mnemonic == "UPDATE_ADAM"
    assert last.owners == ("layer0", "layer1", "layer2", "layer3")


def test_a_group_reads_what_came_from_outside_only() -> None:
    program = epilogue(True)
    (entry,) = entries(program)
    names = {program.tensors[r.id].name for r in entry.reads()}
    assert names == {"x", "side", "w", "b"}
    moved = 4 * 2 * (6 * 5 * 2 + 6 * 5 * 3) + 4 * (3 * 3 * 2 * 3 + 3)
    assert entry.traffic(program, 2, 0) == moved + 2 * 4 * 2 * 6 * 5 * 3


@pytest.mark.parametrize("rows", [40, 60_000])
def test_of_a_data_set_only_the_batch_is_moved(rows: int) -> None:
    b = ProgramBuilder("gathering", "train")
    x = b.tensor("data/x", (ROWS, 3, 3, 1), DType.uint8, Role.DATA)
    order = b.tensor("train/order", (ROWS,), DType.int32, Role.DATA)
    step = b.tensor("train/step", (STEP_WORDS,), DType.int32, Role.STEP)
    (batch,) = b.emit("data", GatherBatch, data=x, order=order, step=step)
    program = b.finish((), (batch,))
    (gather,) = entries(program)
    assert gather.traffic(program, 8, rows) == 2 * 8 * 9 + 4 * 8 + 4 * STEP_WORDS


@pytest.mark.parametrize("lines", [[Fuse()], [End()], [Fuse(), Fuse(), End()]])
def test_markers_that_do_not_pair_up_are_refused(lines: list[Instruction]) -> None:
    with pytest.raises(BackendError, match="pair up"):
        entries(_with(*lines))


def _with(*markers: Instruction) -> Program:
    b = ProgramBuilder("markers", "infer")
    x = b.tensor("x", (BATCH, 2), role=Role.INPUT)
    for marker in markers:
        b.append("forward", marker)
    (y,) = b.emit("forward", Relu, x=x)
    b.append("loss", Relu(x=y, y=y))
    return b.finish((x,), (y,))


def test_a_gradient_that_lives_inside_a_kernel_moves_no_bytes() -> None:
    program = compile_program(mlp(), GL)
    (storage,) = inner_gradients(program)
    (group,) = [e for e in entries(program) if e.mnemonic == "GRADS_LINEAR+GRADS_RELU"]
    assert storage in {program.storage(ref) for ref in group.writes()}
    of = program.bound(4)
    moved = {program.storage(r): of(r).numel for r in group.reads()}
    made = {program.storage(r): of(r).numel for r in group.writes()}
    del made[storage]
    assert group.traffic(program, 4, 0) == 4 * (sum(moved.values()) + sum(made.values()))
