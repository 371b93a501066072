"""Graphs whose wires are missing, or lead inputs together that do not fit."""

from __future__ import annotations

from studio.session.document.state import DocumentState
from tests.session.document.faulty_parts import (
    DIGITS,
    Faulty,
    conv,
    dense,
    graph,
    marked,
    picture,
    plain,
    shared,
    vector,
)

_TWO = [conv("a", "image", 8, padding="same"), conv("b", "image", 16, padding="same")]
_VALID = [conv("a", "image", 8, padding="same"), conv("b", "image", 8)]
_STRIDED = [
    conv("a", "image", 8, padding="same"),
    conv("b", "image", 8, padding="same", strides=[2, 2]),
]
MERGE: list[Faulty] = [
    Faulty(
        "add of other channels",
        graph(picture(), *_TWO, plain("s", "Add", "a", "b")),
        "s",
        "shape.merge",
        port=1,
    ),
    Faulty(
        "multiply of other channels",
        graph(picture(), *_TWO, plain("s", "Multiply", "a", "b")),
        "s",
        "shape.merge",
        port=1,
    ),
    Faulty(
        "add of a shrunk branch",
        graph(picture(), *_VALID, plain("s", "Add", "a", "b")),
        "s",
        "shape.merge",
        port=1,
    ),
    Faulty(
        "add of a _STRIDED branch",
        graph(picture(), *_STRIDED, plain("s", "Add", "a", "b")),
        "s",
        "shape.merge",
        port=1,
    ),
    Faulty(
        "add of picture and vector",
        graph(
            picture(),
            conv("a", "image", 8),
            plain("f", "Flatten", "image"),
            dense("d", "f", 8),
            plain("s", "Add", "a", "d"),
        ),
        "s",
        "shape.merge",
        port=1,
    ),
    Faulty(
        "add of vectors",
        graph(vector(6), dense("a", "x", 8), dense("b", "x", 12), plain("s", "Add", "a", "b")),
        "s",
        "shape.merge",
        port=1,
    ),
    Faulty(
        "third input differs",
        graph(
            vector(6),
            dense("a", "x", 8),
            dense("b", "x", 8),
            dense("c", "x", 9),
            plain("s", "Add", "a", "b", "c"),
        ),
        "s",
        "shape.merge",
        port=2,
    ),
    Faulty(
        "concat of a shrunk branch",
        graph(picture(), *_VALID, plain("s", "Concatenate", "a", "b")),
        "s",
        "shape.concat",
        port=1,
    ),
    Faulty(
        "concat of a _STRIDED branch",
        graph(picture(), *_STRIDED, plain("s", "Concatenate", "a", "b")),
        "s",
        "shape.concat",
        port=1,
    ),
    Faulty(
        "concat of picture and vector",
        graph(
            picture(),
            conv("a", "image", 8),
            plain("f", "Flatten", "image"),
            plain("s", "Concatenate", "a", "f"),
        ),
        "s",
        "shape.concat",
        port=1,
    ),
    Faulty(
        "concat along rows",
        graph(picture(), *_TWO, plain("s", "Concatenate", "a", "b", axis=1)),
        "s",
        "shape.concat",
        port=1,
    ),
    Faulty(
        "concat along nothing",
        graph(
            vector(6),
            dense("a", "x", 8),
            dense("b", "x", 8),
            plain("s", "Concatenate", "a", "b", axis=3),
        ),
        "s",
        "shape.axis",
        port=0,
    ),
]


_TWINS = [
    ("y", "Input", "", {"shape": [8]}),
    dense("a", "x", 5),
    dense("b", "y", 5),
    plain("s", "Add", "a", "b"),
]
LINK: list[Faulty] = [
    Faulty(
        "add of one",
        graph(vector(4), dense("d", "x"), plain("s", "Add", "d")),
        "s",
        "link.missing",
        port=1,
    ),
    Faulty(
        "output is not fed",
        graph(vector(4), dense("a", "x", 8), dense("b", "", 3), change=marked("b")),
        "b",
        "link.missing",
        port=0,
    ),
    Faulty(
        "branch without source",
        graph(vector(4), dense("a", "x", 8), dense("b", "", 8), plain("s", "Add", "a", "b")),
        "b",
        "link.missing",
        port=0,
    ),
    Faulty(
        "chain cut in the middle",
        graph(vector(4), dense("a", "x", 8), plain("r", "ReLU"), dense("b", "r", 3)),
        "r",
        "link.unfed",
        severity="warning",
        port=0,
    ),
    Faulty(
        "no input layer",
        graph(conv("c", ""), plain("f", "Flatten", "c")),
        "c",
        "network.no_input",
    ),
    Faulty("nothing at all", DocumentState(), "", "network.no_input", DIGITS),
    Faulty("input alone", graph(picture()), "image", "network.no_layers", DIGITS),
    Faulty(
        "two ends",
        graph(vector(4), dense("a", "x", 3), dense("b", "x", 3)),
        "b",
        "network.several_ends",
    ),
    Faulty(
        "end left hanging",
        graph(
            picture(),
            conv("c", "image"),
            plain("p", "MaxPooling2D", "c"),
            plain("f", "Flatten", "c"),
            dense("d", "f"),
        ),
        "d",
        "network.several_ends",
    ),
    Faulty(
        "shared with other sizes",
        graph(vector(4), *_TWINS, change=lambda s: shared(s, "a", "b")),
        "b",
        "layer.shared_sizes",
        port=0,
    ),
]
