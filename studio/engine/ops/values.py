"""What a computed tensor holds: numbers on the host, or a place on the device."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING

import numpy as np

from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import TensorType
from studio.engine.ops.patterns import kind_of
from studio.engine.runtime.transfers import Array, ready

if TYPE_CHECKING:
    from studio.engine.ops.bound import Bound
    from studio.engine.ops.runner import Runner
    from studio.engine.ops.work import Work


class Value:
    """Numbers that never change, wherever they lie.

    Exactly one of ``array``, ``bound`` and ``stored`` says where.

    Args:
        kind: number of the type.
        array: the numbers, on the host; nobody else writes there.

    Attributes:
        bound: whose last run made them, and has not run since.
        slot: which result of that run.
        runner: the device they are on.
        stored: name of a tensor of its session.
        work: what makes them, or brought them where they are.
    """

    __slots__ = ("__weakref__", "array", "bound", "kind", "runner", "slot", "stored", "work")

    def __init__(self, kind: int, array: Array | None = None) -> None:
        self.kind = kind
        self.array = array
        self.bound: Bound | None = None
        self.slot = 0
        self.runner: Runner | None = None
        self.stored = ""
        self.work: Work | None = None

    def read(self) -> Future[Array]:
        """The numbers, in an array of the caller's own."""
        runner = self.runner
        if runner is None:
            return self._copied()
        # Another thread's run may be moving them.
        with runner.lock:
            if self.bound is not None:
                found = self.bound.fetch(self.slot)
            elif self.stored:
                found = runner.session.read(self.stored)
            else:
                return self._copied()
            return found if self.work is None else self.work.before(found)

    def on_host(self) -> Array:
        """The numbers, not to be changed."""
        if self.array is None:
            found = self.read().result()
            self.array = found
            self.forget()
        return self.array

    def forget(self) -> None:
        """Give back what lies on the device."""
        self.bound = self.work = None
        if self.stored and self.runner is not None:
            self.runner.drop(self.stored, self.kind)
            self.stored = ""

    def _copied(self) -> Future[Array]:
        if self.array is None:
            raise RuntimeError("a value is nowhere")
        return ready(np.array(self.array, order="C"))

    def __del__(self) -> None:
        if self.stored and self.runner is not None:
            self.runner.drop(self.stored, self.kind)


_INT32 = 1 << 31
_MOST_NUMBERS = 1 << 12
_FLOAT, _INT = (kind_of(TensorType((), dtype)) for dtype in (DType.float32, DType.int32))
_NUMBERS: dict[float, Value] = {}
_WHOLE_NUMBERS: dict[int, Value] = {}


def value_of_float(number: float) -> Value:
    """A Python float as a value: the same one for the same number, which is then fed once."""
    found = _NUMBERS.get(number)
    if found is None:
        found = Value(_FLOAT, np.array(number, np.float32))
        # Zeros of both signs are equal, and differ.
        if number != 0 and len(_NUMBERS) < _MOST_NUMBERS:
            _NUMBERS[number] = found
    return found


def value_of_int(number: int) -> Value | None:
    """As `value_of_float` for an int; None where it does not fit int32."""
    found = _WHOLE_NUMBERS.get(number)
    if found is None and -_INT32 <= number < _INT32:
        found = Value(_INT, np.array(number, np.int32))
        if len(_WHOLE_NUMBERS) < _MOST_NUMBERS:
            _WHOLE_NUMBERS[number] = found
    return found
