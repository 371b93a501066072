"""Graphs with several outputs, of which one does not fit its data, its loss or its metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from studio.session.document.report import DataFacts, InputFacts, TargetFacts
from studio.session.document.state import DocumentState
from tests.session.document.faulty_parts import (
    SPARSE,
    Faulty,
    conv,
    dense,
    graph,
    marked,
    picture,
    vector,
)

BOTH = DataFacts(
    (4,), "table", 3, 1, (InputFacts("x", (4,), "x"),),
    (TargetFacts("kind", (), 3, ("a", "b", "c"), "k"), TargetFacts("age", (2,), array="a")),
)  # fmt: skip

_DATA = {"source": "arrays", "path": "a.npz", "inputs": {"x": "x"},
         "targets": {"kind": "k", "age": "a"}}  # fmt: skip

MASKS = DataFacts(
    (8, 8, 1), "images", 2, 1, (InputFacts("image", (8, 8, 1), "i"),),
    (TargetFacts("seg", (8, 8), 2, ("a", "b"), "m"),),
)  # fmt: skip

_SHIFTED = {"source": "arrays", "path": "a.npz", "inputs": {"image": "i"}, "targets": {"seg": "m"},
            "augment": ["Shift"]}  # fmt: skip

_MARK = marked("kind", "age")


def heads(
    kinds: int = 3,
    ages: int = 2,
    training: Mapping[str, object] | None = None,
    change: Callable[[DocumentState], DocumentState] = _MARK,
    data: Mapping[str, object] | None = None,
) -> DocumentState:
    """A hidden layer with a head for classes and a head for numbers."""
    return graph(
        vector(4), dense("hidden", "x", 8), dense("kind", "hidden", kinds),
        dense("age", "hidden", ages), training=training, data=data or _DATA, change=change,
    )  # fmt: skip


OUTPUTS: list[Faulty] = [
    Faulty(
        "two numbers for three classes of one output", heads(2, 2), "kind", "output.classes", BOTH
    ),
    Faulty("one number for two of one output", heads(3, 1), "age", "output.targets", BOTH),
    Faulty(
        "a loss of classes for ages",
        heads(3, 2, training={"loss": {"age": SPARSE}}),
        "age",
        "loss.needs_classes",
        BOTH,
    ),
    Faulty(
        "a metric of classes for ages",
        heads(3, 2, training={"metrics": {"age": ["sparse_categorical_accuracy"]}}),
        "age",
        "metrics.form",
        BOTH,
    ),
    Faulty(
        "a weighted metric of classes for ages",
        heads(3, 2, training={"weighted_metrics": {"age": ["sparse_categorical_accuracy"]}}),
        "age",
        "metrics.form",
        BOTH,
    ),
    Faulty(
        "no output has a loss",
        heads(3, 2, training={"loss": {"kind": None, "age": None}}),
        "kind",
        "training.no_loss",
        BOTH,
    ),
    Faulty(
        "class weights of ages",
        heads(3, 2, training={"class_weights": {"age": "balanced"}}),
        "age",
        "training.class_weights",
        BOTH,
    ),
    Faulty(
        "class weights of no output",
        heads(3, 2, training={"class_weights": {"0": 2.0}}),
        "",
        "training.class_weights_for",
        BOTH,
    ),
    Faulty(
        "targets of no output",
        heads(3, 2, change=marked("kind")),
        "",
        "data.unknown_output",
        BOTH,
    ),
    Faulty(
        "an output without targets",
        heads(3, 2, change=marked("kind", "age", "hidden")),
        "hidden",
        "data.no_target_array",
        BOTH,
    ),
    Faulty(
        "shifted images with masks",
        graph(
            picture(8), conv("seg", "image", 2, padding="same"), data=_SHIFTED, change=marked("seg")
        ),
        "seg",
        "data.augment",
        MASKS,
    ),
    Faulty(
        "an input under another name",
        heads(3, 2, data={**_DATA, "inputs": {"pixels": "x"}}),
        "x",
        "data.no_input_array",
        BOTH,
    ),
]
