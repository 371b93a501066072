"""CONV2D and its gradients: compiled loops over the pictures, or column matrices and products."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from studio.engine.cpu.convolution import direct as direct_convolution
from studio.engine.cpu.convolution import winograd
from studio.engine.cpu.convolution.convolution import (
    build_both_gradients,
    build_input_gradient,
    build_product,
    build_weight_gradient,
    turned,
)
from studio.engine.cpu.convolution.direct import (
    banded,
    fills_tiles,
    fills_tiles_back,
    is_direct,
    lie_dense,
)
from studio.engine.cpu.convolution.windows import Columns, Geometry
from studio.engine.cpu.machine.threads import cut_evenly, run_together
from studio.engine.cpu.memory.views import Floats, GradAccumulator, Run, Views
from studio.engine.cpu.products.dense import in_turn
from studio.engine.cpu.products.panels import plain_parts, turned_parts
from studio.engine.cpu.reductions.picture_sums import PictureSums
from studio.engine.isa.instruction import GradInstruction, Instruction


def _geometry(ins: Instruction, views: Views) -> Geometry:
    kh, kw = views.shape(ins.ref("w"))[:2]
    return Geometry.of(ins, (kh, kw), views.shape(ins.ref("y")))


def build(ins: Instruction, views: Views) -> Run:
    """y = windows of x · w + b."""
    weights = views.data(ins.ref("w"))
    bias = views.data(ins.ref("b")) if ins.ref("b").present else None
    geometry, x = _geometry(ins, views), views.halo(ins.ref("x"))
    y = views.data(ins.ref("y"))
    if geometry.pointwise and lie_dense(x, views.halo(ins.ref("y"))):
        parts = plain_parts(views, _matrix(x.cells), _filters(weights), _matrix(y), bias)
        return partial(run_together, parts)
    # A batch is shared by samples; what is shared here are the rows of a single picture.
    bands = cut_evenly(geometry.out[0], views.config.threads, max(x.cells.size, y.size))
    direct = (
        is_direct(views, weights, weights.shape[3], x, views.halo(ins.ref("y")))
        and all(fills_tiles(banded(geometry, band)) for band in bands)
        and (len(y) == 1 or len(bands) == 1)
    )
    if direct:
        loops = _product_loops(banded(geometry, bands[0]), weights)
        for loop in loops:
            views.note_loop(loop, len(bands), "rows of pictures")
        parts = [
            _direct_product(views, banded(geometry, band), x.cells, weights, bias, part)
            for band, part in ((b, y[:, b.start : b.stop]) for b in bands)
        ]
    else:
        views.note("matmul over windows", len(bands), "rows of pictures")
        parts = [
            build_product(views, Columns(views, x, geometry, band), _filters(weights), bias, y)
            for band in bands
        ]
    return partial(run_together, parts)


def _matrix(pictures: Floats) -> Floats:
    """Dense pictures as a matrix [cells, channels]."""
    return pictures.reshape(-1, pictures.shape[3])


def _filters(weights: Floats) -> Floats:
    """Weights as a matrix [cells of a window, out]."""
    return weights.reshape(-1, weights.shape[3])


def _product_loops(geometry: Geometry, weights: Floats) -> tuple[Callable[..., object], ...]:
    """The loops that ``_direct_product`` calls for finite sums."""
    from studio.engine.cpu.compiled.convolution import convolve
    from studio.engine.cpu.compiled.winograd import convolve_squares, transform_filters

    squares = winograd.fits(geometry, weights)
    return (transform_filters, convolve_squares) if squares else (convolve,)


def _direct_product(
    views: Views, geometry: Geometry, cells: Floats, weights: Floats, bias: Floats | None, y: Floats
) -> Run:
    if winograd.fits(geometry, weights):
        return winograd.build_product(views, geometry, cells, weights, bias, y)
    return direct_convolution.build_product(views, geometry, cells, weights, bias, y)


def build_grads(ins: GradInstruction, views: Views) -> Run:
    """dw = windows of x, transposed · dy, db = Σ dy, dx = the turned convolution of dy."""
    accumulators = {name: views.accumulator(ins, name) for name in ("w", "b", "x")}
    runs = _weights_and_input(ins, views, accumulators)
    if accumulators["b"] is not None:
        runs.append(PictureSums(views, views.grad(ins.ref("y")), accumulators["b"]).run)
    return in_turn(runs)


def _dense_input_gradient(
    ins: GradInstruction, views: Views, geometry: Geometry, dx: GradAccumulator
) -> Run | None:
    """dx without columns, where pictures lie for it."""
    weights, dy = views.data(ins.ref("w")), views.grad(ins.ref("y"))
    pictures = [views.halo(ins.ref(name).gradient) for name in ("y", "x")]
    if geometry.pointwise and lie_dense(*pictures):
        return _pointwise_input_gradient(views, weights, dy, dx)
    if not is_direct(views, weights, weights.shape[2], *pictures):
        return None
    from studio.engine.cpu.compiled.convolution import convolve
    from studio.engine.cpu.compiled.winograd import turn_filters

    back = turned(geometry, dy, dx)
    if geometry.stride == (1, 1) and winograd.fits(back, weights):
        for loop in (turn_filters, *_product_loops(back, weights)):
            views.note_loop(loop)
        return winograd.build_input_gradient(views, back, weights, dy, dx)
    if not fills_tiles_back(geometry, (dx.target.shape[1], dx.target.shape[2])):
        return None
    views.note_loop(convolve)
    return direct_convolution.build_input_gradient(views, geometry, weights, dy, dx)


def _weights_and_input(
    ins: GradInstruction, views: Views, accumulators: Mapping[str, GradAccumulator | None]
) -> list[Run]:
    weights, dy = views.data(ins.ref("w")), views.grad(ins.ref("y"))
    geometry, slope = _geometry(ins, views), views.halo(ins.ref("y").gradient)
    dw, dx = accumulators["w"], accumulators["x"]
    cells = views.halo(ins.ref("x"))
    runs: list[Run] = []
    if (
        dw is not None
        and is_direct(views, weights, dy.shape[3], slope, cells)
        and fills_tiles(geometry)
    ):
        way = winograd if winograd.fits(geometry, weights) else direct_convolution
        for loop in _weight_gradient_loops(geometry, weights):
            views.note_loop(loop)
        runs.append(way.build_weight_gradient(views, geometry, cells.cells, dy, dw))
        dw = None
    if dx is not None:
        found = _dense_input_gradient(ins, views, geometry, dx)
        if found is not None:
            runs.append(found)
            dx = None
    if dw is not None and dx is not None and geometry.stride == (1, 1) != geometry.kernel:
        x = views.data(ins.ref("x"))
        views.note("gradients by matmul over windows")
        runs.append(build_both_gradients(views, geometry, weights, slope, dy, x, (dw, dx)))
        dw = dx = None
    if dw is not None:
        views.note("weight gradients by matmul over windows")
        runs.append(build_weight_gradient(views, Columns(views, cells, geometry), dy, dw))
    if dx is not None:
        views.note("input gradients by matmul over windows")
        runs.append(build_input_gradient(views, geometry, weights, slope, dy, dx))
    return runs


def _weight_gradient_loops(
    geometry: Geometry, weights: Floats
) -> tuple[Callable[..., object], ...]:
    """The loops for gradients of weights with finite sums."""
    from studio.engine.cpu.compiled.convolution import add_weight_gradient
    from studio.engine.cpu.compiled.winograd import add_gradient_squares, transform_gradients

    squares = winograd.fits(geometry, weights)
    return (add_gradient_squares, transform_gradients) if squares else (add_weight_gradient,)


def _pointwise_input_gradient(
    views: Views, weights: Floats, dy: Floats, dx: GradAccumulator
) -> Run:
    """dx = dy·wᵀ."""
    parts = turned_parts(views, _matrix(dy), _filters(weights), None, _matrix(dx.into()))

    def run() -> None:
        run_together(parts)
        dx.deliver()

    return run
