"""Graphs the lowering tests share: Dylann's documented residual network, and small ones."""

from __future__ import annotations

from studio.engine.layers.catalog import layer_class
from studio.engine.layers.graph import LayerGraph, Port


def add(graph: LayerGraph, kind: str, source: Port, *args: object, **options: object) -> Port:
    """Add a layer of that kind behind ``source``."""
    return graph.add(layer_class(kind)(*args, **options), source)


def _conv(graph: LayerGraph, x: Port, filters: int, size: int = 3, stride: int = 1) -> Port:
    made = add(graph, "Conv2D", x, filters, size, strides=stride, padding="same")
    return add(graph, "BatchNormalization", made, momentum=0.0, epsilon=1e-8)


def _join(graph: LayerGraph, left: Port, right: Port, drop: float) -> Port:
    joined = add(graph, "ReLU", graph.add(layer_class("Add")(), left, right))
    return add(graph, "Dropout", joined, drop) if drop else joined


def stem(graph: LayerGraph, size: int, channels: int) -> Port:
    """Input, convolution, normalisation, rectifier."""
    x = graph.add(layer_class("Input")((size, size, 3)))
    return add(graph, "ReLU", _conv(graph, x, channels))


def identity_block(graph: LayerGraph, x: Port, channels: int, drop: float = 0.2) -> Port:
    """Two convolutions beside a straight line."""
    inner = add(graph, "ReLU", _conv(graph, x, channels))
    return _join(graph, _conv(graph, inner, channels), x, drop)


def reducing_block(graph: LayerGraph, x: Port, channels: int, drop: float = 0.2) -> Port:
    """Halves the picture, doubles the channels; a 1x1 convolution on the straight line."""
    inner = add(graph, "ReLU", _conv(graph, x, channels, stride=2))
    left = _conv(graph, inner, 2 * channels)
    return _join(graph, left, _conv(graph, x, 2 * channels, size=1, stride=2), drop)


def residual_sample() -> LayerGraph:
    """Dylann's CIFAR-10 sample network."""
    graph = LayerGraph("resnet")
    x = stem(graph, 32, 64)
    for channels, count in ((64, 5), (128, 5), (256, 6)):
        if channels > 64:
            x = reducing_block(graph, x, channels // 2)
        for _ in range(count):
            x = identity_block(graph, x, channels)
    x = add(graph, "Flatten", x)
    for units, rate in ((1024, 0.3), (256, 0.4)):
        x = add(graph, "Dropout", add(graph, "Dense", x, units, "relu"), rate)
    graph.outputs = (add(graph, "Dense", x, 10, "softmax"),)
    return graph


def expression() -> LayerGraph:
    """Y = X1 + softmax(relu(X2 + 3·X3))."""
    graph = LayerGraph("expression")
    first, second, third = (graph.add(layer_class("Input")((4,), name=f"X{i}")) for i in (1, 2, 3))
    inner = graph.add(layer_class("Add")(), second, add(graph, "Rescaling", third, 3.0))
    shares = add(graph, "Softmax", add(graph, "ReLU", inner))
    graph.outputs = (graph.add(layer_class("Add")(), first, shares),)
    return graph


def small_picture_network(**conv: object) -> LayerGraph:
    """8x8 pictures, one convolution with stride 2, ten classes."""
    graph = LayerGraph("small")
    x = graph.add(layer_class("Input")((8, 8, 1)))
    x = add(graph, "Conv2D", x, 4, 3, padding="same", strides=2, activation="relu", **conv)
    x = add(graph, "Dropout", add(graph, "Flatten", x), 0.5)
    graph.outputs = (add(graph, "Dense", x, 10, "softmax"),)
    return graph
