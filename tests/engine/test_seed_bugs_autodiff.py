"""Bugs of the system this instruction set descends from, each shown not to be here.

Only those of gradients, updates and the compiled program; encoders and printing have theirs beside
the instruction set.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from studio.engine.autodiff.differentiate import differentiate, grad_of
from studio.engine.compiler.pipeline import compile_program
from studio.engine.compiler.target import CPU
from studio.engine.core.tensor import BATCH, Ref, Role
from studio.engine.cpu.backend import CpuBackend
from studio.engine.isa.instruction import (
    GRADIENT_OFFSET,
    GradInstruction,
    Instruction,
    all_instructions,
)
from studio.engine.isa.line import format_line, parse_line
from studio.engine.isa.ops.activation import ClippedRelu, Relu, Sigmoid, Tanh
from studio.engine.isa.ops.arithmetic import Add, Scale
from studio.engine.isa.ops.loss import LossMSE
from studio.engine.isa.ops.move import ConcatChannel, Flatten
from studio.engine.isa.ops.pool import AvgPool2D, MaxPool2D
from studio.engine.isa.program import Program
from studio.engine.optim.emit_updates import emit_updates
from studio.engine.optim.optimizers import SGD, Adam, Optimizer, RMSprop
from tests.engine.autodiff.whole_programs import (
    computed_gradients,
    measured_gradient,
    values_for,
)
from tests.engine.compiler.networks import NETWORKS, Net, cnn, mlp, resnet


@pytest.fixture
def backend() -> Iterator[CpuBackend]:
    made = CpuBackend()
    yield made
    made.close()


def squared(net: Net, y: Ref) -> Program:
    t = net.target(*net.build.type_of(y).shape[1:])
    net.emit("loss", LossMSE, "loss", p=y, t=t)
    return net.finish(y)


def check(program: Program, rng: np.random.Generator) -> None:
    values = values_for(program, rng, 2, -0.9, 0.9)
    for name, gradient in computed_gradients(program, values, 2).items():
        for index in np.ndindex(gradient.shape):
            wanted = measured_gradient(program, values, 2, name, index)
            assert gradient[index] == pytest.approx(wanted, rel=1e-5, abs=1e-8), (name, index)


def trained(program: Program, optimizer: Optimizer) -> Program:
    return compile_program(
        program, CPU, emit_updates=lambda p: emit_updates(p, optimizer), verify=True
    )


# There, some gradients replaced what was in their target, so a second consumer was lost.


@pytest.mark.parametrize(
    "cls", [c for c in all_instructions() if c.grad_class is not None], ids=lambda c: c.mnemonic
)
def test_every_gradient_adds_unless_told_to_set(cls: type[Instruction]) -> None:
    operands = {
        f.name: (Ref(i + 1),) if f.variadic else Ref(i + 1)
        for i, f in enumerate(cls.operand_fields)
    }
    effects = grad_of(cls(**operands)).effects()
    assert effects.writes
    assert effects.accumulates == effects.writes


def test_a_tensor_with_two_consumers_gets_the_sum_of_both(rng: np.random.Generator) -> None:
    net = Net("twice")
    a = net.emit("act", Tanh, x=net.conv("conv", net.input(3, 3, 2), 2))
    one = net.dense("one", net.emit("flat1", Flatten, x=a), 3)
    two = net.dense("two", net.emit("flat2", Flatten, x=a), 3)
    check(squared(net, net.emit("sum", Add, x1=one, x2=two)), rng)


# There, a sum recorded its first operand in place of the second, and gave back an input.


def test_both_operands_of_a_sum_get_their_own_gradient(rng: np.random.Generator) -> None:
    net = Net("sum")
    x = net.input(3)
    y = net.emit("sum", Add, x1=net.dense("one", x, 3), x2=net.dense("two", x, 3), beta=-2.0)
    check(squared(net, net.emit("scale", Scale, x=y, alpha=0.5)), rng)
    line = parse_line("ADD 0x1 0x2 0x3 1 -2")
    assert [t for _, t in grad_of(line).targets()] == [Ref(1, True), Ref(2, True)]


# There, the gradient of the clipped activation could not be looked up by its forward opcode.


def test_every_gradient_is_found_by_its_forward_instruction(rng: np.random.Generator) -> None:
    for cls in all_instructions():
        if issubclass(cls, GradInstruction):
            assert cls.forward.grad_class is cls
            assert cls.code == cls.forward.code + GRADIENT_OFFSET
    net = Net("clipped")
    check(squared(net, net.emit("act", ClippedRelu, x=net.dense("d", net.input(3), 4))), rng)


# There, dropout ran in inference too, and validation went on updating statistics.


def test_inference_programs_hold_neither_dropout_nor_statistics_that_move() -> None:
    for build in NETWORKS.values():
        program = compile_program(build("infer"), CPU)
        assert not any(ins.random for ins in program)
        states = {t.id for t in program.of_role(Role.STATE)}
        assert not any(w.root in states for ins in program for w in program.writes(ins))


# There, a concatenation was walked by a count that was not its number of parts.


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_a_concatenation_reaches_every_part(count: int, rng: np.random.Generator) -> None:
    net = Net("concat")
    x = net.input(3)
    parts = tuple(net.dense(f"d{i}", x, i + 1) for i in range(count))
    y = net.emit("concat", ConcatChannel, xs=parts, count=count)
    check(squared(net, y), rng)


# There, Adam counted a step per parameter, and corrected the bias of moments where they lie.


def test_one_step_counts_one_update_however_many_parameters(backend: CpuBackend) -> None:
    program = trained(mlp(), Adam())
    assert sum(i.mnemonic == "BEGIN_UPDATE" for i in program) == 1
    session = backend.open_session()
    executable = backend.compile(program, session, 2)
    session.write("train/rates", np.full(256, 0.01, np.float32))
    executable.feed(program.inputs[0], np.ones((2, 6), np.float32))
    executable.feed(program.inputs[1], np.eye(3, dtype=np.float32)[:2])
    executable.run(3)
    assert session.read("train/step").result()[3] == 3


def test_stored_moments_are_plain_moving_averages(backend: CpuBackend) -> None:
    net = Net("moments")
    program = trained(squared(net, net.dense("d", net.input(1), 1)), Adam(beta_1=0.9))
    session = backend.open_session()
    executable = backend.compile(program, session, 1)
    session.write("train/rates", np.zeros(256, np.float32))
    executable.feed(program.inputs[0], np.ones((1, 1), np.float32))
    executable.feed(program.inputs[1], np.full((1, 1), -1.0, np.float32))
    for step in range(1, 4):
        executable.run(1)
        # The gradient of (0 - -1)² with respect to the bias is 2 at every step.
        slot = next(n for n in session.names() if n.startswith("d/bias/m"))
        assert session.read(slot).result()[0] == pytest.approx(2 * (1 - 0.9**step), rel=1e-5)


# There, clearing gradients wiped optimiser slots, running statistics and the input batch as well.


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("optimizer", [RMSprop(), Adam(), SGD(momentum=0.9)])
def test_only_gradients_are_ever_cleared(level: int, optimizer: Optimizer) -> None:
    for build in (cnn, resnet):
        program = compile_program(
            build(), CPU, level, emit_updates=lambda p: emit_updates(p, optimizer), verify=True
        )
        for ins in program:
            if ins.mnemonic in ("ZERO", "FILL"):
                assert ins.ref("y").grad
        persistent = {t.id for t in program.tensors.values() if t.role.persistent}
        for section in ("backward",):
            for ins in program.section(section):
                assert not any(s.root in persistent and not s.grad for s in program.writes(ins)), (
                    format_line(ins)
                )


def test_statistics_and_slots_go_on_from_step_to_step(backend: CpuBackend) -> None:
    program = trained(resnet(), Adam())
    session = backend.open_session()
    executable = backend.compile(program, session, 2)
    rng = np.random.default_rng(1)
    for t in program.of_role(Role.PARAM):
        session.write(t.name, rng.normal(0, 0.5, t.shape).astype(np.float32))
    picture = rng.normal(1, 1, (2, 5, 5, 2)).astype(np.float32)
    executable.feed(program.inputs[0], picture)
    executable.feed(program.inputs[1], np.eye(3, dtype=np.float32)[:2])
    seen = []
    for _ in range(3):
        executable.run(1)
        seen.append(session.read("bn/mean").result().copy())
    assert np.abs(seen[0]).max() > 0
    # With rates of 0 the batch stays the same, so each step closes a tenth of the distance.
    np.testing.assert_allclose(seen[1], seen[0] * 1.9, rtol=1e-4)
    np.testing.assert_allclose(seen[2], seen[0] * 2.71, rtol=1e-4)
    np.testing.assert_array_equal(executable.fetch(Ref(program.inputs[0])).result(), picture)


# There, sigmoid and tanh relied on what only a ReLU in the program had set up.


@pytest.mark.parametrize("cls", [Sigmoid, Tanh])
def test_activations_work_without_a_relu_in_the_program(
    cls: type[Instruction], rng: np.random.Generator
) -> None:
    net = Net("alone")
    check(squared(net, net.emit("act", cls, x=net.dense("d", net.input(3), 4))), rng)


# There, pools added to their result and were right only while it was zero.


@pytest.mark.parametrize("cls", [MaxPool2D, AvgPool2D])
def test_pooling_writes_over_what_was_there(cls: type[Instruction], backend: CpuBackend) -> None:
    net = Net("pool", "infer")
    y = net.emit("pool", cls, x=net.input(4, 4, 1))
    program = compile_program(net.finish(y), CPU)
    executable = backend.compile(program, backend.open_session(), 1)
    executable.feed(program.inputs[0], np.ones((1, 4, 4, 1), np.float32))
    for _ in range(2):
        executable.run(1)
        np.testing.assert_array_equal(executable.fetch(y).result(), np.ones((1, 2, 2, 1)))


# The derivative at the kink, which both backends must agree on.


def test_relu_has_derivative_0_at_0(backend: CpuBackend) -> None:
    net = Net("relu")
    w = net.param("w", 1, 4)
    zero = net.build.tensor("zero", (BATCH, 4), role=Role.INPUT)
    net.inputs.append(zero)
    y = net.emit("relu", Relu, x=net.emit("sum", Add, x1=w, x2=zero))
    program = differentiate(squared(net, y))
    executable = backend.compile(program, backend.open_session(), 2)
    executable.feed(zero.id, np.zeros((2, 4), np.float32))
    executable.feed(program.inputs[1], np.ones((2, 4), np.float32))
    executable.run(1)
    np.testing.assert_array_equal(executable.fetch(w.gradient).result(), np.zeros((1, 4)))
