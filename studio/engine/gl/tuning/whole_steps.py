"""Holds measured choices against whole steps: what is faster alone may still slow a step down.

In a step kernels run side by side and find in the cache what those before them left there.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from studio.engine.core.errors import BackendError
from studio.engine.core.tensor import ROWS
from studio.engine.gl.choices.measured_choices import MeasuredChoices, Rows
from studio.engine.gl.device.entry_points import ContextLostError
from studio.engine.gl.kernels.product import Product
from studio.engine.gl.kernels.specs import SHIPPED, BoundInstruction, Choices
from studio.engine.gl.kernels.tiles import Tile
from studio.engine.gl.tuning.findings import StepTimes, Tuning
from studio.engine.runtime.requirements import persistent_tensors

if TYPE_CHECKING:
    from studio.engine.gl.backend import GlBackend
    from studio.engine.gl.run.executable import GlExecutable
    from studio.engine.isa.program import Program

BLOCK_SECONDS = {True: 0.0, False: 0.03}
"""How long a block of steps is to take on a software renderer and on a GPU."""
BLOCKS = {True: 3, False: 9}
"""Blocks of either side, which take turns; their median counts."""
WARM_SECONDS = {True: 0.0, False: 0.5}
"""Work before the first block, in which a GPU raises its clock."""
_MOST_STEPS = 1 << 16


class _Watched(MeasuredChoices):
    """A table that remembers which of its rows were asked for.

    Args:
        rows: what was measured.
    """

    def __init__(self, rows: Rows) -> None:
        super().__init__(rows)
        self.used: set[str] = set()

    def variant(self, op: BoundInstruction) -> str:
        """The measured variant of an instruction; empty where none is."""
        found = super().variant(op)
        if found:
            self.used.add(self.sign_of(op))
        return found

    def tile(
        self, op: BoundInstruction, product: Product, tiles: Sequence[Tile]
    ) -> tuple[Tile, int] | None:
        """The measured tile and parts of a product, where it is one of those to choose from."""
        found = super().tile(op, product, tiles)
        if found is not None:
            self.used.add(self.sign_of(op, product))
        return found


def hold_against_steps(
    backend: GlBackend, jobs: Sequence[tuple[Program, int]], found: Tuning
) -> Tuning:
    """Drop choices until no step of the programs is slower by them than by the shipped ones.

    Those that no step takes are dropped, too: the tile of a kernel that another variant replaces.

    Args:
        backend: the device; its choices are the same afterwards.
        jobs: programs with the batch each runs in.
        found: what trials of single kernels found.
    """
    before = backend.chosen_by
    try:
        while found.rows:
            steps, used, slow = _held_against(backend, jobs, found.rows)
            dropped = found.dropped | slow | (found.rows.keys() - used)
            found = replace(found, steps=() if slow else steps, dropped=dropped)
            if not slow:
                break
    except ContextLostError:
        raise
    except BackendError as error:
        # What could not be held against steps is not known to be better.
        passed_over = (*found.passed_over, f"whole steps: {error.message}")
        dropped = found.dropped | found.rows.keys()
        found = replace(found, steps=(), dropped=dropped, passed_over=passed_over)
    finally:
        backend.choose_by(before)
    return found


def _held_against(
    backend: GlBackend, jobs: Sequence[tuple[Program, int]], rows: Rows
) -> tuple[tuple[StepTimes, ...], frozenset[str], frozenset[str]]:
    """Steps of the programs that a table changes, the rows they use, and those slower ones use."""
    steps: list[StepTimes] = []
    used: set[str] = set()
    slow: set[str] = set()
    for program, batch in jobs:
        table = _Watched(rows)
        with _compiled(backend, program, batch, (SHIPPED, table)) as (shipped, tuned):
            if not table.used:
                continue
            used |= table.used
            times = in_turn(shipped, tuned, software=backend.info.is_software)
        steps.append(StepTimes(program.name, batch, *times))
        if steps[-1].is_slower:
            slow |= table.used
    return tuple(steps), frozenset(used), frozenset(slow)


@contextmanager
def _compiled(
    backend: GlBackend, program: Program, batch: int, choices: Sequence[Choices]
) -> Iterator[list[GlExecutable]]:
    """A program by one choice of kernels and by another, on data of zeros."""
    with ExitStack() as stack:
        session = backend.open_session()
        stack.callback(session.close)
        data = [t for t in persistent_tensors(program) if t.shape[:1] == (ROWS,)]
        session.ensure(data, batch)
        made: list[GlExecutable] = []
        for one in choices:
            backend.choose_by(one)
            executable = backend.compile(program, session, batch)
            stack.callback(executable.close)
            for tensor in program.inputs:
                fed = program.tensors[tensor]
                shape = fed.descriptor(batch, batch).shape
                executable.feed(tensor, np.zeros(shape, fed.dtype.np))
            made.append(executable)
        yield made


def in_turn(first: GlExecutable, second: GlExecutable, *, software: bool) -> tuple[float, float]:
    """Median seconds of a step of two executables whose blocks of steps take turns.

    Args:
        first: one.
        second: the other.
        software: whether a CPU does the work.
    """
    begun, steps = time.perf_counter(), 1
    while steps < _MOST_STEPS:
        took = min(_seconds(first, steps), _seconds(second, steps))
        if took < BLOCK_SECONDS[software]:
            steps *= 2
        elif time.perf_counter() - begun >= WARM_SECONDS[software]:
            break
    blocks = [(_seconds(first, steps), _seconds(second, steps)) for _ in range(BLOCKS[software])]
    before, after = (median(side) / steps for side in zip(*blocks, strict=True))
    return before, after


def _seconds(executable: GlExecutable, steps: int) -> float:
    begun = time.perf_counter()
    executable.run(steps)
    executable.finish()
    return time.perf_counter() - begun
