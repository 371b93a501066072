"""Fused groups give what their parts give."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from studio.engine.core.errors import BackendError
from studio.engine.cpu.backend import CpuBackend
from studio.engine.cpu.plan.assemble import _lies_behind
from studio.engine.cpu.run.executable import CpuExecutable
from studio.engine.cpu.run.session import CpuSession
from studio.engine.isa.program import Program
from tests.engine.cpu.programs import SIZES, chain, epilogue, normal, ref, updates


def compiled(program: Program, batch: int = 2) -> tuple[CpuSession, CpuExecutable]:
    backend = CpuBackend()
    session = backend.open_session()
    executable = backend.compile(program, session, batch)
    for name in session.names():
        tensor = program.tensors.named(name)
        if tensor.dtype.np == np.float32:
            session.write(name, np.abs(normal(*tensor.shape, seed=tensor.id)))
    for i in program.inputs:
        shape = program.tensors[i].type.bind(batch).shape
        executable.feed(i, normal(*shape, seed=100 + i))
    return session, executable


@pytest.mark.parametrize("make", [epilogue, chain])
def test_a_group_gives_what_its_parts_give(make: Callable[[bool], Program]) -> None:
    wanted, found = (compiled(make(fused)) for fused in (False, True))
    for _, executable in (wanted, found):
        executable.run()
    for output in wanted[1].program.outputs:
        one, other = (e.fetch(e.program.tensors[output].ref).result() for _, e in (wanted, found))
        np.testing.assert_allclose(other, one, rtol=1e-6, atol=1e-6)


def test_a_group_is_one_entry_with_all_owners() -> None:
    _, executable = compiled(epilogue(True))
    (event,) = executable.profile().events
    assert event.mnemonic == "CONV2D+ADD+SIGMOID+RELU+MUL"
    assert event.owners == ("a", "b", "c")
    _, plain = compiled(epilogue(False))
    parts = plain.profile().events
    assert event.flops == sum(p.flops for p in parts)
    assert event.traffic_bytes < sum(p.traffic_bytes for p in parts)


def test_a_register_cannot_be_fetched() -> None:
    _, executable = compiled(epilogue(True))
    executable.run()
    with pytest.raises(BackendError, match="only inside a fused kernel"):
        executable.fetch(ref(executable.program, "conv")).result()


def test_check_mode_runs_a_group_line_by_line() -> None:
    session, executable = compiled(epilogue(True))
    executable.check()
    checked = executable.fetch(ref(executable.program, "y")).result()
    executable.run()
    again = executable.fetch(ref(executable.program, "y")).result()
    np.testing.assert_allclose(checked, again, rtol=1e-6)
    session.close()


@pytest.mark.parametrize("steps", [1, 3])
def test_merged_updates_equal_single_ones_to_the_bit(steps: int) -> None:
    states = []
    for fused in (False, True):
        session, executable = compiled(updates(fused))
        session.write("train/step", np.zeros(8, np.int32))
        executable.run(steps)
        states.append({name: session.read(name).result() for name in session.names()})
    assert states[0].keys() == states[1].keys()
    for name, array in states[0].items():
        np.testing.assert_array_equal(states[1][name], array, err_msg=name)


def test_parameters_of_an_update_group_lie_alike_and_run_as_one() -> None:
    session, executable = compiled(updates(True))
    held = [session.held(f"w{i}") for i in range(len(SIZES))]
    moments = [session.held(f"w{i}/m") for i in range(len(SIZES))]
    places = [h.offset - held[0].offset for h in held]
    assert places == [m.offset - moments[0].offset for m in moments]
    parts = next(e for e in executable.entries if e.kind == "update").parts
    pairs = pairwise(parts)
    assert all(_lies_behind(a, b, executable._views) for a, b in pairs)
