"""Statistics of normalisations are made where their operand is, and only where that can be."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from studio.engine.compiler.passes.fuse_statistics import fuse_statistics
from studio.engine.compiler.pipeline import compile_program
from studio.engine.compiler.plan_memory import plan_memory
from studio.engine.compiler.target import CPU, GL, GL_SOFTWARE, Target
from studio.engine.compiler.verify import verify
from studio.engine.core.errors import VerifyError
from studio.engine.core.tensor import BATCH, Role
from studio.engine.isa.binary import decode_program, encode_program
from studio.engine.isa.ops.activation import Relu
from studio.engine.isa.ops.arithmetic import Add
from studio.engine.isa.ops.loss import LossMSE
from studio.engine.isa.ops.norm import BatchNorm, BatchNormBase
from studio.engine.isa.program import Program
from studio.engine.isa.text import format_listing, format_program, parse_program
from studio.engine.isa.versions import program_version
from tests.engine.compiler.networks import NETWORKS, Net

SUMS = ("COLUMN_STATS", "COLUMN_PRODUCTS")


def fused(program: Program, target: Target = GL) -> Program:
    found = fuse_statistics(program, target)
    verify(found, after="fuse_statistics")
    return found


def sums(program: Program) -> list[str]:
    return [ins.mnemonic for ins in program if ins.mnemonic in SUMS]


def behind(make: str, channels: int = 8) -> Program:
    """A normalisation behind something, and another convolution."""
    net = Net("behind", "train")
    x = net.input(4, 4, channels)
    makers = {
        "convolution": lambda: net.conv("made", x, channels),
        "activation": lambda: net.emit("relu", Relu, x=net.conv("made", x, channels)),
        "depthwise": lambda: net.depthwise("made", x),
        "sum": lambda: net.emit("made", Add, x1=net.conv("conv", x, channels), x2=x),
        "input": lambda: x,
    }
    made = net.norm("bn", makers[make]())
    y = net.conv("behind", net.emit("relu_behind", Relu, x=made), channels)
    return net.finish(y)


@pytest.mark.parametrize(
    ("make", "taken"),
    [
        ("convolution", True),
        ("activation", False),
        ("depthwise", False),
        ("sum", False),
        ("input", False),
    ],
)
def test_the_producer_is_a_product(make: str, taken: bool) -> None:
    assert sums(fused(behind(make))) == ["COLUMN_STATS"] * taken


def test_an_epilogue_is_part_of_the_producer() -> None:
    program = compile_program(behind("activation"), GL, verify=True)
    names = format_listing(program).splitlines()
    at = names.index(next(n for n in names if n.startswith("COLUMN_STATS")))
    assert [line.split()[0] for line in names[at - 3 : at + 3]] == [
        "FUSE", "CONV2D", "RELU", "COLUMN_STATS", "END", "FUSE",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("channels", "taken"), [(4, True), (6, False), (3, False), (1024, True), (1028, False)]
)
def test_columns_are_fours_and_no_more_than_a_work_group_joins(channels: int, taken: bool) -> None:
    assert bool(sums(fused(behind("convolution", channels)))) == taken


@pytest.mark.parametrize("target", [CPU, GL_SOFTWARE])
def test_a_target_whose_kernels_do_not_take_sums_gets_none(target: Target) -> None:
    program = behind("convolution")
    assert fused(program, target) == program


def test_running_statistics_have_no_sums() -> None:
    program = NETWORKS["normalised"]("infer")
    assert sums(compile_program(program, GL, verify=True)) == []
    assert all(ins.frozen for ins in program if isinstance(ins, BatchNormBase))


def test_the_pass_can_be_switched_off_and_runs_at_level_2_only() -> None:
    program = behind("convolution")
    assert sums(compile_program(program, GL)) == ["COLUMN_STATS"]
    assert sums(compile_program(program, GL, disabled=["fuse_statistics"])) == []
    assert sums(compile_program(program, GL, 1)) == []


def test_a_normalisation_of_every_activation_has_other_columns() -> None:
    net = Net("activations", "train")
    made = net.conv("conv", net.input(2, 2, 4), 4)
    stats = {
        name: net.build.tensor(f"bn/{name}", (2, 2, 4), role=Role.STATE) for name in ("mean", "var")
    }
    program = net.finish(net.emit("bn", BatchNorm, x=made, **stats))
    assert fused(program) == program


def test_two_normalisations_of_one_tensor_have_sums_of_their_own() -> None:
    net = Net("two", "train")
    made = net.conv("conv", net.input(4, 4, 4), 8)
    program = fused(
        net.finish(net.emit("add", Add, x1=net.norm("a", made), x2=net.norm("b", made)))
    )
    assert sums(program) == ["COLUMN_STATS", "COLUMN_STATS"]
    names = [tensor.name for tensor in program.tensors.values() if tensor.partial]
    assert names == ["conv/y/column_stats", "conv/y/column_stats_2"]
    groups = [ins.owners for ins in program if ins.mnemonic == "FUSE"]
    assert groups == [("conv", "a", "b")]


def test_gradients_of_products_leave_sums_of_products() -> None:
    program = NETWORKS["normalised"]()
    plain = compile_program(program, GL, disabled=["fuse_statistics"])
    found = fused(plain)
    assert sums(found).count("COLUMN_PRODUCTS") == 2
    taking = [i for i in found if i.mnemonic == "GRADS_BATCHNORM2D" and i.ref("stats").present]
    made = {i.ref("y") for i in found if i.mnemonic == "COLUMN_PRODUCTS"}
    assert {ins.ref("stats") for ins in taking} == made
    assert fused(found) == found


@pytest.mark.parametrize("trainable", [True, False])
def test_a_gradient_that_is_not_wanted_needs_no_sums(trainable: bool) -> None:
    net = Net("learning", "train")
    made = net.norm("bn", net.conv("made", net.input(4, 4, 4), 8, bias=False))
    y = net.conv("behind", net.emit("relu", Relu, x=made), 4)
    net.emit("loss", LossMSE, "loss", p=y, t=net.target(4, 4, 4))
    lowered = net.finish(y)
    kernel = lowered.tensors.named("made/kernel").replace(trainable=trainable)
    program = lowered.with_tensors(lowered.tensors.update([kernel]))
    wanted = ["COLUMN_STATS", *["COLUMN_PRODUCTS"] * trainable]
    assert sums(compile_program(program, GL, verify=True)) == wanted


@pytest.mark.parametrize("batch", [1, 8, 64, 1000])
def test_the_plan_reserves_what_the_parts_may_take(batch: int) -> None:
    program = fused(behind("convolution"))
    (tensor,) = (t for t in program.tensors.values() if t.partial)
    plan = plan_memory(program, batch, 0, GL)
    rows, columns = batch * 16, 8
    parts = -(-rows // GL.partial_rows)
    sums_at_most = min(parts * columns, GL.partial_sums)
    assert plan.slots[program.storage(tensor.ref)].nbytes == 2 * 4 * sums_at_most
    assert f"{tensor.name} (parts, at most)" in plan.table()
    whole = plan_memory(program, batch, 0, CPU)
    assert whole.slots[program.storage(tensor.ref)].nbytes == 2 * 4 * columns
    assert tensor.shape == (2, columns)
    assert BATCH not in tensor.shape


def _relu_behind_the_sums(program: Program) -> Program:
    lines = list(program.section("forward"))
    at = next(i for i, ins in enumerate(lines) if ins.mnemonic == "COLUMN_STATS")
    lines[at - 1 : at + 1] = [lines[at], lines[at - 1]]
    return program.with_sections(forward=lines)


def _sums_of_something_else(program: Program) -> Program:
    x = program.tensors[program.inputs[0]]
    return program.map_instructions(
        lambda i: i.replace(x=x.ref) if i.mnemonic == "COLUMN_STATS" else i
    )


def _another_reader(program: Program) -> Program:
    tensor = next(t for t in program.tensors.values() if t.partial)
    made = tensor.replace(id=program.next_id(), name="copy", partial=False)
    line = Relu(x=tensor.ref, y=made.ref, owners=("copy",))
    return program.with_tensors(program.tensors.update([made])).with_sections(
        forward=[*program.section("forward"), line]
    )


def _other_columns(program: Program) -> Program:
    tensor = next(t for t in program.tensors.values() if t.partial)
    return program.with_tensors(program.tensors.update([tensor.replace(shape=(2, 4))]))


def _frozen(program: Program) -> Program:
    return program.map_instructions(
        lambda i: i.replace(frozen=True) if i.mnemonic == "BATCHNORM2D" else i
    )


@pytest.mark.parametrize(
    ("fault", "rule"),
    [
        (_frozen, "a frozen normalisation takes no stats"),
        (_relu_behind_the_sums, "sums of columns end an epilogue"),
        (_sums_of_something_else, "an epilogue sums columns of what it makes"),
        (_another_reader, "partial tensors are operands only where parts can be"),
        (_other_columns, r"stats must be float32\[2,8\]|results have the inferred type"),
    ],
)
def test_rules_know_sums(fault: Callable[[Program], Program], rule: str) -> None:
    program = compile_program(behind("activation"), GL)
    verify(program)
    with pytest.raises(VerifyError, match=rule):
        verify(fault(program))


def test_files_keep_groups_and_parts() -> None:
    program = compile_program(NETWORKS["normalised"](), GL, verify=True)
    assert parse_program(format_program(program)) == program
    assert decode_program(encode_program(program), version=program_version(program)) == program
    assert program_version(program) == 2
    plain = compile_program(NETWORKS["normalised"](), GL, disabled=["fuse_statistics"])
    assert program_version(plain) == 1
