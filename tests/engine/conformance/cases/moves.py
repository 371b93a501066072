"""Cases of moves, reductions, fills and data instructions."""

from __future__ import annotations

from studio.engine.core.dtypes import DType
from tests.engine.conformance.case import (
    HALO,
    Case,
    Given,
    apart,
    exactly,
    floats,
    integers,
    step_block,
    uniform,
)


def _moves() -> list[Case]:
    return [
        Case("FLATTEN", "odd", {"x": floats(3, 5, 7)}),
        Case("FLATTEN", "halo", {"x": floats(2, 3, 5, 4, pad=HALO)}),
        Case("RESHAPE", "split", {"x": floats(3, 10)}, {"shape": (3, 5, 2)}),
        Case(
            "RESHAPE",
            "halo-both",
            {"x": floats(2, 3, 5, 4, pad=HALO)},
            {"shape": (2, 5, 3, 4)},
            out_pad=HALO,
        ),
        Case("TRANSPOSE", "inner", {"x": floats(3, 5, 7)}, {"perm": (0, 2, 1)}),
        Case("TRANSPOSE", "turn", {"x": floats(2, 3, 4, 5)}, {"perm": (0, 3, 1, 2)}),
        Case("SLICE", "box", {"x": floats(3, 5, 7)}, {"begin": (0, 1, 2), "size": (-1, 3, 4)}),
        Case("SLICE", "all", {"x": floats(3, 5)}, {"begin": (0, 0), "size": (-1, -1)}),
        Case("PAD", "sides", {"x": floats(2, 3, 5)}, {"pads": (0, 0, 1, 2, 0, 3)}),
        Case("PAD", "filled", {"x": floats(2, 3)}, {"pads": (0, 0, 2, 1), "fill": -1.5}),
        *_strided(),
        *_mirrored(),
        Case("BROADCAST", "rows", {"x": floats(1, 5)}, {"shape": (3, 5)}),
        Case("BROADCAST", "lead", {"x": floats(5, 1)}, {"shape": (2, 5, 7)}),
        Case("BROADCAST", "scalar", {"x": floats()}, {"shape": (3, 17)}),
        Case("CONCAT", "last", {"xs": [floats(3, 5), floats(3, 1), floats(3, 7)]}),
        Case("CONCAT", "middle", {"xs": [floats(2, 3, 5), floats(2, 4, 5)]}, {"axis": 1}),
        Case("CONCAT", "single", {"xs": [floats(3, 5)]}),
        Case(
            "CONCAT_CHANNEL",
            "pictures",
            {"xs": [floats(2, 3, 3, 1), floats(2, 3, 3, 5)]},
            {"count": 2},
        ),
        Case(
            "CONCAT_CHANNEL",
            "halo",
            {"xs": [floats(2, 3, 3, 1, pad=HALO), floats(2, 3, 3, 5)]},
            {"count": 2},
            out_pad=HALO,
        ),
        Case("FILL", "number", {}, {"number": 2.5}, out=floats(3, 17)),
        Case("FILL", "halo", {}, {"number": 2.5}, out=floats(2, 3, 5, 4), out_pad=HALO),
        Case("ZERO", "odd", {}, out=floats(3, 17)),
    ]


