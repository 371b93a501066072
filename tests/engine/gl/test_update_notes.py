"""Updates take what they need of the step block from a note, wherever that is the same."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine.compiler.pipeline import compile_program
from studio.engine.compiler.target import GL
from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import BATCH
from studio.engine.gl import update_notes
from studio.engine.gl.backend import GlBackend
from studio.engine.gl.executable import GlExecutable
from studio.engine.gl.planned import Planned, TallyBinding
from studio.engine.gl.tally_links import plan_entries
from studio.engine.isa.program import Program
from studio.engine.optim.emit_updates import emit_updates
from studio.engine.optim.optimizers import Adam
from tests.engine.autodiff.whole_programs import values_for
from tests.engine.compiler.networks import NETWORKS
from tests.engine.gl.gl_programs import Lines, begun

pytestmark = pytest.mark.gl

RATES = np.array([0.5, 0.25, 0.125, 2.0], np.float32)
STEPS, BETA1, BETA2, EPS = 6, 0.9, 0.999, 1e-7


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
    return lines.program()


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
    notes = [b for _, planned in executable.planned for one in planned
             for b in one.bindings if isinstance(b, TallyBinding)]  # fmt: skip
    assert bool(notes) is not advance_first
    executable.close()
    session.close()


def test_check_mode_reads_the_step_block(backend: GlBackend) -> None:
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
    work = executable._work
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
    heard: list[Planned] = []
    storages = executable._storages
    plans = plan_entries(executable._planner(storages), found, heard.append)
    assert len(heard) >= len(found) > 2
    assert heard == [one for plan in plans for one in plan]
    assert heard == [one for _, planned in executable.planned for one in planned]


def test_records_take_their_number_from_the_note(
    backend: GlBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    def recorded() -> tuple[np.ndarray, int]:
        network = NETWORKS["mlp"]()
        program = compile_program(network, GL, emit_updates=lambda p: emit_updates(p, Adam()))
        values = values_for(program, np.random.default_rng(5), 9, -0.9, 0.9)
        values["train/rates"] = np.full(256, 0.01)
        session, executable = begun(backend, program, values, 9)
        executable.run(STEPS)
        ring = session.read("train/ring").result(60)
        (record,) = [p for e, planned in executable.planned for p in planned
                     if e.mnemonic == "RECORD"]  # fmt: skip
        notes = sum(isinstance(one, TallyBinding) for one in record.bindings)
        executable.close()
        session.close()
        return ring, notes

    found, notes = recorded()
    monkeypatch.setattr(update_notes, "_recordings", lambda planner, entry, _: planner.plan(entry))
    wanted, none = recorded()
    assert (notes, none) == (1, 0)
    np.testing.assert_array_equal(found, wanted)
    assert np.count_nonzero(np.ptp(found[:, 0]))
