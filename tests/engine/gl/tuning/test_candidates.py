"""What is tried for a product, and the names that shapes and layouts go by."""

from __future__ import annotations

import pytest

from studio.engine.gl.choices.signatures import op_signature, product_signature
from studio.engine.gl.kernels.tiles import REGISTER_TILES, TILES, best_tile
from studio.engine.gl.tuning.candidates import PROMISING, finer_and_coarser, first_tiles
from tests.engine.gl.naive import draw
from tests.engine.gl.one_line import OneLine
from tests.engine.gl.tuning.tuned_lines import linear, op_of, products_of


def test_signatures_tell_shapes_and_layouts_apart() -> None:
    (first,) = products_of(op_of(linear()[0]))
    same = linear()[0]
    assert product_signature(op_of(same), first).startswith("linear 6x8x16 bias #")
    signs = set()
    for line in (same, linear(rows=7)[0], linear(inner=20)[0], linear(out=9)[0]):
        op = op_of(line)
        (product,) = products_of(op)
        signs.add((product_signature(op, product), op_signature(op)))
    assert len(signs) == 4
    assert len({a for a, _ in signs}) == len({b for _, b in signs}) == 4
    x, w = draw(6, 16), draw(8, 16)
    operands = {"w": w, "x": x, "y": (6, 8), "b": None}
    sets = OneLine("GRADS_LINEAR", operands, {"y": draw(6, 8)}, ("x", "y"), set=("x", "w"))
    adds = OneLine("GRADS_LINEAR", operands, {"y": draw(6, 8)}, ("x", "y"), set=("x",))
    assert op_signature(op_of(sets)) != op_signature(op_of(adds))


@pytest.mark.parametrize("software", [False, True])
def test_candidates_begin_with_the_shipped_one_and_never_repeat(software: bool) -> None:
    tiles = REGISTER_TILES if software else TILES
    (product,) = products_of(op_of(linear(rows=64, inner=4096, out=64)[0]))
    shipped = best_tile(64, 64, 4096, 1, tiles, software=software)
    cuts = first_tiles(product, tiles, software=software)
    assert cuts[0] == shipped
    assert 1 < len(cuts) == len({tile for tile, _ in cuts})
    assert PROMISING > 1
    finer, coarser = finer_and_coarser(product, (tiles[-1], 4), shipped, software=software)
    found = [parts for _, parts in coarser]
    assert found == [2, 1]
    more = [parts for _, parts in finer]
    assert more == [8 * 2**k for k in range(len(more))]
    assert all(4096 // parts >= (1024 if software else 64) for parts in more)
