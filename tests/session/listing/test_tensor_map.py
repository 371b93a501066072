"""The tensor table and the picture of the arena against the memory plan."""

from __future__ import annotations

from itertools import pairwise

import pytest

from studio.engine.compiler.plan_memory import MemoryPlan, plan_memory
from studio.engine.compiler.target import CPU, GL, Target
from studio.engine.core.tensor import Ref
from studio.engine.isa.program import Program, Storage
from studio.session.listing.tensor_map.memory_picture import Box, MemoryPicture
from studio.session.listing.tensor_map.rows import TensorRow, bytes_by_role, tensor_rows
from tests.instruction_view.corpus import BUILDERS, program_of
from tests.instruction_view.programs import BATCH, SAMPLES, rows_from, rows_of, sample_program

PROGRAMS = [*((name, "corpus") for name in BUILDERS), *((name, "sample") for name in SAMPLES)]


def program_named(name: str, where: str) -> Program:
    return program_of(name) if where == "corpus" else sample_program(name)


def planned(program: Program, target: Target = GL) -> tuple[MemoryPlan, tuple[TensorRow, ...]]:
    plan = plan_memory(program, BATCH, 100, target)
    return plan, tensor_rows(rows_from(program), plan, target)


def alive_at(picture: MemoryPicture, row: int) -> list[Box]:
    """The boxes an instruction finds in the arena, by place."""
    alive = [box for box in picture.boxes if box.first <= row <= box.last]
    return sorted(alive, key=lambda box: box.offset)


@pytest.mark.parametrize(("name", "where"), PROGRAMS)
def test_the_peak_is_that_of_the_plan(name: str, where: str) -> None:
    program = program_named(name, where)
    plan, _ = planned(program)
    picture = MemoryPicture(rows_from(program), plan)
    assert max(picture.live_bytes) == plan.peak_bytes == picture.peak_bytes
    assert picture.live_bytes[picture.peak_row] == plan.peak_bytes
    assert picture.height == plan.total_bytes
    for row, nbytes in enumerate(picture.live_bytes):
        assert sum(box.nbytes for box in alive_at(picture, row)) == nbytes


@pytest.mark.parametrize(("name", "where"), PROGRAMS)
def test_boxes_alive_together_never_overlap(name: str, where: str) -> None:
    program = program_named(name, where)
    plan, _ = planned(program)
    picture = MemoryPicture(rows_from(program), plan)
    for row in range(picture.length):
        alive = alive_at(picture, row)
        for below, above in pairwise(alive):
            assert below.end <= above.offset


@pytest.mark.parametrize("target", [CPU, GL], ids=["cpu", "gl"])
@pytest.mark.parametrize(("name", "where"), PROGRAMS)
def test_rows_say_what_the_plan_says(name: str, where: str, target: Target) -> None:
    program = program_named(name, where)
    plan, found = planned(program, target)
    by_storage = {Storage(r.ref.id, r.ref.grad): r for r in found}
    for storage, slot in plan.slots.items():
        row = by_storage[storage]
        assert (row.nbytes, row.offset) == (slot.nbytes, slot.offset)
        assert row.lifetime == (slot.first, slot.last)
        assert bool(row.shares) == plan.shares(storage)
        for other in row.shares:
            rival = plan.slots[Storage(other.id, other.grad)]
            assert rival.offset < slot.end
            assert slot.offset < rival.end
            assert rival.last < slot.first or slot.last < rival.first
    assert sum(r.nbytes or 0 for r in found if not r.kept) == plan.sum_bytes


@pytest.mark.parametrize(("name", "where"), PROGRAMS)
def test_there_is_a_row_for_every_tensor_and_touched_gradient(name: str, where: str) -> None:
    program = program_named(name, where)
    _, found = planned(program)
    expected = [Ref(i) for i in program.tensors] + [Ref(i, True) for i in program.gradients()]
    assert sorted(row.ref for row in found) == sorted(expected)
    assert len({row.key for row in found}) == len(found)


def test_views_and_registers_have_no_bytes_of_their_own() -> None:
    program = program_of("picture")
    _, found = planned(program)
    by_key = {row.key: row for row in found}
    view = by_key["flatten/output"]
    owner = program.tensors.named("max_pooling2d/output").ref
    assert (view.nbytes, view.view_of) == (None, owner)
    assert view.offset == by_key["max_pooling2d/output"].offset
    register = by_key["conv2d/linear"]
    assert (register.role, register.nbytes, register.lifetime) == ("register", None, None)
    assert by_key["conv2d/kernel"].kept
    assert by_key["conv2d/kernel.grad"].role == "gradient"


def test_statistics_of_a_batch_are_no_gradient() -> None:
    _, found = planned(program_of("normalised"))
    assert {r.role for r in found if r.key.endswith("moving_mean.grad")} == {"scratch"}


def test_kept_bytes_are_summed_by_role() -> None:
    program = sample_program("digits-cnn")
    _, found = planned(program)
    sums = bytes_by_role(found, kept=True)
    parameters = sum(
        t.numel(BATCH) * 4 for t in program.tensors.values() if t.role.value == "param"
    )
    assert sums["parameter"] == parameters
    assert sums["slot"] == 2 * parameters
    assert list(sums.values()) == sorted(sums.values(), reverse=True)
    plan, _ = planned(program)
    assert sum(bytes_by_role(found, kept=False).values()) == plan.sum_bytes


def test_a_place_in_the_picture_finds_its_box() -> None:
    rows = rows_of("picture")
    picture = MemoryPicture(rows, plan_memory(rows.program, BATCH, 100, GL))
    for box in picture.boxes:
        middle = (box.offset + box.end) / 2
        assert picture.box_at(box.first + 0.5, middle) == box
        assert picture.box_at(box.last + 0.9, box.offset) == box
        assert picture.box_at(box.last + 1.01, middle) != box
    view = rows.program.tensors.named("flatten/output").ref
    owner = rows.program.tensors.named("max_pooling2d/output").ref
    assert picture.box_of(view) == picture.box_of(owner) is not None
    assert picture.box_of(rows.program.tensors.named("dense/kernel").ref) is None


def test_neighbours_walk_over_every_box() -> None:
    rows = rows_of("residual")
    picture = MemoryPicture(rows, plan_memory(rows.program, BATCH, 100, GL))
    box = min(picture.boxes, key=lambda b: (b.first, b.offset))
    seen = {box}
    for _ in picture.boxes:
        box = picture.neighbour(box, 1, 0)
        seen.add(box)
    assert seen == set(picture.boxes)
    assert picture.neighbour(box, 1, 0) == box
    above = picture.neighbour(box, 0, 1)
    assert above.offset >= box.offset
