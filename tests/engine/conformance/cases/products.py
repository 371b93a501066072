"""Cases of dense products, convolutions and pooling."""

from __future__ import annotations

from studio.engine.core.tensor import Pads
from tests.engine.conformance.case import HALO, Case, apart, floats

SUM = "sums of many products"


def _linear() -> list[Case]:
    found = []
    for rows, inner, outer in (
        *((1, 1, 1), (3, 5, 7), (17, 7, 3), (5, 64, 33)),
        # Sides that fill vectors, which backends may treat by kernels of their own; the last two
        # are large enough for several threads.
        *((9, 16, 16), (35, 48, 32), (133, 128, 128), (100, 128, 176)),
    ):
        operands = {"w": floats(outer, inner), "b": floats(outer), "x": floats(rows, inner)}
        found.append(
            Case("LINEAR", f"{rows}x{inner}x{outer}", operands, rtol=1e-4, atol=1e-5, reason=SUM)
        )
    found += [
        Case("LINEAR", "no-bias", {"w": floats(5, 7), "x": floats(3, 7)}, atol=1e-5, reason=SUM),
        Case(
            "LINEAR",
            "sequence",
            {"w": floats(5, 7), "b": floats(5), "x": floats(3, 4, 7)},
            atol=1e-5,
            reason=SUM,
        ),
        Case(
            "LINEAR",
            "many-rows",
            {"w": floats(2, 3), "b": floats(2), "x": floats(301, 3)},
            atol=1e-5,
            reason=SUM,
        ),
    ]
    return found


def _matmul() -> list[Case]:
    shapes = {
        "plain": ((3, 5), (5, 7), {}),
        "turned-a": ((5, 3), (5, 7), {"ta": True}),
        "turned-b": ((3, 5), (7, 5), {"tb": True}),
        "turned-both": ((2, 5, 3), (2, 7, 5), {"ta": True, "tb": True}),
        "batch": ((2, 3, 5), (2, 5, 7), {}),
        "shared": ((2, 3, 5), (5, 7), {}),
        "outer": ((2, 1, 3, 5), (4, 5, 2), {}),
        "single": ((1, 1), (1, 1), {}),
    }
    return [
        Case("MATMUL", name, {"a": floats(*a), "b": floats(*b)}, attrs, atol=1e-5, reason=SUM)
        for name, (a, b, attrs) in shapes.items()
    ]


def _convolution() -> list[Case]:
    geometry: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, object]]] = {
        "valid": ((2, 7, 5, 3), (3, 3, 3, 5), {}),
        "same": ((3, 7, 7, 2), (3, 3, 2, 4), {"pad_h": 1, "pad_w": 1}),
        "pointwise": ((2, 5, 3, 7), (1, 1, 7, 5), {}),
        "pointwise-stride": ((2, 5, 5, 3), (1, 1, 3, 5), {"stride_h": 2, "stride_w": 2}),
        "stride": ((2, 7, 9, 3), (3, 3, 3, 4), {"stride_h": 2, "stride_w": 2}),
        "uneven": (
            (2, 8, 6, 2),
            (3, 3, 2, 3),
            {"stride_h": 2, "stride_w": 2, "pad_end": (1, 1)},
        ),
        "dilated": (
            (1, 9, 9, 2),
            (3, 3, 2, 3),
            {"dil_h": 2, "dil_w": 3, "pad_h": 2, "pad_w": 3},
        ),
        "wide": ((1, 5, 17, 1), (1, 5, 1, 3), {"pad_w": 2}),
        "tall": ((1, 17, 3, 5), (7, 1, 5, 1), {"pad_h": 3, "stride_h": 3}),
        "over-padded": ((1, 3, 3, 2), (2, 2, 2, 3), {"pad_h": 2, "pad_w": 2}),
        "even": ((1, 6, 6, 3), (4, 4, 3, 2), {"pad_h": 1, "pad_w": 1, "pad_end": (2, 2)}),
        "one": ((1, 1, 1, 1), (1, 1, 1, 1), {}),
        "channels": ((1, 5, 5, 17), (3, 3, 17, 33), {"pad_h": 1, "pad_w": 1}),
    }
    found = []
    for name, (x, w, attrs) in geometry.items():
        operands = {"w": floats(*w), "b": floats(w[3]), "x": floats(*x)}
        found.append(Case("CONV2D", name, operands, attrs, rtol=1e-4, atol=3e-5, reason=SUM))
    same = {"pad_h": 1, "pad_w": 1}
    small = {"w": floats(3, 3, 2, 3), "x": floats(2, 5, 6, 2)}
    wide = ((0, 0), (1, 1), (1, 1), (0, 0))
    for name, given, out in (
        ("no-bias", small["x"], ()),
        ("halo-in", floats(2, 5, 6, 2, pad=wide), ()),
        ("wide-halo-in", floats(2, 5, 6, 2, pad=HALO), ()),
        ("halo-out", small["x"], wide),
        ("halo-both", floats(2, 5, 6, 2, pad=wide), HALO),
    ):
        found.append(
            Case("CONV2D", name, {**small, "x": given}, same, out_pad=out, atol=2e-5, reason=SUM)
        )
    found.append(
        Case(
            "CONV2D",
            "halo-stride",
            {**small, "x": floats(2, 5, 6, 2, pad=HALO)},
            {**same, "stride_h": 2, "stride_w": 2},
            out_pad=HALO,
            atol=2e-5,
            reason=SUM,
        )
    )
    return found


