"""Turns entries of a program into callables bound to arrays."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import numpy as np

from studio.engine.core.errors import BackendError
from studio.engine.core.tensor import Ref
from studio.engine.cpu.kernels.allreduce import Bucket
from studio.engine.cpu.memory.scratch import ALIGNMENT, Scratch
from studio.engine.cpu.memory.views import Anything, Run, Views
from studio.engine.cpu.plan.binding import bind, bind_arrays, is_row
from studio.engine.cpu.plan.sharing import can_share, shared
from studio.engine.cpu.products.dense import in_turn
from studio.engine.isa.instruction import GradInstruction, Instruction
from studio.engine.isa.ops.exchange import AllReduce
from studio.engine.isa.program import Program, Storage
from studio.engine.runtime.entries import Entry

_PACKAGE = "studio.engine.cpu.kernels"
_NAMED = 3
_SHARED = ("step", "rates")
"""Operands that all updates of a step read."""


@cache
def kernel_module(mnemonic: str) -> ModuleType | None:
    """The file of a forward instruction, or ``None`` where there is none."""
    name = f"{_PACKAGE}.{mnemonic.lower()}"
    return import_module(name) if find_spec(name) is not None else None


def kernel_name(entry: Entry) -> str:
    """What runs an entry, for a profile: the NumPy kernels of its instructions, in order."""
    names = [part.mnemonic.lower() for part in entry.parts]
    if len(names) > _NAMED:
        return f"numpy: {names[0]} and {len(names) - 1} more"
    return f"numpy: {' + '.join(names)}"


def assemble(entry: Entry, views: Views, scratches: Sequence[Scratch] = ()) -> Run:
    """One callable for an entry; its working memory is free again for the next.

    Args:
        entry: what it runs.
        views: the arrays of its operands.
        scratches: working memory of each thread that may share the entry; it runs on the calling
            thread alone where there are fewer than two.
    """
    views.next_kernel()
    if len(scratches) > 1 and can_share(entry, views):
        return shared(entry, views, scratches, partial(assemble, entry))
    if entry.kind == "update":
        return _bind_updates(entry.parts, views)
    if len(entry.parts) == 1:
        return _single(entry.parts[0], views)
    segments = _segments(entry.parts)
    _back_crossing_registers(segments, views)
    runs = [bind(part, views) if is_row(part[0]) else _single(part[0], views) for part in segments]
    return in_turn(runs)


def _single(ins: Instruction, views: Views) -> Run:
    if is_row(ins):
        return bind([ins], views)
    grad_ins = isinstance(ins, GradInstruction)
    mnemonic = ins.forward.mnemonic if isinstance(ins, GradInstruction) else ins.mnemonic
    module = kernel_module(mnemonic)
    if module is None:
        raise BackendError("the CPU backend has no kernel for it", who=ins.mnemonic)
    known = len(views.calls)
    with views.seen_by(ins):
        run: Run = (module.build_grads if grad_ins else module.build)(ins, views)
    if len(views.calls) == known:
        views.note(ins.mnemonic.lower())
    return run


def _segments(parts: Sequence[Instruction]) -> list[list[Instruction]]:
    """Runs of element-wise instructions, and the others one by one."""
    found: list[list[Instruction]] = []
    for ins in parts:
        if found and is_row(ins) and is_row(found[-1][0]):
            found[-1].append(ins)
        else:
            found.append([ins])
    return found


def _back_crossing_registers(segments: Sequence[Sequence[Instruction]], views: Views) -> None:
    """Memory for registers that leave their segment: the group's output if that is safe."""
    writers: dict[Ref, int] = {}
    crossing: dict[Ref, None] = {}
    for number, segment in enumerate(segments):
        for ins in segment:
            effects = ins.effects()
            for ref in effects.reads:
                if writers.get(ref, number) != number:
                    crossing[ref] = None
            for ref in effects.writes:
                if views.is_bare_register(ref):
                    writers[ref] = number
                    if not is_row(ins):
                        crossing[ref] = None
    parts = [ins for segment in segments for ins in segment]
    for ref in crossing:
        home = _home(ref, parts, views)
        if home is None:
            views.scratch_register(ref)
        else:
            views.back_register(ref, views.any(home))


