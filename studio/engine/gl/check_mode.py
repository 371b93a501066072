"""Check mode: a step run one instruction at a time, every result searched for NaN and Inf."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import NumericError
from studio.engine.core.tensor import Ref
from studio.engine.gl.accessors import Access, Use
from studio.engine.gl.buffers import Slice
from studio.engine.gl.dispatch import groups_for, split_line
from studio.engine.gl.layout import Layout
from studio.engine.gl.planned import Planned, StorageBinding, TableBinding
from studio.engine.gl.planner import Planner
from studio.engine.gl.readback import read_now
from studio.engine.gl.recorder import Recording, issue
from studio.engine.gl.source import assemble, kernel_text
from studio.engine.gl.storages import Storages
from studio.engine.isa.line import format_line
from studio.engine.runtime.entries import Entry, unfused

if TYPE_CHECKING:
    from studio.engine.gl.device_work import DeviceWork
    from studio.engine.gl.session import GlSession
    from studio.engine.isa.instruction import Instruction
    from studio.engine.isa.program import Program

_LOCAL = (64, 1, 1)
_FLOATS = (DType.float32, DType.float16)
_NONE_YET = np.array([0, 0xFFFFFFFF], dtype=np.uint32)


def check_step(
    work: DeviceWork,
    program: Program,
    session: GlSession,
    batch: int,
    rows: int,
    fed: Storages,
) -> None:
    """Run one step unfused, in storage of its own, and stop at the first bad number.

    Parameters and other persistent tensors change as in any step.

    Args:
        work: the device.
        program: what runs.
        session: its persistent tensors.
        batch: rows of the batch symbol.
        rows: rows of the resident data set.
        fed: storages of the executable, whose inputs are used.

    Raises:
        NumericError: names the instruction, its line, its layer and the operands.
    """
    plain = program.with_tensors(
        program.tensors.update(t.replace(register=False) for t in program.tensors.values())
    )
    storages = Storages(plain, session, work.pool, batch, rows, keep_all=True)
    try:
        for tensor in program.inputs:
            source = fed.where(Ref(tensor))
            target = storages.where(Ref(tensor))
            work.pool.copy(source, Slice(target.buffer, target.offset, source.nbytes))
        planner = Planner(plain, batch, rows, work.traits, storages.place, work.wanted_variants)
        for entry in unfused(plain):
            _run_and_look(work, planner, storages, entry)
    finally:
        work.gl.finish()
        storages.release()


def _run_and_look(work: DeviceWork, planner: Planner, storages: Storages, entry: Entry) -> None:
    (ins,) = entry.parts
    looks = [r for r in sorted(ins.effects().writes) if planner.program.tensor(r).dtype in _FLOATS]
    counting = [_counting(planner, ref) for ref in looks]
    recording = Recording(
        work.pool, work.engine.info, work.compiled, storages.where, planner.batch, planner.rows
    )
    try:
        recording.record([*planner.plan(entry), *counting])
        issue(work.gl, recording.dispatches)
        for ref in looks:
            found = read_now(work.pool, recording.table(_words(ref)), work.engine.stopping)
            count, first = found.view(np.uint32)[:2]
            if count:
                raise _bad_number(planner.program, entry, ins, ref, int(count), int(first))
    finally:
        recording.release()


def _counting(planner: Planner, ref: Ref) -> Planned:
    """The dispatch that counts bad numbers of a storage into words of its own."""
    tensor = planner.program.tensor(ref)
    access = Access("y", Layout.of(tensor, planner.batch, planner.rows), Use.READ)
    source = assemble("count_bad", kernel_text("count_bad"), [access], local=_LOCAL)
    count = tensor.numel(planner.batch, planner.rows)
    return Planned(
        source,
        (StorageBinding(ref, Use.READ), TableBinding(_words(ref))),
        split_line(groups_for(count, _LOCAL[0])),
    )


def _words(ref: Ref) -> bytes:
    """Where a count goes: none yet, and the operand, so that two operands are counted apart."""
    return _NONE_YET.tobytes() + np.array([ref.id, int(ref.grad)], dtype=np.uint32).tobytes()


def _bad_number(
    program: Program, entry: Entry, ins: Instruction, ref: Ref, count: int, first: int
) -> NumericError:
    named = ", ".join(
        f"{spec.name} {operand} {program.tensor(operand).name!r}"
        for spec, operand in ins.named_operands()
        if operand.present
    )
    layer = f" in layer {', '.join(ins.owners)}" if ins.owners else ""
    what = "the gradient of " if ref.grad else ""
    return NumericError(
        f"NaN or infinity in {count} of {what}{program.tensor(ref).name!r}'s elements, the first "
        f"at index {first}{layer}: {format_line(ins)} (operands: {named})",
        who=ins.mnemonic,
        origin=f"{entry.section}, line {entry.index}",
        hint="lower the learning rate, clip gradients, or look at this layer's inputs",
    )
