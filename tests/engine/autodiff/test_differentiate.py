"""What the reverse walk writes: one gradient per instruction, what is left out, what is refused."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from studio.engine.autodiff.differentiate import differentiate
from studio.engine.compiler.verify import verify
from studio.engine.core.dtypes import DType
from studio.engine.core.errors import GradientError
from studio.engine.core.tensor import BATCH, Ref, Role
from studio.engine.isa.instruction import GradInstruction
from studio.engine.isa.line import format_line, parse_line
from studio.engine.isa.ops.activation import Relu, Sigmoid, Tanh
from studio.engine.isa.ops.arithmetic import Add, Equal, Greater, Mul, Select
from studio.engine.isa.ops.function import Floor, Sign
from studio.engine.isa.ops.linear import Linear
from studio.engine.isa.ops.loss import LossCE, LossMSE
from studio.engine.isa.ops.move import Cast, Concat, Flatten
from studio.engine.isa.ops.norm import BatchNorm2D
from studio.engine.isa.ops.reduce import ArgMax, OneHot
from studio.engine.isa.ops.softmax import SoftmaxCE
from studio.engine.isa.program import Program
from tests.engine.autodiff.whole_programs import (
    computed_gradients,
    measured_gradient,
    values_for,
)
from tests.engine.compiler.networks import NETWORKS, Net, mlp, resnet


def backward(program: Program, **options: object) -> list[str]:
    return [format_line(i) for i in differentiate(program, **options).section("backward")]


def squared(net: Net, y: Ref) -> Program:
    """The network with a mean squared error on ``y``."""
    t = net.target(*net.build.type_of(y).shape[1:])
    net.emit("loss", LossMSE, "loss", p=y, t=t)
    return net.finish(y)


def check(program: Program, rng: np.random.Generator, **options: object) -> None:
    """All gradients against central differences."""
    values = values_for(program, rng, 2, -0.9, 0.9)
    for name, gradient in computed_gradients(program, values, 2, **options).items():
        for index in np.ndindex(gradient.shape):
            wanted = measured_gradient(program, values, 2, name, index)
            assert gradient[index] == pytest.approx(wanted, rel=1e-5, abs=1e-8), (name, index)


def test_the_backward_section_of_a_small_network_is_this() -> None:
    assert backward(mlp()) == [
        "FILL 0x9.grad 1",
        "ZERO 0x8.grad",
        "GRADS_LOSS_CE 0x8 0xb 0x9 {source=softmax}",
        "ZERO 0x7.grad",
        "GRADS_SOFTMAX_CE 0x7 0x8 3",
        "ZERO 0x5.grad",
        "ZERO 0x6.grad",
        "ZERO 0x4.grad",
        "GRADS_LINEAR 0x5 0x6 0x4 0x7",
        "ZERO 0x3.grad",
        "GRADS_RELU 0x3 0x4",
        "ZERO 0x1.grad",
        "ZERO 0x2.grad",
        "GRADS_LINEAR 0x1 0x2 0x0 0x3 {skip=x}",
    ]


def test_gradient_lines_repeat_operands_and_scalars() -> None:
    lines = backward(resnet(), prune=False)
    for wanted in (
        "GRADS_RELU 0x8 0x9",
        "GRADS_CONV2D 0xa 0xb 0x9 0xc 1 1 1 1 1 1",
        "GRADS_ADD 0x1a 0x9 0x1b 1 1",
        "GRADS_CONV2D 0x1 0x2 0x0 0x3 1 1 1 1 1 1",
    ):
        assert wanted in lines


@pytest.mark.parametrize("name", NETWORKS)
def test_unpruned_every_forward_instruction_has_exactly_one_gradient(name: str) -> None:
    program = NETWORKS[name]()
    lines = [*program.section("forward"), *program.section("loss")]
    backward_section = differentiate(program, prune=False).section("backward")
    grads = [i for i in backward_section if isinstance(i, GradInstruction)]
    assert Counter(t.forward.of_grad(t) for t in grads) == Counter(lines)
    assert all(not t.value("skip") and not t.value("set") for t in grads)


@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_belong_to_the_layers_of_their_forward_instructions(name: str) -> None:
    program = NETWORKS[name]()
    owners = {i: i.owners for i in (*program.section("forward"), *program.section("loss"))}
    for ins in differentiate(program).section("backward"):
        assert ins.owners
        if isinstance(ins, GradInstruction):
            assert ins.owners == owners[ins.forward.of_grad(ins)]


@pytest.mark.parametrize("name", NETWORKS)
def test_every_storage_is_cleared_once_before_its_first_accumulation(name: str) -> None:
    program = differentiate(NETWORKS[name]())
    cleared = set()
    for ins in program.section("backward"):
        if isinstance(ins, GradInstruction):
            assert {program.storage(r) for r in ins.effects().accumulates} <= cleared
        else:
            assert program.storage(ins.y) not in cleared
            cleared.add(program.storage(ins.y))


def test_the_sample_resnet_has_160_instructions_and_160_gradients() -> None:
    program = sample_resnet()
    forward = program.section("forward")
    grads = [
        i
        for i in differentiate(program, prune=False).section("backward")
        if isinstance(i, GradInstruction) and i.category != "loss"
    ]
    assert (len(forward), len(grads)) == (160, 160)
    pruned = differentiate(program).section("backward")
    assert sum(isinstance(i, GradInstruction) and i.category != "loss" for i in pruned) == 160
    assert sum(t.numel(1) for t in program.of_role(Role.PARAM)) == 26_577_994


def sample_resnet() -> Program:
    """Dylann's CIFAR-10 sample: a stem, 16 identity blocks, 2 joints, three dense layers."""
    net = Net("sample")
    streams = iter(range(1, 99))

    def block(name: str, x: Ref, filters: int, *, joint: bool) -> Ref:
        inside = net.build.type_of(x).shape[-1] if joint else filters
        a = net.conv(f"{name}/1", x, inside, stride=2 if joint else 1)
        a = net.emit(name, Relu, x=net.norm(f"{name}/2", a))
        a = net.norm(f"{name}/4", net.conv(f"{name}/3", a, filters))
        if joint:
            x = net.norm(f"{name}/6", net.conv(f"{name}/5", x, filters, size=1, stride=2))
        a = net.emit(name, Relu, x=net.emit(name, Add, x1=a, x2=x))
        return net.dropout(name, a, 0.2, next(streams))

    a = net.emit("stem", Relu, x=net.norm("bn", net.conv("stem", net.input(32, 32, 3), 64)))
    for stage, (filters, blocks) in enumerate(((64, 5), (128, 5), (256, 6))):
        if stage:
            a = block(f"joint{stage}", a, filters, joint=True)
        for i in range(blocks):
            a = block(f"id{stage}_{i}", a, filters, joint=False)
    a = net.emit("flatten", Flatten, x=a)
    for units, rate in ((1024, 0.3), (256, 0.4)):
        a = net.emit(f"act{units}", Relu, x=net.dense(f"dense{units}", a, units))
        a = net.dropout(f"drop{units}", a, rate, next(streams))
    y = net.emit("softmax", SoftmaxCE, x=net.dense("dense10", a, 10), step=10)
    net.emit("loss", LossCE, "loss", p=y, t=net.target(10), source="softmax")
    return net.finish(y)


