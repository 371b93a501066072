"""Shares a kernel between threads by samples: each builds it for its own part of the batch.

Possible where every result of a sample depends on that sample and on parameters only. Gradients of
parameters, which sum over the batch, get memory of their own in every part but the first and are
added up behind it, always in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from studio.engine.core.tensor import BATCH, Ref
from studio.engine.cpu.machine.threads import (
    LIGHT_PASS,
    WORTH_ELEMENTS,
    WORTH_FLOPS,
    cut_evenly,
    run_together,
)
from studio.engine.cpu.memory.scratch import Scratch
from studio.engine.cpu.memory.views import Anything, Halo, Run, Views
from studio.engine.cpu.plan.binding import are_light, is_row
from studio.engine.isa.instruction import GradInstruction, Instruction
from studio.engine.isa.program import Storage
from studio.engine.runtime.entries import Entry

BY_SAMPLE = frozenset(
    {"CONV2D", "DEPTHWISE_CONV2D", "MAXPOOL2D", "AVGPOOL2D", "GLOBAL_AVGPOOL2D",
     "SOFTMAX_CE", "SOFTMAX", "SOFTMAX_LOG"}
)  # fmt: skip
"""Instructions with a kernel file whose results are the samples' own."""
FROZEN_BY_SAMPLE = frozenset({"BATCHNORM", "BATCHNORM2D"})
"""Those that are once their statistics are frozen."""


class PartViews(Views):
    """The views of one part of the batch.

    Args:
        whole: the views of the whole batch.
        first: first sample of the part.
        stop: the sample behind it.
        own_sums: whether gradients that sum over the batch get memory of their own.
        scratch: working memory of this part's thread.
    """

    def __init__(
        self, whole: Views, first: int, stop: int, own_sums: bool, scratch: Scratch
    ) -> None:
        super().__init__(whole.program, stop - first, whole.rows, {}, scratch, whole.config.alone())
        self._whole = whole
        self._samples = slice(first, stop)
        self._own_sums = own_sums
        self.sums: dict[Storage, Anything] = {}

    def any(self, ref: Ref) -> Anything:
        """The part's samples of an operand, or all of one that has none."""
        if not ref.grad and ref.id in self._registers:
            return self.as_seen(ref, self._registers[ref.id])
        array = self._whole.any(ref)
        if _has_samples(self, ref):
            return self.as_seen(ref, array[self._samples])
        if not ref.grad or not self._own_sums:
            return self.as_seen(ref, array)
        storage = self.program.storage(ref)
        if storage not in self.sums:
            self.sums[storage] = np.zeros(array.shape, array.dtype)
            self._whole.own_bytes += array.nbytes
        return self.as_seen(ref, self.sums[storage])

    def arena(self, ref: Ref) -> object:
        """The memory of the whole batch's operand."""
        return self._whole.arena(ref)

    def halo(self, ref: Ref) -> Halo:
        """The part's samples with their halo."""
        if ref.grad or ref.id in self._registers:
            return super().halo(ref)
        found = self._whole.halo(ref)
        if not _has_samples(self, ref):
            return self.halo_as_seen(ref, found)
        return self.halo_as_seen(ref, Halo(found.cells[self._samples], found.pads))

    def has(self, ref: Ref) -> bool:
        """Whether an operand has memory."""
        if not ref.present or self.is_bare_register(ref):
            return False
        return (not ref.grad and ref.id in self._registers) or self._whole.has(ref)


def _has_samples(views: Views, ref: Ref) -> bool:
    shape = views.program.tensors[ref.id].shape
    return bool(shape) and shape[0] == BATCH


def can_share(entry: Entry, views: Views) -> bool:
    """Whether an entry may be built part by part, and is worth it."""
    if entry.kind == "update" or views.batch < 2:
        return False
    if not all(_by_sample(part, views) for part in entry.parts):
        return False
    elements = max(
        views.type_of(r).numel for part in entry.parts for r in part.operands if r.present
    )
    light = are_light(entry.parts, views)
    if elements >= WORTH_ELEMENTS * (LIGHT_PASS if light else 1):
        return True
    return sum(part.flops(views.type_of) for part in entry.parts) >= WORTH_FLOPS


def _by_sample(ins: Instruction, views: Views) -> bool:
    forward = ins.forward.mnemonic if isinstance(ins, GradInstruction) else ins.mnemonic
    if forward in FROZEN_BY_SAMPLE:
        if not ins.value("frozen"):
            return False
    elif forward not in BY_SAMPLE and (not is_row(ins) or forward.startswith("UPDATE_")):
        return False
    effects = ins.effects()
    of_samples = effects.reads | effects.writes
    if isinstance(ins, GradInstruction):
        # What it adds up over the batch; everything else it reads or writes is the samples'.
        targets = {ref for _, ref in ins.targets()}
        of_samples = frozenset(r for r in of_samples if r.grad and r not in targets)
    else:
        of_samples = effects.writes
    tensors = views.program.tensors
    return all(_has_samples(views, r) for r in of_samples) and not any(
        any(tensors[r.id].pad[0]) for r in ins.operands if r.present and tensors[r.id].pad
    )


def shared(
    entry: Entry, views: Views, scratches: Sequence[Scratch], build: Callable[[Views], Run]
) -> Run:
    """One callable that runs an entry on several threads.

    Args:
        entry: one that `can_share`.
        views: of the whole batch.
        scratches: working memory, one for each thread.
        build: builds the entry on given views.
    """
    cuts = cut_evenly(views.batch, len(scratches), WORTH_ELEMENTS)
    parts = [
        PartViews(views, cut.start, cut.stop, number > 0, scratch)
        for number, (cut, scratch) in enumerate(zip(cuts, scratches, strict=False))
    ]
    runs = [build(part) for part in parts]
    views.calls += (
        call._replace(threads=len(cuts), shared_by="samples" if len(cuts) > 1 else "")
        for call in parts[0].calls
    )
    adding = {storage for ins in entry.parts for storage in _accumulated(ins, views)}
    clear = [a for part in parts for storage, a in part.sums.items() if storage in adding]
    sums = [
        (views.any(Ref(storage.root, storage.grad)).reshape(array.shape), array)
        for part in parts
        for storage, array in part.sums.items()
    ]

    def run() -> None:
        for array in clear:
            array.fill(0.0)
        run_together(runs)
        for target, array in sums:
            np.add(target, array, out=target)

    return run


def _accumulated(ins: Instruction, views: Views) -> set[Storage]:
    return {views.program.storage(ref) for ref in ins.effects().accumulates}
