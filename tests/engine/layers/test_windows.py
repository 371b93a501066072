"""Windows over one, two and three axes, against counting; layers with dimensions in front."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from studio.engine.core.errors import ShapeError
from studio.engine.core.tensor import BATCH, Role
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.ops.conv import Conv2D as Conv2DLine
from studio.engine.layers.context import LayerContext
from studio.engine.layers.convolution import Conv2D, DepthwiseConv2D
from studio.engine.layers.dense import Dense
from studio.engine.layers.layer import Layer
from studio.engine.layers.pooling import (
    AveragePooling2D,
    GlobalAveragePooling2D,
    MaxPooling2D,
)
from studio.engine.layers.windows import Window, axis_names, output_size, place_window


def places(length: int, span: int, step: int) -> int:
    """Where a window of that span can stand, one by one."""
    return sum(1 for first in range(0, length, step) if first + span <= length)


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("padding", ["valid", "same"])
def test_sizes_are_those_of_counting_and_same_is_as_keras_has_it(axes: int, padding: str) -> None:
    rng = np.random.default_rng(axes)
    for _ in range(200):
        size, window, strides, dilation = (
            tuple(int(n) for n in rng.integers(1, high, axes)) for high in (12, 4, 4, 3)
        )
        spans = [(k - 1) * d + 1 for k, d in zip(window, dilation, strict=True)]
        if padding == "valid" and any(s > n for s, n in zip(spans, size, strict=True)):
            continue
        placed = place_window(size, window, strides, padding, dilation)
        found = output_size(Dense(1), (*size, 5), window, placed, dilation)
        padded = [sum(each) for each in zip(size, placed.front, placed.behind, strict=True)]
        assert found == tuple(map(places, padded, spans, strides))
        if padding == "same":
            assert found == tuple(-(-n // s) for n, s in zip(size, strides, strict=True))
            for front, behind in zip(placed.front, placed.behind, strict=True):
                assert behind - front in (0, 1)
        else:
            assert not placed.padded


def test_axes_have_names_in_messages_and_attributes() -> None:
    assert [axis_names(n) for n in (1, 2, 3)] == [
        ("steps",), ("rows", "columns"), ("slices", "rows", "columns"),
    ]  # fmt: skip
    for axes, axis in ((a, k) for a in (1, 2, 3) for k in range(a)):
        size = tuple(2 if k == axis else 9 for k in range(axes))
        window = (3,) * axes
        placed = place_window(size, window, (1,) * axes, "valid")
        with pytest.raises(ShapeError, match=f"at least 3 {axis_names(axes)[axis]} for its window"):
            output_size(Dense(1, name="dense"), (*size, 4), window, placed)
    placed = place_window((7, 8, 9), (2, 2, 3), (1, 2, 3), "same")
    assert placed.attributes() == {
        "stride_d": 1, "stride_h": 2, "stride_w": 3, "pad_d": 0, "pad_h": 0, "pad_w": 0,
        "pad_end": (1, 0, 0),
    }  # fmt: skip


def test_one_axis_becomes_the_last_of_several() -> None:
    """As a sequence [N,T,C] is a view [N,1,T,C] of pictures of one row."""
    placed = place_window((10,), (4,), (2,), "same").widened(2)
    assert placed == Window((1, 2), (0, 1), (0, 1))
    build = ProgramBuilder("one", "infer")
    x = build.tensor("x", (BATCH, 1, 10, 3), role=Role.INPUT)
    w = build.tensor("w", (1, 4, 3, 2), role=Role.PARAM)
    y = build.emit("forward", Conv2DLine, w=w, x=x, **placed.attributes())[0]
    assert build.type_of(y).shape == (BATCH, 1, 5, 2)


LAYERS = [
    Conv2D(4, 3, padding="same", activation="relu"),
    Conv2D(4, 3, strides=2),
    DepthwiseConv2D(3),
    MaxPooling2D(),
    AveragePooling2D((2, 3), padding="same"),
    GlobalAveragePooling2D(),
    GlobalAveragePooling2D(keepdims=True),
    Dense(5),
]


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: type(layer).__name__)
@pytest.mark.parametrize("lead", [(), (3,), (2, 3)])
def test_a_layer_can_be_lowered_on_leading_dimensions(layer: Layer, lead: tuple[int, ...]) -> None:
    """What applies a layer to every step of a sequence lowers it once, on all steps."""
    shape = (8, 9, 6)
    build = ProgramBuilder("each", "infer")
    x = build.tensor("x", (BATCH, *lead, *shape), role=Role.INPUT)
    context = LayerContext(build, training=False)
    named = type(layer).from_config({**layer.config(), "name": "layer"})
    with context.inside("layer", named):
        y = named.lower(context, x)
    assert build.type_of(y).shape == (BATCH, *lead, *layer.output_shape(shape))


@pytest.mark.parametrize(("layer", "rank"), [*product(LAYERS[:-1], (2, 4))])
def test_in_a_network_they_take_the_ranks_that_keras_takes(layer: Layer, rank: int) -> None:
    """Keras 3 refuses more dimensions for these layers; its Dense takes any."""
    shape = (3, 8, 9, 6)[-rank:]
    with pytest.raises(ShapeError, match=r"expected an input \[height, width, channels\]"):
        layer.output_shape(shape)
    assert Dense(5).output_shape(shape) == (*shape[:-1], 5)