def test_frozen_layers_in_front_get_no_gradient_at_all() -> None:
    net = Net("frozen")
    a = net.emit("act", Relu, x=net.dense("one", net.input(3), 4, trainable=False))
    program = squared(net, net.dense("two", a, 2))
    assert [line.split()[0] for line in backward(program) if line.startswith("GRADS")] == [
        "GRADS_LOSS_MSE",
        "GRADS_LINEAR",
    ]
    assert "{skip=x}" in backward(program)[-1]


def test_a_frozen_layer_in_between_only_passes_gradients_on(rng: np.random.Generator) -> None:
    net = Net("between")
    a = net.dense("one", net.input(3), 4)
    a = net.dense("two", a, 3, trainable=False)
    program = squared(net, net.dense("three", a, 2))
    assert sum("{skip=w,b}" in line for line in backward(program)) == 1
    check(program, rng)


def test_a_tensor_in_both_operands_is_counted_twice(rng: np.random.Generator) -> None:
    net = Net("both")
    a = net.dense("one", net.input(3), 4)
    b = net.emit("square", Mul, a=a, b=a)
    c = net.emit("twice", Concat, xs=(b, b, a), axis=1)
    program = squared(net, net.emit("sum", Add, x1=c, x2=c, alpha=2.0, beta=-0.5))
    check(program, rng)


def test_a_shared_layer_adds_the_gradients_of_its_uses(rng: np.random.Generator) -> None:
    net = Net("shared")
    w, b = net.param("w", 3, 3), net.param("b", 3)
    a = net.input(3)
    for act in (Tanh, Sigmoid):
        a = net.emit("act", act, x=net.emit("dense", Linear, w=w, b=b, x=a))
    check(squared(net, a), rng)


def test_a_batch_norm_applied_twice_keeps_both_statistics(rng: np.random.Generator) -> None:
    net = Net("twice")
    fields = {n: net.param(n, 2) for n in ("gamma", "beta")}
    fields |= {n: net.build.tensor(n, (2,), role=Role.STATE) for n in ("mean", "var")}
    x = net.conv("conv", net.input(3, 3, 2), 2)
    a = net.emit("bn", BatchNorm2D, x=x, **fields)
    a = net.emit("tanh", Tanh, x=net.conv("conv2", a, 2))
    program = squared(net, net.emit("bn", BatchNorm2D, x=a, **fields))
    lines = [format_line(i) for i in differentiate(program)]
    assert sum(line.startswith("COPY") for line in lines) == 4
    check(program, rng)
    assert [format_line(i) for i in differentiate(alternating(program))] == lines


def alternating(program: Program) -> Program:
    """The program with every second line of the forward section tagged as one of the loss."""
    lines = [(section, ins) for section, _, ins in program.located()]
    forward = [place for place, (section, _) in enumerate(lines) if section == "forward"]
    for place in forward[1::2]:
        lines[place] = ("loss", lines[place][1])
    return program.with_lines(lines)


