"""Steps sent from machine code do what steps sent from Python do."""

from __future__ import annotations

import threading
from itertools import pairwise

import numpy as np
import pytest

from studio.engine.compiler.pipeline import compile_program
from studio.engine.compiler.target import GL
from studio.engine.core.tensor import Role
from studio.engine.gl.backend import GlBackend
from studio.engine.gl.plan import issue_order
from studio.engine.gl.record import step_issue
from studio.engine.gl.record.step_issue import FEW, WORTHWHILE, StepIssue, rows_of
from studio.engine.gl.run.executable import GlExecutable
from studio.engine.isa.program import Program
from studio.engine.optim.emit_updates import emit_updates
from studio.engine.optim.optimizers import Adam
from tests.engine.autodiff.whole_programs import Values, values_for
from tests.engine.compiler.networks import NETWORKS
from tests.engine.gl.gl_programs import begun

pytestmark = pytest.mark.gl
ROWS, STEPS = 6, 5


@pytest.fixture(scope="module")
def program() -> Program:
    network = NETWORKS[next(iter(NETWORKS))]()
    return compile_program(network, GL, emit_updates=lambda p: emit_updates(p, Adam()))


@pytest.fixture
def values(program: Program, rng: np.random.Generator) -> Values:
    values = values_for(program, rng, ROWS, -0.9, 0.9)
    values["train/rates"] = np.full(256, 0.01)
    return values


def trained(
    backend: GlBackend, program: Program, values: Values, *, compiled: bool
) -> dict[str, np.ndarray]:
    """The parameters after some steps."""
    session, executable = begun(backend, program, values, ROWS)
    if compiled:
        executable.work.engine.call(executable._step.compile)
    assert executable._step.compiled is compiled
    executable.run(STEPS)
    found = {t.name: session.read(t.name).result(60) for t in program.of_role(Role.PARAM)}
    executable.close()
    session.close()
    return found


@pytest.mark.slow
def test_machine_code_changes_no_bit(backend: GlBackend, program: Program, values: Values) -> None:
    expected = trained(backend, program, values, compiled=False)
    found = trained(backend, program, values, compiled=True)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert not np.array_equal(value, values[name]), name
        np.testing.assert_array_equal(found[name], value, err_msg=name)


class FakeList:
    """Counts the steps sent from Python."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sent = 0
        monkeypatch.setattr(step_issue, "issue", self._count)

    def _count(self, gl: object, dispatches: object) -> None:
        self.sent += 1


@pytest.mark.slow
@pytest.mark.parametrize("fast", [False, True])
def test_the_loop_is_compiled_on_fast_devices_once_it_pays(
    backend: GlBackend, monkeypatch: pytest.MonkeyPatch, fast: bool
) -> None:
    from_python = FakeList(monkeypatch)
    monkeypatch.setattr(step_issue, "LOADED", threading.Event())
    step = StepIssue(backend.work.gl, (), fast=fast)
    for _ in range(WORTHWHILE):
        assert not step.compiled
        step.step()
    assert step.compiled is fast
    step.step()
    assert from_python.sent == WORTHWHILE + (not fast)
    # The loop that is there serves other steps soon.
    another = StepIssue(backend.work.gl, (), fast=fast)
    for _ in range(FEW):
        assert not another.compiled
        another.step()
    assert another.compiled is fast


def test_without_a_compiler_python_goes_on(
    backend: GlBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    from_python = FakeList(monkeypatch)
    monkeypatch.setattr(step_issue, "send_rows", lambda: None)
    step = StepIssue(backend.work.gl, (), fast=True)
    for _ in range(WORTHWHILE + 3):
        step.step()
    assert from_python.sent == WORTHWHILE + 3


def test_why_steps_stay_with_python_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse() -> None:
        raise ImportError("Numba needs NumPy 2.4 or less")

    monkeypatch.setattr(step_issue, "_compiled_loop", refuse)
    with caplog.at_level("INFO", logger=step_issue.__name__):
        assert step_issue.send_rows.__wrapped__() is None
    assert "ImportError: Numba needs NumPy 2.4 or less" in caplog.text


@pytest.mark.parametrize("compiled", [False, True])
def test_only_a_step_that_follows_itself_begins_without_a_barrier(
    backend: GlBackend,
    program: Program,
    values: Values,
    monkeypatch: pytest.MonkeyPatch,
    compiled: bool,
) -> None:
    monkeypatch.setattr(issue_order, "without_seam", lambda levels, *_: levels)
    session, executable = begun(backend, program, values, ROWS)
    sent: list[bool] = []
    if compiled:
        executable.work.engine.call(executable._step.compile)
        executable._step._send = lambda _, rows, __: sent.append(bool(rows[0, 0]))
    else:
        # A fast device would go to the compiled loop within the first run.
        monkeypatch.setattr(StepIssue, "compile", lambda _: None)
        monkeypatch.setattr(step_issue, "issue", lambda _, found: sent.append(found[0].barrier))
    executable.run(3)
    executable.run(2)
    assert sent == [True, False, False, True, False]
    executable.close()
    session.close()


def test_rows_leave_out_what_stays_as_it_is(
    backend: GlBackend, program: Program, values: Values
) -> None:
    session = backend.open_session()
    executable = backend.compile(program, session, ROWS)
    assert isinstance(executable, GlExecutable)
    issued = executable.issued
    rows = rows_of(issued)
    programs = [one.program for one in issued]
    current = 0
    for row, wanted in zip(rows, programs, strict=True):
        current = int(row[1]) or current
        assert current == wanted
    changes = 1 + sum(a != b for a, b in pairwise(programs))
    assert np.count_nonzero(rows[:, 1]) == changes
    assert [bool(row[0]) for row in rows] == [one.barrier for one in issued]
    assert [tuple(row[14:]) for row in rows] == [one.groups for one in issued]
    executable.close()
    session.close()
