"""Kernels that may run side by side: their levels, and plans that hold in any order these allow."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.engine.compiler.issue_levels import issue_levels
from studio.engine.compiler.lifetimes import inner_gradients
from studio.engine.compiler.pipeline import compile_program
from studio.engine.compiler.plan_memory import MemoryPlan, plan_memory
from studio.engine.compiler.target import GL
from studio.engine.core.tensor import BATCH, Ref, Role, Tensor, TensorMap
from studio.engine.gl.plan.hazards import Levels, Touches, with_slack
from studio.engine.isa.line import parse_line
from studio.engine.isa.program import Program, Storage
from studio.engine.runtime.entries import Entry, entries
from tests.engine.compiler.networks import NETWORKS
from tests.engine.compiler.passes.test_every_pass_keeps_results import start_values, with_updates
from tests.engine.oracle.interpreter import Interpreter

ROWS = 2


def compiled(name: str) -> Program:
    """A network's training step as a GPU runs it."""
    return compile_program(NETWORKS[name]("train"), GL, emit_updates=with_updates)


def straight(text: str) -> Program:
    """Lines over [N,4] tensors, of which 0 and 1 are fed."""
    tensors = [Tensor(i, f"t{i}", (BATCH, 4)) for i in range(7)]
    tensors[:2] = [t.replace(role=Role.INPUT) for t in tensors[:2]]
    lines = tuple(map(parse_line, text.strip().splitlines()))
    return Program("p", "infer", TensorMap(tensors), {"forward": lines}, (0, 1))


def levels(program: Program, batch: int = 2, **knobs: int) -> list[tuple[int, int]]:
    """First and last level by line."""
    return [tuple(span) for span in issue_levels(program, batch, 0, replace(GL, **knobs))]


BRANCHES = """
RELU 0x0 0x2
RELU 0x2 0x3
RELU 0x1 0x4
RELU 0x4 0x5
ADD 0x3 0x5 0x6 1 1
"""


def test_branches_stand_side_by_side() -> None:
    assert levels(straight(BRANCHES), slack=0) == [(0, 0), (1, 1), (0, 0), (1, 1), (2, 2)]


def test_what_fills_the_device_stands_where_the_last_such_kernel_did() -> None:
    # 2 rows of 4 numbers: 8 operations, 64 bytes in and out.
    wanted = [(0, 0), (1, 1), (1, 1), (2, 2), (3, 3)]
    assert levels(straight(BRANCHES), slack=0, filling_flops=8) == wanted
    assert levels(straight(BRANCHES), slack=0, filling_bytes=64) == wanted
    assert levels(straight(BRANCHES), slack=0, filling_bytes=65)[2] == (0, 0)


def test_who_writes_waits_for_those_that_read_before() -> None:
    program = straight("RELU 0x0 0x2\nRELU 0x2 0x3\nRELU 0x3 0x4\nRELU 0x1 0x2")
    assert levels(program, slack=0) == [(0, 0), (1, 1), (2, 2), (2, 2)]


def test_a_group_is_one_kernel() -> None:
    lines = "RELU 0x0 0x2\nFUSE {kind=chain}\nRELU 0x2 0x3\nRELU 0x3 0x4\nEND\nRELU 0x3 0x5"
    assert levels(straight(lines), slack=0) == [(0, 0), *[(1, 1)] * 4, (2, 2)]


def test_small_kernels_may_wait_while_one_of_their_results_is_not_wanted() -> None:
    program = compiled("mlp")
    gradients = [k for k, ins in enumerate(program) if ins.mnemonic == "GRADS_LINEAR"]
    assert len(gradients) > 1
    plain, patient, large = (
        levels(program, slack=1),
        levels(program, slack=2),
        levels(program, slack=2, filling_flops=1),
    )
    for k in gradients[:-1]:
        first, last = plain[k]
        assert last == first + 1
        assert patient[k][1] - first in (1, 2)
        assert large[k][0] == large[k][1]
    # A loss is wanted for its gradient at once; nothing may run behind the last level.
    end = max(last for _, last in patient)
    assert end == max(first for first, _ in patient)


@st.composite
def graphs(draw: st.DrawFn) -> Program:
    """Sums over earlier tensors of three sizes, some with halos, some in groups; ends are kept."""
    count = draw(st.integers(1, 22))
    sizes = (4, 12, 40)
    tensors = [Tensor(i, f"t{i}", (BATCH, size), role=Role.INPUT) for i, size in enumerate(sizes)]
    lines, ends = [], set()
    begin = draw(st.integers(0, count))
    end = draw(st.integers(begin, min(count, begin + 4)))
    for i in range(3, count + 3):
        if i - 3 == begin < end:
            lines.append(parse_line("FUSE {kind=chain}"))
        size = draw(st.sampled_from(sizes))
        alike = [t.id for t in tensors if t.shape[1] == size]
        a, b = draw(st.sampled_from(alike)), draw(st.sampled_from(alike[-3:]))
        pad = draw(st.sampled_from([(), (), ((0, 0), (1, 1))]))
        tensors.append(Tensor(i, f"t{i}", (BATCH, size), pad=pad))
        lines.append(parse_line(f"ADD {a:#x} {b:#x} {i:#x} 1 1"))
        ends = (ends | {i}) - {a, b}
        if i - 2 == end > begin:
            lines.append(parse_line("END"))
    return Program(
        "p", "infer", TensorMap(tensors), {"forward": tuple(lines)}, (0, 1, 2), tuple(sorted(ends))
    )


