"""GATHER and its gradient: entries looked up by indices."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.index_places import IndexPlaces, add_by_key
from studio.engine.cpu.memory.views import Run, Views
from studio.engine.cpu.products.dense import DenseIn, DenseOut, nothing
from studio.engine.isa.instruction import GradInstruction, Instruction


def build(ins: Instruction, views: Views) -> Run:
    """y takes the entries of x that the indices name; NaN or 0 where they name none."""
    places = IndexPlaces(ins, views)
    source, result = views.any(ins.ref("x")), views.any(ins.ref("y"))
    x = DenseIn(views, source, (places.outer, places.keys, places.inner))
    y = DenseOut(views, result, (places.outer, places.count, places.inner))
    nowhere = np.nan if np.issubdtype(result.dtype, np.floating) else 0

    def run() -> None:
        x.load()
        keys = places.find()
        np.take(x.array, keys, axis=1, out=y.array, mode="clip")
        outside = keys < 0
        if outside.any():
            y.array[:, outside] = nowhere
        y.store()

    return run


def build_grads(ins: GradInstruction, views: Views) -> Run:
    """Every entry of dy is added to where it was looked up."""
    accumulator = views.accumulator(ins, "x")
    if accumulator is None:
        return nothing
    places = IndexPlaces(ins, views)
    dy = DenseIn(views, views.grad(ins.ref("y")), (places.outer, places.count, places.inner))
    direct = accumulator.target.flags.c_contiguous
    target = places.seen(accumulator.target if direct else accumulator.dense())
    sets = accumulator.sets or not direct

    def run() -> None:
        dy.load()
        add_by_key(places.find(), dy.array, target, sets=sets)
        if not direct:
            accumulator.deliver()

    return run