@pytest.mark.parametrize("name", NETWORKS)
def test_the_walk_follows_the_running_order_of_sections_that_alternate(name: str) -> None:
    plain = NETWORKS[name]()
    made = differentiate(alternating(plain))
    assert [format_line(i) for i in made] == [format_line(i) for i in differentiate(plain)]
    assert made == alternating(differentiate(plain))
    verify(made)


def test_views_share_the_gradient_of_their_root(rng: np.random.Generator) -> None:
    net = Net("views")
    a = net.emit("act", Tanh, x=net.conv("conv", net.input(3, 3, 2), 2))
    flat = net.build.tensor("flat", (BATCH, 18), view_of=a.id)
    both = net.emit("sum", Add, x1=net.dense("d", flat, 18), x2=flat)
    program = squared(net, both)
    assert f"ZERO {flat.gradient}" not in backward(program)
    check(program, rng)


def test_gradients_of_inputs_are_made_when_asked_for(rng: np.random.Generator) -> None:
    program = mlp()
    lines = backward(program, wrt=[Ref(0)])
    assert "ZERO 0x0.grad" in lines
    assert not any("skip" in line for line in lines)


def test_a_condition_passes_no_gradient_and_is_no_obstacle(rng: np.random.Generator) -> None:
    net = Net("select")
    a = net.dense("one", net.input(3), 4)
    b = net.dense("two", net.inputs[0], 4)
    c = net.emit("greater", Greater, a=a, b=b)
    program = squared(net, net.emit("select", Select, c=c, a=a, b=b))
    assert not any("GREATER" in line for line in backward(program))
    check(program, rng)


@pytest.mark.parametrize(("cls", "fields"), [(Cast, {"dtype": "float16"}), (ArgMax, {})])
def test_an_instruction_without_gradient_on_the_way_is_named(cls: type, fields: dict) -> None:
    net = Net("broken")
    a = net.dense("one", net.input(4), 4)
    y = net.emit("bad layer", cls, x=a, **fields)
    y = net.emit("bad layer", OneHot, x=y, depth=4) if cls is ArgMax else y
    if net.build.type_of(y).dtype is DType.float16:
        y = net.emit("bad layer", Cast, x=y, dtype="float32")
    program = squared(net, y)
    with pytest.raises(GradientError, match="has no gradient") as caught:
        differentiate(program)
    assert "bad layer" in str(caught.value)
    assert caught.value.who in {"CAST", "ONE_HOT"}
    assert caught.value.who in str(caught.value).split("line", 1)[1]
    with pytest.raises(GradientError) as again:
        differentiate(alternating(program))
    assert again.value.message == caught.value.message


@pytest.mark.parametrize("cls", [Sign, Floor, Equal])
def test_what_is_constant_but_for_jumps_gives_the_gradient_zero(cls: type) -> None:
    net = Net("steps")
    a = net.dense("one", net.input(4), 4)
    fields = {"a": a, "b": a} if cls is Equal else {"x": a}
    y = net.emit("steps", cls, **fields)
    y = net.emit("steps", Cast, x=y, dtype="float32") if cls is Equal else y
    program = squared(net, net.dense("two", y, 4))
    before = [t for t in program.of_role(Role.PARAM) if t.name.startswith("one/")]
    assert len(before) == 2
    assert backward(program)[-2:] == [f"ZERO {t.ref.gradient}" for t in before]


def test_the_same_instruction_off_the_way_is_no_obstacle() -> None:
    net = Net("fine")
    x = net.emit("sign", Sign, x=net.input(4))
    program = squared(net, net.dense("one", x, 4))
    assert not any("SIGN" in line for line in backward(program))
    assert not any("SIGN" in line for line in backward(program, prune=False))


def test_a_parameter_the_loss_does_not_depend_on_has_gradient_zero() -> None:
    net = Net("unused")
    unused = net.param("unused", 3)
    program = squared(net, net.dense("one", net.input(4), 4))
    assert backward(program)[-1] == f"ZERO {unused.gradient}"


def test_with_nothing_trainable_the_backward_section_is_empty() -> None:
    net = Net("still")
    assert backward(squared(net, net.dense("one", net.input(4), 4, trainable=False))) == []


def test_without_a_loss_there_is_nothing_to_differentiate() -> None:
    with pytest.raises(GradientError, match="no loss"):
        differentiate(mlp("infer"))
    with pytest.raises(GradientError, match="float scalar"):
        differentiate(mlp(), Ref(4))
    net = Net("none")
    lonely = net.build.tensor("lonely", ())
    program = squared(net, net.dense("one", net.input(4), 4))
    with pytest.raises(GradientError, match="no instruction writes"):
        differentiate(program, lonely, prune=False)
    with pytest.raises(GradientError, match="backward section already"):
        differentiate(differentiate(mlp()))


def test_parsed_gradient_lines_are_the_ones_written() -> None:
    for ins in differentiate(resnet()).section("backward"):
        assert parse_line(format_line(ins)) == ins
