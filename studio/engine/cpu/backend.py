"""The NumPy backend: runs programs on the processor, matrix products on all its cores."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from concurrent.futures import Future
from weakref import WeakSet

import numpy as np

from studio.engine.compiler.target import CPU, Target
from studio.engine.core.errors import BackendError
from studio.engine.core.tensor import Role
from studio.engine.cpu.machine.execution_config import ExecutionConfig
from studio.engine.cpu.machine.threads import shared_pool
from studio.engine.cpu.memory.blocks import MemoryCount
from studio.engine.cpu.run.executable import CpuExecutable
from studio.engine.cpu.run.placement import allocation_order
from studio.engine.cpu.run.session import CpuSession
from studio.engine.isa.program import Program
from studio.engine.profiler.thread_clock import ThreadClock
from studio.engine.runtime.backend import BackendSession, MemoryReport
from studio.engine.runtime.exchange import Exchange
from studio.engine.runtime.requirements import bound_rows, check_batch, refuse_oversized


class CpuBackend:
    """Compiles programs to calls of NumPy functions on preallocated arrays.

    Args:
        target: limits and alignments, those of the NumPy backend unless a test narrows them.
        config: threads and compiled loops that kernels may use, all there are by default. Sums over
            the batch are added in an order that depends on the number of threads.
    """

    def __init__(self, target: Target = CPU, config: ExecutionConfig | None = None) -> None:
        self._target = target
        self._config = config or ExecutionConfig.of_machine()
        self._count = MemoryCount()
        # Weakly: a device stays open from one training to the next, and their programs do not.
        self._sessions: WeakSet[CpuSession] = WeakSet()
        self._executables: WeakSet[CpuExecutable] = WeakSet()
        self._closed = False

    @property
    def name(self) -> str:
        """``cpu``."""
        return "cpu"

    @property
    def device(self) -> str:
        """Processor, cores and the NumPy version."""
        cores = os.cpu_count() or 1
        kind = platform.processor() or platform.machine() or "processor"
        return f"{kind}, {cores} core{'s' if cores > 1 else ''}, NumPy {np.__version__}"

    @property
    def fingerprint(self) -> str:
        """Text that changes with the machine or NumPy."""
        return f"{platform.node()}|{platform.machine()}|{self.device}"

    @property
    def choices(self) -> str:
        """Empty: kernels are chosen by the shipped tables alone."""
        return ""

    @property
    def exchange(self) -> Exchange | None:
        """Brings this worker and others together, None where it trains alone."""
        return self._config.exchange

    @property
    def target(self) -> Target:
        """What passes may know about this device."""
        return self._target

    def open_session(self) -> CpuSession:
        """A session with nothing in it."""
        self._require_open()
        session = CpuSession(self._count, self._target)
        self._sessions.add(session)
        return session

    def compile(
        self,
        program: Program,
        session: BackendSession,
        batch: int,
        progress: Callable[[int, int], None] | None = None,
    ) -> CpuExecutable:
        """Bind a program to arrays for a batch length; see ``Backend.compile``."""
        self._require_open()
        if not isinstance(session, CpuSession):
            raise BackendError("the session belongs to another backend", who=program.name)
        check_batch(program, batch)
        rows = bound_rows(program, session.shape)
        refuse_oversized(program, batch, rows, self._target)
        session.ensure(allocation_order(program), rows)
        for tensor in program.of_role(Role.CONST):
            if tensor.value is not None:
                layout = tensor.descriptor(batch, rows)
                if len(tensor.value) != layout.numel:
                    raise BackendError(
                        f"a constant of {layout.numel} elements has {len(tensor.value)} values",
                        who=tensor.name,
                    )
                values = np.asarray(tensor.value, np.float32).astype(tensor.dtype.np)
                session.write(tensor.name, values.reshape(layout.shape))
        made = CpuExecutable(
            program, session, batch, self._target, self._count, self.device,
            self._config.fit(program), progress,
        )  # fmt: skip
        self._executables.add(made)
        return made

    def submit(self, work: Callable[[], object]) -> Future[object]:
        """Do a piece of work now; see ``Backend.submit``."""
        done: Future[object] = Future()
        try:
            done.set_result(work())
        except Exception as error:
            done.set_exception(error)
        return done

    def memory(self) -> MemoryReport:
        """What is held now."""
        return self._count.report()

    def clocks(self) -> tuple[ThreadClock, ...]:
        """Those of the threads that help the one that asks for steps."""
        return shared_pool().clocks

    def close(self) -> None:
        """Close what is open; sessions and executables are void after this."""
        for executable in tuple(self._executables):
            executable.close()
        for session in tuple(self._sessions):
            session.close()
        self._executables.clear()
        self._sessions.clear()
        self._closed = True

    def _require_open(self) -> None:
        if self._closed:
            raise BackendError("the backend is closed", who="cpu")