def _strided() -> list[Case]:
    cuts: dict[str, tuple[Given, tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = {
        "every-second": (floats(3, 5, 7), (0, 0, 1), (-1, 3, 3), (1, 2, 2)),
        "backwards": (floats(3, 5, 7), (0, 4, 6), (-1, 5, 7), (1, -1, -1)),
        "back-by-three": (floats(3, 11), (0, 10), (-1, 4), (1, -3)),
        "one": (floats(4, 5), (3, 2), (1, 1), (-7, 9)),
        "halo": (floats(2, 5, 6, 4, pad=HALO), (1, 4, 5, 3), (2, 2, 3, 2), (-1, -3, -2, -2)),
        "whole": (integers(3, 7, high=100), (0, 6), (-1, 7), (1, -1)),
    }
    return [
        Case("SLICE", name, {"x": x}, {"begin": begin, "size": size, "steps": steps},
             gradients=x.dtype is DType.float32)
        for name, (x, begin, size, steps) in cuts.items()
    ]  # fmt: skip


def _mirrored() -> list[Case]:
    found = []
    for mode in ("reflect", "symmetric", "edge", "wrap"):
        pads: dict[str, tuple[Given, tuple[int, ...]]] = {
            "picture": (floats(2, 4, 5, 3), (0, 0, 2, 1, 3, 2, 0, 0)),
            "halo": (floats(2, 3, 5, 4, pad=HALO), (0, 0, 1, 2, 0, 3, 0, 0)),
            "far": (floats(2, 3), (0, 0, 7, 8)),
            "single": (floats(3, 1), (0, 0, 2, 1)),
            "none": (floats(3, 2), (0, 0, 0, 0)),
            "whole": (integers(5, 3, high=100), (2, 3, 0, 1)),
        }
        found += [
            Case("PAD", f"{mode}-{name}", {"x": x}, {"pads": pad, "mode": mode},
                 gradients=x.dtype is DType.float32)
            for name, (x, pad) in pads.items()
        ]  # fmt: skip
    return found


def _reductions() -> list[Case]:
    axes: dict[str, tuple[tuple[int, ...], dict[str, object]]] = {
        "all": ((3, 5, 7), {}),
        "last": ((3, 5, 7), {"axes": (2,)}),
        "middle-kept": ((3, 5, 7), {"axes": (1,), "keepdims": True}),
        "two": ((3, 5, 7), {"axes": (0, 2)}),
        "one": ((1,), {}),
        "long": ((3, 2001), {"axes": (1,)}),
    }
    found = []
    for name, (shape, attrs) in axes.items():
        found += [
            Case(mnemonic, name, {"x": floats(*shape)}, attrs, atol=3e-5, reason="long sums")
            for mnemonic in ("REDUCE_SUM", "REDUCE_MEAN")
        ]
        found += [
            Case(mnemonic, name, {"x": floats(*shape, make=apart)}, attrs)
            for mnemonic in ("REDUCE_MAX", "REDUCE_MIN")
        ]
        if name != "long":
            found.append(Case("REDUCE_PROD", name, {"x": floats(*shape)}, attrs, grad_rtol=5e-3))
    near_1 = floats(3, 2001, make=uniform(0.98, 1.02))
    zeros = floats(2, 5, 3, make=exactly(*[1, 2, 0, -3, 4, 5, 0, 0.5, 6, 7, -1, 0, 2, 3, 1.5] * 2))
    for mnemonic in ("ARGMAX", "ARGMIN"):
        found += [
            Case(mnemonic, "odd", {"x": floats(3, 5, 7)}),
            Case(mnemonic, "ties", {"x": integers_as_floats(17, 5)}),
            Case(mnemonic, "middle", {"x": integers_as_floats(3, 5, 7)}, {"axis": 1}),
            Case(mnemonic, "first", {"x": floats(5, 3)}, {"axis": 0}),
            Case(mnemonic, "from-the-end", {"x": floats(2, 5, 3, 4, pad=HALO)}, {"axis": -2}),
            Case(mnemonic, "whole", {"x": integers(3, 5, 4, low=-9, high=9)}, {"axis": 1}),
        ]
    return [
        *found,
        Case(
            "REDUCE_PROD",
            "long",
            {"x": near_1},
            {"axes": (1,)},
            rtol=2e-4,
            reason="2,000 roundings",
        ),
        Case("REDUCE_PROD", "zeros", {"x": zeros}, {"axes": (1,)}),
        Case("REDUCE_PROD", "zeros-apart", {"x": zeros}, {"axes": (0, 2)}),
        Case("REDUCE_PROD", "halo", {"x": floats(2, 3, 5, 4, pad=HALO)}, {"axes": (1, 3)}),
        Case("ONE_HOT", "inside", {"x": integers(3, 5, high=7)}, {"depth": 7}),
        Case("ONE_HOT", "outside", {"x": integers(17, low=-3, high=7)}, {"depth": 3}),
    ]


def integers_as_floats(*shape: int) -> Given:
    return Given(shape, lambda rng, s: rng.integers(0, 3, s))


def _data() -> list[Case]:
    order = Given((7,), lambda rng, shape: rng.permutation(7), DType.int32)
    pictures = Given((7, 3, 5), lambda rng, shape: rng.integers(0, 256, shape), DType.uint8)
    scalars = [Given((), exactly(value)) for value in (0.5, -2.0, 7.25)]
    table, late = floats(7, 3), step_block(cursor=5)
    return [
        Case("GATHER_BATCH", "floats", {"data": table, "order": order, "step": step_block()}),
        Case("GATHER_BATCH", "wraps", {"data": table, "order": order, "step": late}),
        Case("GATHER_BATCH", "bytes", {"data": pictures, "order": order, "step": late}),
        Case(
            "GATHER_BATCH", "labels", {"data": integers(7, high=10), "order": order, "step": late}
        ),
        Case("TAKE", "rows", {"table": table, "i": integers(3, 5, high=7)}),
        Case("TAKE", "outside", {"table": table, "i": integers(17, low=-2, high=9)}),
        Case("RECORD", "wraps", {"values": scalars, "ring": floats(5, 3), "step": step_block()}),
        Case("ADVANCE", "batch", {"x": floats(3, 2), "step": step_block()}),
        Case("BEGIN_UPDATE", "counts", {"step": step_block()}, without=["now"]),
        Case("BEGIN_UPDATE", "copies", {"step": step_block(cursor=5)}),
        Case("GLOBAL_NORM", "three", {"gs": [floats(3, 5), floats(17), floats()]}),
        Case("GLOBAL_NORM", "long", {"gs": [floats(301, 301)]}),
    ]


CASES = [*_moves(), *_reductions(), *_data()]
