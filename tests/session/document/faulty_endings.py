"""Networks typed as one would, with one mistake each: mostly a picture where a row is expected."""

from __future__ import annotations

from studio.engine.layers.graph import Port
from studio.session.document.report import DataFacts
from studio.session.document.state import DocumentState
from tests.session.document.faulty_parts import (
    DIGITS,
    HOUSES,
    SPEEDS,
    Faulty,
    conv,
    dense,
    frozen,
    graph,
    picture,
    plain,
    vector,
)
from tests.session.document.networks import net

PHOTOS = DataFacts((224, 224, 3), "images", 1000)
AGES = DataFacts((8, 8, 1), "images", 0, 1)


def _typed(
    name: str, text: str, node: str, rule: str, facts: DataFacts | None, port: int | None = None
) -> Faulty:
    return Faulty(name, net(text), node, rule, facts, port=port)


_ENDS: list[Faulty] = [
    _typed(
        "convolution, pooling, dense",
        "input 8x8x1 > conv 16 3x3 > relu > pool 2 > dense 10",
        "dense",
        "output.rank",
        DIGITS,
    ),
    _typed(
        "two dense layers on a picture",
        "input 8x8x1 > conv 16 3x3 > relu > pool 2 > dense 32 > relu > dense 10",
        "dense_1",
        "output.rank",
        DIGITS,
    ),
    _typed(
        "softmax behind dense on a picture",
        "input 8x8x1 > conv 16 3x3 > pool 2 > dense 10 > softmax",
        "softmax",
        "output.rank",
        DIGITS,
    ),
    _typed(
        "dense on a large picture",
        "input 224x224x3 > conv 64 3x3 same > pool 2 > dense 1000",
        "dense",
        "output.rank",
        PHOTOS,
    ),
    _typed(
        "ends in pooling",
        "input 8x8x1 > conv 16 3x3 > pool 2",
        "max_pooling2d",
        "output.rank",
        DIGITS,
    ),
    _typed(
        "one number of a picture",
        "input 8x8x1 > conv 16 3x3 > pool 2 > dense 1",
        "dense",
        "output.targets",
        AGES,
    ),
    _typed(
        "ends in a convolution, one number",
        "input 8x8x1 > conv 4 3x3",
        "conv2d",
        "output.targets",
        AGES,
    ),
    _typed(
        "five of ten classes behind global pooling",
        "input 8x8x1 > conv 5 3x3 > GlobalAveragePooling2D",
        "global_average_pooling2d",
        "output.classes",
        DIGITS,
    ),
    _typed("four numbers for two", "input 6 > dense 8 > relu > dense 4", "dense_1",
           "output.targets", SPEEDS),
    _typed("nine numbers for one", "input 6 > dense 9", "dense", "output.targets", HOUSES),
]  # fmt: skip


_EXCITED = [
    conv("a", "image", 8, padding="same"),
    plain("g", "GlobalAveragePooling2D", "a"),
    dense("e", "g", 8, activation="sigmoid"),
]
_JOINS: list[Faulty] = [
    Faulty(
        "channels excited without a reshape",
        graph(picture(), *_EXCITED, plain("s", "Multiply", "a", "e")),
        "s",
        "shape.merge",
        port=1,
    ),
    Faulty(
        "residual of more channels",
        graph(
            picture(8, 3),
            conv("a", "image", 16, padding="same"),
            plain("n", "BatchNormalization", "a"),
            plain("r", "ReLU", "n"),
            conv("b", "r", 16, padding="same"),
            plain("s", "Add", "b", "image"),
        ),
        "s",
        "shape.merge",
        port=1,
    ),
    Faulty(
        "residual over a pool",
        graph(
            picture(8, 16),
            conv("a", "image", 16, padding="same"),
            plain("p", "MaxPooling2D", "a"),
            plain("s", "Add", "p", "image"),
        ),
        "s",
        "shape.merge",
        port=1,
    ),
    Faulty(
        "concat of two sizes",
        graph(
            picture(),
            conv("a", "image", 8, kernel_size=[5, 5]),
            conv("b", "image", 8, kernel_size=[1, 1]),
            plain("s", "Concatenate", "a", "b"),
        ),
        "s",
        "shape.concat",
        port=1,
    ),
    Faulty(
        "one branch of a picture sum",
        graph(picture(8, 3), conv("a", "image", 8, padding="same"), plain("s", "Add", "a")),
        "s",
        "link.missing",
        port=1,
    ),
    Faulty(
        "many ends",
        graph(vector(6), *(dense(f"d{i}", "x", i + 2) for i in range(6))),
        "d5",
        "network.several_ends",
    ),
    Faulty(
        "a long chain that is not fed",
        graph(
            vector(4),
            dense("a", "x", 8),
            dense("b", "", 3),
            *(dense(f"b{i}", f"b{i - 1}" if i else "b", 3) for i in range(5)),
            change=lambda state: state.replaced(outputs=(Port("a"),)),
        ),
        "b",
        "link.unfed",
        severity="warning",
        port=0,
    ),
]


def _missing() -> DocumentState:
    rows = [dense(f"a{i}", f"a{i - 1}" if i else "x", 8) for i in range(7)]
    return graph(
        vector(4),
        *rows,
        dense("end", "", 3),
        change=lambda state: state.replaced(outputs=(Port("end"),)),
    )


_REST: list[Faulty] = [
    Faulty("an output with many to choose from", _missing(), "end", "link.missing", port=0),
    Faulty(
        "pooled away between convolutions",
        net("input 8x8x1 > conv 8 3x3 > pool 2 > conv 8 3x3 > pool 2"),
        "max_pooling2d_1",
        "shape.window",
        port=0,
    ),
    Faulty(
        "convolution behind two pools",
        net("input 8x8x1 > pool 2 > conv 4 3x3 > pool 2 > conv 4 3x3"),
        "conv2d_1",
        "shape.window",
        port=0,
    ),
    Faulty(
        "convolution of flattened convolutions",
        net("input 8x8x1 > conv 4 3x3 > flatten > conv 4 3x3"),
        "conv2d_1",
        "shape.rank",
        port=0,
    ),
    Faulty(
        "global pooling behind flatten",
        net("input 8x8x1 > conv 4 3x3 > flatten > GlobalAveragePooling2D"),
        "global_average_pooling2d",
        "shape.rank",
        port=0,
    ),
    Faulty(
        "five frozen layers",
        graph(
            vector(6),
            *(dense(f"d{i}", f"d{i - 1}" if i else "x", 4) for i in range(4)),
            dense("d4", "d3", 1),
            change=frozen(*(f"d{i}" for i in range(5))),
        ),
        "d4",
        "training.nothing_to_train",
        HOUSES,
    ),
    Faulty(
        "units beyond a tensor",
        graph(picture(2048), dense("d", "image", 1 << 12)),
        "d",
        "shape.size",
        port=0,
    ),
]
ENDINGS: list[Faulty] = [*_ENDS, *_JOINS, *_REST]
