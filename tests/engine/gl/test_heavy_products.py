"""Dense layers, matrix products and convolutions equal sums written out, in every engine."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest

from studio.engine.compiler.target import GL
from studio.engine.core.tensor import Ref
from studio.engine.gl.backend import GlBackend
from studio.engine.gl.kernels.product import Factor, Product
from studio.engine.gl.kernels.products import direct_weights
from studio.engine.gl.kernels.products.dense_products import affordable
from studio.engine.gl.kernels.specs import BoundInstruction, DeviceCaps
from studio.engine.gl.kernels.tiles import REGISTER_TILES, TILES, best_tile
from studio.engine.gl.record.device_work import DeviceWork
from tests.engine.gl.naive import Array, Window, close, conv, conv_gradients, draw
from tests.engine.gl.one_line import OneLine, planned_for, run_line

pytestmark = pytest.mark.gl
ENGINES = ("registers_4x4", "tiles_32x32s4")


@pytest.mark.parametrize("variant", ENGINES)
@pytest.mark.parametrize(("rows", "inner", "out"), [(5, 7, 9), (37, 12, 36)])
def test_linear_is_x_times_w_transposed_plus_b(
    backend: GlBackend, variant: str, rows: int, inner: int, out: int
) -> None:
    x, w, b = draw(rows, inner), draw(out, inner), draw(out)
    line = OneLine("LINEAR", {"w": w, "b": b, "x": x, "y": (rows, out)}, batched=("x", "y"))
    close(run_line(backend, line, "y", variant=variant)["y"], x @ w.T + b)


@pytest.mark.slow
@pytest.mark.parametrize("variant", ENGINES)
@pytest.mark.parametrize(("rows", "inner", "out"), [(5, 7, 9), (37, 12, 36)])
def test_grads_linear_sets_adds_and_skips(
    backend: GlBackend, variant: str, rows: int, inner: int, out: int
) -> None:
    x, w, b, dy = draw(rows, inner), draw(out, inner), draw(out), draw(rows, out)
    operands = {"w": w, "b": b, "x": x, "y": (rows, out)}
    old = {"y": dy, "w": draw(out, inner), "x": draw(rows, inner), "b": draw(out)}
    line = OneLine("GRADS_LINEAR", operands, old, ("x", "y"), set=("x",), skip=("b",))
    found = run_line(backend, line, "dx", "dw", "db", variant=variant)
    close(found["dx"], dy @ w)
    close(found["dw"], old["w"] + dy.T @ x)
    close(found["db"], old["b"])


def test_linear_takes_rows_of_higher_rank_and_no_bias(backend: GlBackend) -> None:
    x, w, dy = draw(2, 3, 4), draw(8, 4), draw(2, 3, 8)
    operands = {"w": w, "b": None, "x": x, "y": (2, 3, 8)}
    line = OneLine("LINEAR", operands, batched=("x", "y"))
    close(run_line(backend, line, "y")["y"], x @ w.T)
    line = OneLine("GRADS_LINEAR", operands, {"y": dy}, ("x", "y"), set=("x", "w"))
    found = run_line(backend, line, "dx", "dw")
    close(found["dx"], dy @ w)
    close(found["dw"], np.einsum("abo,abi->oi", dy, x))


@pytest.mark.slow
@pytest.mark.parametrize("gpu", [False, True])
def test_long_sums_are_cut_into_parts_and_added_up(backend: GlBackend, gpu: bool) -> None:
    rows, inner, out = 4, 4100, 8
    x, w, b = draw(rows, inner), draw(out, inner), draw(out)
    operands = {"w": w, "b": b, "x": x, "y": (rows, out)}
    assert best_tile(rows, out, inner, 1, TILES if gpu else REGISTER_TILES, software=not gpu)[1] > 1
    line = OneLine("LINEAR", operands, batched=("x", "y"))
    expected = x @ w.T + b
    first = run_line(backend, line, "y", gpu=gpu)["y"]
    np.testing.assert_allclose(first, expected, rtol=2e-4, atol=2e-4)
    assert np.array_equal(first, run_line(backend, line, "y", gpu=gpu)["y"])
    long = draw(2100, 4)
    operands = {"w": draw(8, 4), "b": draw(8), "x": long, "y": (2100, 8)}
    old = {"y": draw(2100, 8), "w": draw(8, 4)}
    line = OneLine("GRADS_LINEAR", operands, old, ("x", "y"), set=("b", "x"))
    found = run_line(backend, line, "dw", "db", gpu=gpu)
    np.testing.assert_allclose(found["dw"], old["w"] + old["y"].T @ long, rtol=2e-4, atol=2e-4)
    np.testing.assert_allclose(found["db"], old["y"].sum(0), rtol=2e-4, atol=2e-4)


def turned(matrices: Array, on: bool) -> Array:
    return np.swapaxes(matrices, -1, -2) if on else matrices


def summed_to(values: Array, shape: tuple[int, ...]) -> Array:
    while values.ndim > len(shape):
        values = values.sum(0)
    for axis, size in enumerate(shape):
        if size == 1 and values.shape[axis] != 1:
            values = values.sum(axis, keepdims=True)
    return values


MATRICES = [
    ((), (), False, True),
    ((3,), (3,), True, False),
    ((2, 1), (3,), True, True),
    ((), (2,), False, False),
]
SLOW = pytest.mark.slow
"""What the tiles of shared memory do once more: renderers on a CPU compile them for seconds."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variant", "lead_a", "lead_b", "ta", "tb"),
    [
        *(("registers_4x4", *each) for each in MATRICES),
        *(("tiles_32x32s4", *each) for each in MATRICES[:2]),
        *(pytest.param("tiles_32x32s4", *each, marks=SLOW) for each in MATRICES[2:]),
    ],
)
def test_matmul_and_its_gradients(
    backend: GlBackend,
    variant: str,
    lead_a: tuple[int, ...],
    lead_b: tuple[int, ...],
    ta: bool,
    tb: bool,
) -> None:
    rows, inner, cols = 5, 8, 4
    a = draw(*lead_a, *((inner, rows) if ta else (rows, inner)))
    b = draw(*lead_b, *((cols, inner) if tb else (inner, cols)))
    y = turned(a, ta) @ turned(b, tb)
    dy = draw(*y.shape)
    operands = {"a": a, "b": b, "y": y.shape}
    line = OneLine("MATMUL", operands, ta=ta, tb=tb)
    close(run_line(backend, line, "y", variant=variant)["y"], y)
    line = OneLine("GRADS_MATMUL", operands, {"y": dy, "b": b}, ta=ta, tb=tb, set=("a",))
    found = run_line(backend, line, "da", "db", variant=variant)
    da = turned(dy @ np.swapaxes(turned(b, tb), -1, -2), ta)
    db = turned(np.swapaxes(turned(a, ta), -1, -2) @ dy, tb)
    close(found["da"], summed_to(da, a.shape))
    close(found["db"], b + summed_to(db, b.shape))


