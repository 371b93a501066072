"""Watching tensors while programs run: taps ask, executables capture, snapshots keep.

A `Tap` is put on an executable without recompiling. When a picture was asked for,
the next run copies the tensor at the tap's place of the host list into a `Snapshot`, whole and by
itself: what runs afterwards does not touch it. The thread that runs programs never waits for a
viewer; where all snapshots of a tap are in use it just takes none.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from types import TracebackType
from typing import Self, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import StudioError
from studio.engine.core.tensor import Shape
from studio.engine.isa.program import Program
from studio.engine.runtime.live_places import NotThereError
from studio.engine.runtime.live_sheet import Sheet, Tile, draw
from studio.engine.runtime.live_statistics import Statistics, statistics_of

Array: TypeAlias = npt.NDArray[np.generic]
After: TypeAlias = "int | Callable[[Program], int | None] | None"
"""Which instruction to look behind: none for the last that writes; an index, or how to find it."""

MOST_SNAPSHOTS = 3
"""Snapshots of one tap in use at a time, those held for good not counted."""


@dataclass(frozen=True, slots=True)
class Moment:
    """When a tensor was captured.

    Attributes:
        step: number of the training step, from 1; 0 for before the first.
        index: running index of the instruction behind which it was.
    """

    step: int
    index: int


BEFORE = Moment(0, -1)
"""Before the first step: what was initialised or loaded."""


@dataclass
class StepClock:
    """Counts the steps of a training.

    Attributes:
        step: steps that were finished when the present one began.
    """

    step: int = 0


@dataclass(frozen=True)
class Rendered:
    """What was made of a snapshot.

    Attributes:
        statistics: of all its elements; None where not asked for.
        tiles: the tile of every sheet asked for.
        seconds: time it took from others: of this thread, or of the one that queues device work.
    """

    statistics: Statistics | None
    tiles: Mapping[Sheet, Tile]
    seconds: float = 0.0


class Snapshot(ABC):
    """One tensor at one moment, whole; counted, so that its memory can be used again.

    Args:
        name: of the tensor.
        grad: whether it is the gradient of that tensor.
        shape: symbols bound.
        dtype: element type.
        moment: when.
    """

    def __init__(self, name: str, grad: bool, shape: Shape, dtype: DType, moment: Moment) -> None:
        self.name = name
        self.grad = grad
        self.shape = shape
        self.dtype = dtype
        self.moment = moment
        self._users = 1
        self._lock = Lock()

    @abstractmethod
    def render(self, sheets: Sequence[Sheet] = (), *, statistics: bool = True) -> Rendered:
        """Statistics and tiles; may wait for the device, so not for the window's thread."""

    @abstractmethod
    def element(self, index: tuple[int, ...]) -> np.generic:
        """One element exactly as stored; may wait for the device."""

    @abstractmethod
    def array(self) -> Array:
        """The whole tensor, dense and row-major; may wait for the device."""

    @abstractmethod
    def keep(self) -> None:
        """Do not count this one among the snapshots of its tap: it is held for good."""

    @abstractmethod
    def _recycle(self) -> None:
        """It is no longer used."""

    def retain(self) -> Self:
        """Use it too; every user calls `release`."""
        with self._lock:
            self._users += 1
        return self

    def release(self) -> None:
        """Use it no longer."""
        with self._lock:
            self._users -= 1
            last = self._users == 0
        if last:
            self._recycle()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


