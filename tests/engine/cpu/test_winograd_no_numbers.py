"""3x3 convolutions over even pictures are sums over squares, which must not spread infinities."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from studio.engine.core.tensor import BATCH, Role
from studio.engine.cpu import winograd
from studio.engine.cpu.backend import CpuBackend
from studio.engine.cpu.compiled.toolchain import has_compiler
from studio.engine.cpu.means import Means
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.instruction import by_mnemonic
from studio.engine.isa.ops.conv import Conv2D
from studio.engine.isa.ops.move import Copy

CHANNELS, FILTERS, SIDES = 16, 32, (8, 10)
LARGE = float(np.finfo(np.float32).max)

pytestmark = pytest.mark.skipif(not has_compiler(), reason="squares need compiled loops")


@pytest.fixture
def backend() -> Iterator[CpuBackend]:
    made = CpuBackend(means=Means(1, compiled=True))
    yield made
    made.close()


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Grows by the kind of what is built of squares."""
    found: list[str] = []
    for kind in ("build_product", "build_input_gradient"):
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
