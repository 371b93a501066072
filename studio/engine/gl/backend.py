"""The OpenGL backend: opens a device, makes sessions and executables on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from typing import TYPE_CHECKING
from weakref import WeakSet

from studio.engine.compiler.target import GL, GL_SOFTWARE
from studio.engine.gl.choices.measured_choices import load_choices
from studio.engine.gl.device.binary_cache import BinaryCache, default_folder
from studio.engine.gl.device.buffer_pool import BufferPool
from studio.engine.gl.device.engine_thread import EngineThread
from studio.engine.gl.device.program_cache import ProgramCache
from studio.engine.gl.record.device_work import DeviceWork
from studio.engine.gl.run.executable import GlExecutable
from studio.engine.gl.run.session import GlSession
from studio.engine.profiler.thread_clock import ThreadClock
from studio.engine.runtime.backend import MemoryReport
from studio.engine.runtime.requirements import (
    bound_rows,
    check_batch,
    persistent_tensors,
    refuse_oversized,
)

if TYPE_CHECKING:
    from studio.engine.compiler.target import Target
    from studio.engine.gl.device.context import ContextProvider
    from studio.engine.gl.device.device import DeviceInfo
    from studio.engine.gl.kernels.specs import Choices
    from studio.engine.isa.program import Program
    from studio.engine.runtime.exchange import Exchange


class GlBackend:
    """Runs programs on any device with OpenGL 4.3; see ``runtime.backend.Backend``.

    Args:
        provider: who opens the context; a standalone one by default.
        target: what kind of device programs and kernels are planned for; the renderer's own kind by
            default. Another one runs, too: results are the same, the speed is not.
        in_order: run kernels one after another, as the program has them, which takes the least
            memory; else side by side where data flow allows it.
        exchange: brings this worker of a training and others together, None where it is alone.

    Attributes:
        work: what sessions and executables share of the device.

    Raises:
        BackendError: there is no usable OpenGL here; one sentence says why.
    """

    def __init__(
        self,
        provider: ContextProvider | None = None,
        target: Target | None = None,
        *,
        in_order: bool = False,
        exchange: Exchange | None = None,
    ) -> None:
        engine = EngineThread(provider).start()
        try:
            self.work = engine.call(_open, engine, target, in_order)
        except BaseException:
            engine.close()
            raise
        self.work.exchange = exchange
        self._sessions: WeakSet[GlSession] = WeakSet()
        self._executables: WeakSet[GlExecutable] = WeakSet()

    @property
    def name(self) -> str:
        """``gl``."""
        return "gl"

    @property
    def info(self) -> DeviceInfo:
        """Names, limits and extensions of the device."""
        return self.work.engine.info

    @property
    def device(self) -> str:
        """The renderer's name, marked where it is software."""
        info = self.info
        return f"{info.renderer} (software)" if info.is_software else info.renderer

    @property
    def fingerprint(self) -> str:
        """Text that changes with device or driver."""
        return self.info.fingerprint

    @property
    def choices(self) -> str:
        """Names the measured choices of kernels in use; empty where the shipped ones hold."""
        return self.chosen_by.name

    @property
    def chosen_by(self) -> Choices:
        """What is asked before the shipped tables."""
        return self.work.choices

    @property
    def exchange(self) -> Exchange | None:
        """Brings this worker and others together, None where it trains alone."""
        return self.work.exchange

    @property
    def target(self) -> Target:
        """What passes may know about OpenGL devices."""
        return self.work.target

    def open_session(self) -> GlSession:
        """A session with nothing in it."""
        session = GlSession(self.work)
        self._sessions.add(session)
        return session

    def compile(
        self,
        program: Program,
        session: GlSession,
        batch: int,
        progress: Callable[[int, int], None] | None = None,
    ) -> GlExecutable:
        """Specialise a program; persistent tensors are made in the session where missing.

        Raises:
            BackendError: a tensor is too large, an instruction has no kernel, memory is short.
            ShaderError: the driver refused a kernel; names kernel file and line.
        """
        check_batch(program, batch)
        rows = bound_rows(program, session.shape)
        refuse_oversized(program, batch, rows, self.target)
        tensors = persistent_tensors(program)
        fresh = [t for t in tensors if not session.has(t.name)]
        session.ensure(tensors, rows)
        session.write_constants(fresh)
        executable = self.work.engine.call(
            GlExecutable, self.work, program, session, batch, rows, progress
        )
        self._executables.add(executable)
        return executable

    def submit(self, work: Callable[[], object]) -> Future[object]:
        """Post a piece of work to the engine thread; see ``Backend.submit``."""
        return self.work.engine.submit(work)

    def prefer(self, variants: Mapping[str, str]) -> None:
        """Kernel variants to take, by mnemonic, in what is compiled from now on.

        Elsewhere, and where the named one does not apply, the shipped table chooses.
        """
        self.work.wanted_variants = dict(variants)

    def choose_by(self, choices: Choices) -> None:
        """What to ask before the shipped tables in what is compiled from now on.

        A backend begins with what ``tune`` kept for its device, where it did.
        """
        self.work.choices = choices

    def memory(self) -> MemoryReport:
        """What is held now."""
        counters = self.work.pool.counters()
        return MemoryReport(
            persistent_bytes=sum(s.nbytes for s in list(self._sessions)),
            transient_bytes=sum(e.nbytes for e in list(self._executables)),
            pooled_bytes=counters.bytes_allocated - counters.bytes_in_use,
            buffers=counters.allocated,
            peak_bytes=counters.bytes_high_water,
            hits=counters.hits,
            misses=counters.misses,
        )

    def clocks(self) -> tuple[ThreadClock, ...]:
        """The processor clock of the thread that makes the calls."""
        clock = self.work.engine.call(ThreadClock.of_this_thread)
        return () if clock is None else (clock,)

    def close(self) -> None:
        """Release the device; sessions and executables are void after this."""
        self.work.engine.close()


def _open(engine: EngineThread, target: Target | None, in_order: bool) -> DeviceWork:
    """The shared parts of an opened device, made on its thread."""
    gl, info = engine.gl, engine.info
    kind = target or (GL_SOFTWARE if info.is_software else GL)
    pool = BufferPool(gl, budget_bytes=info.budget_bytes, max_buffer_bytes=info.max_buffer_bytes)
    folder = default_folder()
    disk = None
    if folder is not None and not info.keeps_programs:
        disk = BinaryCache(folder, info.fingerprint)
    programs = ProgramCache(gl, disk=disk)
    engine.on_close(pool.close)
    engine.on_close(programs.close)
    return DeviceWork(
        engine,
        gl,
        pool,
        programs,
        target=replace(kind, in_order=True) if in_order else kind,
        choices=load_choices(info.fingerprint),
    )
