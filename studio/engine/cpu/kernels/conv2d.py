"""CONV2D and its gradients: column matrices, a stretch at a time, and matrix products."""

from __future__ import annotations

from functools import partial

from studio.engine.cpu.convolution import (
    build_both_gradients,
    build_input_gradient,
    build_product,
    build_weight_gradient,
)
from studio.engine.cpu.picture_sums import PictureSums
from studio.engine.cpu.team import cut_evenly, run_together
from studio.engine.cpu.views import Run, Views
from studio.engine.cpu.windows import Columns, Geometry
from studio.engine.isa.instruction import Instruction, Twin


def _geometry(ins: Instruction, views: Views) -> Geometry:
    kh, kw = views.shape(ins.ref("w"))[:2]
    return Geometry.of(ins, (kh, kw), views.shape(ins.ref("y")))


def build(ins: Instruction, views: Views) -> Run:
    """y = columns(x)·w + b."""
    weights = views.data(ins.ref("w"))
    bias = views.data(ins.ref("b")) if ins.ref("b").present else None
    geometry, x = _geometry(ins, views), views.halo(ins.ref("x"))
    matrix, y = weights.reshape(-1, weights.shape[3]), views.data(ins.ref("y"))
    # A batch is shared by samples; what is shared here are the rows of a single picture.
    bands = cut_evenly(geometry.out[0], views.means.threads, max(x.cells.size, y.size))
    parts = [
        build_product(views, Columns(views, x, geometry, band), matrix, bias, y) for band in bands
    ]
    return parts[0] if len(parts) == 1 else partial(run_together, parts)


def build_grads(ins: Twin, views: Views) -> Run:
    """dw = columns(x)ᵀ·dy, db = Σ dy, dx = the turned convolution of dy."""
    weights, dy = views.data(ins.ref("w")), views.grad(ins.ref("y"))
    geometry = _geometry(ins, views)
    runs: list[Run] = []
    dw, db, dx = (views.sink(ins, name) for name in ("w", "b", "x"))
    slope = views.halo(ins.ref("y").gradient)
    if dw is not None and dx is not None and geometry.stride == (1, 1) != geometry.kernel:
        x = views.data(ins.ref("x"))
        runs.append(build_both_gradients(views, geometry, weights, slope, dy, x, (dw, dx)))
        dw = dx = None
    if dw is not None:
        columns = Columns(views, views.halo(ins.ref("x")), geometry)
        runs.append(build_weight_gradient(views, columns, dy, dw))
    if db is not None:
        runs.append(PictureSums(views, dy, db).run)
    if dx is not None:
        runs.append(build_input_gradient(views, geometry, weights, slope, dy, dx))

    def run() -> None:
        for part in runs:
            part()

    return run
