"""Places of transient storages: never two live ones on the same bytes, and not much waste."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.engine.compiler.plan_memory import MemoryPlan, plan_memory
from studio.engine.compiler.target import CPU, GL, Target
from studio.engine.core.dtypes import DType
from studio.engine.core.errors import BackendError
from studio.engine.core.tensor import BATCH, Pads, Ref, Role, Tensor, TensorMap
from studio.engine.isa.line import parse_line
from studio.engine.isa.program import Program, Storage
from tests.engine.compiler.networks import NETWORKS


def chain(length: int, *, outputs: tuple[int, ...] = (), **flags: object) -> Program:
    """RELU 0->1->2->…, [N,4] each; tensor 0 is fed."""
    tensors = [Tensor(0, "t0", (BATCH, 4), role=Role.INPUT)]
    tensors += [Tensor(i, f"t{i}", (BATCH, 4)) for i in range(1, length + 1)]
    lines = tuple(parse_line(f"RELU {i:#x} {i + 1:#x}") for i in range(length))
    return Program("chain", "infer", TensorMap(tensors), {"forward": lines}, (0,), outputs)


@st.composite
def straight_programs(draw: st.DrawFn) -> Program:
    """Programs of sums over earlier tensors, with groups, outputs, halos and odd element types."""
    count = draw(st.integers(1, 14))
    tensors = [Tensor(0, "t0", (BATCH, 3), role=Role.INPUT)]
    lines = []
    begin = draw(st.integers(0, count))
    end = draw(st.integers(begin, count))
    for i in range(1, count + 1):
        if i - 1 == begin and end > begin:
            lines.append(parse_line(draw(st.sampled_from(["FUSE", "FUSE {kind=chain}"]))))
        a, b = draw(st.integers(0, i - 1)), draw(st.integers(0, i - 1))
        dtype = draw(st.sampled_from(list(DType)))
        size = draw(st.integers(1, 40))
        pad = draw(st.sampled_from([(), ((0, 0), (1, 1))]))
        tensors.append(Tensor(i, f"t{i}", (BATCH, size), dtype, pad=pad))
        lines.append(parse_line(f"ADD {a:#x} {b:#x} {i:#x} 1 1"))
        if i == end and end > begin:
            lines.append(parse_line("END"))
    outputs = draw(st.lists(st.integers(1, count), max_size=2, unique=True))
    return Program(
        "p", "infer", TensorMap(tensors), {"forward": tuple(lines)}, (0,), tuple(outputs)
    )


def assert_sound(plan: MemoryPlan, alignment: int) -> None:
    """No two storages needed by one instruction share a byte; sums add up."""
    for (a, p), (b, q) in itertools.combinations(plan.slots.items(), 2):
        together = p.first <= q.last and q.first <= p.last
        assert not (together and p.offset < q.end and q.offset < p.end), (a, b)
    for slot in plan.slots.values():
        assert slot.offset % alignment == 0
        assert slot.nbytes % 4 == 0
        assert slot.nbytes > 0
        assert slot.end <= plan.total_bytes
        number, begin = plan.place(slot)
        assert begin % alignment == 0
        assert 0 <= begin < begin + slot.nbytes <= plan.buffers[number]
        assert slot.offset == sum(plan.buffers[:number]) + begin
    assert plan.total_bytes == sum(plan.buffers)
    assert plan.peak_bytes <= plan.total_bytes
    places = len(plan.slots)
    assert plan.total_bytes <= plan.sum_bytes + places * alignment
    slots = plan.slots.values()
    live = [
        sum(slot.nbytes for slot in slots if slot.first <= i <= slot.last)
        for i in range(len(plan.program))
    ]
    assert plan.peak_bytes == max(live, default=plan.peak_bytes)
    if live:
        assert live[plan.peak_index] == plan.peak_bytes


@pytest.mark.slow
@given(straight_programs(), st.integers(1, 5), st.sampled_from([CPU, GL]), st.booleans())
def test_storages_alive_together_never_overlap(
    program: Program, batch: int, target: Target, keep_all: bool
) -> None:
    plan = plan_memory(program, batch, 0, target, keep_all=keep_all)
    assert_sound(plan, target.offset_alignment)
    touched = set().union(*(program.reads(i) | program.writes(i) for i in program))
    assert touched <= set(plan.slots)


@pytest.mark.slow
@given(straight_programs(), st.integers(1, 5), st.sampled_from([1024, 1280]), st.booleans())
def test_no_buffer_of_an_arena_is_longer_than_the_longest_storage_may_be(
    program: Program, batch: int, limit: int, keep_all: bool
) -> None:
    target = replace(GL, max_storage_bytes=limit)
    plan = plan_memory(program, batch, 0, target, keep_all=keep_all)
    assert_sound(plan, target.offset_alignment)
    assert max(plan.buffers) <= limit
    whole = plan_memory(program, batch, 0, GL, keep_all=keep_all)
    assert len(whole.buffers) == 1
    if whole.total_bytes <= limit:
        assert plan == whole


@pytest.mark.slow
@given(program=straight_programs(), batch=st.integers(1, 9), keep_all=st.booleans())
def test_what_has_to_begin_as_zeros_is_cleared(
    program: Program, batch: int, keep_all: bool
) -> None:
    small = replace(GL, max_storage_bytes=1 << 12)
    plan = plan_memory(program, batch, 0, small, keep_all=keep_all)
    ranges = plan.to_clear()
    for (one, _, end), (other, begin, _) in itertools.pairwise(ranges):
        assert (one, end) < (other, begin)
    assert all(0 <= begin < end <= plan.buffers[number] for number, begin, end in ranges)
    needy = {*program.inputs, *program.outputs, *(t.id for t in program.tensors.values() if t.pad)}
    for storage, slot in plan.slots.items():
        number, begin = plan.place(slot)
        covered = any(n == number and b <= begin < begin + slot.nbytes <= e for n, b, e in ranges)
        assert covered or not (keep_all or storage.root in needy)


def test_what_is_given_on_within_a_run_is_not_cleared() -> None:
    plan = plan_memory(chain(9, outputs=(9,)), 1 << 16, 0, GL)
    cleared = sum(end - begin for _, begin, end in plan.to_clear())
    # Of ten storages the one that is fed, the result, and what the last line reads.
    assert cleared == 3 << 20


def test_two_storages_that_fill_more_than_half_a_buffer_lie_in_two() -> None:
    program = chain(2)
    plan = plan_memory(program, 40, 0, replace(GL, max_storage_bytes=1024))
    assert plan.buffers == (768, 768, 640)
    assert [plan.place(slot) for slot in plan.slots.values()] == [(0, 0), (1, 0), (2, 0)]
    assert [slot.offset for slot in plan.slots.values()] == [0, 768, 1536]
    assert "arena 2176 bytes in 3 buffers; unshared 1920 bytes" in plan.table()


@pytest.mark.slow
@given(straight_programs())
def test_a_group_is_one_instruction(program: Program) -> None:
    plan = plan_memory(program, 2, 0, CPU)
    mnemonics = [ins.mnemonic for ins in program]
    if "FUSE" not in mnemonics:
        return
    begin, end = mnemonics.index("FUSE"), mnemonics.index("END")
    for ins in list(program)[begin : end + 1]:
        for storage in program.reads(ins) | program.writes(ins):
            slot = plan.slots[storage]
            assert slot.first <= begin
            assert slot.last >= end


def test_a_chain_needs_two_places_besides_its_input() -> None:
    plan = plan_memory(chain(10), 16, 0, CPU)
    assert plan.total_bytes == 3 * 16 * 4 * 4
    assert plan.sum_bytes == 11 * 16 * 4 * 4


def test_kept_storages_are_all_apart() -> None:
    plan = plan_memory(chain(10), 16, 0, CPU, keep_all=True)
    assert plan.total_bytes == plan.sum_bytes
    assert not any(plan.shares(s) for s in plan.slots)


def test_inputs_and_outputs_survive_the_run() -> None:
    plan = plan_memory(chain(10, outputs=(3,)), 16, 0, CPU)
    assert plan.kept_at_end(Storage(0, False))
    assert plan.kept_at_end(Storage(3, False))
    assert not plan.kept_at_end(Storage(1, False))
    assert (plan.slots[Storage(0, False)].first, plan.slots[Storage(0, False)].last) == (0, 9)
    assert (plan.slots[Storage(3, False)].first, plan.slots[Storage(3, False)].last) == (2, 9)


def test_padded_tensors_keep_a_place_with_their_halo() -> None:
    program = chain(6)
    padded = program.tensors[3].replace(pad=((0, 0), (1, 2)))
    plan = plan_memory(program.with_tensors(program.tensors.update([padded])), 2, 0, CPU)
    slot = plan.slots[Storage(3, False)]
    assert slot.nbytes == 2 * (4 + 3) * 4
    assert (slot.first, slot.last) == (0, 5)
    assert not plan.shares(Storage(3, False))


def test_data_with_equal_halos_is_in_one_place_after_the_other() -> None:
    pads: dict[int, Pads] = {2: ((0, 0), (1, 2)), 4: ((0, 0), (1, 2)), 6: ((0, 0), (2, 1)),
                             7: ((0, 0), (1, 2))}  # fmt: skip
    program = chain(8, outputs=(8,))
    padded = [program.tensors[i].replace(pad=pad) for i, pad in pads.items()]
    plan = plan_memory(program.with_tensors(program.tensors.update(padded)), 2, 0, CPU)
    assert_sound(plan, CPU.offset_alignment)
    slots = {i: plan.slots[Storage(i, False)] for i in range(9)}
    assert slots[2].offset == slots[4].offset == slots[7].offset
    # Each has it until the next one comes, and nothing else does before, between or behind.
    assert [slots[i].span for i in (2, 4, 7)] == [(0, 2), (3, 5), (6, 7)]
    assert slots[6].span == (0, 7)
    assert not plan.shares(Storage(6, False))
    for other in (0, 1, 3, 5, 6, 8):
        assert slots[other].offset >= slots[2].end or slots[other].end <= slots[2].offset
    cleared = plan.to_clear()
    for padded_one in (slots[2], slots[6]):
        inside = (0, padded_one.offset, padded_one.end)
        assert any(n == 0 and b <= inside[1] and inside[2] <= e for n, b, e in cleared)


def test_gradients_of_tensors_with_a_halo_share_like_any_other() -> None:
    tensors = [
        Tensor(i, f"t{i}", (BATCH, 4), pad=((0, 0), (1, 1)) if i % 2 else ()) for i in range(8)
    ]
    lines = [f"GRADS_RELU {i:#x} {i + 1:#x} {{set=x}}" for i in reversed(range(7))]
    program = Program("p", "train", TensorMap(tensors), {"backward": tuple(map(parse_line, lines))})
    plan = plan_memory(program, 2, 0, CPU)
    assert_sound(plan, CPU.offset_alignment)
    assert plan.shares(Storage(3, True))
    assert plan.slots[Storage(3, True)].span == (3, 4)


def test_views_share_the_place_of_their_root() -> None:
    program = chain(4)
    view = program.tensors[2].replace(view_of=1)
    lines = tuple(i for k, i in enumerate(program) if k != 1)
    program = program.with_tensors(program.tensors.update([view])).with_sections(forward=lines)
    plan = plan_memory(program, 2, 0, CPU)
    assert Storage(2, False) not in plan.slots
    assert plan.slots[Storage(1, False)].last == 1


def test_persistent_data_and_registers_are_not_planned_but_gradients_are() -> None:
    tensors = TensorMap(
        [
            Tensor(0, "w", (4,), role=Role.PARAM, trainable=True),
            Tensor(1, "r", (4,), register=True),
            Tensor(2, "y", (4,)),
        ]
    )
    lines = ("FUSE {kind=chain}", "RELU 0x0 0x1", "TANH 0x1 0x2", "END")
    backward = (
        "FILL 0x2.grad 1",
        "ZERO 0x1.grad",
        "GRADS_TANH 0x1 0x2",
        "GRADS_RELU 0x0 0x1 {set=x}",
    )
    program = Program(
        "p", "train", tensors,
        {"forward": tuple(map(parse_line, lines)), "backward": tuple(map(parse_line, backward))},
        (), (2,),
    )  # fmt: skip
    plan = plan_memory(program, 1, 0, CPU)
    grads = {Storage(i, True) for i in (0, 1, 2)}
    assert set(plan.slots) == {Storage(2, False), *grads}


def test_a_storage_read_before_it_is_written_is_kept_for_the_whole_run() -> None:
    tensors = TensorMap([Tensor(i, f"t{i}", (4,)) for i in range(4)])
    lines = tuple(map(parse_line, ("RELU 0x0 0x1", "RELU 0x1 0x2", "RELU 0x2 0x3")))
    plan = plan_memory(Program("p", "infer", tensors, {"forward": lines}), 1, 0, CPU)
    assert (plan.slots[Storage(0, False)].first, plan.slots[Storage(0, False)].last) == (0, 2)


def test_small_types_take_whole_words_by_the_targets_element_size() -> None:
    def nbytes(dtype: DType, target: Target) -> int:
        tensors = TensorMap([Tensor(0, "x", (5,), dtype, Role.INPUT)])
        program = Program("p", "infer", tensors, {}, (0,), (0,))
        return plan_memory(program, 1, 0, target).slots[Storage(0, False)].nbytes

    assert [nbytes(d, CPU) for d in DType] == [20, 12, 20, 8, 8, 8]
    assert [nbytes(d, GL) for d in DType] == [20, 12, 20, 8, 20, 8]


def test_a_tensor_above_the_limit_is_refused_by_name() -> None:
    small = Target("gl", pad_convolution_inputs=False, max_storage_bytes=256, offset_alignment=64)
    plan_memory(chain(2), 16, 0, small)
    with pytest.raises(BackendError, match=r"\[t0\].*at most 256 bytes.*272"):
        plan_memory(chain(2), 17, 0, small)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("mode", ["train", "infer"])
def test_networks_come_close_to_the_least_possible(name: str, mode: str) -> None:
    plan = plan_memory(NETWORKS[name](mode), 32, 0, CPU)
    assert_sound(plan, CPU.offset_alignment)
    assert plan.total_bytes <= 1.3 * plan.peak_bytes + len(plan.slots) * CPU.offset_alignment


def test_the_table_names_every_storage_and_the_peak() -> None:
    program = chain(2)
    text = plan_memory(program, 16, 0, CPU).table()
    lines = text.splitlines()
    assert lines[0].split() == ["storage", "tensor", "bytes", "offset", "lines"]
    assert lines[1].split() == ["0x0", "t0", "256", "0x0", "0..1"]
    assert lines[-1] == "peak 768 bytes at line 1: RELU 0x1 0x2"
    assert {str(program.storage(Ref(i))) for i in range(3)} == {w.split()[0] for w in lines[1:4]}
