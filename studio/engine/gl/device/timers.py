"""Times the parts of a step by device timestamps, or by the host's clock where those are wrong."""

from __future__ import annotations

import ctypes
import time
from collections import deque
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, Protocol

from studio.engine.gl.device import constants as const

if TYPE_CHECKING:
    from studio.engine.gl.device.device import DeviceInfo
    from studio.engine.gl.device.entry_points import EntryPoints

TimeSource = Literal["gpu timestamps", "wall clock"]


@dataclass(frozen=True, slots=True)
class Sample:
    """Times of one instrumented step.

    Attributes:
        step: the number the caller gave it.
        labels: the parts, in the order they ran.
        seconds: how long each took.
        source: how it was measured.
    """

    step: int
    labels: tuple[str, ...]
    seconds: tuple[float, ...]
    source: TimeSource


class StepTimer(Protocol):
    """Measures the parts of a step; every method runs on the engine thread."""

    source: TimeSource

    def begin(self, step: int) -> bool:
        """Start a sample; False when all slots still wait for the device, the step is then left."""
        ...

    def mark(self, label: str) -> None:
        """End the part called ``label``; it began at the mark before, or at ``begin``."""
        ...

    def end(self) -> None:
        """End the sample."""
        ...

    def collect(self) -> list[Sample]:
        """Samples the device has finished since the last call; does not wait for the others."""
        ...

    def release(self) -> None:
        """Give back what the driver holds."""
        ...


@dataclass(slots=True)
class _Slot:
    """The queries of one sample in flight."""

    names: list[int]
    step: int = 0
    labels: list[str] | None = None


class TimestampTimer:
    """Timestamp queries in a ring, so that reading one step never waits for the next.

    Args:
        gl: entry points of the context.
        slots: samples that may be in flight at once.
    """

    def __init__(self, gl: EntryPoints, slots: int = 3) -> None:
        self.source: TimeSource = "gpu timestamps"
        self._gl = gl
        self._free = [_Slot([]) for _ in range(slots)]
        self._flying: deque[_Slot] = deque()
        self._open: _Slot | None = None

    def begin(self, step: int) -> bool:
        """Start a sample; False when all slots still wait for the device, the step is then left."""
        if self._open is not None or not self._free:
            return False
        slot = self._free.pop()
        slot.step, slot.labels = step, []
        self._open = slot
        self._stamp(slot, 0)
        return True

    def mark(self, label: str) -> None:
        """End the part called ``label``."""
        slot = self._open
        if slot is None or slot.labels is None:
            raise RuntimeError("a part was marked outside a sample")
        slot.labels.append(label)
        self._stamp(slot, len(slot.labels))

    def end(self) -> None:
        """End the sample; its times arrive through ``collect``."""
        if self._open is not None:
            self._flying.append(self._open)
            self._open = None
            self._gl.flush()

    def collect(self) -> list[Sample]:
        """Samples the device has finished since the last call."""
        done = []
        while self._flying and self._is_done(self._flying[0]):
            slot = self._flying.popleft()
            done.append(self._read(slot))
            self._free.append(slot)
        return done

    def release(self) -> None:
        """Delete all queries."""
        slots = [*self._free, *self._flying, *([self._open] if self._open else [])]
        names = [name for slot in slots for name in slot.names]
        if names:
            self._gl.delete_queries(len(names), (ctypes.c_uint * len(names))(*names))
        for slot in slots:
            slot.names.clear()
        self._free, self._open = slots, None
        self._flying.clear()

    def _stamp(self, slot: _Slot, index: int) -> None:
        if index == len(slot.names):
            more = max(16, len(slot.names))
            fresh = (ctypes.c_uint * more)()
            self._gl.gen_queries(more, fresh)
            slot.names.extend(fresh)
        self._gl.query_counter(slot.names[index], const.TIMESTAMP)

    def _is_done(self, slot: _Slot) -> bool:
        available = ctypes.c_int()
        last = slot.names[len(slot.labels or ())]
        self._gl.get_query_objectiv(last, const.QUERY_RESULT_AVAILABLE, ctypes.byref(available))
        return bool(available.value)

    def _read(self, slot: _Slot) -> Sample:
        labels = tuple(slot.labels or ())
        value = ctypes.c_uint64()
        stamps = []
        for name in slot.names[: len(labels) + 1]:
            self._gl.get_query_objectui64v(name, const.QUERY_RESULT, ctypes.byref(value))
            stamps.append(value.value)
        seconds = (max(0, after - before) * 1e-9 for before, after in pairwise(stamps))
        return Sample(slot.step, labels, tuple(seconds), self.source)


class WallTimer:
    """The host's clock around a finish after each part, for renderers whose timestamps lie.

    It makes the step wait at each part, so a sample says how long parts take alone.

    Args:
        gl: entry points of the context.
    """

    def __init__(self, gl: EntryPoints) -> None:
        self.source: TimeSource = "wall clock"
        self._gl = gl
        self._step = 0
        self._labels: list[str] = []
        self._moments: list[float] = []
        self._done: list[Sample] = []

    def begin(self, step: int) -> bool:
        """Start a sample."""
        self._step, self._labels = step, []
        self._gl.finish()
        self._moments = [time.perf_counter()]
        return True

    def mark(self, label: str) -> None:
        """End the part called ``label``."""
        if not self._moments:
            raise RuntimeError("a part was marked outside a sample")
        self._gl.finish()
        self._labels.append(label)
        self._moments.append(time.perf_counter())

    def end(self) -> None:
        """End the sample."""
        if self._moments:
            pairs = pairwise(self._moments)
            seconds = tuple(after - before for before, after in pairs)
            self._done.append(Sample(self._step, tuple(self._labels), seconds, self.source))
            self._moments = []

    def collect(self) -> list[Sample]:
        """Samples ended since the last call."""
        done, self._done = self._done, []
        return done

    def release(self) -> None:
        """Nothing is held."""
        self._done = []


def step_timer(gl: EntryPoints, info: DeviceInfo) -> StepTimer:
    """The timer that is reliable on this device."""
    bits = ctypes.c_int()
    gl.get_queryiv(const.TIMESTAMP, const.QUERY_COUNTER_BITS, ctypes.byref(bits))
    if info.is_software or bits.value == 0:
        return WallTimer(gl)
    return TimestampTimer(gl)
