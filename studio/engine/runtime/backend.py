"""What every backend offers: sessions that keep tensors, executables that run programs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from studio.engine.compiler.target import Target
from studio.engine.core.tensor import Ref, Tensor
from studio.engine.isa.program import Program
from studio.engine.profiler.events import Profile
from studio.engine.profiler.thread_clock import ThreadClock
from studio.engine.runtime.exchange import Exchange
from studio.engine.runtime.kernel_calls import StepCalls
from studio.engine.runtime.live import After, StepClock, Tap

Array = npt.NDArray[np.generic]


@dataclass(frozen=True)
class MemoryReport:
    """Bytes and buffers a backend holds.

    Attributes:
        persistent_bytes: parameters, slots, statistics, resident data, step blocks.
        transient_bytes: arenas of executables.
        pooled_bytes: free buffers kept for reuse.
        buffers: buffers alive.
        peak_bytes: most bytes ever held at once.
        hits: allocations served from the pool.
        misses: allocations that made a new buffer.
    """

    persistent_bytes: int = 0
    transient_bytes: int = 0
    pooled_bytes: int = 0
    buffers: int = 0
    peak_bytes: int = 0
    hits: int = 0
    misses: int = 0


class BackendSession(Protocol):
    """Persistent tensors by name, shared by all executables bound to it.

    Calls are ordered: a write or read takes its place behind the work queued before it.
    """

    def ensure(self, tensors: Iterable[Tensor], rows: int = 0) -> None:
        """Allocate persistent tensors that are not there yet, zero-filled.

        ``rows`` binds the ``ROWS`` symbol of the tensors given. A tensor that is there with another
        shape or dtype raises BackendError, except data and order tensors, which are replaced.
        """
        ...

    def drop(self, names: Iterable[str]) -> None:
        """Give tensors back; names that are not held are skipped.

        Executables that use one are void.
        """
        ...

    def has(self, name: str) -> bool:
        """Whether a tensor of that name is held."""
        ...

    def names(self) -> tuple[str, ...]:
        """Names of all tensors held, in order of allocation."""
        ...

    def write(self, name: str, values: Array, row: int = 0) -> None:
        """Copy ``values`` in, from row ``row`` on; dtype and row shape must fit."""
        ...

    def write_all(self, values: Iterable[tuple[str, Array]]) -> None:
        """Copy whole tensors in as they are made; a later one may be asked for meanwhile.

        What was given is not to change before this returns.
        """
        ...

    def read(self, name: str) -> Future[Array]:
        """The contents, dense and row-major, when the device has got there."""
        ...

    def tap(
        self,
        name: str,
        *,
        grad: bool = False,
        after: After = None,
        ready: Callable[[], object] | None = None,
    ) -> Tap:
        """A tap that executables of this session can be given; see ``runtime.live.Tap``."""
        ...

    def close(self) -> None:
        """Give everything back."""
        ...


class Executable(Protocol):
    """A program specialised to a batch length, with its own transient arena."""

    @property
    def program(self) -> Program:
        """The program this runs."""
        ...

    @property
    def batch(self) -> int:
        """Rows the ``BATCH`` symbol is bound to."""
        ...

    @property
    def calls(self) -> StepCalls:
        """What runs the lines of the program, with the order and the texts of kernels."""
        ...

    def feed(self, tensor: int, values: Array) -> None:
        """Copy values into an input tensor."""
        ...

    def feed_from(self, tensor: int, source: Executable, ref: Ref) -> None:
        """Copy what another program computed into an input tensor, without leaving the device.

        Args:
            tensor: the input, of the same type.
            source: an executable of the same backend, which may be this one.
            ref: its tensor; what was queued before is waited for by the device, not by the caller.
        """
        ...

    def feed_held(self, tensor: int, name: str) -> None:
        """Copy a tensor of the session into an input tensor of the same type."""
        ...

    def store(self, ref: Ref, name: str) -> None:
        """Copy what was computed into a tensor of the session of the same type."""
        ...

    def run(self, steps: int = 1, stop: Callable[[], bool] | None = None) -> int:
        """Queue whole runs of the program; returns how many were queued.

        ``stop`` is asked between dispatches of the host list and, when true, ends before the next
        run (never inside one). At most a few runs are in flight.
        """
        ...

    def fetch(self, ref: Ref) -> Future[Array]:
        """The contents of a tensor (or its gradient) after what was queued; dense, row-major.

        BackendError for a ``register`` tensor, which has no storage, and for one whose storage the
        memory plan has given to another tensor by the end of a run (outputs never are).
        """
        ...

    def finish(self) -> None:
        """Wait until everything queued has run."""
        ...

    def attach(self, tap: Tap, clock: StepClock) -> None:
        """Look at a tensor while this runs, from the next run on; from any thread, at once.

        ``clock`` says which step a run is: the caller sets it, finished runs advance it.
        Nothing is compiled. Raises NotStoredError for a ``register`` tensor and NotThereError where
        the tap's place does not hold it.
        """
        ...

    def detach(self, tap: Tap) -> None:
        """Look at it no longer; one that is not attached changes nothing."""
        ...

    def profile(self, steps: int = 1, *, while_busy: bool = False) -> Profile:
        """Run instrumented steps and say what each kernel took.

        Args:
            steps: how many.
            while_busy: they stand between other steps, which keep the device at its speed;
                otherwise a device that has waited is brought to it first.
        """
        ...

    def check(self, keep: Collection[Ref] = ()) -> Mapping[Ref, Array]:
        """Run one step instruction by instruction, unfused, from its start.

        Args:
            keep: storages wanted as they are behind the last instruction that writes them.

        Raises:
            NumericError: at the first NaN or infinity; names instruction, layer and operands, and
                holds copies of what was written and read.
        """
        ...

    def close(self) -> None:
        """Give the arena back."""
        ...


class Backend(Protocol):
    """A device that runs programs."""

    @property
    def name(self) -> str:
        """``cpu`` or ``gl``."""
        ...

    @property
    def device(self) -> str:
        """The device as a person would name it, software renderers marked as such."""
        ...

    @property
    def fingerprint(self) -> str:
        """Text that changes with device, driver or library; keys what was measured there."""
        ...

    @property
    def choices(self) -> str:
        """Names the measured choices of kernels in use; empty where the shipped ones hold."""
        ...

    @property
    def exchange(self) -> Exchange | None:
        """Brings this worker and others together, None where it trains alone."""
        ...

    @property
    def target(self) -> Target:
        """What passes may know about this kind of device."""
        ...

    def open_session(self) -> BackendSession:
        """A session with nothing in it."""
        ...

    def compile(
        self,
        program: Program,
        session: BackendSession,
        batch: int,
        progress: Callable[[int, int], None] | None = None,
    ) -> Executable:
        """Specialise a program; persistent tensors are made in the session where missing.

        ``progress`` hears (kernels compiled, kernels in all).
        """
        ...

    def submit(self, work: Callable[[], object]) -> Future[object]:
        """Have a piece of work with sessions and executables done behind all that is queued.

        Returns at once where the device has a thread of its own; several calls that are one piece
        of work take its thread one wake-up.
        """
        ...

    def memory(self) -> MemoryReport:
        """What is held now."""
        ...

    def clocks(self) -> tuple[ThreadClock, ...]:
        """Processor clocks of its own threads, where the system has such clocks."""
        ...

    def close(self) -> None:
        """Release the device; sessions and executables are void after this."""
        ...
