"""Puts the lines in place by which several workers bring their gradients and numbers together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod

from studio.engine.compiler.lifetimes import group_spans
from studio.engine.compiler.rewriting import with_lines
from studio.engine.core.dtypes import DType
from studio.engine.core.errors import CompileError
from studio.engine.core.tensor import Ref, Role
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops.data import Record
from studio.engine.isa.ops.exchange import AllReduce
from studio.engine.isa.ops.update import Update
from studio.engine.isa.program import Program, Storage

BUCKET_BYTES = 8 << 20
"""A bucket is sent once it is this long: later ones travel while earlier layers are computed."""
SMALLEST_BYTES = 512 << 10
"""Towards the end of the backward pass buckets are shorter, down to this: the last one travels
while nothing is computed, and each of them costs waits."""

_UPDATE, _METRICS = ("update",), ("metrics",)


def bucket_gradients(program: Program, workers: int) -> Program:
    """The program with ALLREDUCE lines; unchanged for one worker, and where nothing is trained.

    The gradients of parameters, in the order in which they are ready, are divided into buckets of
    about `BUCKET_BYTES`, or half of what is left. Each stands behind the last line that writes one
    of its members, so before clipping and updates. Running statistics make a bucket of their own,
    and so do loss and metrics, which are found before the backward pass, so that no step waits for
    them at its end.

    Raises:
        CompileError: a gradient is not float32.
    """
    gradients = list(dict.fromkeys(ins.ref("g") for ins in program if isinstance(ins, Update)))
    if workers < 2 or not gradients:
        return program
    for ref in gradients:
        if program.type_of(ref).dtype is not DType.float32:
            raise CompileError(
                f"workers exchange gradients of float32, got {program.type_of(ref)}",
                who=program.tensor(ref).name,
                hint="train with one worker",
            )
    program = _metrics_first(program)
    states = [
        t.ref for t in program.of_role(Role.STATE) if t.dtype is DType.float32 and not t.register
    ]
    numbers = [ref for ins in program if isinstance(ins, Record) for ref in ins.refs("values")]
    last = _last_writers(program)
    lines: dict[int, list[Instruction]] = {}
    buckets = [
        *((bucket, _UPDATE) for bucket in _cut(program, _ready(gradients, last))),
        ([ref for ref in states if ref in last], _UPDATE),
        (_ready(dict.fromkeys(numbers), last), _METRICS),
    ]
    for refs, owners in buckets:
        if refs:
            place = max(last[ref] for ref in refs)
            lines.setdefault(place, []).append(AllReduce(xs=refs, owners=owners))
    found = list(program)
    return with_lines(program, {place: (found[place], *new) for place, new in lines.items()})


def _metrics_first(program: Program) -> Program:
    """The program with the lines that RECORD needs before the backward pass, where they may be."""
    lines = list(program.located())
    begin = next((index for section, index, _ in lines if section == "backward"), len(lines))
    wanted = {
        program.storage(ref)
        for ins in program
        if isinstance(ins, Record)
        for ref in ins.refs("values")
    }
    early: list[int] = []
    spans = group_spans(program)
    for section, index, ins in reversed(lines[begin:]):
        # A line of a group stays in it.
        is_alone = spans[index].first == spans[index].last
        if section == "metrics" and is_alone and program.writes(ins) & wanted:
            wanted |= program.reads(ins)
            early.insert(0, index)
    changed: set[Storage] = set()
    used: set[Storage] = set()
    moved: set[int] = set()
    for _, index, ins in lines[begin:]:
        reads, writes = program.reads(ins), program.writes(ins)
        if index in early and not reads & changed and not writes & (changed | used):
            moved.add(index)
        else:
            changed |= writes
            used |= reads
    order = [
        *lines[:begin],
        *(lines[index] for index in sorted(moved)),
        *(line for line in lines[begin:] if line[1] not in moved),
    ]
    return program.with_lines((section, ins) for section, _, ins in order) if moved else program


def _last_writers(program: Program) -> dict[Ref, int]:
    """By storage reference the last line before the updates that writes it, or its group's END."""
    spans = group_spans(program)
    found: dict[Ref, int] = {}
    for section, index, ins in program.located():
        if section != "update":
            for ref in ins.effects().writes:
                storage = program.storage(ref)
                found[Ref(storage.root, storage.grad)] = spans[index].last
                found[ref] = spans[index].last
    return found


def _ready(refs: Iterable[Ref], last: dict[Ref, int]) -> list[Ref]:
    """Those that a line writes, the first ready first."""
    return sorted((ref for ref in refs if ref in last), key=lambda ref: (last[ref], ref))


def _cut(program: Program, refs: list[Ref]) -> Iterator[list[Ref]]:
    nbytes = [prod(program.type_of(ref).shape) * DType.float32.itemsize for ref in refs]
    left, size = sum(nbytes), 0
    bucket: list[Ref] = []
    for ref, own in zip(refs, nbytes, strict=True):
        bucket.append(ref)
        size += own
        if size >= min(BUCKET_BYTES, max(SMALLEST_BYTES, left // 2)):
            yield bucket
            left -= size
            bucket, size = [], 0
    yield bucket
