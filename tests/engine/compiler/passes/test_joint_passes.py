"""What the passes behind differentiation do and refuse to do, line by line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from studio.engine.autodiff.differentiate import differentiate
from studio.engine.compiler.lifetimes import inner_gradients
from studio.engine.compiler.passes.choose_layout import choose_layout
from studio.engine.compiler.passes.fuse_elementwise import fuse_elementwise
from studio.engine.compiler.passes.fuse_epilogues import fuse_epilogues
from studio.engine.compiler.passes.merge_updates import merge_updates
from studio.engine.compiler.passes.set_first_gradients import set_first_gradients
from studio.engine.compiler.pipeline import compile_program
from studio.engine.compiler.plan_memory import plan_memory
from studio.engine.compiler.target import CPU, GL, Target
from studio.engine.compiler.verify import verify
from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import BATCH, Role, Tensor, TensorMap
from studio.engine.isa.line import format_line, parse_line
from studio.engine.isa.ops.activation import Elu, Relu, Tanh
from studio.engine.isa.ops.arithmetic import Add, Mul
from studio.engine.isa.ops.conv import Conv2D
from studio.engine.isa.ops.loss import LossMSE
from studio.engine.isa.ops.move import Slice
from studio.engine.isa.program import Program
from studio.engine.optim.emit_updates import emit_updates
from studio.engine.optim.optimizers import SGD
from tests.engine.compiler.networks import NETWORKS, Net, cnn, mlp, resnet


def lines_of(made: Program, section: str) -> list[str]:
    verify(made)
    return [format_line(i) for i in made.section(section)]


def trained(net: Net, y: object) -> Program:
    t = net.target(*net.build.type_of(y).shape[1:])
    net.emit("loss", LossMSE, "loss", p=y, t=t)
    return differentiate(net.finish(y))


# set_first_gradients


@pytest.mark.parametrize("name", NETWORKS)
def test_no_clearing_is_left_where_first_writers_cover(name: str) -> None:
    after = set_first_gradients(differentiate(NETWORKS[name]()))
    zeros = [line for line in lines_of(after, "backward") if line.startswith("ZERO")]
    # Only the concatenation that reads a tensor twice has to add into a cleared gradient.
    assert len(zeros) == (2 if name == "branches" else 0)


def test_a_tensor_in_both_operands_is_set_by_the_first_and_added_to_by_the_second() -> None:
    net = Net("both")
    a = net.dense("one", net.input(3), 4)
    after = set_first_gradients(trained(net, net.emit("square", Mul, a=a, b=a)))
    assert "GRADS_MUL 0x3 0x3 0x4 {set=a}" in lines_of(after, "backward")


def test_a_second_consumer_adds() -> None:
    net = Net("two")
    a = net.dense("one", net.input(3), 4)
    b = net.emit("tanh", Tanh, x=a)
    after = set_first_gradients(trained(net, net.emit("sum", Add, x1=a, x2=b)))
    lines = lines_of(after, "backward")
    assert "GRADS_ADD 0x3 0x4 0x5 1 1 {set=x1,x2}" in lines
    assert "GRADS_TANH 0x3 0x4" in lines


def test_a_gradient_that_covers_a_part_does_not_set() -> None:
    net = Net("part")
    a = net.dense("one", net.input(3), 4)
    part = net.emit("cut", Slice, x=a, begin=(0, 1), size=(-1, 2))
    lines = lines_of(set_first_gradients(trained(net, part)), "backward")
    assert "ZERO 0x3.grad" in lines
    assert "GRADS_SLICE 0x3 0x4 {begin=0,1 size=-1,2}" in lines


def test_a_gradient_that_only_gets_cleared_stays_cleared() -> None:
    net = Net("unused")
    unused = net.param("unused", 3)
    after = set_first_gradients(trained(net, net.dense("one", net.input(3), 4)))
    assert f"ZERO {unused.gradient}" in lines_of(after, "backward")


# fuse_epilogues


def activated(cls: type, mode: str = "train") -> Program:
    net = Net("one", mode)
    y = net.emit("act", cls, x=net.conv("conv", net.input(4, 4, 2), 3))
    return trained(net, y) if mode == "train" else net.finish(y)


def test_an_activation_joins_its_convolution() -> None:
    after = fuse_epilogues(activated(Relu))
    assert lines_of(after, "forward") == [
        "FUSE", "CONV2D 0x1 0x2 0x0 0x3 1 1 1 1 1 1", "RELU 0x3 0x4", "END",
    ]  # fmt: skip
    assert after.tensors[3].register
    assert after.section("forward")[0].owners == ("conv", "act")


def test_a_gradient_that_reads_the_input_keeps_it_stored() -> None:
    after = fuse_epilogues(activated(Elu))
    assert [i.mnemonic for i in after.section("forward")] == ["FUSE", "CONV2D", "ELU", "END"]
    verify(after)
    assert not after.tensors[3].register
    assert fuse_epilogues(activated(Elu, "infer")).tensors[3].register


def test_a_tensor_that_is_kept_fetched_or_read_elsewhere_stays_stored() -> None:
    kept = fuse_epilogues(activated(Relu), keep=[3])
    assert not kept.tensors[3].register
    net = Net("read")
    pre = net.conv("conv", net.input(4, 4, 2), 3)
    y = net.emit("add", Add, x1=pre, x2=net.emit("act", Relu, x=pre))
    after = fuse_epilogues(net.finish(y))
    verify(after)
    assert not after.tensors[pre.id].register
    net = Net("fetched")
    pre = net.conv("conv", net.input(4, 4, 2), 3)
    after = fuse_epilogues(net.finish(pre, net.emit("act", Relu, x=pre)))
    verify(after)
    assert not after.tensors[pre.id].register


def test_an_activation_further_down_is_brought_up() -> None:
    net = Net("later", "infer")
    x = net.input(4, 4, 2)
    pre = net.conv("conv", x, 3)
    other = net.conv("conv2", x, 3)
    after = fuse_epilogues(net.finish(net.emit("act", Relu, x=pre), other))
    verify(after)
    assert [i.mnemonic for i in after] == ["FUSE", "CONV2D", "RELU", "END", "CONV2D"]


def test_a_sum_with_what_is_ready_joins_its_producer() -> None:
    after = compile_program(resnet(), GL)
    forward = lines_of(after, "forward")
    begin = max(k for k, line in enumerate(forward) if line.startswith("FUSE"))
    words = [line.split()[0] for line in forward[begin:][:5]]
    assert words == ["FUSE", "BATCHNORM2D", "ADD", "RELU", "END"]
    assert not any("ADD" in words for words in words_in_groups(compile_program(resnet(), CPU)))


def words_in_groups(made: Program) -> list[list[str]]:
    """Mnemonics of every epilogue of the forward section."""
    text = " ".join(ins.mnemonic for ins in made.section("forward"))
    parts = [part.split(" END")[0].split() for part in text.split("FUSE ")[1:]]
    return [part for part in parts if part[0] != "ADD"]


def test_a_sum_with_what_comes_later_waits_for_it() -> None:
    net = Net("later", "infer")
    a = net.dense("a", net.input(3), 4)
    b = net.dense("b", net.emit("tanh", Tanh, x=a), 4)
    after = fuse_epilogues(net.finish(net.emit("sum", Add, x1=a, x2=b)), target=GL)
    verify(after)
    assert [i.mnemonic for i in after] == [
        "FUSE", "LINEAR", "TANH", "END", "FUSE", "LINEAR", "ADD", "END",
    ]  # fmt: skip


def test_the_longer_of_two_chains_takes_their_sum_and_waits_for_the_other() -> None:
    net = Net("block", "infer")
    x = net.input(3)
    long = net.dense("long", net.emit("tanh", Tanh, x=net.dense("first", x, 4)), 4)
    short = net.dense("short", x, 4)
    y = net.emit("act", Relu, x=net.emit("sum", Add, x1=long, x2=short))
    after = fuse_epilogues(net.finish(y), target=GL)
    verify(after)
    assert [i.mnemonic for i in after] == [
        "FUSE", "LINEAR", "TANH", "END", "LINEAR", "FUSE", "LINEAR", "ADD", "RELU", "END",
    ]  # fmt: skip
    assert after.section("forward")[4].owners == ("short",)
    assert after.section("forward")[5].owners == ("long", "sum", "act")


def test_a_chain_that_others_read_does_not_wait() -> None:
    net = Net("block", "infer")
    x = net.input(3)
    long = net.dense("long", net.emit("tanh", Tanh, x=net.dense("first", x, 4)), 3)
    again = net.dense("again", long, 3)
    short = net.dense("short", x, 3)
    made = net.finish(net.emit("sum", Add, x1=long, x2=short), again)
    assert [i.mnemonic for i in fuse_epilogues(made, target=GL)] == [
        "FUSE", "LINEAR", "TANH", "END", "LINEAR", "LINEAR", "FUSE", "LINEAR", "ADD", "END",
    ]  # fmt: skip


def test_a_chain_that_an_earlier_group_reads_does_not_wait() -> None:
    net = Net("blocks", "infer")
    x = net.input(3)
    a = net.dense("a", x, 4)
    first, second = net.dense("first", a, 4), net.dense("second", a, 4)
    s = net.emit("s", Add, x1=first, x2=net.dense("short", x, 4))
    other = net.emit("other", Add, x1=second, x2=net.dense("shorter", x, 4))
    # Joins the first chain's group, which stands before that sum.
    both = net.emit("both", Add, x1=s, x2=second)
    after = fuse_epilogues(net.finish(other, both), target=GL)
    verify(after)
    owners = [ins.owners for ins in after if ins.mnemonic == "FUSE"]
    assert owners == [("first", "s", "both"), ("shorter", "other")]


def test_a_bias_joins_its_product_in_training_too() -> None:
    after = compile_program(NETWORKS["typed"](), GL, emit_updates=lambda p: emit_updates(p, SGD()))
    verify(after)
    # The second bias has a dimension more than repeats.
    assert words_in_groups(after) == [["MATMUL", "ADD", "RELU"], ["MATMUL", "ADD"]]
    assert [after.tensors[i].register for i in (2, 4, 7, 9, 12)] == [True, True, False, True, True]


@pytest.mark.parametrize("shape", [(1, 4), (3, 1), (1,)])
def test_a_sum_over_other_repeats_stays_alone(shape: tuple[int, ...]) -> None:
    net = Net("repeats", "infer")
    y = net.emit("sum", Add, x1=net.dense("a", net.input(3, 3), 4), x2=net.param("b", *shape))
    assert [i.mnemonic for i in fuse_epilogues(net.finish(y), target=GL)] == ["LINEAR", "ADD"]


def test_a_result_added_to_itself_stays_alone() -> None:
    net = Net("twice", "infer")
    a = net.dense("a", net.input(3), 4)
    made = net.finish(net.emit("sum", Add, x1=a, x2=a))
    assert [i.mnemonic for i in fuse_epilogues(made, target=GL)] == ["LINEAR", "ADD"]


def test_normalisations_by_running_statistics_join_their_convolution() -> None:
    after = compile_program(resnet("infer"), GL)
    verify(after)
    assert words_in_groups(after) == [
        ["CONV2D", "BATCHNORM2D", "RELU"],
        ["CONV2D", "BATCHNORM2D", "RELU"],
        # Its factors, bias and statistics leave no room for what the sum adds.
        ["CONV2D", "BATCHNORM2D"],
    ]
    many = compile_program(resnet("infer"), replace(GL, max_fused_storages=9))
    assert words_in_groups(many)[-1] == ["CONV2D", "BATCHNORM2D", "ADD", "RELU"]
    assert ["BATCHNORM2D", "RELU"] in words_in_groups(compile_program(resnet(), GL))


# fuse_elementwise


def test_a_sum_and_its_activation_become_a_chain_both_ways() -> None:
    after = compile_program(resnet(), GL, disabled=["fuse_epilogues", "fuse_gradients"])
    forward = lines_of(after, "forward")
    begin = forward.index("FUSE {kind=chain}")
    assert [line.split()[0] for line in forward[begin:][:4]] == ["FUSE", "ADD", "RELU", "END"]
    backward = lines_of(after, "backward")
    begin = backward.index("FUSE {kind=chain}")
    words = [line.split()[0] for line in backward[begin:][:4]]
    assert words == ["FUSE", "GRADS_RELU", "GRADS_ADD", "END"]


# fuse_gradients


def groups_of(made: Program) -> list[list[str]]:
    """Mnemonics of every group of the backward section."""
    found: list[list[str]] = []
    inside = False
    for ins in made.section("backward"):
        if ins.mnemonic == "FUSE":
            found.append([])
        elif inside and ins.mnemonic != "END":
            found[-1].append(ins.mnemonic)
        inside = (inside or ins.mnemonic == "FUSE") and ins.mnemonic != "END"
    return found


def test_gradients_of_activations_join_what_makes_their_dy() -> None:
    after = compile_program(resnet(), GL)
    verify(after)
    assert groups_of(after) == [
        ["GRADS_GLOBAL_AVGPOOL2D", "GRADS_RELU", "GRADS_ADD"],
        ["GRADS_CONV2D", "GRADS_RELU"],
        ["GRADS_CONV2D", "GRADS_RELU"],
    ]
    assert not groups_of(compile_program(resnet(), CPU, disabled=["fuse_elementwise"]))


def test_a_gradient_used_up_in_a_group_takes_no_room() -> None:
    after = compile_program(mlp(), GL)
    inside = inner_gradients(after)
    assert [after.tensors[s.root].name for s in inside] == ["relu1/y"]
    assert not inside & plan_memory(after, 4, 0, GL).slots.keys()
    assert inside <= plan_memory(after, 4, 0, GL, keep_all=True).slots.keys()
    assert inside <= plan_memory(after, 4, 0, CPU).slots.keys()


def test_a_gradient_that_is_looked_at_stays_stored() -> None:
    (storage,) = inner_gradients(compile_program(mlp(), GL))
    after = compile_program(mlp(), GL, keep=[storage.root])
    assert not groups_of(after)
    assert not inner_gradients(after)


def test_a_gradient_with_another_reader_is_no_register() -> None:
    net = Net("two")
    a = net.emit("act", Relu, x=net.dense("one", net.input(3), 4))
    y = net.emit("sum", Add, x1=net.dense("two", a, 4), x2=net.emit("tanh", Tanh, x=a))
    after = compile_program(_with_loss(net, y), GL)
    verify(after)
    assert ["GRADS_LINEAR", "GRADS_RELU"] in groups_of(after)
    assert not inner_gradients(after)


def chain_of(*lines: str, shapes: dict[int, tuple[int, ...]] | None = None) -> Program:
    parsed = tuple(parse_line(text) for text in lines)
    ids = sorted({r.id for ins in parsed for r in ins.operands if r.present})
    tensors = [
        Tensor(
            i, f"t{i}", (shapes or {}).get(i, (BATCH, 4)),
            role=Role.INPUT if i < 2 else Role.ACTIVATION,
        )
        for i in ids
    ]  # fmt: skip
    inputs = tuple(i for i in ids if i < 2)
    made = Program("p", "infer", TensorMap(tensors), {"forward": parsed}, inputs, (ids[-1],))
    verify(made)
    return made


def test_values_that_only_the_chain_reads_are_registers() -> None:
    made = chain_of("ADD 0x0 0x1 0x2 1 1", "TANH 0x2 0x3", "MUL 0x2 0x3 0x4", "EXP 0x4 0x5")
    after = fuse_elementwise(made, GL)
    assert [i.mnemonic for i in after] == ["FUSE", "ADD", "TANH", "MUL", "EXP", "END"]
    verify(after)
    assert [t.id for t in after.tensors.values() if t.register] == [2, 3, 4]


def test_unrelated_neighbours_and_other_shapes_do_not_fuse() -> None:
    made = chain_of("TANH 0x0 0x2", "EXP 0x1 0x3", "ADD 0x2 0x3 0x4 1 1")
    assert [i.mnemonic for i in fuse_elementwise(made, GL)] == [
        "TANH", "FUSE", "EXP", "ADD", "END",
    ]  # fmt: skip
    made = chain_of(
        "TANH 0x0 0x2", "ADD 0x2 0x1 0x3 1 1", shapes={0: (1, 4), 2: (1, 4), 1: (3, 4), 3: (3, 4)}
    )
    assert fuse_elementwise(made, GL) == made


def test_a_kernel_touches_no_more_storages_than_the_target_allows() -> None:
    sums = (f"ADD {i:#x} 0x1 {i + 1:#x} 1 1" for i in range(2, 14))
    made = chain_of("EXP 0x0 0x2", *sums)
    few = Target("gl", False, 1 << 20, 64, max_fused_storages=5)
    after = fuse_elementwise(made, few)
    verify(after)
    sizes, inside = [], set()
    for ins in after:
        if ins.mnemonic == "FUSE":
            inside = set()
        elif ins.mnemonic == "END":
            sizes.append(len(inside))
        else:
            inside |= after.reads(ins) | after.writes(ins)
    assert sizes
    assert max(sizes) <= 5


def test_gradients_that_sum_over_repeats_stay_alone() -> None:
    net = Net("repeat")
    b = net.param("b", 4)
    a = net.emit("tanh", Tanh, x=net.dense("one", net.input(3), 4))
    y = net.emit("exp", Relu, x=net.emit("sum", Add, x1=a, x2=b))
    after = compile_program(_with_loss(net, y), GL, disabled=["fuse_epilogues"])
    verify(after)
    inside, fused = False, []
    for ins in after.section("backward"):
        inside = (inside or ins.mnemonic == "FUSE") and ins.mnemonic != "END"
        fused += [ins.mnemonic] if inside else []
    assert "GRADS_ADD" not in fused


def _with_loss(net: Net, y: object) -> Program:
    t = net.target(*net.build.type_of(y).shape[1:])
    net.emit("loss", LossMSE, "loss", p=y, t=t)
    return net.finish(y)


# merge_updates


def updates_of(*lines: str) -> Program:
    tensors = [Tensor(i, f"w{i}", (4,), role=Role.PARAM, trainable=True) for i in range(4)]
    tensors += [
        Tensor(4, "step", (8,), DType.int32, Role.STEP),
        Tensor(5, "rates", (4,), role=Role.STEP),
        Tensor(6, "norm", ()),
    ]
    zeros = tuple(parse_line(f"ZERO {i:#x}.grad") for i in range(4))
    sections = {"backward": zeros, "update": tuple(parse_line(text) for text in lines)}
    made = Program("p", "train", TensorMap(tensors), sections)
    verify(made)
    return made


def sgd(i: int, tail: str = "") -> str:
    return f"UPDATE_SGD {i:#x} {i:#x}.grad 0x4 0x5{tail}"


def test_like_updates_become_one_group_behind_what_they_need() -> None:
    made = updates_of(
        "BEGIN_UPDATE 0x4", "CLIP_VALUE 0x0.grad 1", sgd(0), "CLIP_VALUE 0x1.grad 1", sgd(1)
    )
    assert lines_of(merge_updates(made), "update") == [
        "BEGIN_UPDATE 0x4", "CLIP_VALUE 0x0.grad 1", "CLIP_VALUE 0x1.grad 1",
        "FUSE {kind=update}", sgd(0), sgd(1), "END",
    ]  # fmt: skip


def test_updates_with_other_settings_get_a_group_of_their_own() -> None:
    made = updates_of(sgd(0), sgd(1, " {decay=0.5}"), sgd(2), sgd(3, " {decay=0.5}"))
    assert lines_of(merge_updates(made), "update") == [
        "FUSE {kind=update}", sgd(0), sgd(2), "END",
        "FUSE {kind=update}", sgd(1, " {decay=0.5}"), sgd(3, " {decay=0.5}"), "END",
    ]  # fmt: skip


def test_an_update_does_not_move_past_what_it_depends_on() -> None:
    made = updates_of(sgd(0), "BEGIN_UPDATE 0x4", sgd(1), sgd(1), "GLOBAL_NORM 0x1 0x6")
    assert lines_of(merge_updates(made), "update") == lines_of(made, "update")


# choose_layout


def test_inputs_of_padded_convolutions_get_a_halo() -> None:
    after = choose_layout(compile_program(cnn(), GL, 1), GL)
    verify(after)
    assert {t.name: t.pad for t in after.tensors.values() if t.pad} == {
        "pool1/y": ((0, 0), (1, 1), (1, 1), (0, 0))
    }


def test_the_widest_halo_wins() -> None:
    net = Net("wide", "infer")
    x = net.emit("act", Relu, x=net.input(6, 6, 2))
    w = net.param("w", 2, 3, 2, 2)
    fields = {"stride_h": 1, "stride_w": 1, "pad_h": 0, "pad_w": 2, "pad_end": (1, 0)}
    narrow = net.emit("narrow", Conv2D, w=w, x=x, **fields)
    after = choose_layout(net.finish(net.conv("wide", x, 2), narrow), GL)
    verify(after)
    assert after.tensors[x.id].pad == ((0, 0), (1, 1), (2, 1), (0, 0))


def test_fed_fetched_and_viewed_tensors_stay_dense() -> None:
    net = Net("dense", "infer")
    x = net.input(6, 6, 2)
    a = net.emit("act", Relu, x=x)
    b = net.emit("act2", Relu, x=net.conv("one", x, 2))
    net.build.tensor("view", (BATCH, 72), view_of=b.id)
    made = net.finish(net.conv("two", a, 2), net.conv("three", b, 2), a)
    after = choose_layout(made, CPU)
    assert not any(t.pad for t in after.tensors.values())


def test_targets_without_use_for_halos_get_none() -> None:
    made = compile_program(cnn(), GL, 1)
    assert choose_layout(made, Target("gl", False, 1 << 20, 64)) == made
    assert choose_layout(made, Target("gl", True, 1 << 20, 64)) == made


# All together


def test_a_program_compiled_twice_is_the_same() -> None:
    once = compile_program(mlp(), GL)
    assert compile_program(mlp(), GL) == once
    assert merge_updates(once) == once
    assert fuse_elementwise(once, GL) == once
    assert fuse_epilogues(once) == once
