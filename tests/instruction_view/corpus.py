"""Twenty networks that together use every layer and every way programs are put together."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from studio.engine.compiler.lower import lower
from studio.engine.compiler.pipeline import compile_program
from studio.engine.compiler.target import GL, Target
from studio.engine.isa.program import Program
from studio.engine.layers.catalog import layer_class
from studio.engine.layers.graph import LayerGraph, Port
from studio.engine.optim.emit_updates import emit_updates
from studio.engine.optim.optimizers import Optimizer

CLASSES = "sparse_categorical_crossentropy"


class Net:
    """A graph being built."""

    def __init__(self, name: str, *shape: int) -> None:
        self.graph = LayerGraph(name)
        self.x = self.graph.add(layer_class("Input")(shape))

    def add(self, kind: str, *args: object, to: Port | tuple[Port, ...] = (), **config: object):
        sources = to if to and not isinstance(to, Port) else (to or self.x,)
        self.x = self.graph.add(layer_class(kind)(*args, **config), *sources)
        return self.x

    def ends(self, *outputs: Port) -> LayerGraph:
        self.graph.outputs = outputs or (self.x,)
        return self.graph


def linear() -> LayerGraph:
    net = Net("linear", 3)
    net.add("Dense", 1)
    return net.ends()


def softmax_regression() -> LayerGraph:
    net = Net("softmax_regression", 4)
    net.add("Dense", 3, "softmax")
    return net.ends()


def deep() -> LayerGraph:
    net = Net("deep", 8)
    for index in range(9):
        net.add("Dense", 8, ("relu", "tanh", "sigmoid")[index % 3])
    net.add("Dense", 2, "softmax")
    return net.ends()


def penalised() -> LayerGraph:
    net = Net("penalised", 6)
    net.add("Dense", 5, "elu", kernel_regularizer="l2(0.01)")
    net.add("Dense", 2, "softmax", kernel_regularizer="l1(0.01)")
    return net.ends()


def dropped() -> LayerGraph:
    net = Net("dropped", 10)
    net.add("Dense", 12, "relu")
    net.add("Dropout", 0.3)
    net.add("Dropout", 0.1)
    net.add("Dense", 4, "softmax")
    return net.ends()


def picture() -> LayerGraph:
    net = Net("picture", 8, 8, 1)
    net.add("Conv2D", 4, 3, padding="same", activation="relu")
    net.add("MaxPooling2D")
    net.add("Flatten")
    net.add("Dense", 10, "softmax")
    return net.ends()


def strided() -> LayerGraph:
    net = Net("strided", 9, 9, 3)
    net.add("Conv2D", 4, 3, strides=2, padding="valid")
    net.add("Conv2D", 5, 2, padding="same", activation="swish")
    net.add("AveragePooling2D", 2)
    net.add("GlobalAveragePooling2D")
    net.add("Dense", 3, "softmax")
    return net.ends()


def depthwise() -> LayerGraph:
    net = Net("depthwise", 8, 8, 3)
    net.add("DepthwiseConv2D", 3, padding="same", depth_multiplier=2)
    net.add("BatchNormalization")
    net.add("ReLU", 6.0)
    net.add("Conv2D", 8, 1)
    net.add("GlobalAveragePooling2D")
    net.add("Dense", 3, "softmax")
    return net.ends()


def normalised() -> LayerGraph:
    net = Net("normalised", 8, 8, 2)
    for _ in range(3):
        net.add("Conv2D", 4, 3, padding="same", use_bias=False)
        net.add("BatchNormalization")
        net.add("Activation", "swish")
    net.add("Flatten")
    net.add("Dense", 2, "softmax")
    return net.ends()


def residual() -> LayerGraph:
    net = Net("residual", 8, 8, 4)
    for _ in range(2):
        before = net.x
        net.add("Conv2D", 4, 3, padding="same")
        net.add("BatchNormalization")
        net.add("Add", to=(before, net.x))
        net.add("Activation", "relu")
    net.add("GlobalAveragePooling2D")
    net.add("Dense", 3, "softmax")
    return net.ends()


def inception() -> LayerGraph:
    net = Net("inception", 8, 8, 3)
    source = net.x
    arms = tuple(
        net.add("Conv2D", 3, size, padding="same", activation="relu", to=source)
        for size in (1, 3, 5)
    )
    net.add("Concatenate", to=arms)
    net.add("Flatten")
    net.add("Dense", 4, "softmax")
    return net.ends()


def gated() -> LayerGraph:
    net = Net("gated", 6)
    source = net.x
    value = net.add("Dense", 6, "tanh", to=source)
    gate = net.add("Dense", 6, "sigmoid", to=source)
    net.add("Multiply", to=(value, gate))
    net.add("Dense", 2, "softmax")
    return net.ends()


def reshaped() -> LayerGraph:
    net = Net("reshaped", 16)
    net.add("Rescaling", 0.5, 0.1)
    net.add("Reshape", (4, 4, 1))
    net.add("ZeroPadding2D", 1)
    net.add("Conv2D", 2, 3)
    net.add("Flatten")
    net.add("Reshape", (8, 4))
    net.add("Flatten")
    net.add("Dense", 2, "softmax")
    return net.ends()


def chain() -> LayerGraph:
    net = Net("chain", 12)
    net.add("Dense", 12)
    for name in ("relu", "tanh", "sigmoid", "swish", "elu"):
        net.add("Activation", name)
    net.add("Rescaling", 2.0)
    net.add("ReLU", None, 0.1)
    net.add("Dense", 2, "softmax")
    return net.ends()


def attention() -> LayerGraph:
    net = Net("attention", 5)
    source = net.x
    weights = net.add("Softmax", to=net.add("Dense", 5, to=source))
    net.add("Multiply", to=(source, weights))
    net.add("Dense", 1, "sigmoid")
    return net.ends()


def shared() -> LayerGraph:
    net = Net("shared", 4)
    layer = layer_class("Dense")(4, "tanh", name="twice")
    first = net.graph.add(layer, net.x, node_id="first")
    second = net.graph.add(layer, first, node_id="second")
    net.add("Dense", 2, "softmax", to=second)
    return net.ends()


def two_inputs() -> LayerGraph:
    net = Net("two_inputs", 4)
    left = net.x
    right = net.graph.add(layer_class("Input")((3,), name="other"))
    a = net.add("Dense", 5, to=left)
    b = net.add("Dense", 5, to=right)
    net.add("Add", to=(a, b))
    net.add("Dense", 2, "softmax")
    return net.ends()


def two_outputs() -> LayerGraph:
    net = Net("two_outputs", 4)
    trunk = net.add("Dense", 8, "relu")
    one = net.add("Dense", 3, "softmax", to=trunk)
    two = net.add("Dense", 2, "softmax", to=trunk)
    return net.ends(one, two)


def frozen() -> LayerGraph:
    net = Net("frozen", 8, 8, 1)
    net.add("Conv2D", 4, 3, padding="same", activation="relu", trainable=False)
    net.add("BatchNormalization", trainable=False)
    net.add("Flatten")
    net.add("Dense", 10, "softmax")
    return net.ends()


def flat() -> LayerGraph:
    net = Net("flat", 4, 2)
    net.add("Flatten")
    net.add("Dense", 1)
    net.add("Reshape", (1, 1))
    return net.ends()


BUILDERS: dict[str, tuple[Callable[[], LayerGraph], str, str]] = {
    "linear": (linear, "mean_squared_error", "SGD"),
    "softmax_regression": (softmax_regression, CLASSES, "SGD"),
    "deep": (deep, CLASSES, "Adam"),
    "penalised": (penalised, CLASSES, "Adam"),
    "dropped": (dropped, CLASSES, "RMSprop"),
    "picture": (picture, CLASSES, "Adam"),
    "strided": (strided, CLASSES, "SGD"),
    "depthwise": (depthwise, CLASSES, "Adam"),
    "normalised": (normalised, CLASSES, "SGD"),
    "residual": (residual, CLASSES, "Adam"),
    "inception": (inception, CLASSES, "Adam"),
    "gated": (gated, CLASSES, "SGD"),
    "reshaped": (reshaped, CLASSES, "Adam"),
    "chain": (chain, CLASSES, "Adam"),
    "attention": (attention, "binary_crossentropy", "SGD"),
    "shared": (shared, CLASSES, "Adam"),
    "two_inputs": (two_inputs, CLASSES, "SGD"),
    "two_outputs": (two_outputs, CLASSES, "Adam"),
    "frozen": (frozen, CLASSES, "Adam"),
    "flat": (flat, "mean_squared_error", "SGD"),
}

MODES = ("train", "infer")


@cache
def graph_of(name: str) -> LayerGraph:
    return BUILDERS[name][0]()


@cache
def program_of(name: str, mode: str = "train", level: int = 2, target: Target = GL) -> Program:
    """One network's program, compiled as the studio compiles."""
    _, loss, optimizer = BUILDERS[name]
    lowered = lower(graph_of(name), mode, loss=None if mode == "infer" else loss)
    chosen = Optimizer.resolve(optimizer)
    return compile_program(
        lowered, target, level, emit_updates=lambda program: emit_updates(program, chosen)
    )