class ArraySnapshot(Snapshot):
    """A snapshot in host memory.

    Args:
        name: of the tensor.
        array: its elements; C-contiguous, not shared.
        grad: whether it is the gradient of that tensor.
        moment: when it was captured.
        given_back: called once when it is no longer used, or that it is kept for good.
    """

    def __init__(
        self,
        name: str,
        array: Array,
        grad: bool = False,
        moment: Moment = BEFORE,
        given_back: Callable[[Array, bool], None] | None = None,
    ) -> None:
        super().__init__(name, grad, array.shape, DType.of(array.dtype), moment)
        self._array = array
        self._given_back = given_back

    def render(self, sheets: Sequence[Sheet] = (), *, statistics: bool = True) -> Rendered:
        """Statistics and tiles, by NumPy on this thread."""
        began = time.thread_time()
        with np.errstate(all="ignore"):
            found = statistics_of(self._array) if statistics else None
            tiles = {sheet: draw(self._array, sheet) for sheet in sheets}
        return Rendered(found, tiles, time.thread_time() - began)

    def element(self, index: tuple[int, ...]) -> np.generic:
        """One element."""
        value: np.generic = self._array[index]
        return value

    def array(self) -> Array:
        """The elements; not to be changed."""
        return self._array

    def keep(self) -> None:
        """Hold the memory for good."""
        self._tell(reusable=False)

    def _recycle(self) -> None:
        self._tell(reusable=True)

    def _tell(self, *, reusable: bool) -> None:
        listener, self._given_back = self._given_back, None
        if listener is not None:
            listener(self._array, reusable)


class Tap:
    """One watched tensor: the viewer asks, the next step answers.

    The methods of the first group may be called from any thread, those of the second only
    by the code that runs the program.

    Args:
        name: of the tensor.
        grad: watch its gradient.
        after: the instruction to look behind.
        ready: called when a snapshot (or a failure) is there, on the thread that runs the program:
            it must only notify another thread.
    """

    def __init__(
        self,
        name: str,
        *,
        grad: bool = False,
        after: After = None,
        ready: Callable[[], object] | None = None,
    ) -> None:
        self.name = name
        self.grad = grad
        self.after = after
        self.captures = 0
        self.seconds = 0.0
        self._ready = ready
        self._lock = Lock()
        self._wanted = False
        self._newest: Snapshot | None = None
        self._failure: StudioError | None = None
        self._closed = False

    # -- for viewers ----------------------------------------------------------------------------

    def request(self) -> None:
        """Capture the tensor once, the next time a run passes its place."""
        self._wanted = True

    def take(self) -> Snapshot | None:
        """The newest snapshot not taken yet, the caller's to release; None without one."""
        with self._lock:
            found, self._newest = self._newest, None
            return found

    def failure(self) -> StudioError | None:
        """Why the last capture failed, told once."""
        with self._lock:
            found, self._failure = self._failure, None
            return found

    def close(self) -> None:
        """Capture nothing any more."""
        with self._lock:
            self._closed, self._wanted = True, False
            found, self._newest = self._newest, None
        if found is not None:
            found.release()

    # -- for the thread that runs programs ------------------------------------------------------

    @property
    def wanted(self) -> bool:
        """Whether a picture is waited for."""
        return self._wanted

    def index_in(self, program: Program) -> int | None:
        """The instruction to look behind in that program, None for the last that writes.

        Raises:
            NotThereError: the program does not have the instruction.
        """
        if not callable(self.after):
            return self.after
        found = self.after(program)
        if found is None:
            raise NotThereError(
                "the program does not have the chosen instruction",
                who=self.name,
                hint="choose another instruction",
            )
        return found

    def captured(self, seconds: float) -> None:
        """Count a capture that took so long on the thread that runs programs."""
        self._wanted = False
        self.captures += 1
        self.seconds += seconds

    def deliver(self, snapshot: Snapshot) -> None:
        """Hand a snapshot over; one that was not taken is dropped."""
        with self._lock:
            if self._closed:
                late: Snapshot | None = snapshot
            else:
                late, self._newest = self._newest, snapshot
        if late is not None:
            late.release()
        if self._ready is not None:
            self._ready()

    def fail(self, error: StudioError) -> None:
        """Say why nothing could be captured."""
        self._wanted = False
        with self._lock:
            self._failure = error
        if self._ready is not None:
            self._ready()
