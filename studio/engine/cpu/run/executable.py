"""A program bound to NumPy arrays for one batch length."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from studio.engine.compiler.plan_memory import MemoryPlan, plan_memory
from studio.engine.compiler.target import Target
from studio.engine.core.errors import BackendError
from studio.engine.core.tensor import Ref
from studio.engine.cpu.machine.execution_config import NUMPY_ONLY, ExecutionConfig
from studio.engine.cpu.machine.threads import SingleBlasThread
from studio.engine.cpu.memory.blocks import MemoryCount
from studio.engine.cpu.memory.scratch import Scratch
from studio.engine.cpu.memory.views import Anything, Run, Views
from studio.engine.cpu.plan.assemble import Exchanges, assemble, kernel_name
from studio.engine.cpu.run.live import CpuTap
from studio.engine.cpu.run.placement import Placement, place
from studio.engine.cpu.run.session import CpuSession
from studio.engine.isa.program import Program
from studio.engine.profiler.events import Profile
from studio.engine.runtime.backend import Executable
from studio.engine.runtime.entries import Entry, entries, unfused
from studio.engine.runtime.executor import Executor, Position
from studio.engine.runtime.kernel_calls import KernelCall, StepCalls
from studio.engine.runtime.live import Moment, Snapshot, StepClock, Tap
from studio.engine.runtime.live_board import Attached, TapBoard, both
from studio.engine.runtime.live_places import capture_point, find_ref
from studio.engine.runtime.numeric_check import BadNumbers, bad_numbers, run_checked, written
from studio.engine.runtime.recorder import EntryCost, Recorder, entry_costs
from studio.engine.runtime.requirements import bound_rows, require_kept
from studio.engine.runtime.transfers import (
    Array,
    checked_values,
    failed,
    fed_tensor,
    ready,
)


class CpuExecutable:
    """Runs a program on the calling thread; results are there when ``run`` returns.

    Args:
        program: what runs.
        session: its persistent tensors, there already.
        batch: what the ``BATCH`` symbol stands for.
        target: the plan's alignments and limits.
        count: where bytes are counted.
        device: name of the device in profiles.
        config: what kernels may use besides NumPy.
        progress: hears (entries bound, entries in all).
    """

    def __init__(
        self,
        program: Program,
        session: CpuSession,
        batch: int,
        target: Target,
        count: MemoryCount,
        device: str,
        config: ExecutionConfig,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self._program = program
        self._session = session
        self._batch = batch
        self._target = target
        self._count = count
        self._device = device
        self._config = config
        self._entries = entries(program)
        self._lock = threading.RLock()
        self._closed = False
        self._board = TapBoard(self._capture)
        self._hooking = threading.Lock()
        self._bind(progress)

    def _bind(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Allocate the arena and bind every entry."""
        self._generation = self._session.generation
        self._rows = bound_rows(self._program, self._session.shape)
        self._plan: MemoryPlan = plan_memory(self._program, self._batch, self._rows, self._target)
        self._placement: Placement = place(self._plan, self._session, self._batch, self._rows)
        self._scratches = [Scratch() for _ in range(self._config.threads)]
        self._views = Views(
            self._program, self._batch, self._rows, self._placement.buffers, self._scratches[0],
            self._config,
        )  # fmt: skip
        self._found: dict[Ref, Anything] = {}
        self._exchanges = Exchanges(self._program, self._views)
        runs = self._assembled(progress)
        self._executor = Executor(runs)
        self._board.drop_pending()
        self._hook()
        self._costs: tuple[EntryCost, ...] | None = None
        self._held = self._placement.nbytes + self._views.own_bytes
        self._held += sum(scratch.nbytes for scratch in self._scratches)
        self._count.transient(self._held, 1)

    @contextmanager
    def _working(self) -> Iterator[None]:
        with self._lock, np.errstate(all="ignore"), SingleBlasThread():
            self._require_open()
            yield

    def _assembled(self, progress: Callable[[int, int], None] | None = None) -> list[Run]:
        runs = []
        noted: dict[int, tuple[KernelCall, ...]] = {}
        for number, entry in enumerate(self._entries):
            self._views.calls.clear()
            runs.append(self._exchanges.assembled(entry, self._scratches))
            noted[entry.index] = tuple(self._views.calls)
            if progress is not None:
                progress(number + 1, len(self._entries))
        self._exchanges.end(runs)
        self._calls = StepCalls(noted)
        return runs

    @property
    def program(self) -> Program:
        """The program this runs."""
        return self._program

    @property
    def batch(self) -> int:
        """Rows the ``BATCH`` symbol is bound to."""
        return self._batch

    @property
    def plan(self) -> MemoryPlan:
        """Where transient storages lie."""
        return self._plan

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What one run calls, in order; the index of a pause point counts these."""
        return self._entries

    @property
    def calls(self) -> StepCalls:
        """What the lines of the program call."""
        return self._calls

    @property
    def position(self) -> Position:
        """The pause point."""
        return self._executor.position

    def feed(self, tensor: int, values: Array) -> None:
        """Copy values into an input tensor."""
        with self._lock:
            self._require_open()
            fed_tensor(self._program, tensor)
            declared = self._program.tensors[tensor]
            array = self._views.any(Ref(tensor))
            np.copyto(array, checked_values(declared.name, values, array.shape, declared.dtype))

    def feed_from(self, tensor: int, source: Executable, ref: Ref) -> None:
        """Copy what another program computed into an input tensor."""
        if not isinstance(source, CpuExecutable):
            raise BackendError("the source belongs to another backend", who=self._program.name)
        with self._lock, source._lock:
            self._require_open()
            source._require_open()
            np.copyto(self._views.any(Ref(tensor)), source._kept(ref), casting="no")

    def feed_held(self, tensor: int, name: str) -> None:
        """Copy a tensor of the session into an input tensor of the same type."""
        with self._lock:
            self._require_open()
            np.copyto(self._views.any(Ref(tensor)), self._session.held(name).array, casting="no")

    def store(self, ref: Ref, name: str) -> None:
        """Copy what was computed into a tensor of the session of the same type."""
        with self._lock:
            self._require_open()
            np.copyto(self._session.held(name).array, self._kept(ref), casting="no")

    def run(self, steps: int = 1, stop: Callable[[], bool] | None = None) -> int:
        """Run whole steps; returns how many."""
        with self._working():
            return self._executor.run(steps, stop)

    def run_to(self, index: int) -> Position:
        """Run single entries of the present step until ``index`` comes next."""
        with self._working():
            return self._executor.run_to(index)

    def fetch(self, ref: Ref) -> Future[Array]:
        """The contents of a tensor or its gradient, dense and row-major."""
        with self._lock:
            try:
                self._require_open()
                return ready(np.array(self._kept(ref), order="C"))
            except BackendError as error:
                return failed(error)

    def _kept(self, ref: Ref) -> Anything:
        """What a run left in a tensor; finding the array takes longer than copying a small one."""
        found = self._found.get(ref)
        if found is None:
            require_kept(self._plan, ref, self._placement.pinned)
            found = self._found[ref] = self._views.any(ref)
        return found

    def finish(self) -> None:
        """Nothing is left to wait for: work is done when ``run`` returns."""
        self._executor.finish()

    def attach(self, tap: Tap, clock: StepClock) -> None:
        """Look at a tensor from the next run on; see ``Executable.attach``."""
        ref = find_ref(self._program, tap.name, tap.grad)
        after = tap.index_in(self._program)
        pinned = self._placement.pinned
        point = capture_point(self._plan, self._entries, ref, after, pinned)
        self._board.clock = clock
        self._board.attach(Attached(tap, ref, point))
        self._hook()

    def detach(self, tap: Tap) -> None:
        """Look at it no longer."""
        self._board.detach(tap)
        self._hook()

    def _hook(self) -> None:
        """Put the taps into the host list; a running step goes on without the change."""
        with self._hooking:
            hooks = self._board.hooks()
            if hooks:
                last = len(self._entries) - 1
                hooks[last] = both(hooks.get(last), self._board.end_run)
            self._executor.hook(hooks)

    @contextmanager
    def _unwatched(self) -> Iterator[None]:
        """Without taps, whose copies would count as time of kernels."""
        with self._hooking:
            self._executor.hook({})
        try:
            yield
        finally:
            self._hook()

    def _capture(self, tap: Tap, ref: Ref, moment: Moment) -> Snapshot | None:
        if not isinstance(tap, CpuTap):
            raise BackendError("the tap belongs to another backend", who=tap.name)
        return tap.copy(self._views.any(ref), moment)

    def profile(self, steps: int = 1, *, while_busy: bool = False) -> Profile:
        """Run steps with the wall clock read round every entry; taps look at none of them.

        What workers exchange is waited for where it begins, so that each line has its own time.
        """
        with self._working(), self._unwatched():
            if self._costs is None:
                self._costs = entry_costs(self._program, self._entries, self._batch, self._rows)
            names = [kernel_name(entry) for entry in self._entries]
            waits = [self._exchanges.waits.get(entry.index) for entry in self._entries]
            recorder = Recorder(self._entries, names, self._costs)
            if self._executor.position.index:
                self._executor.run(1)
            begin = time.perf_counter()
            for step in range(steps):
                for number, wait in enumerate(waits):
                    before = time.perf_counter()
                    self._executor.run_to(number + 1)
                    if wait is not None:
                        wait()
                    after = time.perf_counter()
                    recorder.add(step, number, (before - begin) * 1e6, (after - before) * 1e6)
            wall = (time.perf_counter() - begin) * 1e6
            return recorder.profile(self._device, "wall clock", steps, wall)

    def check(self, keep: Collection[Ref] = ()) -> dict[Ref, Array]:
        """Run one step line by line, unfused; see ``Executable.check``."""
        kept: dict[Ref, Array] = {}
        with self._working():
            apart = self._unfused_views()

            def look(refs: Iterable[Ref]) -> dict[Ref, BadNumbers]:
                found = {ref: bad_numbers(apart.any(ref)) for ref in refs}
                return {ref: bad for ref, bad in found.items() if bad is not None}

            def read(ref: Ref, most: float) -> Array | None:
                values = apart.any(ref)
                return np.array(values, order="C") if values.nbytes <= most else None

            for entry in unfused(self._program):
                run_checked(self._program, entry, assemble(entry, apart), look, read)
                for ref in written(self._program, entry, keep):
                    kept[ref] = np.array(apart.any(ref), order="C")
        return kept

    def _unfused_views(self) -> Views:
        """Views where every register has memory of its own."""
        views = Views(
            self._program, self._batch, self._rows, self._placement.buffers, self._scratches[0],
            replace(NUMPY_ONLY, exchange=self._config.exchange),
        )  # fmt: skip
        for tensor in self._program.tensors.values():
            if tensor.register and tensor.view_of is None:
                views.back_for_good(Ref(tensor.id))
        return views

    def close(self) -> None:
        """Give the arena back."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._board.drop_pending()
            self._count.transient(-self._held, -1)
            del self._views, self._executor, self._placement, self._scratches, self._found

    def _require_open(self) -> None:
        """Raise BackendError if closed; bind again if the session replaced its data."""
        if self._closed:
            raise BackendError("the executable is closed", who=self._program.name)
        if self._session.generation != self._generation:
            self._count.transient(-self._held, -1)
            self._bind()
