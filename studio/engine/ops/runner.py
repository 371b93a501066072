"""A device for traces: compiled programs by what they compute, and the values kept there."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from typing import Any

from studio.engine.compiler.pipeline import compile_program
from studio.engine.core.closing import Closing
from studio.engine.core.errors import NumericError
from studio.engine.ops.call_trace import Trace
from studio.engine.ops.patterns import TYPES
from studio.engine.ops.plans import Plan, stored_tensor
from studio.engine.ops.programs import Written, call_of, written
from studio.engine.ops.values import Value
from studio.engine.ops.work import Work, WorkNow
from studio.engine.profiler.events import Profile
from studio.engine.runtime.backend import Backend

MOST_PLANS = 256
"""Programs kept for traces that come again."""

MOST_BYTES = 2 << 30
"""Bytes of their arenas, at most, while there are several."""


MOST_FREE = 256 << 20
"""Bytes kept for values to come."""

MOST_UNDERWAY = 8
"""Runs handed over at most that have not been sent to the driver."""


class Runner(Closing):
    """Runs traces on one device.

    Args:
        backend: the device; closed with this.

    Attributes:
        backend: the device.
        session: keeps values that outlive the program that made them.
        is_host: whether the device's memory is that of Python.
        fuses: whether traces that come again are fused.
        runs: traces run so far.
        lock: held while values move.
    """

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.session = backend.open_session()
        self.is_host = backend.name == "cpu"
        self.fuses = True
        self.runs = 0
        self._plans: OrderedDict[Any, Plan] = OrderedDict()
        self.lock = threading.RLock()
        self._gone: deque[tuple[str, int]] = deque()
        self._free: dict[int, list[str]] = {}
        self._underway: deque[Work] = deque()
        self._work = WorkNow(backend) if self.is_host else None
        self._closed = False

    def run(self, trace: Trace, live: tuple[int, ...]) -> list[Value]:
        """Run a trace; returns the values at the places ``live``."""
        with self.lock:
            found = self._plan(trace, live).run(trace.taken())
            self.runs += 1
            return found

    def profile(self, trace: Trace, live: tuple[int, ...]) -> tuple[list[Value], Profile]:
        """As `run`, with the time of every kernel."""
        with self.lock:
            return self._plan(trace, live).profile(trace.taken())

    def check(self, trace: Trace, live: tuple[int, ...]) -> list[Value]:
        """As `run`, line by line.

        Raises:
            NumericError: a call made a NaN or an infinity; names it and where it stands.
        """
        with self.lock:
            plan = self._plan(trace, live, fuse=False)
            try:
                return plan.check(trace.taken())
            except NumericError as error:
                raise _placed(error, trace) from None

    def program_of(self, trace: Trace, live: tuple[int, ...]) -> Written:
        """The program of a trace, unfused."""
        return written(trace, live)

    def work(self) -> Work:
        """Nothing yet, to be handed to the device."""
        return self._work or Work(self.backend)

    def underway(self, work: Work) -> None:
        """Wait for the oldest work where much is queued."""
        if not self.is_host:
            self._underway.append(work)
            if len(self._underway) > MOST_UNDERWAY:
                self._underway.popleft().wait()

    def let_begin(self) -> None:
        """Let the device take up what was handed over last, before more is recorded."""
        if self._underway:
            self._underway[-1].let_begin()

    @property
    def has_room(self) -> bool:
        """Whether a program may be bound twice."""
        return self.backend.memory().transient_bytes < MOST_BYTES // 4

    def room(self, kind: int) -> str:
        """Room for a value in the session; returns its name."""
        free = self._free.get(kind)
        if free:
            return free.pop()
        tensor = stored_tensor(kind)
        self.session.ensure([tensor])
        return tensor.name

    def drop(self, name: str, kind: int) -> None:
        """Give room back, soon; from any thread, even one that collects garbage."""
        self._gone.append((name, kind))

    def settle(self) -> None:
        """Give back what nobody has any more, behind all that was handed over."""
        with self.lock:
            while self._underway:
                self._underway.popleft().wait()
            self._sweep()
            self._drop_free()

    def close(self) -> None:
        """Fetch what somebody still has, and release the device."""
        with self.lock:
            if self._closed:
                return
            self._closed = True
            for plan in self._plans.values():
                plan.close()
            self._plans.clear()
            self.backend.close()

    def _sweep(self) -> None:
        """Take back what was dropped; the next value of the type gets it."""
        if not self._gone:
            return
        while self._gone:
            name, kind = self._gone.popleft()
            self._free.setdefault(kind, []).append(name)
        nbytes = sum(
            TYPES[kind].numel * TYPES[kind].dtype.itemsize * len(names)
            for kind, names in self._free.items()
        )
        if nbytes > MOST_FREE:
            self._drop_free()

    def _drop_free(self) -> None:
        names = [name for each in self._free.values() for name in each]
        self._free.clear()
        if names:
            self.session.drop(names)

    def _plan(self, trace: Trace, live: tuple[int, ...], *, fuse: bool = True) -> Plan:
        """The program for a trace: unfused the first time, fused from the second on."""
        # Once a run: what is dropped during one may have to be read by its feeds.
        self._sweep()
        key = trace.key(live)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._made(trace, live, fused=False)
        elif not plan.fused and fuse and self.fuses and not plan.is_short:
            before = plan
            plan = self._made(trace, live, fused=True)
            before.close()
        else:
            self._plans.move_to_end(key)
            return plan
        self._plans[key] = plan
        self._plans.move_to_end(key)
        self._forget_old()
        return plan

    def _made(self, trace: Trace, live: tuple[int, ...], *, fused: bool) -> Plan:
        made = written(trace, live, views=fused)
        program = made.program
        if fused:
            kept = [ref.id for ref in made.outputs if ref.grad]
            program = compile_program(program, self.backend.target, keep=kept)
        return Plan(self, made, program, fused=fused)

    def _forget_old(self) -> None:
        while len(self._plans) > MOST_PLANS or (
            len(self._plans) > 1 and self.backend.memory().transient_bytes > MOST_BYTES
        ):
            _, old = self._plans.popitem(last=False)
            old.close()


def _placed(error: NumericError, trace: Trace) -> NumericError:
    """The error with the call it comes from."""
    owner = error.origin.removeprefix("layer ")
    index = call_of(owner)
    if index >= 0:
        error.who = owner.rpartition("_")[0]
        error.origin = trace.source(index)
    return error
