"""Programs of several workers: where ALLREDUCE lines stand, what draws and means know."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest

from studio.engine.compiler.lower import lower
from studio.engine.compiler.passes import bucket_gradients as buckets
from studio.engine.compiler.passes.share_rows import FIRST_ROW
from studio.engine.compiler.pipeline import compile_program
from studio.engine.compiler.plan_memory import plan_memory
from studio.engine.compiler.target import CPU, GL, Target
from studio.engine.compiler.verify import verify
from studio.engine.core.errors import BackendError, CompileError, ShapeError
from studio.engine.core.tensor import Ref, Role
from studio.engine.cpu.backend import CpuBackend
from studio.engine.isa.binary import decode_program, encode_program
from studio.engine.isa.instruction import GradInstruction
from studio.engine.isa.ops.exchange import AllReduce
from studio.engine.isa.ops.loss import Loss
from studio.engine.isa.ops.random import Dropout
from studio.engine.isa.ops.update import Update
from studio.engine.isa.program import Program
from studio.engine.isa.text import format_program, parse_program
from studio.engine.isa.versions import program_version
from studio.engine.layers.dense import Dense
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.inputs import Input
from studio.engine.layers.masking import Masking
from studio.engine.optim.losses import MeanSquaredError
from studio.engine.optim.optimizers import Adam
from studio.engine.train.network.programs import Programs
from studio.engine.train.project.task import Task
from tests.engine.train.small_tasks import DIGITS, cnn, mlp, task


def compiled(made: Task, level: int = 2, workers: int = 2) -> Program:
    return Programs(made, workers).compile("train", level, verify=True)


def exchanged(program: Program) -> list[Ref]:
    return [ref for ins in program if isinstance(ins, AllReduce) for ref in ins.xs]


def first_use(program: Program, ref: Ref, after: int) -> int:
    """The first line behind ``after`` that touches the storage."""
    storage = program.storage(ref)
    for _, index, ins in program.located():
        if index > after and storage in program.reads(ins) | program.writes(ins):
            return index
    raise AssertionError(f"nothing uses {ref}")


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("graph", [mlp(rate=0.3), cnn()], ids=["mlp", "cnn"])
def test_every_gradient_is_exchanged_once_before_it_is_clipped(
    graph: LayerGraph, level: int
) -> None:
    data = DIGITS if graph.name == "cnn" else {"source": "spirals", "n": 40}
    program = compiled(task(graph, data, optimizer=Adam(clipnorm=1.0)), level)
    found = [ref for ref in exchanged(program) if ref.grad]
    wanted = {ins.ref("g") for ins in program if isinstance(ins, Update)}
    assert sorted(found) == sorted(wanted)
    for section, index, ins in program.located():
        if isinstance(ins, AllReduce):
            assert section != "update"
            for ref in (ref for ref in ins.xs if ref.grad):
                # Nothing writes it any more before the updates read it.
                use = first_use(program, ref, index)
                assert next(s for s, i, _ in program.located() if i == use) == "update"


def test_running_statistics_and_the_recorded_numbers_are_exchanged() -> None:
    program = compiled(task(cnn(), DIGITS, metrics=["accuracy"]))
    names = {program.tensor(ref).name for ref in exchanged(program) if not ref.grad}
    assert {"loss/total", "metrics/accuracy"} <= names
    assert {name for name in names if "moving" in name or "variance" in name}


def test_metrics_are_exchanged_while_gradients_are_computed() -> None:
    program = compiled(task(cnn(), DIGITS, metrics=["accuracy"]))
    sections = [section for section, _, _ in program.located()]
    backward = sections.index("backward")
    found = {
        program.tensor(ref).name: index
        for _, index, ins in program.located()
        if isinstance(ins, AllReduce)
        for ref in ins.xs
    }
    assert found["loss/total"] < backward
    assert found["metrics/accuracy"] < backward
    # What reads weights behind the update, or keeps numbers, stays where it was.
    assert sections[-2:] == ["metrics", "metrics"]
    verify(program, after="test", owned=True)


def test_one_worker_has_the_program_it_always_had() -> None:
    made = task(mlp(rate=0.3))
    assert format_program(compiled(made, workers=1)) == format_program(
        Programs(made).compile("train")
    )
    assert not any(isinstance(ins, AllReduce) for ins in compiled(made, workers=1))
    for mode in ("evaluate", "infer"):
        assert format_program(Programs(made, 2).compile(mode)) == format_program(
            Programs(made).compile(mode)
        )


def test_buckets_are_cut_in_the_order_in_which_gradients_are_ready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = task(mlp())
    monkeypatch.setattr(buckets, "BUCKET_BYTES", 40)
    program = compiled(made)
    found = [ins.xs for ins in program if isinstance(ins, AllReduce) and ins.xs[0].grad]
    names = [[program.tensor(ref).name for ref in xs] for xs in found]
    # The last layer's are ready first; kernels of 64 and 64 bytes each fill a bucket.
    assert names == [["dense_1/kernel"], ["dense_1/bias", "dense/kernel"], ["dense/bias"]]


@pytest.mark.parametrize("target", [CPU, GL], ids=["cpu", "gl"])
def test_what_is_exchanged_together_lies_side_by_side(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buckets, "BUCKET_BYTES", 2000)
    program = compiled(task(cnn(), DIGITS, metrics=["accuracy"]))
    plan = plan_memory(program, 12, 80, target)
    lengths = []
    for ins in program:
        if isinstance(ins, AllReduce):
            slots = [plan.slots.get(program.storage(ref)) for ref in ins.xs]
            found = [slot for slot in slots if slot is not None]
            lengths.append(len(found))
            for before, after in pairwise(found):
                room = -(-before.nbytes // target.offset_alignment) * target.offset_alignment
                assert after.offset == before.offset + room
    # Running statistics are kept from step to step, and lie elsewhere.
    assert lengths == [0, 2, 1, 5]
    for (a, p), (b, q) in combinations(plan.slots.items(), 2):
        together = p.first <= q.last and q.first <= p.last
        assert not (together and p.offset < q.end and q.offset < p.end), (a, b)


def test_draws_of_rows_know_where_the_rows_begin() -> None:
    program = compiled(task(mlp(rate=0.3)))
    first = program.tensors.named(FIRST_ROW).ref
    draws = [
        ins for ins in program
        if issubclass(ins.forward if isinstance(ins, GradInstruction) else type(ins), Dropout)
    ]  # fmt: skip
    assert len(draws) == 2
    assert all(ins.ref("first") == first for ins in draws)


def test_files_hold_the_lines_and_keep_them() -> None:
    program = compiled(task(mlp(rate=0.3)))
    text = format_program(program)
    assert text.startswith(".glassbox 2")
    assert format_program(parse_program(text)) == text
    binary = encode_program(program)
    assert format_program(decode_program(binary, program_version(program))) == format_program(
        decode_program(encode_program(parse_program(text)), 2)
    )


def test_a_program_of_several_workers_needs_the_others() -> None:
    program = compiled(task(mlp()))
    backend = CpuBackend()
    try:
        session = backend.open_session()
        session.ensure(program.of_role(Role.DATA), 8)
        with pytest.raises(BackendError, match="several workers together, and there is one"):
            backend.compile(program, session, 4)
    finally:
        backend.close()


def test_what_takes_rows_together_is_refused_by_name() -> None:
    lowered = Programs(task(mlp())).lowered("train")
    # The sum over rows, which is no mean, is the convention of other programs.
    summed = lowered.map_instructions(
        lambda ins: ins.replace(dylann_sum=True) if isinstance(ins, Loss) else ins
    )
    compile_program(summed, CPU)
    with pytest.raises(CompileError, match="rows of a batch together"):
        compile_program(summed, CPU, workers=2)


def test_means_that_weights_are_divided_by_are_those_of_all_rows() -> None:
    graph = LayerGraph("masked")
    x = graph.add(Masking(), graph.add(Input((3, 2))))
    graph.outputs = (graph.add(Dense(1), x),)
    lowered = lower(graph, "train", loss=MeanSquaredError())
    program = compile_program(lowered, CPU, workers=2, verify=True)
    sections = [
        (section, [program.tensor(ref).name for ref in ins.xs])
        for section, _, ins in program.located()
        if isinstance(ins, AllReduce) and section == "loss"
    ]
    assert sections[0] == ("loss", ["loss/mask/divisor"])


def test_only_float32_of_fixed_shape_is_exchanged() -> None:
    program = compiled(task(mlp()))
    batch = next(t for t in program.tensors.values() if t.shape[:1] == (-1,))
    with pytest.raises(ShapeError, match="fixed shape"):
        AllReduce(xs=[batch.ref]).types(program.type_of)
    assert AllReduce(xs=[Ref(0)]).flops(lambda _: batch.type.bind(4)) == 2 * np.prod(
        batch.type.bind(4).shape
    )


def test_verify_refuses_an_exchange_of_what_nothing_made() -> None:
    program = compiled(task(mlp()))
    lost = next(t for t in program.tensors.values() if t.name == "loss/total")
    lines = [
        (section, ins) for section, _, ins in program.located() if not isinstance(ins, AllReduce)
    ]
    broken = program.with_lines(
        [("forward", AllReduce(xs=[lost.ref], owners=("metrics",))), *lines]
    )
    with pytest.raises(Exception, match="written before it is read"):
        verify(broken, after="test", owned=True)
    assert compile_program(Programs(task(mlp())).lowered("train"), CPU, workers=1)
