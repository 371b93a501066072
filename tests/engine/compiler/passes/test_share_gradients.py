"""Gradients of sums with a bias: whose are shared, whose are not, and that all stay right."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import numpy as np
import pytest

from studio.engine.compiler.lifetimes import shared_gradients
from studio.engine.compiler.pipeline import compile_program
from studio.engine.compiler.target import CPU, TARGETS, Target
from studio.engine.core.errors import BackendError
from studio.engine.core.tensor import Ref, Role
from studio.engine.cpu.backend import CpuBackend
from studio.engine.isa.line import format_line
from studio.engine.isa.ops.activation import Relu, Sigmoid, Tanh
from studio.engine.isa.ops.arithmetic import Add, Mul
from studio.engine.isa.ops.linear import MatMul
from studio.engine.isa.ops.loss import LossMSE
from studio.engine.isa.ops.move import Reshape
from studio.engine.isa.program import Program
from studio.engine.runtime.live import StepClock
from studio.engine.runtime.live_places import NotStoredError
from tests.engine.autodiff.whole_programs import measured_gradient, values_for
from tests.engine.compiler.networks import Net
from tests.engine.oracle.interpreter import Interpreter

ROWS = 3


class Typed(Net):
    """Products and sums with parameters, one operation after another."""

    def product(self, x: Ref) -> Ref:
        w = self.param(f"w{x.id}", self.build.type_of(x).shape[-1], 4)
        return self.emit(f"product{x.id}", MatMul, a=x, b=w)

    def plus(self, x: Ref, *, trainable: bool = True, **factors: float) -> Ref:
        bias = self.param(f"b{x.id}", 4, trainable=trainable)
        return self.emit(f"sum{x.id}", Add, x1=x, x2=bias, **factors)

    def of(self, cls: type, **operands: object) -> Ref:
        return self.emit(cls.mnemonic.lower(), cls, **operands)

    def trained(self, y: Ref, *others: Ref) -> Program:
        t = self.target(*self.build.type_of(y).shape[1:])
        self.emit("loss", LossMSE, "loss", p=y, t=t)
        return self.finish(y, *others)


Build = Callable[[Typed, Ref], Ref]


def both(net: Typed, x: Ref) -> Ref:
    s = net.plus(net.product(x))
    return net.of(Mul, a=net.of(Tanh, x=s), b=net.of(Sigmoid, x=s))


def elsewhere(net: Typed, x: Ref) -> Ref:
    p = net.product(x)
    return net.of(Mul, a=net.of(Tanh, x=p), b=net.plus(p))


def of_one_shape(net: Typed, x: Ref) -> Ref:
    return net.of(Add, x1=net.product(x), x2=net.input(4, name="other"))


def bias_first(net: Typed, x: Ref) -> Ref:
    return net.of(Add, x1=net.param("b", 4), x2=net.product(x))


def taken_away(net: Typed, x: Ref) -> Ref:
    return net.of(Add, x1=net.param("b", 4), x2=net.product(x), beta=-1.0)


def hidden(net: Typed, x: Ref) -> Ref:
    return net.plus(net.product(net.of(Relu, x=net.plus(net.product(x)))))


def made_rows(net: Typed, x: Ref) -> Ref:
    rows = net.product(net.param("rows", 2, 4))
    return net.of(Add, x1=net.product(net.input(2, 3, name="other")), x2=rows)


SHARED: dict[str, tuple[Build, list[str]]] = {
    "a product": (lambda net, x: net.plus(net.product(x)), ["product0/y"]),
    "a dense layer": (lambda net, x: net.plus(net.dense("dense", x, 4)), ["dense/y"]),
    "two sums": (lambda net, x: net.plus(net.plus(net.product(x))), ["product0/y", "sum2/y"]),
    "a sum that two read": (both, ["product0/y"]),
    "a bias before": (bias_first, ["product0/y"]),
    "two layers": (hidden, ["product0/y", "product5/y"]),
    "a frozen bias": (
        lambda net, x: net.plus(net.product(x), trainable=False), ["product0/y"],
    ),
    "a sum seen in another shape": (
        lambda net, x: net.of(Reshape, x=net.plus(net.product(x)), shape=(-1, 2, 2)),
        ["product0/y"],
    ),
    "rows that are made": (made_rows, ["product4/y"]),
}  # fmt: skip
"""Networks, and whose gradient is that of the sum behind it."""

APART: dict[str, Build] = {
    "read elsewhere too": elsewhere,
    "its result needed": lambda net, x: net.plus(net.of(Tanh, x=net.product(x))),
    "a factor": lambda net, x: net.plus(net.product(x), alpha=2.0),
    "taken away": taken_away,
    "of one shape": of_one_shape,
}


def trained(build: Build) -> Program:
    net = Typed("typed")
    return net.trained(build(net, net.input(3)))


def names(program: Program) -> list[str]:
    return sorted(program.tensors[s.root].name for s in shared_gradients(program))


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda t: t.name)
@pytest.mark.parametrize("case", [*SHARED, *APART])
def test_gradients_are_those_of_differences(
    case: str, target: Target, rng: np.random.Generator
) -> None:
    build, wanted = SHARED.get(case) or (APART[case], [])
    program = trained(build)
    compiled = compile_program(program, target, verify=True)
    assert names(compiled) == wanted
    values = values_for(program, rng, ROWS, -0.9, 0.9)
    machine = Interpreter(compiled, ROWS)
    machine.run(values)
    for tensor in (t for t in program.of_role(Role.PARAM) if t.trainable):
        found = machine.get(tensor.ref.gradient)
        for index in list(np.ndindex(found.shape))[::3]:
            near = measured_gradient(program, values, ROWS, tensor.name, index)
            assert found[index] == pytest.approx(near, rel=1e-5, abs=1e-8), tensor.name


def test_lines_read_the_gradient_of_the_sum() -> None:
    backward = compile_program(trained(SHARED["a product"][0]), CPU).section("backward")
    assert [format_line(ins) for ins in backward] == [
        "FILL 0x5.grad 1",
        "GRADS_LOSS_MSE 0x4 0x6 0x5 {set=p}",
        "GRADS_ADD 0x2 0x3 0x4 1 1 {set=x2 skip=x1}",
        "GRADS_MATMUL 0x0 0x1 0x4 {set=b skip=a}",
    ]
    frozen = compile_program(trained(SHARED["a frozen bias"][0]), CPU).section("backward")
    assert [ins.mnemonic for ins in frozen] == ["FILL", "GRADS_LOSS_MSE", "GRADS_MATMUL"]


@pytest.mark.parametrize("seen", ["kept", "fetched", "in another shape"])
def test_what_is_looked_at_has_its_own(seen: str) -> None:
    net = Typed("typed")
    p = net.product(net.input(3))
    others = {"fetched": [p]}.get(seen, [])
    if seen == "in another shape":
        others = [net.of(Reshape, x=p, shape=(-1, 2, 2))]
    program = net.trained(net.plus(p), *others)
    keep = [p.id] if seen == "kept" else []
    compiled = compile_program(program, CPU, keep=keep, verify=True)
    assert not shared_gradients(compiled)
    assert program.storage(p.gradient) in {s for ins in compiled for s in compiled.writes(ins)}


def test_who_watches_a_shared_gradient_is_told_to_keep_it() -> None:
    program = trained(SHARED["a product"][0])
    p = program.tensors.named("product0/y").ref
    with closing(CpuBackend()) as backend:
        session = backend.open_session()
        tap = session.tap("product0/y", grad=True)
        executable = backend.compile(compile_program(program, CPU), session, ROWS)
        with pytest.raises(NotStoredError, match="that of the sum"):
            executable.attach(tap, StepClock())
        with pytest.raises(BackendError, match="that of the sum"):
            executable.fetch(p.gradient).result()
        kept = compile_program(program, CPU, keep=[p.id])
        backend.compile(kept, session, ROWS).attach(tap, StepClock())
        # The gradient of an input is of no use to anybody, and keeping it changes nothing.
        with pytest.raises(BackendError, match="no instruction touches"):
            executable.fetch(Ref(program.inputs[0]).gradient).result()
