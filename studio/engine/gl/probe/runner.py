"""Runs the probe shaders on arrays, and the record their findings are kept in."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from studio.engine.gl.device import constants as const
from studio.engine.gl.device.readback import read_now
from studio.engine.gl.glsl.files import load
from studio.engine.gl.record.bindings import BoundSlices

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from studio.engine.gl.device.buffer_pool import BufferPool
    from studio.engine.gl.device.buffers import PoolBuffer
    from studio.engine.gl.device.device import DeviceInfo
    from studio.engine.gl.device.entry_points import EntryPoints
    from studio.engine.gl.device.program_cache import ComputeProgram, ProgramCache

Verdict = Literal["ok", "known", "bad"]
# A measurement takes about this long; longer ones would make `doctor` tiresome.
_MEASURE_SECONDS = 0.03


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing the self-test found.

    Attributes:
        group: ``numbers``, ``functions``, ``integers``, ``driver`` or ``speed``.
        name: what was asked.
        value: the answer; NaN and infinities as text, so that the record is valid JSON.
        unit: of the value, empty for a pure number.
        verdict: ``ok``; ``known``, a freedom of drivers that the kernels allow for; ``bad``, the
            kernels rely on the opposite.
        note: what it means, empty where the name says it all.
    """

    group: str
    name: str
    value: float | str
    unit: str = ""
    verdict: Verdict = "ok"
    note: str = ""


@dataclass(frozen=True, slots=True)
class ProbeText:
    """The source of one probe, in the form the program cache takes."""

    name: str
    text: str
    local: tuple[int, int, int]
    files: tuple[str, ...]


def probe_text(name: str, local: tuple[int, int, int] = (1, 1, 1)) -> ProbeText:
    """The probe kept as ``probes/<name>.glsl``."""
    body = load("probes", f"{name}.glsl")
    return ProbeText(
        name, f"#version 430\n#line 1001\n{body}", local, ("generated", f"{name}.glsl")
    )


class ProbeRunner:
    """Uploads, dispatches, reads and measures; every method runs on the engine thread.

    Args:
        gl: entry points of the context.
        info: the device.
        pool: lends the buffers.
        programs: compiles the probes.
    """

    def __init__(
        self, gl: EntryPoints, info: DeviceInfo, pool: BufferPool, programs: ProgramCache
    ) -> None:
        self.gl = gl
        self.info = info
        self.pool = pool
        self._programs = programs

    def compile(self, name: str) -> ComputeProgram:
        """The probe as a program.

        Raises:
            ShaderError: the driver refused it.
        """
        return self._programs.get(probe_text(name), f"self-test {name}")

    def upload(self, data: npt.NDArray[np.generic]) -> PoolBuffer:
        """A buffer that holds the array."""
        buffer = self.pool.acquire(data.nbytes, "the self-test")
        self.pool.upload(buffer.slice(), data)
        return buffer

    def evaluate(
        self, name: str, data: npt.NDArray[np.generic], count: int, groups: int = 1
    ) -> npt.NDArray[np.uint32]:
        """Run a probe that reads one buffer and writes another.

        Args:
            name: the probe.
            data: what it reads.
            count: 32-bit words it writes.
            groups: work groups along x.

        Returns:
            The words written, as bits.
        """
        program = self.compile(name)
        source = self.upload(data)
        target = self.pool.acquire(count * 4, "the self-test", zero=True)
        self.bind(program, (source, target))
        self.gl.dispatch_compute(groups, 1, 1)
        self.gl.memory_barrier(const.ALL_BARRIER_BITS)
        self.gl.check(f"running the self-test {name}")
        words = read_now(self.pool, target.slice()).view(np.uint32)
        self.pool.release(source)
        self.pool.release(target)
        return words

    def bind(self, program: ComputeProgram, buffers: Sequence[PoolBuffer]) -> None:
        """Make program and buffers current for the next dispatches."""
        self.gl.use_program(program.handle)
        BoundSlices(self.gl, [buffer.slice() for buffer in buffers]).bind()

    def seconds_per_dispatch(self, groups: tuple[int, int, int]) -> float:
        """Seconds one dispatch of what is bound takes within a queue of them, best of three."""
        self._queue(groups, 1)
        count, elapsed = 1, self._queue(groups, 1)
        while elapsed < _MEASURE_SECONDS and count < 4096:
            count *= 2
            elapsed = self._queue(groups, count)
        return min(elapsed, self._queue(groups, count), self._queue(groups, count)) / count

    def _queue(self, groups: tuple[int, int, int], count: int) -> float:
        gl = self.gl
        gl.finish()
        begun = time.perf_counter()
        for _ in range(count):
            gl.dispatch_compute(*groups)
            gl.memory_barrier(const.SHADER_STORAGE_BARRIER_BIT)
        gl.finish()
        return time.perf_counter() - begun


def json_number(value: float) -> float | str:
    """The value, or its name where JSON has no number for it."""
    return value if np.isfinite(value) else str(value)
