"""Sixty graphs with one mistake each: the layer it is found at, and the id of what is said."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from studio.graph_editor.model.edits.layers import add_layer, freeze
from studio.graph_editor.model.edits.sections import set_data, set_training
from studio.graph_editor.model.edits.wires import connect
from studio.graph_editor.model.layer_types import checked_config
from studio.graph_editor.model.report import DataFacts
from studio.graph_editor.model.state import CanvasNode, DocumentState

DIGITS = DataFacts((8, 8, 1), "images", 10)
MOONS = DataFacts((2,), "points", 2)
IRIS = DataFacts((4,), "table", 3)
HOUSES = DataFacts((6,), "table", 0, 1)
SPEEDS = DataFacts((6,), "table", 0, 2)


Row = tuple[str, str, "str | tuple[str, ...]", Mapping[str, object]]


@dataclass(frozen=True)
class Faulty:
    """One graph with one mistake."""

    name: str
    state: DocumentState
    node: str
    id: str
    facts: DataFacts | None = None
    severity: str = "error"
    port: int | None = None

    @property
    def lowered(self) -> bool:
        """Whether the engine looks for it while it lowers, and not later."""
        return bool(self.node) and self.id != "training.nothing_to_train"


def graph(
    *rows: Row,
    training: Mapping[str, object] | None = None,
    data: Mapping[str, object] | None = None,
    change: Callable[[DocumentState], DocumentState] | None = None,
) -> DocumentState:
    """Rows of (name, type, what feeds it, options), placed one behind the other."""
    state = DocumentState()
    for index, (name, type_name, sources, config) in enumerate(rows):
        state = add_layer(state, type_name, config=config, at=(index * 232.0, 0.0))
        made = list(state.nodes.values())[-1]
        state = renamed(state, made, name)
        for source in (sources,) if isinstance(sources, str) else sources:
            if source:
                state = connect(state, source, name, check_shapes=False)
    if training is not None:
        state = set_training(state, training)
    if data is not None:
        state = set_data(state, data)
    return state if change is None else change(state)


def renamed(state: DocumentState, node: CanvasNode, name: str) -> DocumentState:
    """The node under another id, which is its name too."""
    config = checked_config(node.type_name, {**node.config.plain(), "name": name})
    return state.with_nodes([replace(node, id=name, config=config)], [node.id])


def picture(size: int = 8, channels: int = 1) -> Row:
    return ("image", "Input", "", {"shape": [size, size, channels]})


def vector(size: int = 4) -> Row:
    return ("x", "Input", "", {"shape": [size]})


def conv(name: str, source: str, filters: int = 8, **more: object) -> Row:
    return (name, "Conv2D", source, {"filters": filters, "kernel_size": [3, 3], **more})


def dense(name: str, source: str, units: int = 10, **more: object) -> Row:
    return (name, "Dense", source, {"units": units, **more})


def plain(name: str, type_name: str, *sources: str, **options: object) -> Row:
    return (name, type_name, sources, options)


def shared(state: DocumentState, first: str, second: str) -> DocumentState:
    """Make ``second`` another use of the layer of ``first``."""
    owner, use = state.nodes[first], state.nodes[second]
    return state.with_nodes(
        [replace(use, shares=first, config=owner.config, type_name=owner.type_name)]
    )


def frozen(*names: str) -> Callable[[DocumentState], DocumentState]:
    return lambda state: freeze(state, names, True)


def marked(*names: str) -> Callable[[DocumentState], DocumentState]:
    return lambda state: state.replaced(outputs=names)


SPARSE = "SparseCategoricalCrossentropy"
BINARY = "BinaryCrossentropy"
LOGITS = {"config": {"from_logits": True}}


def rank_faults() -> list[Faulty]:
    flat = plain("flat", "Flatten", "image")
    return [
        Faulty(
            "conv behind flatten",
            graph(picture(), flat, conv("c", "flat")),
            "c",
            "shape.rank",
            port=0,
        ),
        Faulty(
            "pool behind flatten",
            graph(picture(), flat, plain("p", "MaxPooling2D", "flat")),
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
            "dense of single numbers",
            graph(("s", "Input", "", {"shape": []}), dense("d", "s", 2)),
            "d",
            "shape.rank",
            port=0,
        ),
    ]


def window_faults() -> list[Faulty]:
    pooled = [
        plain(f"p{i}", "MaxPooling2D", "image" if i == 1 else f"p{i - 1}") for i in range(1, 4)
    ]
    return [
        Faulty(
            "kernel wider than picture",
            graph(picture(4), conv("c", "image", kernel_size=[5, 5])),
            "c",
            "shape.window",
            port=0,
        ),
        Faulty(
            "pooled away",
            graph(picture(8), *pooled, plain("p4", "MaxPooling2D", "p3")),
            "p4",
            "shape.window",
            port=0,
        ),
        Faulty(
            "conv behind three pools",
            graph(picture(8), *pooled, conv("c", "p3")),
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


def merge_faults() -> list[Faulty]:
    two = [conv("a", "image", 8, padding="same"), conv("b", "image", 16, padding="same")]
    valid = [conv("a", "image", 8, padding="same"), conv("b", "image", 8)]
    strided = [
        conv("a", "image", 8, padding="same"),
        conv("b", "image", 8, padding="same", strides=[2, 2]),
    ]
    return [
        Faulty(
            "add of other channels",
            graph(picture(), *two, plain("s", "Add", "a", "b")),
            "s",
            "shape.merge",
            port=1,
        ),
        Faulty(
            "multiply of other channels",
            graph(picture(), *two, plain("s", "Multiply", "a", "b")),
            "s",
            "shape.merge",
            port=1,
        ),
        Faulty(
            "add of a shrunk branch",
            graph(picture(), *valid, plain("s", "Add", "a", "b")),
            "s",
            "shape.merge",
            port=1,
        ),
        Faulty(
            "add of a strided branch",
            graph(picture(), *strided, plain("s", "Add", "a", "b")),
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
            graph(picture(), *valid, plain("s", "Concatenate", "a", "b")),
            "s",
            "shape.concat",
            port=1,
        ),
        Faulty(
            "concat of a strided branch",
            graph(picture(), *strided, plain("s", "Concatenate", "a", "b")),
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
            graph(picture(), *two, plain("s", "Concatenate", "a", "b", axis=1)),
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


def axis_and_size_faults() -> list[Faulty]:
    return [
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
            "reshape with two open sides",
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


def link_faults() -> list[Faulty]:
    twins = [
        ("y", "Input", "", {"shape": [8]}),
        dense("a", "x", 5),
        dense("b", "y", 5),
        plain("s", "Add", "a", "b"),
    ]
    return [
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
            graph(vector(4), *twins, change=lambda s: shared(s, "a", "b")),
            "b",
            "layer.shared_sizes",
            port=0,
        ),
    ]


def data_faults() -> list[Faulty]:
    flat = plain("flat", "Flatten", "image")
    picky = {"loss": {"type": SPARSE, **LOGITS}}
    return [
        Faulty(
            "input of another size",
            graph(picture(28), flat, dense("d", "flat")),
            "image",
            "data.input_shape",
            DIGITS,
        ),
        Faulty(
            "vector input for pictures",
            graph(vector(64), dense("d", "x")),
            "x",
            "data.input_shape",
            DIGITS,
        ),
        Faulty(
            "picture input for a table",
            graph(picture(2), flat, dense("d", "flat", 3)),
            "image",
            "data.input_shape",
            IRIS,
        ),
        Faulty(
            "seven of ten classes",
            graph(picture(), flat, dense("d", "flat", 7)),
            "d",
            "output.classes",
            DIGITS,
        ),
        Faulty(
            "relu behind too few",
            graph(picture(), flat, dense("d", "flat", 7), plain("r", "ReLU", "d")),
            "r",
            "output.classes",
            DIGITS,
        ),
        Faulty(
            "one output for ten classes",
            graph(picture(), flat, dense("d", "flat", 1, activation="sigmoid")),
            "d",
            "output.classes",
            DIGITS,
        ),
        Faulty(
            "twelve for ten classes",
            graph(picture(), flat, dense("d", "flat", 12)),
            "d",
            "output.more_than_classes",
            DIGITS,
            "warning",
        ),
        Faulty(
            "dense without flatten",
            graph(picture(), dense("d", "image")),
            "d",
            "output.rank",
            DIGITS,
        ),
        Faulty(
            "ends in a convolution",
            graph(picture(), conv("c", "image", 10)),
            "c",
            "output.rank",
            DIGITS,
        ),
        Faulty(
            "two inputs",
            graph(
                vector(2),
                ("y", "Input", "", {"shape": [2]}),
                plain("s", "Add", "x", "y"),
                dense("d", "s", 2),
            ),
            "y",
            "data.several_inputs",
            MOONS,
        ),
        Faulty(
            "two outputs",
            graph(vector(2), dense("a", "x", 2), dense("b", "a", 2), change=marked("a", "b")),
            "b",
            "data.several_outputs",
            MOONS,
        ),
        Faulty(
            "augmented table",
            graph(vector(4), dense("d", "x", 3), data={"source": "iris", "augment": ["Shift"]}),
            "",
            "data.augment",
            IRIS,
        ),
        Faulty(
            "three numbers for one",
            graph(vector(6), dense("d", "x", 3)),
            "d",
            "output.targets",
            HOUSES,
        ),
        Faulty(
            "one number for two",
            graph(vector(6), dense("a", "x", 8, activation="relu"), dense("d", "a", 1)),
            "d",
            "output.targets",
            SPEEDS,
        ),
        Faulty(
            "softmax and a loss of logits",
            graph(picture(), flat, dense("d", "flat", 10, activation="softmax"), training=picky),
            "d",
            "loss.softmax_twice",
            DIGITS,
            "warning",
        ),
        Faulty(
            "softmax layer and a loss of logits",
            graph(picture(), flat, dense("d", "flat"), plain("s", "Softmax", "d"), training=picky),
            "s",
            "loss.softmax_twice",
            DIGITS,
            "warning",
        ),
        Faulty(
            "sigmoid and a loss of logits",
            graph(
                vector(2),
                dense("d", "x", 1, activation="sigmoid"),
                training={"loss": {"type": BINARY, **LOGITS}},
            ),
            "d",
            "loss.sigmoid_twice",
            MOONS,
            "warning",
        ),
        Faulty(
            "raw numbers and a loss of shares",
            graph(picture(), flat, dense("d", "flat"), training={"loss": SPARSE}),
            "d",
            "loss.no_shares",
            DIGITS,
            "warning",
        ),
        Faulty(
            "raw numbers and a binary loss of shares",
            graph(vector(2), dense("d", "x", 1), training={"loss": BINARY}),
            "d",
            "loss.no_shares",
            MOONS,
            "warning",
        ),
        Faulty(
            "cross-entropy of numbers",
            graph(vector(6), dense("d", "x", 1), training={"loss": SPARSE}),
            "d",
            "loss.needs_classes",
            HOUSES,
        ),
        Faulty(
            "softmax of one",
            graph(vector(2), dense("d", "x", 1, activation="softmax")),
            "d",
            "output.softmax_of_one",
            MOONS,
            "warning",
        ),
        Faulty(
            "metric of rows",
            graph(picture(), flat, dense("d", "flat"), training={"metrics": ["mse"]}),
            "d",
            "metrics.form",
            DIGITS,
        ),
        Faulty(
            "class weights of numbers",
            graph(vector(6), dense("d", "x", 1), training={"class_weights": "balanced"}),
            "",
            "training.class_weights",
            HOUSES,
        ),
        Faulty(
            "everything frozen",
            graph(vector(2), dense("a", "x", 8), dense("d", "a", 2), change=frozen("a", "d")),
            "d",
            "training.nothing_to_train",
            MOONS,
        ),
        Faulty(
            "nothing that learns",
            graph(vector(2), plain("s", "Softmax", "x")),
            "s",
            "training.nothing_to_train",
            MOONS,
        ),
    ]


FAULTY: tuple[Faulty, ...] = (
    *rank_faults(),
    *window_faults(),
    *merge_faults(),
    *axis_and_size_faults(),
    *link_faults(),
    *data_faults(),
)
