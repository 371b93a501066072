"""Dispatches that stand side by side give what they give one after another, bit by bit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pytest

from studio.engine.compiler.pipeline import compile_program
from studio.engine.compiler.target import GL
from studio.engine.core.tensor import Ref, Role
from studio.engine.gl import recorder
from studio.engine.gl.backend import GlBackend
from studio.engine.gl.executable import GlExecutable
from studio.engine.gl.recorder import Dispatch
from studio.engine.isa.program import Program
from studio.engine.optim.emit_updates import emit_updates
from studio.engine.optim.optimizers import Adam
from tests.engine.autodiff.whole_programs import Values, values_for
from tests.engine.compiler.networks import NETWORKS

pytestmark = pytest.mark.gl

ROWS, STEPS = 6, 3
Results = dict[str, npt.NDArray[np.generic]]


@pytest.fixture(scope="module")
def backend() -> Iterator[GlBackend]:
    made = GlBackend()
    yield made
    made.close()


def trained(backend: GlBackend, program: Program, values: Values) -> tuple[Results, int]:
    """Everything kept after some steps, and the barriers of one step."""
    session = backend.open_session()
    executable = backend.compile(program, session, ROWS)
    assert isinstance(executable, GlExecutable)
    for tensor in program.tensors.values():
        if tensor.name in values and tensor.role.persistent:
            session.write(tensor.name, values[tensor.name].astype(tensor.dtype.np))
    for i in program.inputs:
        tensor = program.tensors[i]
        executable.feed(i, values[tensor.name].astype(tensor.dtype.np))
    executable.run(STEPS)
    found = {t.name: session.read(t.name).result(60) for t in program.of_role(Role.PARAM)}
    found |= {program.tensors[i].name: executable.fetch(Ref(i)).result(60) for i in program.outputs}
    barriers = sum(one.barrier for one in executable.issued)
    executable.close()
    session.close()
    return found, barriers


@pytest.mark.parametrize("name", NETWORKS)
def test_order_by_level_changes_no_bit(
    backend: GlBackend, name: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = compile_program(
        NETWORKS[name](), GL, emit_updates=lambda p: emit_updates(p, Adam(global_clipnorm=0.5))
    )
    values = values_for(program, rng, ROWS, -0.9, 0.9)
    values["train/rates"] = np.full(256, 0.01)
    by_level, barriers = trained(backend, program, values)

    def in_program_order(placed: Sequence[tuple[int, Dispatch]]) -> list[Dispatch]:
        return [one for _, one in placed]

    monkeypatch.setattr(recorder, "side_by_side", in_program_order)
    in_order, more = trained(backend, program, values)
    assert by_level.keys() == in_order.keys()
    for key, value in by_level.items():
        np.testing.assert_array_equal(value, in_order[key], err_msg=key)
    assert barriers <= more