def test_matmul_of_a_tensor_with_itself_adds_both_gradients(backend: GlBackend) -> None:
    a, dy = draw(4, 4), draw(4, 4) + 1.0
    line = OneLine("GRADS_MATMUL", {"a": a, "y": (4, 4)}, {"y": dy}, same={"b": "a"}, set=("a",))
    close(run_line(backend, line, "da")["da"], dy @ a.T + a.T @ dy)


WINDOWS = {
    "same, three channels": ((2, 7, 6, 3), 5, Window((3, 3), (1, 1), (1, 1), (1, 1))),
    "strides, one-sided pads": ((3, 9, 8, 4), 8, Window((3, 2), (2, 2), (0, 0), (1, 1))),
    "dilation, odd pads": ((2, 8, 7, 2), 6, Window((2, 3), (1, 2), (1, 2), (2, 1), (2, 1))),
    "pointwise": ((2, 5, 5, 8), 12, Window((1, 1))),
}


WINDOWS_IN_TILES = ("same, three channels", "strides, one-sided pads")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variant", "name", "halo"),
    [
        *(("registers_4x4", name, halo) for name in WINDOWS for halo in (False, True)),
        *(("tiles_32x32s4", name, halo) for name in WINDOWS_IN_TILES for halo in (False, True)),
        *(
            pytest.param("tiles_32x32s4", name, True, marks=SLOW)
            for name in WINDOWS
            if name not in WINDOWS_IN_TILES
        ),
    ],
)
def test_conv2d_and_its_gradients(backend: GlBackend, variant: str, name: str, halo: bool) -> None:
    shape, filters, window = WINDOWS[name]
    x, b = draw(*shape), draw(filters)
    w = draw(*window.size, shape[3], filters)
    y = conv(x, w, window) + b
    dy = draw(*y.shape)
    pads = dict.fromkeys("xy", ((0, 0), (2, 3), (2, 3), (0, 0))) if halo else {}
    operands = {"w": w, "b": b, "x": x, "y": y.shape}
    line = OneLine("CONV2D", operands, None, ("x", "y"), pads, **window.fields())
    close(run_line(backend, line, "y", variant=variant)["y"], y)
    fields = {**window.fields(), "set": ("x", "b")}
    line = OneLine("GRADS_CONV2D", operands, {"y": dy, "w": w}, ("x", "y"), pads, **fields)
    found = run_line(backend, line, "dx", "dw", "db", variant=variant)
    dx, dw = conv_gradients(x, w, dy, window)
    close(found["dx"], dx)
    close(found["dw"], w + dw)
    close(found["db"], dy.sum((0, 1, 2)))


