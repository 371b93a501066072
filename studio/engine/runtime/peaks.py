"""What a backend can do at its best, measured with two small programs."""

from __future__ import annotations

import time

import numpy as np

from studio.engine.core.tensor import BATCH, Role
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.ops.linear import MatMul
from studio.engine.isa.ops.move import Copy
from studio.engine.isa.program import Program
from studio.engine.profiler.totals import Peaks
from studio.engine.runtime.backend import Backend

_REPEATS = 5


def measure_peaks(backend: Backend, side: int = 1024, copy_rows: int = 4096) -> Peaks:
    """Arithmetic peak of a ``side``³ matrix product and traffic peak of a copy of 1024-wide rows.

    Takes well under a second on a GPU and on a CPU; choose smaller sizes on a software renderer.
    """
    product = _seconds(backend, _product(side), side)
    copied = _seconds(backend, _copy(), copy_rows)
    return Peaks(2e-9 * side**3 / product, 2 * 4e-9 * copy_rows * 1024 / copied)


def _product(side: int) -> Program:
    build = ProgramBuilder("peak", "infer")
    a = build.tensor("a", (BATCH, side), role=Role.INPUT)
    b = build.tensor("b", (side, side), role=Role.INPUT)
    (y,) = build.emit("forward", MatMul, a=a, b=b)
    return build.finish((a, b), (y,))


def _copy() -> Program:
    build = ProgramBuilder("peak", "infer")
    x = build.tensor("x", (BATCH, 1024), role=Role.INPUT)
    (y,) = build.emit("forward", Copy, x=x)
    return build.finish((x,), (y,))


def _seconds(backend: Backend, program: Program, batch: int) -> float:
    session = backend.open_session()
    try:
        executable = backend.compile(program, session, batch)
        try:
            for tensor in program.inputs:
                shape = program.tensors[tensor].type.bind(batch).shape
                executable.feed(tensor, np.ones(shape, np.float32))
            executable.run(2)
            executable.finish()
            best = float("inf")
            for _ in range(_REPEATS):
                begun = time.perf_counter()
                executable.run(4)
                executable.finish()
                best = min(best, (time.perf_counter() - begun) / 4)
            return best
        finally:
            executable.close()
    finally:
        session.close()