def _home(register: Ref, parts: Sequence[Instruction], views: Views) -> Ref | None:
    """A kept result of the same type whose memory the register may use until it is written.

    Element-wise instructions write a result after their last read. So the instruction that writes
    the result may read the register, but no later one may; and up to there none reads the result.
    """
    reads = [ins.effects().reads for ins in parts]
    made = next(i for i, ins in enumerate(parts) if register in ins.effects().writes)
    last = max((i for i, found in enumerate(reads) if register in found), default=made)
    for place, ins in enumerate(parts[made + 1 :], made + 1):
        for ref in ins.effects().writes:
            if ref.grad or views.is_register(ref) or views.shape(ref) != views.shape(register):
                continue
            if not is_row(ins) or place < last or views.type_of(ref) != views.type_of(register):
                continue
            if not any(ref in found for found in reads[: place + 1]):
                return ref
    return None


def _bind_updates(parts: Sequence[Instruction], views: Views) -> Run:
    """One callable for the updates of a fused group, in order.

    Neighbours of the same instruction and attributes whose parameter, gradient and slots all lie
    behind each other run as one long stretch. What is computed in the alignment gaps between two
    storages is never read.
    """
    runs: list[Run] = []
    waiting: list[Instruction] = []
    for ins in parts:
        if waiting and not _lies_behind(waiting[-1], ins, views):
            runs.append(_bind_joined(waiting, views))
            waiting = []
        waiting.append(ins)
    runs.append(_bind_joined(waiting, views))
    return in_turn(runs)


def _elements(ins: Instruction) -> list[Ref]:
    return [ref for spec, ref in ins.named_operands() if spec.name not in _SHARED and ref.present]


def _lies_behind(first: Instruction, second: Instruction, views: Views) -> bool:
    if type(first) is not type(second) or dict(first.attrs) != dict(second.attrs):
        return False
    if first.meaning is None or first.meaning.rule is None:
        return False
    if any(first.ref(name) != second.ref(name) for name in _SHARED):
        return False
    before, after = _elements(first), _elements(second)
    if len(before) != len(after):
        return False
    distances = set()
    for one, other in zip(before, after, strict=True):
        a, b = views.any(one), views.any(other)
        if not (a.flags.c_contiguous and b.flags.c_contiguous):
            return False
        distances.add(b.ctypes.data - a.ctypes.data)
        gap = b.ctypes.data - a.ctypes.data - a.nbytes
        if not 0 <= gap < ALIGNMENT or views.arena(one) is not views.arena(other):
            return False
    return len(distances) == 1


def _bind_joined(parts: Sequence[Instruction], views: Views) -> Run:
    if len(parts) == 1:
        return bind(parts, views)
    first, last = parts[0], parts[-1]
    arrays: dict[str, Anything] = {}
    for spec, ref in first.named_operands():
        if spec.name in _SHARED:
            arrays[spec.name] = views.any(ref)
        elif ref.present:
            arrays[spec.name] = _joined(views, ref, last.ref(spec.name))
    return bind_arrays(first, arrays, arrays["w"].shape, views)


def _joined(views: Views, first: Ref, last: Ref) -> Anything:
    a, b = views.any(first), views.any(last)
    count = (b.ctypes.data + b.nbytes - a.ctypes.data) // a.itemsize
    return np.lib.stride_tricks.as_strided(a.reshape(-1), (count,), (a.itemsize,))


class Exchanges:
    """Binds the entries of a step, which goes on while what its workers exchange is on its way.

    Args:
        program: what runs.
        views: its arrays.
    """

    def __init__(self, program: Program, views: Views) -> None:
        self._program = program
        self._views = views
        self._open: dict[Bucket, frozenset[Storage]] = {}
        self.waits: dict[int, Run] = {}
        """What waits for the exchange that an entry begins, by the index of its line."""

    def assembled(self, entry: Entry, scratches: Sequence[Scratch]) -> Run:
        """What runs an entry: an ALLREDUCE begins, a line that touches its tensors waits first."""
        of = self._program.storage
        touched = {of(ref) for ref in (*entry.reads(), *entry.writes())}
        waited = [bucket for bucket, storages in self._open.items() if storages & touched]
        runs: list[Run] = [bucket.finish for bucket in waited]
        for bucket in waited:
            del self._open[bucket]
        line = entry.parts[0]
        if isinstance(line, AllReduce):
            bucket = Bucket(line, self._views)
            self._views.note("allreduce")
            self._open[bucket] = frozenset(of(ref) for ref in bucket.refs)
            self.waits[entry.index] = bucket.finish
            runs.append(bucket.begin)
        else:
            runs.append(assemble(entry, self._views, scratches))
        return runs[0] if len(runs) == 1 else in_turn(runs)

    def end(self, runs: list[Run]) -> None:
        """Have the last entry of a step wait for all that nothing has waited for."""
        if self._open:
            runs[-1] = in_turn([runs[-1], *(bucket.finish for bucket in self._open)])