FEW = {
    "one channel": ((3, 22, 21, 1), 8, Window((3, 3), (1, 1), (1, 1), (1, 1))),
    "many filters": ((2, 7, 6, 2), 128, Window((2, 2))),
}
FEW_FORWARD = FEW | {"three channels": ((2, 9, 12, 3), 16, Window((3, 3), (1, 1), (0, 0), (1, 1)))}
FEW_BACK = FEW | {"strides": ((2, 9, 12, 1), 16, Window((3, 3), (2, 2), (0, 0), (1, 1)))}
HALO = dict.fromkeys("xy", ((0, 0), (1, 2), (1, 2), (0, 0)))


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("halo", [False, True])
@pytest.mark.parametrize("name", FEW_FORWARD)
def test_windows_with_few_cells(backend: GlBackend, name: str, halo: bool, bias: bool) -> None:
    shape, filters, window = FEW_FORWARD[name]
    x, w = draw(*shape), draw(*window.size, shape[3], filters)
    b = draw(filters) if bias else None
    y = conv(x, w, window) + (0.0 if b is None else b)
    operands = {"w": w, "b": b, "x": x, "y": y.shape}
    line = OneLine("CONV2D", operands, None, ("x", "y"), HALO if halo else {}, **window.fields())
    line.follow("RELU")
    found = run_line(backend, line, "y", "z", variant="few_taps", gpu=True)
    close(found["y"], y)
    close(found["z"], np.maximum(y, 0.0))


@pytest.mark.slow
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("halo", [False, True])
@pytest.mark.parametrize("name", FEW_BACK)
def test_gradients_of_windows_with_few_cells(
    backend: GlBackend, name: str, halo: bool, bias: bool
) -> None:
    shape, filters, window = FEW_BACK[name]
    x, w = draw(*shape), draw(*window.size, shape[3], filters)
    dy = draw(*conv(x, w, window).shape)
    operands = {"w": w, "b": draw(filters) if bias else None, "x": x, "y": dy.shape}
    given = {"y": dy, "w": w}
    pads = HALO if halo else {}
    line = OneLine("GRADS_CONV2D", operands, given, ("x", "y"), pads, set=("x", "b")[: 1 + bias],
                   **window.fields())  # fmt: skip
    wanted = ("dx", "dw", "db")[: 2 + bias]
    found = run_line(backend, line, *wanted, variant="few_taps", gpu=True)
    dx, dw = conv_gradients(x, w, dy, window)
    close(found["dx"], dx)
    close(found["dw"], w + dw)
    if bias:
        close(found["db"], dy.sum((0, 1, 2)))


DIRECT = {
    "same": ((2, 5, 8, 16), 16, Window((3, 3), (1, 1), (1, 1), (1, 1))),
    "more filters, one-sided pads": ((3, 6, 12, 8), 32, Window((2, 3), (1, 1), (1, 0), (0, 2))),
    "many channels, no pads": ((2, 7, 10, 32), 8, Window((3, 3))),
}
STRIDED = {
    "strides": ((3, 9, 8, 16), 32, Window((3, 3), (2, 2), (0, 0), (1, 1))),
    "many filters": ((2, 6, 6, 32), 64, Window((3, 3), (1, 1), (1, 1), (1, 1))),
    "many channels": ((2, 3, 4, 64), 64, Window((3, 3), (1, 1), (1, 1), (1, 1))),
}


