"""Lets a step go on while what its workers bring together is on its way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from studio.engine.cpu.kernels.allreduce import Bucket
from studio.engine.cpu.plan.assemble import assemble
from studio.engine.cpu.products.dense import in_turn
from studio.engine.isa.ops.exchange import AllReduce

if TYPE_CHECKING:
    from studio.engine.cpu.memory.scratch import Scratch
    from studio.engine.cpu.memory.views import Run, Views
    from studio.engine.isa.program import Program, Storage
    from studio.engine.runtime.entries import Entry


class Exchanges:
    """Binds the entries of a step, those that wait for an exchange among them.

    Args:
        program: what runs.
        views: its arrays.
    """

    def __init__(self, program: Program, views: Views) -> None:
        self._program = program
        self._views = views
        self._open: dict[Bucket, frozenset[Storage]] = {}

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
            runs.append(bucket.begin)
        else:
            runs.append(assemble(entry, self._views, scratches))
        return runs[0] if len(runs) == 1 else in_turn(runs)

    def end(self, runs: list[Run]) -> None:
        """Have the last entry of a step wait for all that nothing has waited for."""
        if self._open:
            runs[-1] = in_turn([runs[-1], *(bucket.finish for bucket in self._open)])
