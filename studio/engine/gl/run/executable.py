"""A program specialised to a batch length on the device: feed, run, fetch, profile, check."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, ParamSpec, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import BackendError
from studio.engine.core.tensor import Ref
from studio.engine.gl.device.fences import StepThrottle
from studio.engine.gl.device.readback import read_later
from studio.engine.gl.device.transfer import from_device, padded_to_device, to_device
from studio.engine.gl.live.live import GlTap
from studio.engine.gl.plan.planned_step import recorded_calls
from studio.engine.gl.plan.planner import Planner
from studio.engine.gl.plan.scratch import spare_room
from studio.engine.gl.record.recorder import Dispatch, Recording
from studio.engine.gl.record.step_issue import StepIssue
from studio.engine.gl.run.check_mode import check_step
from studio.engine.gl.run.exchanges import Action, Exchanges
from studio.engine.gl.run.profile_run import profile_steps
from studio.engine.gl.run.storages import Storages
from studio.engine.runtime.entries import Entry, entries
from studio.engine.runtime.kernel_calls import StepCalls
from studio.engine.runtime.live import Moment, Snapshot, StepClock, Tap
from studio.engine.runtime.live_board import Attached, TapBoard
from studio.engine.runtime.live_places import capture_point, find_ref
from studio.engine.runtime.recorder import EntryCost, entry_costs
from studio.engine.runtime.transfers import checked_values, failed, fed_tensor

if TYPE_CHECKING:
    from studio.engine.gl.device.buffers import Slice
    from studio.engine.gl.kernels.specs import DeviceCaps
    from studio.engine.gl.record.device_work import DeviceWork
    from studio.engine.gl.run.session import GlSession
    from studio.engine.gl.shader.planned import PlannedDispatch
    from studio.engine.isa.program import Program
    from studio.engine.profiler.events import Profile
    from studio.engine.runtime.backend import Executable

P = ParamSpec("P")
T = TypeVar("T")
Array = npt.NDArray[np.generic]
Progress = Callable[[int, int], None]
Parts: TypeAlias = "list[tuple[StepIssue, Action | None]]"

IN_FLIGHT = 2
"""Runs queued at most before the host waits for the oldest, unless they are short."""


class GlExecutable:
    """See ``runtime.backend.Executable``. Built on the engine thread; called from any other.

    Args:
        work: the device and what compiles for it.
        program: what to run.
        session: keeps the persistent tensors; they are there already.
        batch: rows of the batch symbol.
        rows: rows of the resident data set.
        progress: hears (kernels compiled, kernels in all).

    Attributes:
        work: the device and what compiles for it.
        planned: what the program runs as one, with the dispatches of each, in order.
    """

    def __init__(
        self,
        work: DeviceWork,
        program: Program,
        session: GlSession,
        batch: int,
        rows: int,
        progress: Progress | None = None,
    ) -> None:
        self.work = work
        self._program = program
        self._session = session
        self._batch = batch
        self._rows = rows
        self._storages = Storages(program, session, work.pool, work.target, batch, rows)
        self._throttle = StepThrottle(work.gl, IN_FLIGHT)
        self._recording: Recording | None = None
        self._is_fast = not work.engine.info.is_software
        self._step = StepIssue(work.gl, (), fast=False)
        self._costs: tuple[EntryCost, ...] | None = None
        self._generation = -1
        self._closed = False
        self._board = TapBoard(self._capture)
        self._parts: tuple[int, Parts] = (-1, [])
        self._exchanges: Exchanges | None = None
        self.planned: list[tuple[Entry, list[PlannedDispatch]]] = []
        try:
            self._record(progress)
        except BaseException:
            self._release()
            raise

    @property
    def program(self) -> Program:
        """The program this runs."""
        return self._program

    @property
    def batch(self) -> int:
        """Rows the batch symbol is bound to."""
        return self._batch

    @property
    def nbytes(self) -> int:
        """Bytes held: arena, tables, scratch; 0 once closed."""
        if self._closed:
            return 0
        own = self._recording.nbytes if self._recording is not None else 0
        return self._storages.nbytes + own

    @property
    def issued(self) -> tuple[Dispatch, ...]:
        """What one run sends to the driver, in that order."""
        return tuple(self._recording.ordered) if self._recording is not None else ()

    @property
    def caps(self) -> DeviceCaps:
        """Capabilities of the device that the choice of kernels depends on."""
        return self.work.caps

    @property
    def calls(self) -> StepCalls:
        """The dispatches of a step as plain data."""
        order = None if self._recording is None else self._recording.order
        return StepCalls({}) if order is None else recorded_calls(self.planned, order)

    def feed(self, tensor: int, values: Array) -> None:
        """Copy values into an input tensor.

        Raises:
            BackendError: it is no input, or the values do not fit.
        """
        fed_tensor(self._program, tensor)
        ref = Ref(tensor)
        descriptor = self._storages.descriptor(ref)
        name = self._program.tensors[tensor].name
        array = checked_values(name, values, descriptor.shape, descriptor.dtype)
        padded = descriptor.padded
        data = padded_to_device(array, descriptor) if padded else to_device(array, descriptor.dtype)
        self._call(lambda: self.work.pool.upload(self._storages.where(ref), data.reshape(-1)))

    def feed_from(self, tensor: int, source: Executable, ref: Ref) -> None:
        """Copy what another program computed into an input tensor, on the device.

        Raises:
            BackendError: another backend computed it.
        """
        if not isinstance(source, GlExecutable) or source.work is not self.work:
            raise BackendError("the source belongs to another backend", who=self._program.name)
        source._storages.require_kept(ref)
        self._call(self._copy_in, tensor, lambda: source._storages.where(ref))

    def feed_held(self, tensor: int, name: str) -> None:
        """Copy a tensor of the session into an input tensor of the same type."""
        self._call(self._copy_in, tensor, lambda: self._session.held(name).where)

    def store(self, ref: Ref, name: str) -> None:
        """Copy what was computed into a tensor of the session of the same type."""
        self._storages.require_kept(ref)
        self._call(lambda: self._copy(self._storages.where(ref), self._session.held(name).where))

    def run(self, steps: int = 1, stop: Callable[[], bool] | None = None) -> int:
        """Queue whole runs; returns how many were queued. ``stop`` is asked before each."""
        return self._call(self._issue_steps, steps, stop)

    def fetch(self, ref: Ref) -> Future[Array]:
        """The contents of an operand's storage after what was queued, dense and row-major."""
        try:
            self._storages.require_kept(ref)
            descriptor = self._storages.descriptor(ref)
        except BackendError as error:
            return failed(error)
        return read_later(
            self.work.engine,
            self.work.pool,
            lambda: self._storages.where(ref),
            lambda raw: from_device(raw, descriptor),
        )

    def finish(self) -> None:
        """Wait until everything queued has run; raises what the driver reported meanwhile."""
        self._call(self._drain)

    def attach(self, tap: Tap, clock: StepClock) -> None:
        """Look at a tensor from the next run on; see ``Executable.attach``."""
        ref = find_ref(self._program, tap.name, tap.grad)
        after = tap.index_in(self._program)
        point = capture_point(self._storages.plan, entries(self._program), ref, after)
        self._board.clock = clock
        self._board.attach(Attached(tap, ref, point))

    def detach(self, tap: Tap) -> None:
        """Look at it no longer."""
        self._board.detach(tap)

    def profile(self, steps: int = 1, *, while_busy: bool = False) -> Profile:
        """Run instrumented steps and say what each kernel took; see ``Executable.profile``."""
        return self._call(self._profile, steps, while_busy)

    def check(self, keep: Collection[Ref] = ()) -> dict[Ref, Array]:
        """Run one step instruction by instruction, unfused; see ``Executable.check``."""
        return self._call(self._check, keep)

    def close(self) -> None:
        """Give the arena back; more than once does nothing."""
        if not self._closed:
            self._closed = True
            if self.work.engine.is_alive:
                self.work.engine.call(self._release)

    # -- on the engine thread -------------------------------------------------------------------

    def _call(self, work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        if self._closed:
            raise BackendError("the executable has been closed", who=self._program.name)
        return self.work.engine.call(work, *arguments, **named)

    def _copy_in(self, tensor: int, find: Callable[[], Slice]) -> None:
        self._copy(find(), self._storages.where(Ref(tensor)))

    def _copy(self, source: Slice, target: Slice) -> None:
        """Copy a range; kernels queued before have written it, and those behind read it."""
        length = min(source.nbytes, target.nbytes)
        self.work.pool.copy(
            source.buffer.slice(source.offset, length), target.buffer.slice(target.offset, length)
        )

    def _planner(self, storages: Storages) -> Planner:
        wanted: Mapping[str, str] = self.work.wanted_variants
        return Planner(
            storages.program,
            self._batch,
            self._rows,
            self.work.caps,
            storages.place,
            storages.inner,
            wanted,
            row_splits=storages.row_splits,
        )

    def _record(self, progress: Progress | None = None) -> None:
        """Plan and record the step; again after the session has replaced a tensor."""
        if self._recording is not None:
            self._drain()
            self._recording.release()
        if self._exchanges is not None:
            self._exchanges.release()
        planner = self._planner(self._storages)
        found = entries(self._program)
        self.planned = list(zip(found, planner.plan_all(found, self._hand_over), strict=True))
        flat = [one for _, planned in self.planned for one in planned]
        # The driver takes long to touch much memory first; its threads compile meanwhile.
        self._storages.make_zero()
        self.work.compile_all([one.source for one in flat], progress)
        self._recording = self._new_recording(self._storages)
        self._recording.record(flat)
        self._exchanges = Exchanges(self.work, self._storages, found)
        recorded = self._recording
        self._step = StepIssue(
            self.work.gl, recorded.ordered, fast=self._is_fast, seamless=recorded.seamless
        )
        self._parts = (-1, [])
        self._costs = None
        self._generation = self._session.generation

    def _hand_over(self, one: PlannedDispatch) -> None:
        """Have a kernel compiled while the next are planned."""
        self.work.request(one.source)

    def _new_recording(self, storages: Storages) -> Recording:
        work = self.work
        return Recording(
            work.pool,
            work.engine.info,
            work.compiled,
            storages.where,
            self._batch,
            self._rows,
            in_order=work.target.in_order,
            spare=spare_room(storages.plan.total_bytes),
        )

    def _ready(self) -> Recording:
        if self._recording is None or self._generation != self._session.generation:
            self._record()
        if self._recording is None:
            raise RuntimeError("a step was not recorded")
        return self._recording

    def _issue_steps(self, steps: int, stop: Callable[[], bool] | None) -> int:
        recording = self._ready()
        stopping = self.work.engine.stopping
        follows = False
        for done in range(steps):
            if stopping.is_set() or (stop is not None and stop()):
                self._throttle.settle()
                return done
            if self._board.attached or self._exchanges:
                self._issue_apart(recording)
                follows = False
            else:
                self._step.step(follows=follows, more=done + 1 < steps)
                follows = True
            self._throttle.step_issued(stopping, more=done + 1 < steps)
        self.work.gl.check("running a step")
        return steps

    def _issue_apart(self, recording: Recording) -> None:
        """Send one step; between its dispatches live tensors are captured, workers exchange."""
        version = self._board.version
        if self._parts[0] != version:
            self._parts = (version, self._cut(recording))
        for part, action in self._parts[1]:
            part.step(more=action is not None)
            if action is not None:
                action()
        if self._board.attached:
            self._board.end_run()

    def _cut(self, recording: Recording) -> Parts:
        """The recorded list in pieces, each followed by what is done behind it."""
        hooks, exchanges = self._board.hooks(), self._exchanges
        parts: Parts = []
        begin = end = 0

        def part(stop: int | None) -> StepIssue:
            return StepIssue(self.work.gl, recording.dispatches[begin:stop], fast=self._is_fast)

        for number, (_, planned) in enumerate(self.planned):
            actions: list[tuple[int, Action | None]] = [(end + len(planned), hooks.get(number))]
            if exchanges is not None:
                actions.insert(0, (end, exchanges.before.get(number)))
                actions.append((end + len(planned), exchanges.behind.get(number)))
            for stop, action in actions:
                if action is not None:
                    parts.append((part(stop), action))
                    begin = stop
            end += len(planned)
        return [*parts, (part(None), None)]

    def _capture(self, tap: Tap, ref: Ref, moment: Moment) -> Snapshot | None:
        if not isinstance(tap, GlTap):
            raise BackendError("the tap belongs to another backend", who=tap.name)
        return tap.copy(self._storages.where(ref), self._storages.descriptor(ref), moment)

    def _drain(self) -> None:
        self._throttle.drain(self.work.engine.stopping)
        self.work.gl.check("running a step")

    def _profile(self, steps: int, while_busy: bool) -> Profile:
        recording = self._ready()
        self._drain()
        if self._costs is None:
            found = [entry for entry, _ in self.planned]
            self._costs = entry_costs(self._program, found, self._batch, self._rows)
        exchanges = {} if self._exchanges is None else self._exchanges.whole
        return profile_steps(self.work, self.planned, self._costs, recording.dispatches, steps,
                             while_busy=while_busy, exchanges=exchanges)  # fmt: skip

    def _check(self, keep: Collection[Ref]) -> dict[Ref, Array]:
        self._drain()
        return check_step(self.work, self._program, self._session, self._batch, self._rows,
                          self._storages, keep)  # fmt: skip

    def _release(self) -> None:
        self._board.drop_pending()
        self._throttle.drain(self.work.engine.stopping)
        self._throttle.release()
        if self._recording is not None:
            self._recording.release()
        if self._exchanges is not None:
            self._exchanges.release()
        self._storages.release()
