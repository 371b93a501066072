"""Graphs with a layer that does not take the shape it is given."""

from __future__ import annotations

from tests.session.document.faulty_parts import (
    Faulty,
    conv,
    dense,
    graph,
    picture,
    plain,
    vector,
)

_FLAT = plain("flat", "Flatten", "image")
RANK: list[Faulty] = [
    Faulty(
        "conv behind flatten",
        graph(picture(), _FLAT, conv("c", "flat")),
        "c",
        "shape.rank",
        port=0,
    ),
    Faulty(
        "pool behind flatten",
        graph(picture(), _FLAT, plain("p", "MaxPooling2D", "flat")),
        "p",
        "shape.rank",
        port=0,
    ),
    Faulty(
        "average pool of a vector",
        graph(vector(9), plain("p", "AveragePooling2D", "x")),
        "p",
        "shape.rank",
        port=0,
    ),
    Faulty(
        "global pool of a vector",
        graph(vector(5), plain("g", "GlobalAveragePooling2D", "x"), dense("d", "g")),
        "g",
        "shape.rank",
        port=0,
    ),
    Faulty(
        "padding of a vector",
        graph(vector(4), plain("z", "ZeroPadding2D", "x")),
        "z",
        "shape.rank",
        port=0,
    ),
    Faulty(
        "depthwise of a vector",
        graph(vector(16), ("w", "DepthwiseConv2D", "x", {"kernel_size": [3, 3]})),
        "w",
        "shape.rank",
        port=0,
    ),
    Faulty(
        "conv of a matrix",
        graph(("m", "Input", "", {"shape": [12, 9]}), conv("c", "m")),
        "c",
        "shape.rank",
        port=0,
    ),
    Faulty(
        "conv of a volume",
        graph(("v", "Input", "", {"shape": [6, 6, 4, 2]}), conv("c", "v")),
        "c",
        "shape.rank",
        port=0,
    ),
    Faulty(
        "conv behind dense",
        graph(vector(4), dense("d", "x", 48), conv("c", "d")),
        "c",
        "shape.rank",
        port=0,
    ),
    Faulty(
        "dense of scalar",
        graph(("s", "Input", "", {"shape": []}), dense("d", "s", 2)),
        "d",
        "shape.rank",
        port=0,
    ),
]


_POOLED = [plain(f"p{i}", "MaxPooling2D", "image" if i == 1 else f"p{i - 1}") for i in range(1, 4)]
WINDOW: list[Faulty] = [
    Faulty(
        "kernel wider than picture",
        graph(picture(4), conv("c", "image", kernel_size=[5, 5])),
        "c",
        "shape.window",
        port=0,
    ),
    Faulty(
        "pooled away",
        graph(picture(8), *_POOLED, plain("p4", "MaxPooling2D", "p3")),
        "p4",
        "shape.window",
        port=0,
    ),
    Faulty(
        "conv behind three pools",
        graph(picture(8), *_POOLED, conv("c", "p3")),
        "c",
        "shape.window",
        port=0,
    ),
    Faulty(
        "dilated too far",
        graph(picture(6), conv("c", "image", dilation_rate=[4, 4])),
        "c",
        "shape.window",
        port=0,
    ),
    Faulty(
        "depthwise too wide",
        graph(picture(2), ("w", "DepthwiseConv2D", "image", {"kernel_size": [3, 3]})),
        "w",
        "shape.window",
        port=0,
    ),
    Faulty(
        "average over too much",
        graph(picture(3), plain("p", "AveragePooling2D", "image", pool_size=[4, 4])),
        "p",
        "shape.window",
        port=0,
    ),
    Faulty(
        "second conv starves",
        graph(picture(5), conv("a", "image"), conv("b", "a", strides=[2, 2]), conv("c", "b")),
        "c",
        "shape.window",
        port=0,
    ),
]


AXIS_AND_SIZE: list[Faulty] = [
    Faulty(
        "softmax along nothing",
        graph(vector(6), dense("d", "x"), plain("s", "Softmax", "d", axis=2)),
        "s",
        "shape.axis",
        port=0,
    ),
    Faulty(
        "softmax along the batch",
        graph(vector(6), dense("d", "x"), plain("s", "Softmax", "d", axis=0)),
        "s",
        "shape.axis",
        port=0,
    ),
    Faulty(
        "norm along rows",
        graph(picture(), plain("n", "BatchNormalization", "image", axis=1)),
        "n",
        "shape.axis",
        port=0,
    ),
    Faulty(
        "reshape of 64 to 60",
        graph(picture(), ("r", "Reshape", "image", {"target_shape": [6, 10]})),
        "r",
        "shape.reshape",
        port=0,
    ),
    Faulty(
        "reshape with _TWO open sides",
        graph(picture(), ("r", "Reshape", "image", {"target_shape": [-1, -1]})),
        "r",
        "shape.reshape",
        port=0,
    ),
    Faulty(
        "reshape to a wrong picture",
        graph(vector(64), ("r", "Reshape", "x", {"target_shape": [7, 7, 1]}), conv("c", "r")),
        "r",
        "shape.reshape",
        port=0,
    ),
    Faulty(
        "too many elements",
        graph(picture(1024), conv("c", "image", 4096, padding="same")),
        "c",
        "shape.size",
        port=0,
    ),
    Faulty(
        "input too large",
        graph(("huge", "Input", "", {"shape": [65536, 65536]}), dense("d", "huge")),
        "huge",
        "shape.size",
        port=None,
    ),
]

_WHOLE = ("x", "Input", "", {"shape": [4], "dtype": "int32"})
DTYPE: list[Faulty] = [
    Faulty(
        "whole numbers into dense",
        graph(_WHOLE, plain("r", "Reshape", "x", target_shape=[2, 2]), dense("d", "r")),
        "d",
        "shape.dtype",
        port=0,
    ),
    Faulty(
        "whole numbers beside floats",
        graph(
            _WHOLE,
            plain("r", "Rescaling", "x", scale=0.5),
            plain("c", "Concatenate", "r", "x"),
            dense("d", "c"),
        ),
        "c",
        "shape.dtype",
        port=1,
    ),
]
