"""Updates that read a copy of the step block: the same numbers, and the next step begins sooner."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine.compiler.lower import lower
from studio.engine.compiler.lower_data import DataSpec, Source
from studio.engine.compiler.passes.snapshot_step import NAME, snapshot_step
from studio.engine.compiler.pipeline import compile_program
from studio.engine.compiler.target import GL, GL_SOFTWARE, Target
from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import BATCH, Role
from studio.engine.gl.backend import GlBackend
from studio.engine.gl.run.executable import GlExecutable
from studio.engine.gl.shader.planned import PlannedDispatch
from studio.engine.isa.program import Program
from studio.engine.layers.dense import Dense
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.inputs import Input
from studio.engine.optim.emit_updates import emit_updates
from studio.engine.optim.optimizers import Adam
from tests.engine.gl.gl_programs import Lines

pytestmark = pytest.mark.gl

RATES = np.array([0.5, 0.25, 0.125, 2.0], np.float32)
STEPS, ROWS, BETA1, BETA2, EPS = 6, 20, 0.9, 0.999, 1e-7


def training(*, advance_first: bool = False, begins: int = 1, fused: bool = True) -> Program:
    """Steps of Adam whose gradient is 1 for w and 2 for v, the rate changing with the step."""
    lines = Lines()
    x = lines.input("x", (BATCH, 2))
    step, rates = lines.kept("step", (8,), DType.int32), lines.kept("rates", (4,))
    kept = {name: lines.kept(name, (5,)) for name in ("w", "v", "mw", "mv", "sw", "sv")}
    for number, name in enumerate("wv"):
        lines.add("backward", "FILL", y=kept[name].gradient, number=number + 1.0)
    for _ in range(begins):
        lines.add("update", "BEGIN_UPDATE", step=step)
    if advance_first:
        lines.add("update", "ADVANCE", x=x, step=step)
    if fused:
        lines.add("update", "FUSE", kind="update")
    for name in "wv":
        w = kept[name]
        fields = {"m": kept[f"m{name}"], "v": kept[f"s{name}"], "step": step, "rates": rates}
        numbers = {"beta1": BETA1, "beta2": BETA2, "eps": EPS}
        lines.add("update", "UPDATE_ADAM", w=w, g=w.gradient, **fields, **numbers)
    if fused:
        lines.add("update", "END")
    if not advance_first:
        lines.add("metrics", "ADVANCE", x=x, step=step)
    return snapshot_step(lines.program(), GL)


def expected(gradient: float, *, ahead: int, begins: int) -> np.ndarray:
    w, m, v = np.ones(5), 0.0, 0.0
    for k in range(STEPS):
        t = begins * (k + 1)
        m, v = BETA1 * m + (1 - BETA1) * gradient, BETA2 * v + (1 - BETA2) * gradient**2
        root = np.sqrt(1 - BETA2**t) / (1 - BETA1**t)
        w = w - RATES[(k + ahead) % 4] * root * m / (np.sqrt(v) + EPS)
    return w


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize(("advance_first", "begins"), [(False, 1), (True, 1), (False, 2)])
def test_every_update_has_the_rate_and_the_number_of_its_step(
    backend: GlBackend, advance_first: bool, begins: int, fused: bool
) -> None:
    program = training(advance_first=advance_first, begins=begins, fused=fused)
    session = backend.open_session()
    executable = backend.compile(program, session, 3)
    assert isinstance(executable, GlExecutable)
    session.write("rates", RATES)
    for name in "wv":
        session.write(name, np.ones(5, np.float32))
    executable.run(STEPS)
    for name, gradient in (("w", 1.0), ("v", 2.0)):
        wanted = expected(gradient, ahead=int(advance_first), begins=begins)
        np.testing.assert_allclose(session.read(name).result(60), wanted, rtol=1e-5, atol=1e-5)
    words = [STEPS, 0, 3 * STEPS, begins * STEPS, STEPS, 0, 0, 0]
    np.testing.assert_array_equal(session.read("step").result(60), words)
    assert program.tensors.has_name(NAME) is not advance_first
    if not advance_first:
        copied = executable.fetch(program.tensors.named(NAME).ref).result(60)
        words = [STEPS - 1, 0, 3 * (STEPS - 1), begins * STEPS, STEPS - 1, 0, 0, 0]
        np.testing.assert_array_equal(copied, words)
    executable.close()
    session.close()


def test_check_mode_reads_the_copy(backend: GlBackend) -> None:
    session = backend.open_session()
    executable = backend.compile(training(), session, 3)
    session.write("rates", RATES)
    for name in "wv":
        session.write(name, np.ones(5, np.float32))
    for _ in range(STEPS):
        executable.check()
    wanted = expected(1.0, ahead=0, begins=1)
    np.testing.assert_allclose(session.read("w").result(60), wanted, rtol=1e-5, atol=1e-5)
    executable.close()
    session.close()


def test_the_step_block_moves_on_beside_the_updates(backend: GlBackend) -> None:
    session = backend.open_session()
    executable = backend.compile(training(), session, 3)
    assert isinstance(executable, GlExecutable)
    levels, level = {}, -1
    work = executable.work
    names = {
        work.engine.call(work.compiled, one.source): one.source.name
        for _, planned in executable.planned
        for one in planned
    }
    for one in executable.issued:
        level += one.barrier
        levels[names[one.program]] = level
    assert levels["begin_update"] < levels["update_adam"]
    assert levels["advance"] <= levels["update_adam"]
    executable.close()
    session.close()


def test_dispatches_are_told_as_they_are_planned(backend: GlBackend) -> None:
    """What is told is compiled ahead, so it is all that runs and nothing else."""
    executable = backend.compile(training(), backend.open_session(), 3)
    assert isinstance(executable, GlExecutable)
    found = [entry for entry, _ in executable.planned]
    heard: list[PlannedDispatch] = []
    storages = executable._storages
    plans = executable._planner(storages).plan_all(found, heard.append)
    assert len(heard) >= len(found) > 2
    assert heard == [one for plan in plans for one in plan]
    assert heard == [one for _, planned in executable.planned for one in planned]


def gathering(target: Target, *disabled: str) -> Program:
    """Training steps of a small dense network that gather their own batches."""
    graph = LayerGraph("dense")
    x = graph.add(Dense(8, activation="relu"), graph.add(Input((6,))))
    graph.outputs = (graph.add(Dense(4), x),)
    data = DataSpec((Source((6,)),), (Source((4,)),))
    return compile_program(
        lower(graph, "train", loss="mse", data=data), target, disabled=disabled, verify=True,
        emit_updates=lambda program: emit_updates(program, Adam()),
    )  # fmt: skip


def trained(opened: GlBackend, program: Program) -> tuple[dict[str, np.ndarray], bool, int]:
    """All that training keeps, whether steps follow without a barrier, and the barriers of one."""
    rng = np.random.default_rng(5)
    session = opened.open_session()
    kept = [t for t in program.tensors.values() if t.role.persistent]
    session.ensure(kept, ROWS)
    executable = opened.compile(program, session, 3)
    assert isinstance(executable, GlExecutable)
    for tensor in kept:
        shape = tensor.type.bind(3, ROWS).shape
        if tensor.name == "train/order":
            session.write(tensor.name, rng.permutation(ROWS).astype(np.int32))
        elif tensor.role in (Role.DATA, Role.PARAM):
            session.write(tensor.name, rng.uniform(-1, 1, shape).astype(np.float32))
    session.write("train/rates", np.full(256, 0.01, np.float32))
    executable.run(STEPS)
    found = {t.name: session.read(t.name).result(60) for t in kept}
    recorded = executable._recording
    assert recorded is not None
    barriers = sum(one.barrier for one in executable.issued)
    seamless = recorded.seamless
    executable.close()
    session.close()
    return found, seamless, barriers


@pytest.mark.slow
@pytest.mark.parametrize("target", [GL, GL_SOFTWARE], ids=lambda t: t.name)
def test_the_next_step_begins_while_the_updates_run(target: Target) -> None:
    opened = GlBackend(target=target)
    try:
        found, seamless, barriers = trained(opened, gathering(target))
        wanted, waits, more = trained(opened, gathering(target, "snapshot_step"))
    finally:
        opened.close()
    assert found.keys() == wanted.keys()
    for name, values in wanted.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)
    assert np.count_nonzero(np.ptp(found["train/ring"][:, 0]))
    assert (seamless, waits) == (True, False)
    assert barriers == more - 1
