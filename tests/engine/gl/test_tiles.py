"""The table's choice of a tile, held against times of products on an NVIDIA H200."""

from __future__ import annotations

import pytest

from studio.engine.core.tensor import Ref
from studio.engine.gl.kernels.product import Factor, Product
from studio.engine.gl.kernels.products.dense_products import affordable, shared_bytes
from studio.engine.gl.kernels.tiles import TILES, best_tile, hardware_cost

MEASURED = {
    ("square 1024", 1024, 1024, 1024): {
        "64x64ps2/1": 57.0, "128x64s2/1": 59.4, "64x64s2/1": 61.7, "64x64x32s2/1": 63.5,
        "128x64/1": 63.6, "128x128/2": 64.7, "128x128/1": 103.0,
    },
    ("square 4096", 4096, 4096, 4096): {
        "128x128/1": 3021.4,
    },
    ("dense 512 to 512", 1024, 512, 512): {
        "64x64x32s2/1": 20.0, "64x64s2/1": 21.7, "64x64/1": 22.3, "64x64s2/2": 22.3,
        "64x64/2": 23.5, "128x64/2": 23.6, "128x64s2/2": 23.7, "64x64x32s2/2": 26.2,
        "128x64/1": 33.8,
    },
    ("dense 784 to 512, weights", 512, 784, 1024): {
        "64x64x32s2/1": 43.7, "64x64s2/2": 45.9, "128x64s2/2": 45.9, "128x64/2": 46.3,
        "64x64/2": 47.0, "64x64/1": 48.8, "64x64x32s2/2": 49.6, "64x64s2/1": 51.6,
        "128x64/1": 81.6,
    },
    ("dense 784 to 512", 1024, 512, 784): {
        "64x64x32s2/1": 28.9, "64x64s2/2": 30.9, "128x64s2/2": 31.6, "128x64/2": 31.9,
    },
    ("dense 784 to 512, 128 rows", 128, 512, 784): {
        "64x32s4/8": 11.4, "32x32s4/4": 11.7, "32x64/8": 12.2, "64x32s4/4": 12.2,
        "32x32s4/2": 13.3,
    },
    ("dense 784 to 512, 128 rows, weights", 512, 784, 128): {
        "64x64/1": 13.2, "64x64x32s2/1": 13.3, "32x64/1": 13.4, "64x64s2/1": 13.7,
        "32x32s4/1": 13.8,
    },
    ("dense 512 to 512, 128 rows, weights", 512, 512, 128): {
        "32x32s4/1": 10.6, "64x32s4/1": 11.7, "32x64/1": 11.7,
    },
    ("conv 32 to 64, 14x14, 128 rows", 25088, 64, 288): {
        "64x64x32s2/1": 34.8, "32x64/1": 36.6, "64x64s2/1": 41.9, "128x64/1": 42.2,
        "128x64s2/1": 42.7, "64x64/1": 43.2,
    },
    ("conv 32 to 64, 14x14, 128 rows, inputs", 25088, 32, 576): {
        "32x32s4/1": 60.3, "128x32s2/1": 61.5, "128x32/1": 65.7, "64x32s4/1": 69.4,
        "128x32/2": 70.3,
    },
    ("conv 32 to 64, 14x14", 200704, 64, 288): {
        "64x64s2/1": 240.2, "128x64/1": 243.6, "128x64s2/1": 246.7, "64x64/1": 249.2,
        "64x64x32s2/1": 257.9, "32x64/1": 261.9,
    },
    ("conv 32 to 64, 14x14, inputs", 200704, 32, 576): {
        "128x32s2/1": 370.6, "128x32/1": 389.7, "128x32/2": 423.0, "64x32s4/1": 445.0,
        "32x32s4/1": 448.4,
    },
    ("dense 3136 to 128", 1024, 128, 3136): {
        "64x64x32s2/4": 30.8, "64x64s2/8": 31.3, "128x64s2/8": 33.1, "128x64/8": 33.2,
        "64x64/8": 34.1,
    },
    ("dense 3136 to 128, weights", 128, 3136, 1024): {
        "64x64x32s2/1": 39.1, "128x64s2/2": 41.5, "128x128/4": 43.9, "64x64s2/1": 47.8,
        "128x64/1": 66.9, "128x64s2/1": 69.8,
    },
    ("conv 64 to 64, 8x8, 32 rows", 2048, 64, 576): {
        "32x32s4/2": 13.4, "32x64/2": 15.3, "64x64x32s2/2": 17.2, "64x64/2": 18.2,
        "64x64s2/2": 18.3, "32x64/1": 20.1, "64x64x32s2/1": 22.6, "128x64/2": 25.1,
        "64x64s2/1": 26.2, "64x64/1": 26.8, "128x64/1": 40.3,
    },
    ("conv 64 to 64, 8x8, 128 rows", 8192, 64, 576): {
        "64x64x32s2/1": 23.1, "64x64s2/2": 25.8, "128x64/2": 26.5, "64x64s2/1": 26.6,
        "64x64/2": 26.7, "32x64/1": 27.0, "64x64/1": 27.4, "64x64x32s2/2": 30.1, "32x64/2": 35.1,
        "32x32s4/2": 38.2, "128x64/1": 40.5,
    },
    ("conv 64 to 64, 8x8, 128 rows, inputs", 8192, 64, 576): {
        "64x64x32s2/1": 31.5, "64x64s2/1": 35.2, "64x64/1": 35.9, "128x64/1": 47.8,
    },
}  # fmt: skip
"""Microseconds by tile and parts of the depth, by layer, rows, columns and depth of its product.

Taken on 21 November 2026, every product alone and repeated; where no rows are said, there are 1024.
Gradients count the dispatch that fills what comes back to them. The same kernel differs by up to a
tenth between runs.
"""
SAME = 1.03
"""Times within this factor are as good as equal."""
SLOWER = 1.2
"""Times further apart than this are not chance."""
H200_SHARED = 48 << 10

Size = tuple[str, int, int, int]


def product_of(size: Size) -> Product:
    title, rows, cols, depth = size
    turned = not title.endswith("weights")
    factors = Factor("x", turned, True), Factor("w", turned, True)
    return Product("linear", rows, cols, depth, *factors, Ref(0))


def estimate(size: Size, choice: str) -> float:
    name, parts = choice.split("/")
    (tile,) = (tile for tile in TILES if tile.name == name)
    return hardware_cost(*size[1:], 1, tile, int(parts))


@pytest.mark.parametrize("size", MEASURED, ids=lambda size: size[0])
def test_choice_is_as_fast_as_any_that_was_measured(size: Size) -> None:
    tiles = affordable(product_of(size), TILES, H200_SHARED)
    tile, parts = best_tile(*size[1:], 1, tiles, software=False)
    found = MEASURED[size]
    assert found[f"{tile.name}/{parts}"] <= SAME * min(found.values())


@pytest.mark.parametrize("size", MEASURED, ids=lambda size: size[0])
def test_choice_keeps_to_the_shared_memory_that_opengl_promises(size: Size) -> None:
    product = product_of(size)
    tile, _ = best_tile(*size[1:], 1, affordable(product, TILES), software=False)
    assert shared_bytes(product, tile) <= 32 << 10


def test_estimates_order_what_was_measured_far_apart() -> None:
    pairs = [
        (size, fast, slow)
        for size, found in MEASURED.items()
        for fast in found
        for slow in found
        if found[slow] > SLOWER * found[fast]
    ]
    assert len(pairs) > 100
    assert not [each for each in pairs if estimate(each[0], each[1]) >= estimate(each[0], each[2])]
