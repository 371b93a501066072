"""What sessions and executables share of one device: thread, pool, programs, capabilities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from studio.engine.compiler.target import GL, Target
from studio.engine.gl.kernels.reference_devices import caps_of
from studio.engine.gl.kernels.specs import SHIPPED, Choices
from studio.engine.gl.record.spinner import Spinner

if TYPE_CHECKING:
    from studio.engine.gl.device.buffer_pool import BufferPool
    from studio.engine.gl.device.engine_thread import EngineThread
    from studio.engine.gl.device.entry_points import EntryPoints
    from studio.engine.gl.device.program_cache import ProgramCache
    from studio.engine.gl.kernels.specs import DeviceCaps
    from studio.engine.gl.shader.source import KernelSource
    from studio.engine.runtime.exchange import Exchange


@dataclass
class DeviceWork:
    """One opened device.

    Attributes:
        engine: the thread that makes all calls.
        gl: its entry points.
        pool: lends buffers.
        programs: compiles kernels, each text once.
        target: what passes and memory plans may know of it.
        wanted_variants: variant by mnemonic where a measurement chose one.
        choices: what was measured on this device, asked before the shipped tables.
        exchange: brings this worker of a training and others together, None where it is alone.
    """

    engine: EngineThread
    gl: EntryPoints
    pool: BufferPool
    programs: ProgramCache
    target: Target = GL
    wanted_variants: Mapping[str, str] = field(default_factory=dict)
    choices: Choices = SHIPPED
    exchange: Exchange | None = None

    @property
    def caps(self) -> DeviceCaps:
        """Capabilities that the choice of kernels may depend on."""
        info = self.engine.info
        blocks, shared = info.max_storage_blocks, info.shared_memory_bytes
        return caps_of(self.target, blocks, shared, self.choices)

    @cached_property
    def spinner(self) -> Spinner:
        """Keeps the device busy and its clock high while something is timed; on its thread.

        There is one per device, because it remembers the fastest clock it saw. The first access
        makes it and waits for the clock to rise.
        """
        return Spinner(self)

    def compiled(self, source: KernelSource) -> int:
        """The driver's program of a source."""
        return self.programs.get(source).handle

    def request(self, source: KernelSource) -> None:
        """Start compiling a source if the driver does so on threads of its own."""
        if self.programs.compiles_aside and not self.engine.stopping.is_set():
            self.programs.request(source, source.name)

    def compile_all(
        self, sources: Sequence[KernelSource], progress: Callable[[int, int], None] | None
    ) -> None:
        """Compile the sources that are not cached, and report progress."""
        report = None if progress is None else (lambda done, total, _: progress(done, total))
        self.programs.precompile(
            [(source, source.name) for source in sources], report, self.engine.stopping
        )
