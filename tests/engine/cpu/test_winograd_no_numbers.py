"""3x3 convolutions over even pictures are sums over squares, which must not spread infinities."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from studio.engine.core.tensor import BATCH, Role
from studio.engine.cpu.backend import CpuBackend
from studio.engine.cpu.convolution import winograd
from studio.engine.cpu.machine.execution_config import ExecutionConfig
from studio.engine.cpu.machine.toolchain import has_compiler
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.instruction import by_mnemonic
from studio.engine.isa.ops.conv import Conv2D
from studio.engine.isa.ops.move import Copy

CHANNELS, FILTERS, SIDES = 16, 32, (8, 10)
LARGE = float(np.finfo(np.float32).max)

pytestmark = pytest.mark.skipif(not has_compiler(), reason="squares need compiled loops")


@pytest.fixture
def backend() -> Iterator[CpuBackend]:
    made = CpuBackend(config=ExecutionConfig(1, compiled=True))
    yield made
    made.close()


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Grows by the kind of what is built of squares."""
    found: list[str] = []
    for kind in ("build_product", "build_input_gradient", "build_weight_gradient"):
        real = getattr(winograd, kind)
        monkeypatch.setattr(
            winograd, kind, lambda *a, kind=kind, real=real: found.append(kind) or real(*a)
        )
    return found


def sums(cells: np.ndarray, filters: np.ndarray) -> np.ndarray:
    """Windows with a border of one cell, written out in float64."""
    n, height, width, channels = cells.shape
    room = np.zeros((n, height + 2, width + 2, channels))
    room[:, 1:-1, 1:-1] = cells
    found = np.zeros((n, height, width, filters.shape[3]))
    for r in range(3):
        for s in range(3):
            for c in range(channels):
                window = room[:, r : r + height, s : s + width, c, np.newaxis]
                found += window * filters[r, s, c].astype(np.float64)
    return found


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(5).uniform(0.5, 1.5, shape).astype(np.float32)


PLANTED = {
    "an infinity": {(0, 3, 4, 5): np.inf},
    "at a corner": {(1, 0, 0, 0): -np.inf, (1, 7, 9, 15): np.inf},
    "no number": {(0, 4, 3, 7): np.nan},
    "too large to be added up": {(0, 2, 2, 1): LARGE, (0, 2, 4, 1): -LARGE, (0, 4, 2, 1): -LARGE},
    "numbers": {},
}


def same(found: np.ndarray, exact: np.ndarray) -> None:
    """Equal as far as float32 goes; what it cannot hold is infinite."""
    with np.errstate(over="ignore"):
        expected = exact.astype(np.float32)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", PLANTED)
def test_results_beside_no_number_are_numbers(
    backend: CpuBackend, built: list[str], name: str
) -> None:
    cells, filters = draw(2, *SIDES, CHANNELS), draw(3, 3, CHANNELS, FILTERS) * 0.25
    for place, value in PLANTED[name].items():
        cells[place] = value
    b = ProgramBuilder("conv", "infer")
    x = b.tensor("x", (BATCH, *SIDES, CHANNELS), role=Role.INPUT)
    w = b.tensor("w", filters.shape, role=Role.PARAM)
    (y,) = b.emit("forward", Conv2D, w=w, x=x, pad_h=1, pad_w=1)
    program = b.finish((x,), (y,))
    session = backend.open_session()
    executable = backend.compile(program, session, 2)
    session.write("w", filters)
    executable.feed(x.id, cells)
    executable.run()
    same(executable.fetch(y).result(), sums(cells, filters))
    assert built == ["build_product"]
    for place in PLANTED[name]:
        cells[place] = 1.0
    executable.feed(x.id, cells)
    executable.run()
    same(executable.fetch(y).result(), sums(cells, filters))


