"""Steps looked at, profiled or sent from machine code in between give what plain ones give."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from studio.engine.compiler.pipeline import compile_program
from studio.engine.compiler.target import GL
from studio.engine.core.tensor import Role
from studio.engine.gl.backend import GlBackend
from studio.engine.gl.run.executable import GlExecutable
from studio.engine.gl.run.session import GlSession
from studio.engine.isa.ops.activation import Relu
from studio.engine.isa.ops.loss import LossMSE
from studio.engine.isa.ops.pool import GlobalAvgPool2D
from studio.engine.isa.program import Program
from studio.engine.optim.emit_updates import emit_updates
from studio.engine.optim.optimizers import Adam
from studio.engine.runtime.live import StepClock
from tests.engine.autodiff.whole_programs import Values, values_for
from tests.engine.compiler.networks import Net

pytestmark = [pytest.mark.gl, pytest.mark.slow]
ROWS = 5
Run = Callable[[GlSession, GlExecutable], None]
Results = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def backend() -> Iterator[GlBackend]:
    """Plans as for a GPU, whatever the renderer is."""
    made = GlBackend(target=GL)
    yield made
    made.close()


@pytest.fixture(scope="module")
def program() -> Program:
    """Convolutions and normalisations, which take sums along of each other both ways."""
    net = Net("chain", "train")
    x = net.emit("relu", Relu, x=net.norm("bn", net.conv("conv", net.input(8, 8, 3), 8)))
    x = net.emit("relu1", Relu, x=net.norm("bn1", net.conv("conv1", x, 8)))
    y = net.dense("dense", net.emit("gap", GlobalAvgPool2D, x=x), 4)
    net.emit("loss", LossMSE, "loss", p=y, t=net.target(4))
    return compile_program(net.finish(y), GL, emit_updates=lambda p: emit_updates(p, Adam()))


@pytest.fixture
def values(program: Program, rng: np.random.Generator) -> Values:
    values = values_for(program, rng, ROWS, -0.9, 0.9)
    return {**values, "train/rates": np.full(256, 0.01)}


def trained(backend: GlBackend, program: Program, values: Values, run: Run) -> Results:
    """Everything that training keeps, after some way to run steps."""
    session = backend.open_session()
    executable = backend.compile(program, session, ROWS)
    assert isinstance(executable, GlExecutable)
    kept = [t for t in program.tensors.values() if t.role.persistent and t.role is not Role.CONST]
    for tensor in kept:
        if tensor.name in values:
            session.write(tensor.name, values[tensor.name].astype(tensor.dtype.np))
    for i in program.inputs:
        tensor = program.tensors[i]
        executable.feed(i, values[tensor.name].astype(tensor.dtype.np))
    run(session, executable)
    found = {t.name: session.read(t.name).result(60) for t in kept}
    executable.close()
    session.close()
    return found


def plainly(session: GlSession, executable: GlExecutable) -> None:
    executable.run(6)


def from_machine_code(executable: GlExecutable) -> None:
    executable.work.engine.call(executable._step.compile)
    assert executable._step.compiled


def same(found: Results, wanted: Results) -> None:
    for name, value in wanted.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


def test_looking_and_profiling_in_between_change_no_bit(
    backend: GlBackend, program: Program, values: Values
) -> None:
    def pieces(session: GlSession, executable: GlExecutable) -> None:
        from_machine_code(executable)
        executable.run(1)
        tap = session.tap("conv1/y")
        executable.attach(tap, StepClock())
        executable.run(2)
        executable.detach(tap)
        executable.run(1)
        executable.profile(1)
        executable.run(1)

    plain = trained(backend, program, values, plainly)
    same(trained(backend, program, values, pieces), plain)


def test_a_rate_written_between_steps_is_the_next_one_s(
    backend: GlBackend, program: Program, values: Values
) -> None:
    def slower(session: GlSession, executable: GlExecutable) -> None:
        executable.run(3)
        session.write("train/rates", np.full(256, 0.003, np.float32))
        executable.run(3)

    def from_code(session: GlSession, executable: GlExecutable) -> None:
        from_machine_code(executable)
        slower(session, executable)

    wanted = trained(backend, program, values, slower)
    same(trained(backend, program, values, from_code), wanted)
    fast = trained(backend, program, values, plainly)
    assert not np.array_equal(fast["conv/kernel"], wanted["conv/kernel"])