@pytest.mark.parametrize("halo", [False, True])
@pytest.mark.parametrize("name", STRIDED)
def test_weights_of_few_channels_need_no_product(backend: GlBackend, name: str, halo: bool) -> None:
    shape, filters, window = STRIDED[name]
    x, w = draw(*shape), draw(*window.size, shape[3], filters)
    dy = draw(*conv(x, w, window).shape)
    pads = dict.fromkeys("xy", ((0, 0), (1, 2), (1, 2), (0, 0))) if halo else {}
    operands = {"w": w, "b": None, "x": x, "y": dy.shape}
    given = {"y": dy, "w": w}
    line = OneLine("GRADS_CONV2D", operands, given, ("x", "y"), pads, skip=("x",),
                   **window.fields())  # fmt: skip
    found = run_line(backend, line, "dw", variant="direct", gpu=True)
    close(found["dw"], w + conv_gradients(x, w, dy, window)[1])


@pytest.mark.slow
@pytest.mark.parametrize("rows", [1, 2, 4])
@pytest.mark.parametrize("name", [*STRIDED, *DIRECT])
def test_gradients_of_weights_by_many_tiles_a_group(
    backend: GlBackend, monkeypatch: pytest.MonkeyPatch, name: str, rows: int
) -> None:
    # Few groups, so that each goes over several tiles, the last of them cut off by the image's end.
    for constant, value in {"_GROUPS": 4, "_FEWEST_GROUPS": 1, "_ROWS": (rows,)}.items():
        monkeypatch.setattr(direct_weights, constant, value)
    shape, filters, window = (STRIDED | DIRECT)[name]
    x, w = draw(*shape), draw(*window.size, shape[3], filters)
    dy = draw(*conv(x, w, window).shape)
    operands = {"w": w, "b": None, "x": x, "y": dy.shape}
    line = OneLine("GRADS_CONV2D", operands, {"y": dy}, ("x", "y"), skip=("x",), set=("w",),
                   **window.fields())  # fmt: skip
    op = BoundInstruction(line.program, line.instruction, line.batch, line.batch, DeviceCaps())
    grid = direct_weights.weight_grid(op)
    assert grid is not None
    assert grid.rows == rows
    found = run_line(backend, line, "dw", variant="direct", gpu=True)
    close(found["dw"], conv_gradients(x, w, dy, window)[1])


