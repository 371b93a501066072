"""ALLREDUCE: means of tensors over the workers of a training."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.memory.views import Run, Views
from studio.engine.isa.instruction import Instruction
from studio.engine.runtime.exchange import bucket_of, required


class Bucket:
    """The tensors of one line, sent and taken back on the thread that runs steps."""

    def __init__(self, ins: Instruction, views: Views) -> None:
        exchange = required(views.config.exchange, views.program.name)
        self.refs = ins.refs("xs")
        self._arrays = [views.any(ref) for ref in self.refs]
        rows = views.data(ins.ref("rows")).shape if ins.ref("rows").present else ()
        self._sent = bucket_of(exchange, [array.size for array in self._arrays], rows)

    @property
    def is_under_way(self) -> bool:
        """Whether it was sent and not taken back."""
        return self._sent.is_under_way

    def begin(self) -> None:
        """Send this worker's share."""
        for array, part in zip(self._arrays, self._sent.parts, strict=True):
            np.copyto(part.reshape(array.shape), array)
        self._sent.begin()

    def finish(self) -> None:
        """Take the means once they are there; nothing where nothing was sent."""
        if self.is_under_way:
            self._sent.finish()
            for array, part in zip(self._arrays, self._sent.parts, strict=True):
                np.copyto(array, part.reshape(array.shape))


def build(ins: Instruction, views: Views) -> Run:
    """x = Σ share·x over workers, waited for."""
    bucket = Bucket(ins, views)

    def run() -> None:
        bucket.begin()
        bucket.finish()

    return run
