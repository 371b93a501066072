"""Programs whose sections alternate run, are profiled and checked like any others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from studio.engine.compiler.pipeline import compile_program
from studio.engine.core.tensor import Role
from studio.engine.cpu.backend import CpuBackend
from studio.engine.gl.backend import GlBackend
from studio.engine.isa.program import Program
from studio.engine.optim.emit_updates import emit_updates
from studio.engine.optim.optimizers import SGD
from studio.engine.runtime.backend import Backend, BackendSession, Executable
from studio.engine.runtime.entries import entries
from tests.engine.compiler.networks import NETWORKS, mixed_program
from tests.engine.cpu.programs import normal

BATCH = 4


@pytest.fixture(params=["cpu", pytest.param("gl", marks=pytest.mark.gl)])
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    made = CpuBackend() if request.param == "cpu" else GlBackend()
    yield made
    made.close()


def compiled(backend: Backend, program: Program) -> tuple[BackendSession, Executable]:
    session = backend.open_session()
    executable = backend.compile(program, session, BATCH)
    for tensor in program.of_role(Role.PARAM, Role.STATE):
        session.write(tensor.name, np.abs(normal(*tensor.shape, seed=tensor.id)))
    session.write("train/rates", np.full(4, 0.01, np.float32))
    for i in program.inputs:
        shape = program.tensors[i].type.bind(BATCH).shape
        executable.feed(i, np.abs(normal(*shape, seed=100 + i)))
    return session, executable


def results(session: BackendSession, executable: Executable) -> dict[str, bytes]:
    program = executable.program
    outputs = {program.tensors[i].name: program.tensors[i].ref for i in program.outputs}
    fetched = {name: executable.fetch(ref).result().tobytes() for name, ref in outputs.items()}
    kept = program.of_role(Role.PARAM, Role.STATE, Role.METRIC)
    return fetched | {t.name: session.read(t.name).result().tobytes() for t in kept}


def trained(backend: Backend, name: str) -> Program:
    return compile_program(
        NETWORKS[name](), backend.target, emit_updates=lambda p: emit_updates(p, SGD(0.01))
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cnn", "resnet"])
def test_they_give_what_programs_in_the_usual_order_give(backend: Backend, name: str) -> None:
    plain = trained(backend, name)
    one, other = compiled(backend, plain), compiled(backend, mixed_program(plain))
    before = results(*one)
    for _, executable in (one, other):
        assert executable.run(3) == 3
    assert results(*one) == results(*other)
    assert results(*one) != before


@pytest.mark.slow
def test_their_groups_are_profiled_by_the_section_of_the_first_part(backend: Backend) -> None:
    program = mixed_program(trained(backend, "cnn"))
    _, executable = compiled(backend, program)
    found = {(event.section, event.index) for event in executable.profile().events}
    known = {(entry.section, entry.index): entry for entry in entries(program)}
    assert found <= set(known)
    group = next(place for place, entry in known.items() if entry.kind)
    assert group[0] == "forward"
    assert group in found
    assert {s for s, _, ins in program.located() if ins in known[group].parts} == {
        "forward",
        "loss",
    }


@pytest.mark.slow
def test_their_groups_are_checked_part_by_part(backend: Backend) -> None:
    plain = trained(backend, "cnn")
    one, other = compiled(backend, plain), compiled(backend, mixed_program(plain))
    for _, executable in (one, other):
        executable.check()
    assert results(*one) == results(*other)