@pytest.mark.slow
@pytest.mark.parametrize("halo", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("name", DIRECT)
def test_convolutions_of_few_channels_need_no_product(
    backend: GlBackend, name: str, halo: bool, bias: bool
) -> None:
    shape, filters, window = DIRECT[name]
    x, w = draw(*shape), draw(*window.size, shape[3], filters)
    b = draw(filters) if bias else None
    y = conv(x, w, window) + (0.0 if b is None else b)
    dy = draw(*y.shape)
    pads = dict.fromkeys("xy", ((0, 0), (1, 2), (1, 2), (0, 0))) if halo else {}
    operands = {"w": w, "b": b, "x": x, "y": y.shape}
    line = OneLine("CONV2D", operands, None, ("x", "y"), pads, **window.fields())
    line.follow("RELU")
    found = run_line(backend, line, "y", "z", variant="direct", gpu=True)
    close(found["y"], y)
    close(found["z"], np.maximum(y, 0.0))
    if shape[2] % 4:
        return
    for fields in ({"set": ("x", "w")}, {"set": ("w",)}):
        given = {"y": dy, "x": x}
        line = OneLine("GRADS_CONV2D", operands, given, ("x", "y"), pads, **fields,
                       skip=("b",), **window.fields())  # fmt: skip
        found = run_line(backend, line, "dx", "dw", variant="direct", gpu=True)
        dx, dw = conv_gradients(x, w, dy, window)
        close(found["dx"], dx + (0.0 if "x" in fields["set"] else x))
        close(found["dw"], dw)


@pytest.mark.parametrize("cols", [10, 12, 40])
@pytest.mark.parametrize("rows", [3, 700, 5000])
def test_bias_gradients_are_sums_over_all_rows(backend: GlBackend, rows: int, cols: int) -> None:
    x, w, b, dy = draw(rows, 4), draw(cols, 4), draw(cols), draw(rows, cols) + 3.0
    operands = {"w": w, "b": b, "x": x, "y": (rows, cols)}
    for fields in ({"set": ("b",)}, {}):
        line = OneLine("GRADS_LINEAR", operands, {"y": dy, "b": b}, ("x", "y"),
                       skip=("x", "w"), **fields)  # fmt: skip
        found = run_line(backend, line, "db", gpu=True)["db"]
        wanted = dy.sum(0) + (0 if fields else b)
        np.testing.assert_allclose(found, wanted, rtol=3e-6)


LARGER = {"even": (133, 140, 40), "odd": (131, 137, 39)}
ONE_TILE = [f"tiles_{t.name}" for t in TILES]


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGER)
@pytest.mark.parametrize("variant", [*ONE_TILE, "registers_8x8"])
def test_every_tile_multiplies_what_is_larger_than_it(
    backend: GlBackend, variant: str, name: str
) -> None:
    rows, out, inner = LARGER[name]
    x, w, b = draw(rows, inner), draw(out, inner), draw(out)
    line = OneLine("LINEAR", {"w": w, "b": b, "x": x, "y": (rows, out)}, batched=("x", "y"))
    tile = next((t for t in TILES if f"tiles_{t.name}" == variant), TILES[-1])
    if tile.shared_bytes(turned=2) > backend.info.shared_memory_bytes:
        pytest.skip("the device has no shared memory for blocks of both factors that are turned")
    close(run_line(backend, line, "y", variant=variant)["y"], x @ w.T + b)


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGER)
@pytest.mark.parametrize("variant", ONE_TILE)
def test_every_tile_sums_over_rows(backend: GlBackend, variant: str, name: str) -> None:
    out, inner, rows = LARGER[name]
    x, w, dy = draw(rows, inner), draw(out, inner), draw(rows, out)
    operands = {"w": w, "b": None, "x": x, "y": (rows, out)}
    given = {"y": dy, "w": w}
    line = OneLine("GRADS_LINEAR", operands, given, ("x", "y"), skip=("x",))
    close(run_line(backend, line, "dw", variant=variant)["dw"], w + dy.T @ x)


def test_tiles_keep_to_what_opengl_promises() -> None:
    for tile in (*TILES, *REGISTER_TILES):
        assert tile.threads <= 256
        assert tile.rows % tile.per_row == tile.cols % tile.per_col == 0
        if tile.shared:
            # Lanes stand in rectangles of 8x4 or 4x8 quads of results.
            across, down = tile.cols // tile.per_col, tile.rows // tile.per_row
            assert across % 8 == down % 4 == 0 or across % 4 == down % 8 == 0
            assert tile.depth // tile.slices % 4 == 0
            assert tile.per_row * tile.per_col // 4 % (tile.slices * tile.share) == 0
            handed = tile.threads * (tile.slices - 1) * tile.share * 16
            assert handed <= tile.shared_bytes()


def test_narrow_tiles_are_kept_for_results_of_few_columns() -> None:
    def names(cols: int) -> set[str]:
        factors = (Factor("x", True, True), Factor("w", True, True))
        found = Product("linear", 4096, cols, 64, *factors, Ref(0))
        return {tile.name for tile in affordable(found, TILES) if tile.narrow}

    assert names(16) == {"128x32", "128x32s2", "128x16", "64x16"}
    assert names(17) == {"128x32", "128x32s2"}
    assert not names(64)


def test_tiles_need_no_more_shared_memory_than_there_is() -> None:
    def names(shared: int, *, along_depth: bool) -> set[str]:
        left, right = Factor("x", along_depth, True), Factor("w", False, True)
        found = Product("linear", 4096, 4096, 64, left, right, Ref(0))
        return {tile.name for tile in affordable(found, TILES, shared)}

    most = {tile.name for tile in TILES if not tile.narrow}
    assert names(48 << 10, along_depth=True) == most
    assert names(32 << 10, along_depth=True) == most - {"128x128", "64x64x32s2"}


