"""Sends a recorded step to the driver: from Python first, later from a compiled loop."""

from __future__ import annotations

import ctypes
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from studio.engine.gl.device import constants as const
from studio.engine.gl.record.recorder import Dispatch, issue

if TYPE_CHECKING:
    from studio.engine.gl.device.entry_points import EntryPoints

_LOG = logging.getLogger(__name__)

Words = npt.NDArray[np.int64]
LOADED = threading.Event()
"""Set once the loop was compiled; it serves all steps."""

SendRows = Callable[[Words, Words, bool], None]

WORTHWHILE = 64
"""Steps sent from Python before the loop is compiled, which takes as long as thousands of them."""
FEW = 2
"""Steps sent from Python where the loop is there: rows take as long to make as a few steps."""
MANY_DISPATCHES = 32
"""A step of so many counts as two of the short ones."""
_BARRIER, _PROGRAM, _STORAGES, _NUMBERS, _GROUPS, _WIDTH = 0, 1, 2, 8, 14, 17
"""Where a row has its bits of a barrier, its program, what it binds (six words), and its groups."""


class StepIssue:
    """Sends the same dispatches again and again.

    For a small step, the calls take the interpreter longer than the work takes a GPU.

    Args:
        gl: entry points of the context; every method runs on its thread.
        dispatches: what a step consists of, in order.
        fast: whether the host's time matters, as on a GPU.
        seamless: whether a step may directly follow another one without a barrier.
    """

    def __init__(
        self,
        gl: EntryPoints,
        dispatches: Sequence[Dispatch],
        *,
        fast: bool,
        seamless: bool = False,
    ) -> None:
        self._gl = gl
        # A copy keeps the dispatches alive: the rows hold addresses of their arrays.
        self._dispatches = tuple(dispatches)
        self._following = self._dispatches
        if seamless and dispatches:
            self._following = (replace(dispatches[0], barrier=False), *dispatches[1:])
        wait = FEW if LOADED.is_set() else WORTHWHILE
        self._left = wait if fast and gl.bind_buffers_range is not None else -1
        self._send: SendRows | None = None
        self._functions = self._rows = self._following_rows = np.zeros(0, np.int64)

    @property
    def compiled(self) -> bool:
        """Whether steps are sent by the compiled loop."""
        return self._send is not None

    def step(self, *, follows: bool = False, more: bool = False) -> None:
        """Send one step; nothing is asked back and the interpreter lock is let go.

        Args:
            follows: whether the last thing sent to the driver was the same step, sent from here.
            more: whether another step is sent at once; behind the last the device begins, however
                long this thread then waits for the interpreter.
        """
        if self._send is not None:
            rows = self._following_rows if follows else self._rows
            self._send(self._functions, rows, not more)
            return
        issue(self._gl, self._following if follows else self._dispatches)
        if self._left > 0:
            self._left -= 1 + len(self._dispatches) // MANY_DISPATCHES
            if self._left <= 0:
                self._left = 0
                self.compile()

    def compile(self) -> None:
        """Switch to the compiled loop if Numba can be loaded."""
        send = send_rows()
        if send is not None:
            gl = self._gl
            called = (
                gl.memory_barrier, gl.use_program, gl.bind_buffers_range, gl.dispatch_compute,
                gl.flush,
            )  # fmt: skip
            self._functions = np.array([_address(f) for f in called], np.int64)
            self._rows = rows_of(self._dispatches)
            self._following_rows = rows_of(self._following)
            self._send = send
            LOADED.set()


def rows_of(dispatches: Sequence[Dispatch]) -> Words:
    """The calls of a step as numbers; 0 marks a call that is not needed.

    It contains addresses of arrays that the dispatches own.
    """
    rows = np.zeros((len(dispatches), _WIDTH), np.int64)
    program, numbers = -1, None
    for row, one in zip(rows, dispatches, strict=True):
        if one.barrier:
            row[_BARRIER] = const.SHADER_STORAGE_BARRIER_BIT
        if one.program != program:
            row[_PROGRAM] = program = one.program
        row[_STORAGES:_NUMBERS] = one.storages.words
        if one.numbers is not numbers:
            numbers = one.numbers
            row[_NUMBERS:_GROUPS] = numbers.words
        row[_GROUPS:] = one.groups
    return rows


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


@cache
def send_rows() -> SendRows | None:
    """The compiled loop over rows; None if Numba cannot be loaded or used."""
    try:
        return _compiled_loop()
    except Exception as error:
        # Numba refuses NumPy versions newer than itself with various errors.
        _LOG.info("steps stay with Python: %s: %s", type(error).__name__, error)
        return None


def _compiled_loop() -> SendRows:
    numba = import_module("numba")
    words = ("", ".", "...", "...***")
    call_none, call_one, call_three, call_six = (_call(given) for given in words)

    def send(functions: Words, rows: Words, begins: bool) -> None:
        barrier, use, bind, dispatch, flush = functions
        for k in range(rows.shape[0]):
            row = rows[k]
            if row[0]:
                call_one(barrier, row[0])
            if row[1]:
                call_one(use, row[1])
            call_six(bind, row[2], row[3], row[4], row[5], row[6], row[7])
            if row[8]:
                call_six(bind, row[8], row[9], row[10], row[11], row[12], row[13])
            call_three(dispatch, row[14], row[15], row[16])
        if begins:
            call_none(flush)

    line, table = (numba.types.Array(numba.types.int64, rank, "C") for rank in (1, 2))
    made: SendRows = numba.njit(numba.types.void(line, table, numba.types.boolean), nogil=True)(
        send
    )
    return made


def _call(words: str) -> Any:
    """A call of the C function at an address: ``.`` stands for an int, ``*`` for a pointer."""
    ir, types = import_module("llvmlite.ir"), import_module("numba").types
    kinds = [ir.IntType(32 if word == "." else 64) for word in words]

    def call(_: Any, address: Any, *arguments: Any) -> Any:
        def generate(context: Any, builder: Any, _: Any, values: Any) -> Any:
            function = ir.FunctionType(ir.VoidType(), kinds).as_pointer()
            given = [builder.extract_value(values[1], k) for k in range(len(kinds))]
            narrow = [
                builder.trunc(value, kind) if word == "." else value
                for value, kind, word in zip(given, kinds, words, strict=True)
            ]
            builder.call(builder.inttoptr(values[0], function), narrow)
            return context.get_dummy_value()

        return types.void(address, types.Tuple(arguments)), generate

    return import_module("numba.extending").intrinsic(call)