def _full_convolution() -> list[Case]:
    """Channels that fill vectors, which a backend may give kernels of their own."""
    geometry: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, object]]] = {
        "full": ((2, 6, 7, 16), (3, 3, 16, 32), {"pad_h": 1, "pad_w": 1}),
        "full-valid": ((3, 5, 6, 16), (3, 3, 16, 16), {}),
        "full-squares": ((2, 8, 6, 16), (3, 3, 16, 32), {"pad_h": 1, "pad_w": 1}),
        "full-squares-valid": ((2, 10, 8, 32), (3, 3, 32, 16), {}),
        "full-squares-bands": ((1, 22, 14, 16), (3, 3, 16, 16), {"pad_h": 1, "pad_w": 1}),
        "full-squares-padded": ((1, 6, 8, 16), (3, 3, 16, 16), {"pad_h": 3, "pad_w": 2}),
        "full-squares-uneven": (
            (2, 7, 8, 16),
            (3, 3, 16, 16),
            {"pad_h": 0, "pad_w": 1, "pad_end": (1, 1)},
        ),
        "full-few": ((2, 6, 5, 3), (3, 3, 3, 16), {"pad_h": 1, "pad_w": 1}),
        "full-stride": (
            (2, 7, 9, 16),
            (3, 3, 16, 16),
            {"stride_h": 2, "stride_w": 2, "pad_h": 1, "pad_w": 1},
        ),
        "full-uneven": (
            (2, 8, 10, 16),
            (3, 3, 16, 16),
            {"stride_h": 2, "stride_w": 2, "pad_end": (1, 1)},
        ),
        "full-pointwise": ((2, 5, 7, 16), (1, 1, 16, 32), {}),
        "full-pointwise-blocks": ((2, 20, 19, 256), (1, 1, 256, 16), {}),
        "full-pointwise-stride": (
            (2, 8, 7, 16),
            (1, 1, 16, 16),
            {"stride_h": 2, "stride_w": 2},
        ),
        "full-gaps": ((1, 13, 11, 16), (2, 2, 16, 16), {"stride_h": 3, "stride_w": 3}),
        "full-dilated": (
            (2, 9, 8, 16),
            (3, 2, 16, 16),
            {"dil_h": 2, "dil_w": 3, "pad_h": 2, "pad_w": 1},
        ),
        "full-dilated-stride": (
            (1, 12, 11, 16),
            (3, 3, 16, 16),
            {"dil_h": 2, "dil_w": 3, "stride_h": 2, "stride_w": 2, "pad_h": 3, "pad_w": 1},
        ),
        "full-over-padded": ((1, 3, 3, 16), (2, 2, 16, 16), {"pad_h": 2, "pad_w": 2}),
        "full-small": ((2, 2, 3, 16), (3, 3, 16, 16), {"pad_h": 1, "pad_w": 1}),
    }
    found = []
    for name, (x, w, attrs) in geometry.items():
        operands = {"w": floats(*w), "b": floats(w[3]), "x": floats(*x)}
        found.append(Case("CONV2D", name, operands, attrs, rtol=1e-4, atol=3e-5, reason=SUM))
    same = {"pad_h": 1, "pad_w": 1}
    wide = ((0, 0), (1, 1), (1, 1), (0, 0))
    full = {"w": floats(3, 3, 16, 16), "x": floats(2, 5, 6, 16)}
    found.append(Case("CONV2D", "full-no-bias", full, same, rtol=1e-4, atol=3e-5, reason=SUM))
    full_halo = {**full, "x": floats(2, 5, 6, 16, pad=wide)}
    found.append(
        Case("CONV2D", "full-halo", full_halo, same, out_pad=HALO, rtol=1e-4, atol=3e-5, reason=SUM)
    )
    return found


def _depthwise() -> list[Case]:
    geometry: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, object]]] = {
        "valid": ((2, 5, 7, 3), (3, 3, 3, 1), {}),
        "same": ((2, 5, 5, 3), (3, 3, 3, 2), {"pad_h": 1, "pad_w": 1}),
        "stride": ((2, 7, 7, 5), (3, 3, 5, 1), {"stride_h": 2, "stride_w": 2, "pad_end": (1, 1)}),
        "dilated": ((1, 9, 7, 2), (3, 2, 2, 3), {"dil_h": 2, "dil_w": 2, "pad_h": 2}),
        "one": ((1, 1, 1, 1), (1, 1, 1, 1), {}),
    }
    found = []
    for name, (x, w, attrs) in geometry.items():
        operands = {"w": floats(*w), "b": floats(w[2] * w[3]), "x": floats(*x)}
        found.append(Case("DEPTHWISE_CONV2D", name, operands, attrs, atol=1e-5, reason=SUM))
    halo = {"w": floats(3, 3, 2, 2), "x": floats(2, 5, 6, 2, pad=HALO)}
    same = {"pad_h": 1, "pad_w": 1}
    found.append(Case("DEPTHWISE_CONV2D", "halo", halo, same, out_pad=HALO, atol=1e-5, reason=SUM))
    return found


