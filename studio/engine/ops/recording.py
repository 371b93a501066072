"""The calls of each thread: recorded, run when somebody reads, forgotten with their scope."""

from __future__ import annotations

import atexit
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakSet, ref

from studio.engine.core.errors import StudioError
from studio.engine.ops.call_trace import LONGEST, Trace
from studio.engine.ops.patterns import Pattern
from studio.engine.ops.runner import Runner
from studio.engine.ops.values import Value
from studio.engine.train.devices import open_backend

if TYPE_CHECKING:
    from studio.engine.ops.handle import Tensor
    from studio.engine.profiler.events import Profile

_PACKAGE = __name__.rpartition(".")[0]


class Scope:
    """What a `tidy` has to forget at its end.

    Attributes:
        made: tensors made inside that were computed.
        start: how many results the trace had when it began.
    """

    def __init__(self, start: int) -> None:
        self.made: list[Callable[[], Tensor | None]] = []
        self.start = start


class State(threading.local):
    """What belongs to one thread.

    Attributes:
        trace: the calls that have not run.
        scopes: open `tidy` scopes, the outermost first.
        watchers: who hears of each trace that was run: the trace, its results, its profile.
        last: the trace that ran last.
        checks: whether each call runs at once and is searched for NaN.
    """

    def __init__(self) -> None:
        self.trace = Trace()
        self.scopes: list[Scope] = []
        self.watchers: list[Callable[[Trace, tuple[int, ...], Profile], None]] = []
        self.last: Trace | None = None
        self.checks = False
        TRACES.add(_Held(self))


class _Held:
    """Finds the trace of a thread, which changes."""

    def __init__(self, state: State) -> None:
        self._values = state.__dict__
        # The dictionary of a thread keeps this alive as long as it lives itself.
        state.__dict__["held"] = self

    @property
    def trace(self) -> Trace:
        found: Trace = self._values["trace"]
        return found


TRACES: WeakSet[_Held] = WeakSet()
"""The traces of all threads."""

LIVE: dict[int, ref[Tensor]] = {}
"""Tensors that were computed and not disposed of, by identity: tensors compare by their numbers."""


def remember(tensor: Tensor) -> None:
    """Count a tensor that has numbers."""
    key = id(tensor)
    LIVE[key] = ref(tensor, lambda _: LIVE.pop(key, None))


def forget(tensor: Tensor) -> None:
    """Count it no longer."""
    LIVE.pop(id(tensor), None)


STATE = State()

_lock = threading.RLock()
_runner: Runner | None = None


def runner() -> Runner:
    """The device in use; opened at the first call."""
    global _runner
    if _runner is None:
        with _lock:
            if _runner is None:
                _runner = Runner(open_backend("auto").backend)
    return _runner


def use(choice: str) -> Runner:
    """Take another device; what was computed stays where it is until it is needed.

    Raises:
        ParameterError: no such choice.
        BackendError: the device cannot be had.
    """
    global _runner
    flush()
    with _lock:
        kept = _runner
        if kept is not None and choice == kept.backend.name:
            return kept
        made = Runner(open_backend(choice).backend)
        if kept is not None:
            _fetch_all()
            kept.close()
        _runner = made
        return made


def close() -> None:
    """Give the device back; the next call opens one again."""
    global _runner
    flush()
    with _lock:
        kept, _runner = _runner, None
        if kept is not None:
            _fetch_all()
            kept.close()


def _at_exit() -> None:
    """Release the device; what was not read is not computed any more."""
    global _runner
    kept, _runner = _runner, None
    if kept is not None:
        # Nobody reads any more, and the device's thread may have ended before this is called.
        kept.backend.close()


atexit.register(_at_exit)


def _fetch_all() -> None:
    for handle in tuple(LIVE.values()):
        tensor = handle()
        if tensor is not None and tensor._value is not None:
            try:
                tensor._value.on_host()
            except StudioError:
                # What made it has failed: its numbers are nowhere.
                tensor.dispose()


def user_place() -> tuple[Any, int]:
    """Code, and place in it, of the caller outside of this package."""
    frame = sys._getframe(2)
    while frame.f_globals.get("__package__") == _PACKAGE and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code, frame.f_lasti


def new_trace() -> Trace:
    """An empty trace for this thread."""
    return Trace(1 if STATE.checks else LONGEST)


def ended(trace: Trace) -> None:
    """Called behind the last call a trace takes, and in check mode behind each."""
    if not trace.tape:
        flush()
        runner().let_begin()
    elif STATE.checks:
        compute(trace)


def flush() -> None:
    """Run what this thread recorded; nothing happens inside a gradient, whose calls must stay."""
    trace = STATE.trace
    if not trace.patterns or trace.tape:
        return
    STATE.trace = new_trace()
    for scope in STATE.scopes:
        scope.made += trace.handles[scope.start :]
        scope.start = 0
    compute(trace)


def compute(trace: Trace) -> None:
    """Run a trace and give every tensor that shows a result its numbers."""
    waiting = trace.waiting()
    if not waiting:
        return
    live = tuple([place for place, _ in waiting])
    if trace.also:
        live = tuple(sorted(set(live)))
    try:
        values = _values(*trace.needed(live))
    except BaseException:
        _lose(trace)
        raise
    STATE.last = trace
    by_place = dict(zip(live, values, strict=True))
    tape = trace.tape
    for place, tensor in waiting:
        tensor._value = by_place[place]
        if not tape:
            tensor._trace = None
        remember(tensor)


def _values(trace: Trace, live: tuple[int, ...]) -> list[Value]:
    device = runner()
    if STATE.checks:
        return device.check(trace, live)
    if not STATE.watchers:
        return device.run(trace, live)
    values, profile = device.profile(trace, live)
    for watcher in STATE.watchers:
        watcher(trace, live, profile)
    return values


def _lose(trace: Trace) -> None:
    """Nobody can read what could not be computed."""
    for tensor in trace.shown():
        if tensor._trace is trace and tensor._value is None:
            tensor.dispose()


def add(
    pattern: Pattern, places: list[int], show: Callable[[Trace, int, int], Tensor]
) -> tuple[Tensor, ...]:
    """Record a call whose operands have places already.

    Args:
        pattern: the call.
        places: of its operands.
        show: makes a tensor for a place of a trace, of the type of that number.
    """
    trace = STATE.trace
    place = len(trace.handles)
    trace.patterns.append(pattern)
    trace.operands += places
    trace.sources.append(user_place())
    made = tuple([show(trace, place + i, kind) for i, kind in enumerate(pattern.kinds)])
    trace.handles += [ref(tensor) for tensor in made]
    if len(trace.patterns) >= trace.limit:
        ended(trace)
    return made
