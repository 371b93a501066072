"""What a backend can do at its best, measured with two small programs.

A GPU is measured otherwise than a processor: its clock sinks while it waits, its caches hold what a
small copy moves, and the host's wait for it counts in a short run. So there the programs grow until
a run is long, both are run until neither gets any faster, and only then is time taken.

A peak is the median of five measurements, each taken while no other program had the processor.
Where there are no five such, the peaks say that they are in doubt.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

import numpy as np

from studio.engine.core.errors import BackendError
from studio.engine.core.tensor import BATCH, Role
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.ops.linear import MatMul
from studio.engine.isa.ops.move import Copy
from studio.engine.isa.program import Program
from studio.engine.profiler.other_load import OtherLoad
from studio.engine.profiler.steady_work import SteadyWork
from studio.engine.profiler.totals import Peaks
from studio.engine.runtime.backend import Backend, Executable

WIDE = 1024
"""Elements of a row that is copied."""
SIDES = (1024, 2048, 4096)
"""Sides of the products tried on a GPU."""
ROWS = (1 << 14, 1 << 16, 1 << 18)
"""Rows of the copies tried on a GPU: 64 MiB, 256 MiB and 1 GiB there and as much here.

The last two are moved in strips, as large tensors of a network are, and lie in no cache.
"""
LONGEST_RUN = 0.06
"""Seconds a run may take, foreseen from the smaller one before it."""
LEAST_WARM, MOST_WARM = 0.4, 0.6
"""Seconds of work in which a clock has risen, and that are given to it at most."""
STEADY = 0.99
"""A block that takes this much of the best before it, or less, was still getting faster."""
_STILL_BLOCKS = 4
_BLOCK_SECONDS = 0.02
_MEASURED_SECONDS = 0.1
_RUNS = 4
MEASUREMENTS = 5
"""Undisturbed measurements of which the median is taken."""
TRIES = 15
"""Measurements made at most to find them."""
DISTURBED = 0.2
"""Cores used by other processes above which a measurement does not count."""
DOUBT = "other programs used the processor during the measurement"


def measure_peaks(backend: Backend, side: int = 1024, copy_rows: int = 4096) -> Peaks:
    """Arithmetic peak of a ``side``³ matrix product and traffic peak of a copy of 1024-wide rows.

    A GPU chooses its own sizes; it takes about two seconds. Choose smaller sizes on a software
    renderer.
    """
    if is_gpu(backend):
        return _gpu_peaks(backend)
    with _opened(backend, _product(side), side) as executable:
        product, calm = _undisturbed(executable)
    with _opened(backend, _copy(), copy_rows) as executable:
        copied, as_calm = _undisturbed(executable)
    return _peaks(side, product, copy_rows, copied, "" if calm and as_calm else DOUBT)


def is_gpu(backend: Backend) -> bool:
    """Whether a backend works on a device with a clock and memory of its own."""
    return backend.name == "gl" and not backend.device.endswith("(software)")


def _peaks(side: int, product: float, rows: int, copied: float, doubt: str = "") -> Peaks:
    return Peaks(2e-9 * side**3 / product, 2 * 4e-9 * rows * WIDE / copied, doubt)


def _product(side: int) -> Program:
    build = ProgramBuilder("peak", "infer")
    a = build.tensor("a", (BATCH, side), role=Role.INPUT)
    b = build.tensor("b", (side, side), role=Role.INPUT)
    (y,) = build.emit("forward", MatMul, a=a, b=b)
    return build.finish((a, b), (y,))


def _copy() -> Program:
    build = ProgramBuilder("peak", "infer")
    x = build.tensor("x", (BATCH, WIDE), role=Role.INPUT)
    (y,) = build.emit("forward", Copy, x=x)
    return build.finish((x,), (y,))


@contextmanager
def _opened(
    backend: Backend, program: Program, batch: int, *, fed: bool = True
) -> Iterator[Executable]:
    """A program ready to run; its inputs are ones, or left as they are."""
    session = backend.open_session()
    try:
        executable = backend.compile(program, session, batch)
        try:
            for tensor in program.inputs if fed else ():
                shape = program.tensors[tensor].type.bind(batch).shape
                executable.feed(tensor, np.ones(shape, np.float32))
            yield executable
        finally:
            executable.close()
    finally:
        session.close()


def _undisturbed(executable: Executable) -> tuple[float, bool]:
    """Seconds a run takes, and whether enough measurements were undisturbed.

    Others only make a run slower: where too few measurements are undisturbed, the fastest count.
    """
    _block(executable, 2)
    runs = _runs_for(executable, _MEASURED_SECONDS)
    calm: list[float] = []
    every: list[float] = []
    while len(calm) < MEASUREMENTS and len(every) < TRIES:
        load = OtherLoad()
        every.append(_block(executable, runs) / runs)
        if load.cores <= DISTURBED:
            calm.append(every[-1])
    if len(calm) == MEASUREMENTS:
        return statistics.median(calm), True
    return statistics.median(sorted(every)[:MEASUREMENTS]), False


def _block(executable: Executable, runs: int) -> float:
    """Seconds some runs take, one behind the other."""
    begun = time.perf_counter()
    executable.run(runs)
    executable.finish()
    return time.perf_counter() - begun


# -- a device with a clock of its own -----------------------------------------------------------


def _gpu_peaks(backend: Backend) -> Peaks:
    side = _largest(backend, SIDES, _opened_product, 3)
    with _opened_product(backend, side) as product:
        # What fits is asked with the product beside it.
        rows = _largest(backend, ROWS, _opened_copy, 1)
        with _opened_copy(backend, rows) as copy:
            _warm((product, copy))
            return _peaks(side, _steady(product), rows, _steady(copy))


def _opened_product(backend: Backend, side: int) -> AbstractContextManager[Executable]:
    return _opened(backend, _product(side), side)


def _opened_copy(backend: Backend, rows: int) -> AbstractContextManager[Executable]:
    # A copy moves its bytes whatever they are; to send a gigabyte of them takes the host long.
    return _opened(backend, _copy(), rows, fed=False)


def _largest(
    backend: Backend,
    sizes: Sequence[int],
    opened: Callable[[Backend, int], AbstractContextManager[Executable]],
    power: int,
) -> int:
    """The largest of the sizes that fits and takes no longer than ``LONGEST_RUN``.

    Args:
        backend: the device.
        sizes: growing.
        opened: a program of a size.
        power: a run takes as the size to this power.
    """
    found, taken = 0, 0.0
    for size in sizes:
        if found and taken * (size / found) ** power > LONGEST_RUN:
            break
        try:
            with opened(backend, size) as executable:
                # Drivers finish their compiling in the first run.
                _block(executable, 1)
                taken = _block(executable, 1)
        except BackendError:
            if not found:
                raise
            break
        found = size
    return found


def _runs_for(executable: Executable, seconds: float = _BLOCK_SECONDS) -> int:
    """Runs that take about so many seconds, by which beginning and end of a block do not count."""
    return max(2, math.ceil(seconds / max(_block(executable, 1), 1e-6)))


def _warm(executables: Sequence[Executable]) -> None:
    """Run them in turn until no block gets any faster, for a bounded time."""
    work = SteadyWork()
    best = [math.inf] * len(executables)
    still = 0
    while work.seconds < MOST_WARM:
        if work.seconds >= LEAST_WARM and still >= _STILL_BLOCKS:
            return
        whole = 0.0
        for number, executable in enumerate(executables):
            # Short blocks, since a clock that rises is looked at often.
            taken = _block(executable, _RUNS)
            still = 0 if taken < STEADY * best[number] else still + 1
            best[number] = min(best[number], taken)
            whole += taken
        work.add(time.perf_counter(), whole)


def _steady(executable: Executable) -> float:
    """Seconds a run takes, the clock being high."""
    runs = _runs_for(executable)
    return statistics.median(_block(executable, runs) for _ in range(MEASUREMENTS)) / runs