def _pooling() -> list[Case]:
    geometry: dict[str, tuple[tuple[int, ...], dict[str, object]]] = {
        "halves": ((3, 6, 4, 5), {}),
        "floor": ((2, 7, 5, 3), {}),
        "overlap": ((2, 7, 7, 3), {"window_h": 3, "window_w": 3}),
        "same": (
            (2, 5, 7, 3),
            {"window_h": 3, "window_w": 3, "stride_h": 2, "stride_w": 1, "pad_h": 1, "pad_w": 1},
        ),
        "uneven": ((1, 5, 5, 2), {"pad_end": (1, 1)}),
        "gaps": ((1, 9, 7, 2), {"stride_h": 3, "stride_w": 4}),
        "whole": ((1, 3, 3, 1), {"window_h": 3, "window_w": 3}),
        "one": ((1, 1, 1, 1), {"window_h": 1, "window_w": 1}),
    }
    found = []
    for name, (shape, attrs) in geometry.items():
        found.append(Case("MAXPOOL2D", name, {"x": floats(*shape, make=apart)}, attrs))
        found.append(Case("AVGPOOL2D", name, {"x": floats(*shape)}, attrs))
        found.append(
            Case("AVGPOOL2D", f"{name}-exclude", {"x": floats(*shape)}, {**attrs, "exclude": True})
        )
    halo = floats(2, 6, 5, 3, make=apart, pad=HALO)
    found += [
        Case("MAXPOOL2D", "halo", {"x": halo}, out_pad=HALO),
        Case("AVGPOOL2D", "halo", {"x": halo}, out_pad=HALO),
        Case("MAXPOOL2D", "full", {"x": floats(2, 6, 8, 16, make=apart)}),
        Case("MAXPOOL2D", "full-floor", {"x": floats(2, 7, 5, 32, make=apart)}),
        Case("GLOBAL_AVGPOOL2D", "odd", {"x": floats(3, 5, 7, 2)}),
        Case("GLOBAL_AVGPOOL2D", "one", {"x": floats(1, 1, 1, 3)}),
        Case("GLOBAL_AVGPOOL2D", "halo", {"x": floats(2, 3, 3, 5, pad=HALO)}),
    ]
    return found


def _leading() -> list[Case]:
    """Pictures with several dimensions in front of their rows."""
    halo: Pads = ((0, 0), (0, 0), (1, 2), (2, 1), (0, 0))
    same = {"pad_h": 1, "pad_w": 1}
    small = {"w": floats(3, 3, 2, 3), "b": floats(3), "x": floats(2, 3, 5, 6, 2)}
    full = {"w": floats(3, 3, 16, 16), "b": floats(16), "x": floats(2, 3, 6, 7, 16)}
    point = {"w": floats(1, 1, 8, 12), "x": floats(3, 2, 2, 3, 4, 8)}
    each = {"w": floats(3, 3, 2, 2), "b": floats(4), "x": floats(2, 3, 5, 6, 2)}
    steps = {**same, "stride_h": 2, "stride_w": 2, "pad_end": (2, 1)}
    wide = {"x": floats(2, 3, 5, 6, 2, pad=halo)}
    pictures = floats(2, 3, 6, 4, 16, make=apart)
    sums = {"rtol": 1e-4, "atol": 3e-5, "reason": SUM}
    return [
        Case("CONV2D", "leading", small, same, **sums),
        Case("CONV2D", "leading-stride", small, steps, **sums),
        Case("CONV2D", "leading-full", full, same, **sums),
        Case("CONV2D", "leading-pointwise", point, **sums),
        Case("CONV2D", "leading-halo", {**small, **wide}, same, out_pad=halo, **sums),
        Case("DEPTHWISE_CONV2D", "leading", each, same, atol=1e-5, reason=SUM),
        Case("DEPTHWISE_CONV2D", "leading-halo", {**each, **wide}, same, atol=1e-5, reason=SUM),
        Case("MAXPOOL2D", "leading", {"x": pictures}),
        Case("MAXPOOL2D", "leading-overlap", {"x": pictures}, {**same, "window_h": 3}),
        Case("AVGPOOL2D", "leading", {"x": pictures}),
        Case("AVGPOOL2D", "leading-halo", wide, {**same, "exclude": True}, out_pad=halo),
        Case("GLOBAL_AVGPOOL2D", "leading", {"x": floats(2, 3, 4, 5, 7, 3)}),
        Case("GLOBAL_AVGPOOL2D", "leading-halo", wide),
    ]


CASES = [
    *_linear(),
    *_matmul(),
    *_convolution(),
    *_full_convolution(),
    *_depthwise(),
    *_pooling(),
    *_leading(),
]
