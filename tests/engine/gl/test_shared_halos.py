"""Tensors with equal halos have one place in turn: what each leaves there, the next may read."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine.compiler.pipeline import compile_program
from studio.engine.compiler.plan_memory import MemoryPlan
from studio.engine.compiler.target import GL, GL_SOFTWARE, Target
from studio.engine.core.tensor import Ref, Role
from studio.engine.gl.backend import GlBackend
from studio.engine.gl.run.executable import GlExecutable
from studio.engine.isa.ops.activation import Elu, LeakyRelu, Relu, Sigmoid, Swish, Tanh
from studio.engine.isa.ops.arithmetic import Add, Mul
from studio.engine.isa.ops.loss import LossMSE
from studio.engine.isa.ops.move import ConcatChannel
from studio.engine.isa.ops.pool import AvgPool2D, GlobalAvgPool2D, MaxPool2D
from studio.engine.isa.program import Program
from tests.engine.autodiff.whole_programs import values_for
from tests.engine.compiler.networks import Net
from tests.engine.compiler.passes.test_every_pass_keeps_results import with_updates
from tests.engine.gl.gl_programs import begun
from tests.engine.oracle.interpreter import Interpreter

pytestmark = [pytest.mark.gl, pytest.mark.slow]

ROWS = 2
UNFUSED = ("fuse_epilogues", "fuse_elementwise", "fuse_gradients")


def writers() -> Program:
    """A tower of convolutions over [8,8,4]; before each stands another writer of pictures."""
    net = Net("tower", "infer")
    a = net.emit("pool", MaxPool2D, x=net.input(16, 16, 4))
    kinds = (Relu, Elu, LeakyRelu, Sigmoid, Swish, Tanh)
    for number, kind in enumerate(kinds):
        a = net.emit(f"act{number}", kind, x=net.conv(f"conv{number}", a, 4))
    b = net.norm("norm", net.conv("conv6", a, 4))
    a = net.emit("add", Add, x1=net.conv("conv7", b, 4), x2=a)
    a = net.emit("mul", Mul, a=net.conv("conv8", a, 4), b=net.conv("conv9", a, 4))
    halves = (net.conv("conv10", a, 2), net.conv("conv11", a, 2))
    a = net.emit("concat", ConcatChannel, xs=halves, count=2)
    a = net.depthwise("depthwise", net.conv("conv12", a, 4))
    a = net.conv("conv13", a, 4)
    a = net.emit("average", AvgPool2D, x=a, window_h=1, window_w=1, stride_h=1, stride_w=1)
    return net.finish(net.conv("last", a, 4))


def poisoned(backend: GlBackend, executable: GlExecutable) -> MemoryPlan:
    """The plan, after all bytes have become NaN that nobody asked to be zero."""
    storages = executable._storages
    plan: MemoryPlan = storages.plan
    assert len(plan.buffers) == 1
    arena, pool = storages._arena[0], backend.work.pool
    begins = [0, *(end for _, _, end in plan.to_clear())]
    ends = [*(begin for _, begin, _ in plan.to_clear()), plan.total_bytes]

    def poison() -> None:
        for begin, end in zip(begins, ends, strict=True):
            count = max(end - begin, 0) // 4
            pool.upload(arena.slice(begin, 4 * count), np.full(count, np.nan, np.float32))

    backend.work.engine.call(poison)
    return plan


@pytest.mark.parametrize("disabled", [(), UNFUSED], ids=["fused", "unfused"])
def test_every_writer_leaves_the_halo_zero(
    backend: GlBackend, disabled: tuple[str, ...], rng: np.random.Generator
) -> None:
    program = compile_program(writers(), GL, disabled=disabled)
    values = values_for(program, rng, ROWS)
    session, executable = begun(backend, program, values, ROWS)
    plan = poisoned(backend, executable)
    padded = [s for s in plan.slots if program.tensors[s.root].pad]
    assert len(padded) > 10
    assert len({plan.slots[s].offset for s in padded}) < 5
    machine = Interpreter(program, ROWS)
    machine.run(values)
    wanted = machine.get(Ref(program.outputs[0]))
    for _ in range(2):
        executable.run(1)
        found = executable.fetch(Ref(program.outputs[0])).result(60)
        np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4)
    executable.close()
    session.close()


@pytest.mark.parametrize("target", [GL, GL_SOFTWARE], ids=lambda target: target.name)
def test_nothing_reads_around_a_gradient(target: Target, rng: np.random.Generator) -> None:
    net = Net("residual", "train")
    a = net.emit("relu", Relu, x=net.conv("conv", net.input(8, 8, 4), 16))
    b = net.norm("norm", net.conv("conv1", a, 16))
    a = net.emit("relu1", Relu, x=net.emit("add", Add, x1=a, x2=b))
    a = net.depthwise("depthwise", net.conv("conv2", net.conv("conv3", a, 16, stride=2), 8))
    y = net.dense("dense", net.emit("gap", GlobalAvgPool2D, x=a), 3)
    net.emit("loss", LossMSE, "loss", p=y, t=net.target(3))
    program = compile_program(net.finish(y), target, emit_updates=with_updates)
    padded = {t.id for t in program.tensors.values() if t.pad}
    values = values_for(program, rng, ROWS)
    found = []
    backend = GlBackend(target=target)
    for poison in (False, True):
        session, executable = begun(backend, program, values, ROWS)
        if poison:
            plan = poisoned(backend, executable)
            assert any(s.grad and s.root in padded and plan.shares(s) for s in plan.slots)
        executable.run(2)
        found.append({t.name: session.read(t.name).result(60) for t in program.of_role(Role.PARAM)})
        executable.close()
        session.close()
    backend.close()
    for name, value in found[0].items():
        assert np.isfinite(value).all(), name
        np.testing.assert_array_equal(found[1][name], value, err_msg=name)