def touches_of(plan: MemoryPlan, found: Sequence[Entry], *, shared: bool = True) -> list[Touches]:
    """What entries read and write: bytes of an arena, or each storage by itself."""
    inner = inner_gradients(plan.program)

    def spans(refs: frozenset[Ref]) -> list[tuple[str, int, int]]:
        storages = {plan.program.storage(ref) for ref in refs} - inner
        return [span(storage) for storage in sorted(storages)]

    def span(storage: Storage) -> tuple[str, int, int]:
        slot = plan.slots.get(storage) if shared else None
        return (str(storage), 0, 1) if slot is None else ("arena", slot.offset, slot.end)

    return [(spans(entry.reads()), spans(entry.writes())) for entry in found]


def placed(touches: Sequence[Touches]) -> list[int]:
    """The level of each entry."""
    found = Levels()
    return [found.place(*one) for one in touches]


@pytest.mark.slow
@given(graphs(), st.integers(0, 2), st.booleans())
def test_sharing_bytes_makes_no_kernel_wait(program: Program, slack: int, big: bool) -> None:
    target = replace(GL, slack=slack, filling_bytes=400 if big else GL.filling_bytes)
    plan, found = plan_memory(program, ROWS, 0, target), entries(program)
    by_bytes = placed(touches_of(plan, found))
    alone = placed(touches_of(plan, found, shared=False))
    assert big or by_bytes == alone
    spans = issue_levels(program, ROWS, 0, target)
    assert big or [spans[entry.index].first for entry in found] == alone
    # Nobody waits longer than the plan says.
    assert all(k <= spans[entry.index].first for k, entry in zip(by_bytes, found, strict=True))


def run_in(order: Sequence[Entry], machine: Interpreter) -> None:
    for entry in order:
        for part in entry.parts:
            machine.step(part)


def shuffled(plan: MemoryPlan, draw: random.Random) -> list[Entry]:
    """Entries level by level, some later than they could run, each level in any order."""
    found = list(entries(plan.program))
    touches = touches_of(plan, found)
    slack = [draw.choice((0, 0, 1, 3)) for _ in found]
    settled = with_slack(placed(touches), touches, slack)
    keys = [(level, draw.random()) for level in settled]
    return [found[k] for k in sorted(range(len(found)), key=keys.__getitem__)]


@pytest.mark.slow
@given(graphs(), st.integers(0, 2), st.booleans(), st.randoms(use_true_random=False))
def test_results_are_the_same_in_any_order_that_may_be_issued(
    program: Program, slack: int, big: bool, draw: random.Random
) -> None:
    target = replace(GL, slack=slack, filling_bytes=400 if big else GL.filling_bytes)
    plan = plan_memory(program, ROWS, 0, target)
    values = {f"t{i}": np.arange(ROWS * n, dtype=float).reshape(ROWS, n) + i
              for i, n in enumerate((4, 12, 40))}  # fmt: skip
    plain, planned = Interpreter(program, ROWS), Interpreter(program, ROWS, plan)
    for machine in (plain, planned):
        for name, value in values.items():
            machine.set(program.tensors.named(name).ref, value)
    run_in(entries(program), plain)
    for _ in range(2):
        run_in(shuffled(plan, draw), planned)
        for i in program.outputs:
            np.testing.assert_array_equal(planned.get(Ref(i)), plain.get(Ref(i)))


@pytest.mark.parametrize("name", NETWORKS)
def test_training_steps_are_the_same_in_any_order(name: str, rng: np.random.Generator) -> None:
    program = compiled(name)
    values = start_values(program, rng)
    plan = plan_memory(program, ROWS, 0, GL)
    assert any(map(plan.shares, plan.slots))
    plain, planned = Interpreter(program, ROWS), Interpreter(program, ROWS, plan)
    slots = {t.name: np.zeros(t.shape) for t in program.of_role(Role.SLOT)}
    given = {k: v for k, v in {**slots, **values}.items() if program.tensors.has_name(k)}
    plain.run(given)
    for key, value in given.items():
        planned.set(program.tensors.named(key).ref, np.asarray(value, float))
    for tensor in program.tensors.values():
        if tensor.value is not None:
            planned.set(tensor.ref, np.asarray(tensor.value).reshape(planned.shape(tensor.ref)))
    run_in(shuffled(plan, random.Random(7)), planned)
    for tensor in program.of_role(Role.PARAM, Role.STATE, Role.SLOT):
        np.testing.assert_array_equal(planned.get(tensor.ref), plain.get(tensor.ref), tensor.name)
