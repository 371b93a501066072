"""Gradients of strided convolutions' inputs: the phases of pixels, and a product for each."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.engine.gl.backend import GlBackend
from studio.engine.gl.kernels.families.conv import VARIANTS
from studio.engine.gl.kernels.products import dense_products
from studio.engine.gl.kernels.products.phases import axis_phases
from studio.engine.gl.kernels.specs import BoundInstruction, DeviceCaps
from studio.engine.gl.kernels.tiles import MOST_JOINED, TILES
from tests.engine.gl.naive import Window, close, conv, conv_gradients, draw
from tests.engine.gl.one_line import OneLine, run_line

_LENGTH = 12


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 7), st.integers(1, 7))
def test_pixels_of_a_phase_meet_its_taps_and_no_others(
    stride: int, dilation: int, pad: int, taps: int
) -> None:
    shared = np.gcd(stride, dilation)
    met: dict[int, set[tuple[int, int]]] = {}
    for phase in axis_phases(stride, dilation, pad, taps):
        for k in range(-(-(_LENGTH - phase.pixel) // stride)):
            pixel = phase.pixel + k * stride
            assert pixel not in met
            met[pixel] = {
                (phase.tap + t * stride // shared, phase.reach + k - t * dilation // shared)
                for t in range(phase.taps)
            }
    assert sorted(met) == list(range(_LENGTH))
    for pixel, found in met.items():
        assert found == {
            (tap, (pixel + pad - tap * dilation) // stride)
            for tap in range(taps)
            if (pixel + pad - tap * dilation) % stride == 0
        }


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 7), st.integers(1, 7))
def test_the_phase_of_the_most_taps_comes_first(
    stride: int, dilation: int, pad: int, taps: int
) -> None:
    counts = [phase.taps for phase in axis_phases(stride, dilation, pad, taps)]
    assert counts == sorted(counts, reverse=True)
    assert len(counts) == stride
    assert sum(counts) == taps


WINDOWS = {
    "halved": ((2, 8, 8, 16), 32, Window((3, 3), (2, 2), (0, 0), (1, 1))),
    "odd sizes, one channel": ((3, 7, 5, 1), 3, Window((3, 3), (2, 2), (1, 1), (1, 1))),
    "one cell": ((2, 6, 7, 4), 8, Window((1, 1), (2, 2))),
    "one axis": ((2, 9, 6, 4), 8, Window((4, 3), (3, 1), (2, 1), (1, 1))),
    "gaps between windows": ((1, 11, 9, 4), 6, Window((2, 2), (4, 3), (1, 0), (0, 1))),
    "dilation": ((2, 10, 9, 4), 4, Window((3, 3), (3, 2), (2, 2), (2, 2), (2, 3))),
    "dilation as the stride": ((2, 10, 9, 8), 8, Window((3, 2), (2, 4), (1, 0), (2, 2), (2, 6))),
    "strides beyond the picture": ((3, 2, 3, 4), 4, Window((2, 3), (5, 4), (0, 1))),
    "many filters": ((1, 4, 6, 8), 288, Window((3, 3), (2, 2), (1, 1), (0, 1))),
    "large": ((2, 14, 15, 3), 20, Window((7, 7), (2, 2), (2, 3), (3, 2))),
}


def gradient_of(name: str, *, halo: bool = False, sets: bool = True) -> tuple[OneLine, np.ndarray]:
    """A line that makes or adds the gradient of the input, and what it is to be."""
    shape, filters, window = WINDOWS[name]
    x, w = draw(*shape), draw(*window.size, shape[3], filters)
    dy = draw(*conv(x, w, window).shape)
    pads = dict.fromkeys("xy", ((0, 0), (1, 2), (3, 2), (0, 0))) if halo else {}
    operands = {"w": w, "b": None, "x": x, "y": dy.shape}
    old = {"y": dy, "x": draw(*shape)}
    line = OneLine("GRADS_CONV2D", operands, old, ("x", "y"), pads, skip=("w",),
                   set=("x",) * sets, **window.fields())  # fmt: skip
    return line, conv_gradients(x, w, dy, window)[0] + (0.0 if sets else old["x"])


@pytest.mark.gl
@pytest.mark.parametrize("sets", [True, False])
@pytest.mark.parametrize("halo", [False, True])
@pytest.mark.parametrize("name", WINDOWS)
def test_gradients_of_inputs_by_registers(
    backend: GlBackend, name: str, halo: bool, sets: bool
) -> None:
    line, expected = gradient_of(name, halo=halo, sets=sets)
    close(run_line(backend, line, "dx", variant="registers_4x4")["dx"], expected)


@pytest.mark.gl
@pytest.mark.parametrize(
    ("variant", "name"),
    [
        *(("tiles_64x16", name) for name in WINDOWS),
        *(
            pytest.param(f"tiles_{tile}", name, marks=pytest.mark.slow)
            for tile in ("128x16", "32x32s4", "64x64ps2")
            for name in ("halved", "one cell", "gaps between windows", "large")
        ),
    ],
)
def test_gradients_of_inputs_by_tiles(backend: GlBackend, variant: str, name: str) -> None:
    line, expected = gradient_of(name, sets=False)
    close(run_line(backend, line, "dx", variant=variant)["dx"], expected)


@pytest.mark.slow
@pytest.mark.gl
@pytest.mark.parametrize("name", ["halved", "many filters", "large"])
def test_parts_of_the_depth_are_added_up_by_the_last_group(backend: GlBackend, name: str) -> None:
    line, expected = gradient_of(name)
    tile = next(t for t in TILES if t.name == "64x16")
    with patch.object(dense_products, "best_tile", lambda *_, **__: (tile, 64)):
        op = BoundInstruction(line.program, line.instruction, line.batch, line.batch, DeviceCaps())
        tiled = next(v for v in VARIANTS["GRADS_CONV2D"] if v.name == "tiles")
        (found,) = tiled.plan(op)
        assert found.tickets > 0
        assert 1 < found.launch[0] <= MOST_JOINED
        close(run_line(backend, line, "dx", variant="tiles", gpu=True)["dx"], expected)
        blocks = replace(DeviceCaps(), offered_blocks=4)
        op = BoundInstruction(line.program, line.instruction, line.batch, line.batch, blocks)
        assert [one.launch[0] for one in tiled.plan(op)] == [1]
