"""The taps on one executable: which place of the host list looks at what, and when it is told."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import TypeAlias

from studio.engine.core.errors import StudioError
from studio.engine.core.tensor import Ref
from studio.engine.runtime.live import Moment, Snapshot, StepClock, Tap
from studio.engine.runtime.live_places import CapturePoint

Capture: TypeAlias = Callable[[Tap, Ref, Moment], "Snapshot | None"]
"""Copies a tensor; None where all snapshots of the tap are in use."""
Hook: TypeAlias = Callable[[], None]


@dataclass(frozen=True)
class Attached:
    """A tap and where it looks.

    Attributes:
        tap: the watched tensor.
        ref: its operand in this program.
        point: where in the host list.
    """

    tap: Tap
    ref: Ref
    point: CapturePoint


class TapBoard:
    """Keeps the taps of one executable; hooks run on the thread that runs the program.

    Args:
        capture: copies a tensor now.
    """

    def __init__(self, capture: Capture) -> None:
        self.clock = StepClock()
        self.version = 0
        """Grows with every change, so that what was made of the hooks is made again."""
        self._capture = capture
        self._lock = Lock()
        self._attached: tuple[Attached, ...] = ()
        self._pending: list[tuple[Tap, Snapshot]] = []

    @property
    def attached(self) -> tuple[Attached, ...]:
        """The taps, in the order they came."""
        return self._attached

    def attach(self, one: Attached) -> None:
        """Add a tap; one that is there already looks at its new place."""
        with self._lock:
            rest = tuple(each for each in self._attached if each.tap is not one.tap)
            self._attached = (*rest, one)
            self.version += 1

    def detach(self, tap: Tap) -> None:
        """Take a tap off."""
        with self._lock:
            self._attached = tuple(each for each in self._attached if each.tap is not tap)
            self.version += 1

    def hooks(self) -> dict[int, Hook]:
        """What to call behind which entry; empty without taps."""
        places: defaultdict[int, list[Attached]] = defaultdict(list)
        for each in self._attached:
            places[each.point.entry].append(each)
        return {entry: self._hook(tuple(found)) for entry, found in places.items()}

    def end_run(self) -> None:
        """A run is finished: hand over what waited for that, and count it."""
        self.clock.step += 1
        if self._pending:
            pending, self._pending = self._pending, []
            for tap, snapshot in pending:
                tap.deliver(snapshot)

    def drop_pending(self) -> None:
        """The run under way will not be finished."""
        pending, self._pending = self._pending, []
        for _, snapshot in pending:
            snapshot.release()

    def _hook(self, found: tuple[Attached, ...]) -> Hook:
        def hook() -> None:
            for one in found:
                if one.tap.wanted:
                    self._look(one)

        return hook

    def _look(self, one: Attached) -> None:
        began = time.perf_counter()
        try:
            snapshot = self._capture(one.tap, one.ref, Moment(self.clock.step + 1, one.point.index))
        except StudioError as error:
            one.tap.fail(error)
            return
        if snapshot is None:
            return
        one.tap.captured(time.perf_counter() - began)
        if one.tap.after is None:
            self._pending.append((one.tap, snapshot))
        else:
            one.tap.deliver(snapshot)


def both(first: Hook | None, second: Hook) -> Hook:
    """One hook that calls the first, where there is one, and then the second."""
    if first is None:
        return second
    earlier = first

    def call() -> None:
        earlier()
        second()

    return call
