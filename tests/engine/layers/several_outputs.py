"""Layers with several outputs, declared only while a test runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from studio.engine.core.errors import ShapeError
from studio.engine.core.options import integer
from studio.engine.core.tensor import Ref, TensorType
from studio.engine.isa.ops import move
from studio.engine.layers.context import LayerContext
from studio.engine.layers.dense import Dense
from studio.engine.layers.dropout import Dropout
from studio.engine.layers.graph import LayerGraph, Port
from studio.engine.layers.inputs import Input
from studio.engine.layers.layer import Layer
from studio.engine.layers.merging import Concatenate
from studio.engine.layers.shaping import Flatten
from studio.engine.train.project.project import Project
from tests.engine.registered import registered_meanwhile


@contextmanager
def split_layer() -> Iterator[Any]:
    """A layer that cuts [features] in two behind its first ``at`` features."""
    with registered_meanwhile():

        class Split(Layer):
            """Cuts its input in two."""

            category = "shape"
            positional = ("at",)
            at = integer("Features of the first part.", low=1, start=1)

            def output_types(self, *types: TensorType) -> tuple[TensorType, ...]:
                (given,) = types
                self.require_rank(given.sample, "features")
                if not self.at < given.sample[0]:
                    raise ShapeError(f"expected more than {self.at} features", who=self.who)
                rest = given.sample[0] - self.at
                return given.with_sample((self.at,)), given.with_sample((rest,))

            def lower(self, context: LayerContext, *inputs: Ref) -> tuple[Ref, ...]:
                (x,) = inputs
                width = context.shape_of(x)[0]
                first = context.emit(move.Slice, x=x, begin=(0, 0), size=(-1, self.at))
                second = context.emit(
                    move.Slice, "output_1", x=x, begin=(0, self.at), size=(-1, width - self.at)
                )
                return first, second

        yield Split


def cut_digits(*, joined: bool = False) -> Project:
    """Digits cut in two behind the first 20 pixels; only the rest is used, or both are."""
    graph = LayerGraph("cut")
    x = graph.add(Flatten(), graph.add(Input((8, 8, 1))))
    with split_layer() as split:
        cut = graph.add(split(20), x, node_id="cut")
    rest = graph.add(Dropout(0.5), Port(cut.node, 1))
    if joined:
        rest = graph.add(Concatenate(), rest, cut)
    graph.outputs = (graph.add(Dense(10, "softmax"), rest),)
    return Project.new(
        "cut", graph, {"source": "digits", "normalization": "unit"}, {"epochs": 1, "batch_size": 64}
    )
