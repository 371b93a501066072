"""Check mode: a step run one instruction at a time, every result searched for NaN and Inf."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import Ref
from studio.engine.gl.device.buffers import Slice
from studio.engine.gl.device.readback import read_now
from studio.engine.gl.device.transfer import from_device
from studio.engine.gl.plan.planner import Planner
from studio.engine.gl.record.recorder import Recording, issue
from studio.engine.gl.run.exchanges import Bucket
from studio.engine.gl.run.storages import Storages
from studio.engine.gl.shader.accessors import Access, Use
from studio.engine.gl.shader.dispatch import groups_for, split_line
from studio.engine.gl.shader.layout import Layout
from studio.engine.gl.shader.planned import PlannedDispatch, StorageBinding, TableBinding
from studio.engine.gl.shader.source import assemble, kernel_text
from studio.engine.isa.ops.exchange import AllReduce
from studio.engine.runtime.entries import Entry, unfused
from studio.engine.runtime.numeric_check import BadNumbers, bad_numbers, run_checked, written

if TYPE_CHECKING:
    from studio.engine.gl.record.device_work import DeviceWork
    from studio.engine.gl.run.session import GlSession
    from studio.engine.isa.program import Program

Array = npt.NDArray[np.generic]

_LOCAL = (64, 1, 1)
_FLOATS = (DType.float32, DType.float16)


def check_step(
    work: DeviceWork,
    program: Program,
    session: GlSession,
    batch: int,
    rows: int,
    fed: Storages,
    keep: Collection[Ref] = (),
) -> dict[Ref, Array]:
    """Run one step unfused, in storage of its own, and stop at the first bad number.

    Parameters and other persistent tensors change as in any step.

    Args:
        work: the device.
        program: what runs.
        session: its persistent tensors.
        batch: rows of the batch symbol.
        rows: rows of the resident data set.
        fed: storages of the executable, whose inputs are used.
        keep: storages wanted as they are behind the last line that writes them.

    Raises:
        NumericError: names the instruction, its line, its layer and the operands.
    """
    stored = (t.replace(register=False, partial=False) for t in program.tensors.values())
    plain = program.with_tensors(program.tensors.update(stored))
    storages = Storages(plain, session, work.pool, work.target, batch, rows, keep_all=True)
    try:
        storages.make_zero()
        for tensor in program.inputs:
            source = fed.where(Ref(tensor))
            target = storages.where(Ref(tensor))
            work.pool.copy(source, Slice(target.buffer, target.offset, source.nbytes))
        planner = Planner(
            plain, batch, rows, work.caps, storages.place, wanted=work.wanted_variants
        )
        line = _Lines(work, planner, storages)
        kept: dict[Ref, Array] = {}
        for entry in unfused(plain):
            run_checked(plain, entry, partial(line.run, entry), line.look, line.read_small)
            kept.update((ref, line.read(ref)) for ref in written(plain, entry, keep))
        return kept
    finally:
        work.gl.finish()
        storages.release()


class _Lines:
    """Runs single lines and searches storages, each in a recording of its own."""

    def __init__(self, work: DeviceWork, planner: Planner, storages: Storages) -> None:
        self._work = work
        self._planner = planner
        self._storages = storages

    def run(self, entry: Entry) -> None:
        """Run one entry."""
        line = entry.parts[0]
        if isinstance(line, AllReduce):
            bucket = Bucket(self._work, self._storages, line)
            bucket.collect()
            bucket.take()
            bucket.release()
            return
        with self._issued(self._planner.plan(entry)):
            pass

    def look(self, refs: Iterable[Ref]) -> dict[Ref, BadNumbers]:
        """Storages with NaN or infinities; the device counts, only bad ones are fetched."""
        floats = [ref for ref in refs if self._planner.program.tensor(ref).dtype in _FLOATS]
        found: dict[Ref, BadNumbers] = {}
        with self._issued([self._counting(ref) for ref in floats]) as recording:
            for ref in floats:
                if self._read(recording.table(_words(ref))).view(np.uint32)[0]:
                    bad = bad_numbers(self.read(ref))
                    if bad is not None:
                        found[ref] = bad
        return found

    def read(self, ref: Ref) -> Array:
        """A storage as it is now, on the host."""
        raw = self._read(self._storages.where(ref))
        return from_device(raw, self._storages.descriptor(ref))

    def read_small(self, ref: Ref, most: float) -> Array | None:
        """The same; None for a storage of more bytes than that."""
        return self.read(ref) if self._storages.where(ref).nbytes <= most else None

    @contextmanager
    def _issued(self, planned: Sequence[PlannedDispatch]) -> Iterator[Recording]:
        work, planner = self._work, self._planner
        recording = Recording(
            work.pool,
            work.engine.info,
            work.compiled,
            self._storages.where,
            planner.batch,
            planner.rows,
        )
        try:
            recording.record(planned)
            issue(work.gl, recording.dispatches)
            yield recording
        finally:
            recording.release()

    def _read(self, source: Slice) -> npt.NDArray[np.uint8]:
        return read_now(self._work.pool, source, self._work.engine.stopping)

    def _counting(self, ref: Ref) -> PlannedDispatch:
        """The dispatch that counts bad numbers of a storage into words of its own."""
        symbols = self._planner.batch, self._planner.rows
        tensor = self._planner.program.tensor(ref)
        access = Access("y", Layout.of(tensor, *symbols), Use.READ)
        source = assemble("count_bad", kernel_text("count_bad"), [access], local=_LOCAL)
        return PlannedDispatch(
            source,
            (StorageBinding(ref, Use.READ), TableBinding(_words(ref))),
            split_line(groups_for(tensor.numel(*symbols), _LOCAL[0])),
        )


def _words(ref: Ref) -> bytes:
    """A table with a count of zero and the operand, so that each operand has its own count."""
    return np.array([0, ref.id, int(ref.grad)], dtype=np.uint32).tobytes()