@pytest.mark.parametrize("sets", [True, False])
@pytest.mark.parametrize("name", PLANTED)
def test_gradients_beside_no_number_are_numbers(
    backend: CpuBackend, built: list[str], name: str, sets: bool
) -> None:
    slopes, filters = draw(2, *SIDES, FILTERS), draw(3, 3, CHANNELS, FILTERS) * 0.25
    before = draw(2, *SIDES, CHANNELS)
    for place, value in PLANTED[name].items():
        slopes[place] = value
    b = ProgramBuilder("conv", "infer")
    x = b.tensor("x", (BATCH, *SIDES, CHANNELS))
    y = b.tensor("y", (BATCH, *SIDES, FILTERS))
    w = b.tensor("w", filters.shape, role=Role.PARAM)
    fed = {}
    for ref, values in ((y, slopes), (x, before)):
        given = b.tensor(f"given_{ref.id}", (BATCH, *values.shape[1:]), role=Role.INPUT)
        b.append("data", Copy(x=given, y=ref.gradient))
        fed[given] = values
    line = by_mnemonic("GRADS_CONV2D")
    assert line is not None
    fields = {"pad_h": 1, "pad_w": 1, "skip": ("w",), "set": ("x",) if sets else ()}
    b.append("backward", line(w=w, x=x, y=y, **fields))
    program = b.finish(tuple(fed), ())
    session = backend.open_session()
    executable = backend.compile(program, session, 2)
    session.write("w", filters)
    for ref, values in fed.items():
        executable.feed(ref.id, values)
    executable.run()
    back = filters[::-1, ::-1].swapaxes(2, 3)
    same(executable.fetch(x.gradient).result(), sums(slopes, back) + (0.0 if sets else before))
    assert built == ["build_input_gradient"]


def filter_sums(cells: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Windows with a border of one cell times slopes, summed in float64: [3,3,in,out]."""
    n, height, width, channels = cells.shape
    room = np.zeros((n, height + 2, width + 2, channels))
    room[:, 1:-1, 1:-1] = cells
    found = np.zeros((3, 3, channels, slopes.shape[3]))
    with np.errstate(invalid="ignore"):
        for r in range(3):
            for s in range(3):
                window = room[:, r : r + height, s : s + width].reshape(-1, channels)
                for c in range(channels):
                    found[r, s, c] = (
                        window[:, c, np.newaxis] * slopes.reshape(len(window), -1)
                    ).sum(0)
    return found


@pytest.mark.parametrize("sets", [True, False])
@pytest.mark.parametrize("side", ["cells", "slopes"])
@pytest.mark.parametrize("name", PLANTED)
def test_gradients_of_weights_have_no_number_only_where_cells_or_slopes_have_none(
    backend: CpuBackend, built: list[str], name: str, side: str, sets: bool
) -> None:
    # Small enough that a number times either, however large that one is, stays a number.
    cells, slopes = draw(2, *SIDES, CHANNELS) * 0.25, draw(2, *SIDES, FILTERS) * 0.25
    before = draw(3, 3, CHANNELS, FILTERS)
    for place, value in PLANTED[name].items():
        (cells if side == "cells" else slopes)[place] = value
    b = ProgramBuilder("conv", "infer")
    x = b.tensor("x", (BATCH, *SIDES, CHANNELS), role=Role.INPUT)
    y = b.tensor("y", (BATCH, *SIDES, FILTERS))
    w = b.tensor("w", before.shape, role=Role.PARAM)
    slope = b.tensor("slope", (BATCH, *SIDES, FILTERS), role=Role.INPUT)
    start = b.tensor("start", before.shape, role=Role.PARAM)
    b.append("data", Copy(x=slope, y=y.gradient))
    b.append("data", Copy(x=start, y=w.gradient))
    line = by_mnemonic("GRADS_CONV2D")
    assert line is not None
    fields = {"pad_h": 1, "pad_w": 1, "skip": ("x",), "set": ("w",) if sets else ()}
    b.append("backward", line(w=w, x=x, y=y, **fields))
    program = b.finish((x, slope), ())
    session = backend.open_session()
    executable = backend.compile(program, session, 2)
    session.write("w", before)
    session.write("start", before)
    executable.feed(x.id, cells)
    executable.feed(slope.id, slopes)
    executable.run()
    exact = filter_sums(cells, slopes) + (0.0 if sets else before)
    same(executable.fetch(w.gradient).result(), exact)
    assert np.isfinite(exact).any()
    assert built == ["build_weight_gradient"]
    for place in PLANTED[name]:
        (cells if side == "cells" else slopes)[place] = 1.0
    executable.feed(x.id, cells)
    executable.feed(slope.id, slopes)
    executable.run()
    same(
        executable.fetch(w.gradient).result(),
        filter_sums(cells, slopes) + (0.0 if sets else before),
    )