def test_large_products_take_large_tiles_and_small_ones_are_cut_along_the_depth() -> None:
    assert best_tile(4096, 4096, 4096, 1, TILES, software=False)[0].name == "128x128"
    tile, parts = best_tile(32, 32, 65536, 1, TILES, software=False)
    assert tile.name == "32x32s4"
    assert parts >= 64
    for rows in (131072, 32768):
        assert best_tile(rows, 16, 144, 1, TILES, software=False)[0].name == "128x16"
    assert best_tile(512, 512, 512, 1, REGISTER_TILES, software=True)[0].name == "8x8"
    assert best_tile(1, 10, 128, 1, REGISTER_TILES, software=True)[1] == 1


@pytest.mark.parametrize(("gpu", "variant"), [(False, ""), (True, ""), (False, "tiles_32x32s4")])
@pytest.mark.parametrize(("inner", "out"), [(12, 8), (2100, 7)])
def test_an_epilogue_meets_every_result_once_whole(
    backend: GlBackend, inner: int, out: int, gpu: bool, variant: str
) -> None:
    x, w, b = draw(5, inner), draw(out, inner), draw(out)
    line = OneLine("LINEAR", {"w": w, "b": b, "x": x, "y": (5, out)}, batched=("x", "y"))
    line.follow("SQUARE")
    found = run_line(backend, line, "y", "z", gpu=gpu, variant=variant)
    np.testing.assert_allclose(found["y"], x @ w.T + b, rtol=2e-4, atol=2e-4)
    np.testing.assert_allclose(found["z"], (x @ w.T + b) ** 2, rtol=1e-3, atol=1e-3)


@pytest.mark.slow
def test_an_epilogue_follows_a_convolution(backend: GlBackend) -> None:
    window = Window((3, 3), (1, 1), (1, 1), (1, 1))
    x, w, b = draw(2, 5, 6, 4), draw(3, 3, 4, 8), draw(8)
    y = conv(x, w, window) + b
    operands = {"w": w, "b": b, "x": x, "y": y.shape}
    line = OneLine("CONV2D", operands, None, ("x", "y"), **window.fields())
    line.follow("SQUARE")
    for variant in ENGINES:
        close(run_line(backend, line, "z", variant=variant)["z"], y**2)


SPLIT = {
    "whole tiles": (128, 256, 512),
    "ragged": (70, 41, 1000),
    "many tiles": (300, 200, 700),
}


@pytest.mark.slow
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("name", SPLIT)
def test_the_last_work_group_adds_up_the_parts_of_a_product(
    backend: GlBackend, name: str, bias: bool
) -> None:
    rows, out, depth = SPLIT[name]
    x, w, b = draw(rows, depth), draw(out, depth), draw(out) if bias else None
    line = OneLine("LINEAR", {"w": w, "b": b, "x": x, "y": (rows, out)}, batched=("x", "y"))
    line.follow("RELU")
    with planned_for(backend, GL):
        session = backend.open_session()
        executable = backend.compile(line.program, session, rows)
    ((_, planned),) = executable.planned
    assert len(planned) == 1
    assert planned[0].launch[0] > 1
    for tensor, values in line.feeds.items():
        executable.feed(tensor, values.astype(np.float32))
    found = []
    for _ in range(3):
        executable.run(2)
        found.append([executable.fetch(line.refs[k]).result(60) for k in "yz"])
    y = x @ w.T + (0.0 if b is None else b)
    np.testing.assert_allclose(found[0][0], y, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found[0][1], np.maximum(y, 0), rtol=1e-4, atol=1e-4)
    for again in found[1:]:
        np.testing.assert_array_equal(again, found[0])
    executable.close()
    session.close()


@pytest.mark.slow
@pytest.mark.parametrize(("offered", "dispatches"), [(5, 2), (6, 1)])
def test_products_that_touch_many_storages_are_summed_by_a_dispatch(
    backend: GlBackend, offered: int, dispatches: int
) -> None:
    x, w, b = draw(128, 512), draw(256, 512), draw(256)
    line = OneLine("LINEAR", {"w": w, "b": b, "x": x, "y": (128, 256)}, batched=("x", "y"))
    with patch.object(DeviceWork, "caps", DeviceCaps(storage_blocks=5, offered_blocks=offered)):
        session = backend.open_session()
        executable = backend.compile(line.program, session, 128)
    ((_, planned),) = executable.planned
    assert [one.source.name for one in planned] == ["linear", "fold_product_quads"][:dispatches]
    executable.close()
    session.close()
