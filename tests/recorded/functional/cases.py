"""Networks with several inputs and outputs, written once for Keras and for Glassbox.

Each is trained for 20 steps from the same weights on the same samples; `record_keras.py` records
what Keras reports, a test compares. A later network joins by an entry in `NETWORKS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.generic]
Named: TypeAlias = Mapping[str, Array]

SAMPLES = 24
STEPS = 20
TOLERANCE = 1e-5


@dataclass(frozen=True)
class Functional:
    """One network and how it is trained.

    Attributes:
        build: makes the model from a library with Keras' names (``k.Dense``, ``k.Model``).
        inputs: shape of one sample by input name.
        targets: by output name the number of classes (an int), the shape of one target, or the
            name of the input that is the target.
        compile: arguments of compile besides the optimiser.
        optimizer: makes the optimiser from the library.
        batch: rows of a step.
        fit: further arguments of fit, arrays made by `weights`.
        weights: sample weights from a generator, if any.
        positions: shape of the classes of one sample; a single class unless given.
        below: by name of an input of whole numbers, the number they are all less than.
        padded: whether the last positions of every second sample are 0.
    """

    build: Callable[[Any], Any]
    inputs: Mapping[str, tuple[int, ...]]
    targets: Mapping[str, int | tuple[int, ...] | str]
    compile: Mapping[str, Any]
    optimizer: Callable[[Any], Any] = lambda k: k.SGD(0.1, momentum=0.9)
    batch: int = SAMPLES
    fit: Mapping[str, Any] = field(default_factory=dict)
    weights: Callable[[np.random.Generator], Any] | None = None
    positions: tuple[int, ...] = ()
    below: Mapping[str, int] = field(default_factory=dict)
    padded: bool = False

    def samples(self) -> tuple[Named, Named]:
        """The same inputs and targets on every call."""
        rng = np.random.default_rng(7)
        x = {name: self._input(name, shape, rng) for name, shape in self.inputs.items()}
        y: dict[str, Array] = {}
        for name, target in self.targets.items():
            if isinstance(target, int):
                y[name] = rng.integers(0, target, (SAMPLES, *self.positions)).astype(np.int32)
            elif isinstance(target, str):
                y[name] = x[target]
            else:
                y[name] = rng.normal(size=(SAMPLES, *target))
        return tuple(  # type: ignore[return-value]
            {n: a if a.dtype == np.int32 else a.astype(np.float32) for n, a in named.items()}
            for named in (x, y)
        )

    def _input(self, name: str, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        if name in self.below:
            return rng.integers(0, self.below[name], (SAMPLES, *shape)).astype(np.int32)
        values = rng.normal(size=(SAMPLES, *shape))
        if self.padded:
            for row in range(0, SAMPLES, 2):
                values[row, shape[0] - row // 2 % shape[0] :] = 0.0
        return values

    def sample_weight(self) -> Any:
        """The same sample weights on every call; None without any."""
        return None if self.weights is None else self.weights(np.random.default_rng(11))

    @property
    def epochs(self) -> int:
        """Epochs of `STEPS` steps."""
        return STEPS // -(-SAMPLES // self.batch)


def start(name: str, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """The first value of a weight, by its layer's name and shape."""
    del name
    scale = 1.0 / np.sqrt(shape[0]) if len(shape) > 1 else 0.1
    return (rng.normal(size=shape) * scale).astype(np.float32)


def starts(layers: Mapping[str, list[tuple[int, ...]]]) -> dict[str, list[Array]]:
    """The first weights of every layer by name, from the shapes of its weights in Keras' order."""
    found = {}
    for name in sorted(layers):
        rng = np.random.default_rng(sum(map(ord, name)))
        found[name] = [start(name, shape, rng) for shape in layers[name]]
    return found


def two_inputs(k: Any) -> Any:
    """Two inputs of different widths, joined."""
    left, right = k.Input((3,), name="left"), k.Input((5,), name="right")
    joined = k.Concatenate(name="joined")(
        [
            k.Dense(4, "tanh", name="of_left")(left),
            k.Dense(4, "tanh", name="of_right")(right),
        ]
    )
    return k.Model([left, right], k.Dense(1, name="sum")(joined))


def three_outputs(k: Any) -> Any:
    """A shared trunk with three heads of different kinds."""
    x = k.Input((6,), name="x")
    trunk = k.Dense(8, "tanh", name="trunk")(x)
    return k.Model(
        x,
        [
            k.Dense(3, "softmax", name="kind")(trunk),
            k.Dense(2, name="place")(trunk),
            k.Dense(1, "sigmoid", name="there")(trunk),
        ],
    )


def two_outputs(k: Any) -> Any:
    """Two heads."""
    x = k.Input((4,), name="x")
    trunk = k.Dense(6, "tanh", name="trunk")(x)
    return k.Model(x, [k.Dense(3, "softmax", name="kind")(trunk), k.Dense(2, name="place")(trunk)])


def classifier(k: Any) -> Any:
    """One output with classes."""
    x = k.Input((4,), name="x")
    return k.Model(x, k.Dense(3, "softmax", name="kind")(k.Dense(6, "tanh", name="trunk")(x)))


def siamese(k: Any) -> Any:
    """One layer used on both inputs, compared by their product."""
    left, right = k.Input((5,), name="left"), k.Input((5,), name="right")
    shared = k.Dense(6, "tanh", name="shared")
    alike = k.Multiply(name="product")([shared(left), shared(right)])
    return k.Model([left, right], k.Dense(1, "sigmoid", name="same")(alike))


def nested_twice(k: Any) -> Any:
    """A model of two layers called on both inputs, and on its own result."""
    entry = k.Input((4,), name="entry")
    hidden = k.Dense(5, "tanh", name="inner_hidden")(entry)
    inner = k.Model(entry, k.Dense(4, "tanh", name="inner_out")(hidden))
    left, right = k.Input((4,), name="left"), k.Input((4,), name="right")
    both = k.Add(name="both")([inner(inner(left)), inner(right)])
    return k.Model([left, right], k.Dense(2, name="out")(both))


def frozen_parts(k: Any) -> Any:
    """A layer that is not trained, between layers that are."""
    x = k.Input((4,), name="x")
    frozen = k.Dense(5, "tanh", name="frozen", trainable=False)
    at = frozen(k.Dense(5, "tanh", name="before")(x))
    return k.Model(x, [k.Dense(1, name="a")(at), k.Dense(2, name="b", trainable=False)(at)])


def by_position(k: Any) -> Any:
    """A class and two numbers for each of five positions."""
    x = k.Input((5, 4), name="x")
    trunk = k.Dense(6, "tanh", name="trunk")(x)
    return k.Model(x, [k.Dense(3, "softmax", name="kind")(trunk), k.Dense(2, name="place")(trunk)])


def whole_numbers(k: Any) -> Any:
    """Whole numbers multiplied and joined as such, and converted behind that."""
    words, counts = (
        k.Input((4,), dtype="int32", name="words"),
        k.Input((4,), dtype="int32", name="counts"),
    )
    joined = k.Concatenate(name="joined")([k.Multiply(name="product")([words, counts]), words])
    x = k.Dense(6, "tanh", name="trunk")(k.Rescaling(0.05, offset=-0.5, name="scaled")(joined))
    return k.Model(
        [words, counts], [k.Dense(3, "softmax", name="kind")(x), k.Dense(2, name="place")(x)]
    )


def masked(k: Any) -> Any:
    """A class and two numbers for each position that is not padding."""
    x = k.Input((5, 4), name="x")
    trunk = k.Dense(6, "tanh", name="trunk")(k.Masking(name="masking")(x))
    return k.Model(x, [k.Dense(3, "softmax", name="kind")(trunk), k.Dense(2, name="place")(trunk)])


def tied_autoencoder(k: Any) -> Any:
    """Two layers, and two behind them that use the same kernels transposed."""
    x = k.Input((6,), name="x")
    hidden, code = k.Dense(5, "tanh", name="hidden"), k.Dense(2, "tanh", name="code")
    widened = k.TiedDense(5, code, "tanh", name="widened")(code(hidden(x)))
    return k.Model(x, k.TiedDense(6, hidden, name="restored")(widened))


SPARSE, CROSS, MSE, MAE, BCE = (
    "sparse_categorical_crossentropy", "categorical_crossentropy", "mse", "mae",
    "binary_crossentropy",
)  # fmt: skip
HEADS = {"kind": SPARSE, "place": MSE}


def _by_output(rng: np.random.Generator) -> dict[str, Array]:
    return {
        "kind": rng.uniform(0, 2, SAMPLES).astype(np.float32),
        "place": rng.uniform(0, 1, SAMPLES).astype(np.float32),
    }


NETWORKS: dict[str, Functional] = {
    "two inputs": Functional(
        two_inputs, {"left": (3,), "right": (5,)}, {"sum": (1,)},
        {"loss": MSE, "metrics": [MAE]},
    ),
    "three outputs": Functional(
        three_outputs, {"x": (6,)}, {"kind": 3, "place": (2,), "there": 2},
        {
            "loss": {"kind": SPARSE, "place": MSE, "there": BCE},
            "loss_weights": {"kind": 1.0, "place": 0.5, "there": 2.0},
            "metrics": {"kind": ["accuracy"], "place": [MAE, MSE], "there": ["accuracy"]},
        },
        optimizer=lambda k: k.Adam(0.02),
    ),
    "partial batch": Functional(
        three_outputs, {"x": (6,)}, {"kind": 3, "place": (2,), "there": 2},
        {"loss": [SPARSE, MAE, BCE], "loss_weights": [0.3, 1.0, 1.0]},
        batch=16,
    ),
    "sample weights": Functional(
        two_outputs, {"x": (4,)}, {"kind": 3, "place": (2,)},
        {"loss": HEADS, "metrics": [["accuracy"], [MAE]]},
        weights=lambda rng: rng.uniform(0, 2, SAMPLES).astype(np.float32),
    ),
    "sample weights by output": Functional(
        two_outputs, {"x": (4,)}, {"kind": 3, "place": (2,)},
        {"loss": HEADS, "loss_weights": [1.0, 0.25]},
        optimizer=lambda k: k.Adam(0.02),
        batch=16,
        weights=_by_output,
    ),
    "weights of positions": Functional(
        by_position, {"x": (5, 4)}, {"kind": 3, "place": (5, 2)},
        {"loss": HEADS, "loss_weights": [1.0, 0.5]},
        batch=16,
        weights=lambda rng: {
            "kind": rng.uniform(0, 2, (SAMPLES, 5)).astype(np.float32),
            "place": rng.uniform(0, 1, (SAMPLES, 5)).astype(np.float32),
        },
        positions=(5,),
    ),
    "class weights": Functional(
        classifier, {"x": (4,)}, {"kind": 3},
        {"loss": SPARSE, "metrics": ["accuracy"]},
        fit={"class_weight": {0: 1.0, 1: 0.25, 2: 3.0}},
    ),
    "weighted metrics": Functional(
        classifier, {"x": (4,)}, {"kind": 3},
        {"loss": SPARSE, "metrics": ["accuracy"], "weighted_metrics": ["accuracy"]},
        batch=16,
        fit={"class_weight": {0: 1.0, 1: 0.25, 2: 3.0}},
    ),
    "weighted metrics by output": Functional(
        two_outputs, {"x": (4,)}, {"kind": 3, "place": (2,)},
        {
            "loss": HEADS,
            "metrics": {"kind": ["accuracy"], "place": [MSE]},
            "weighted_metrics": {"kind": ["accuracy"], "place": [MAE, "r2_score", MSE]},
        },
        batch=16,
        weights=_by_output,
    ),
    "weighted metrics of positions": Functional(
        by_position, {"x": (5, 4)}, {"kind": 3, "place": (5, 2)},
        {"loss": HEADS, "weighted_metrics": [["accuracy"], [MSE]]},
        batch=16,
        weights=lambda rng: {
            "kind": rng.uniform(0, 2, (SAMPLES, 5)).astype(np.float32),
            "place": rng.uniform(0, 1, (SAMPLES, 5)).astype(np.float32),
        },
        positions=(5,),
    ),
    "an output without a loss": Functional(
        two_outputs, {"x": (4,)}, {"kind": 3, "place": (2,)},
        {"loss": [SPARSE, None], "metrics": {"kind": ["accuracy"], "place": [MAE]}},
        batch=16,
    ),
    "losses of two outputs of three": Functional(
        three_outputs, {"x": (6,)}, {"kind": 3, "place": (2,), "there": 2},
        {
            "loss": {"kind": SPARSE, "place": None, "there": BCE},
            "metrics": {"kind": ["accuracy"]},
        },
        optimizer=lambda k: k.Adam(0.02),
    ),
    "siamese": Functional(
        siamese, {"left": (5,), "right": (5,)}, {"same": 2},
        {"loss": BCE, "metrics": ["accuracy"]},
        optimizer=lambda k: k.Adam(0.02),
    ),
    "nested model called twice": Functional(
        nested_twice, {"left": (4,), "right": (4,)}, {"out": (2,)}, {"loss": MSE}, batch=12,
    ),
    "frozen parts": Functional(
        frozen_parts, {"x": (4,)}, {"a": (1,), "b": (2,)},
        {"loss": {"a": MSE, "b": MAE}, "metrics": {"b": [MSE]}},
    ),
    "tied autoencoder": Functional(
        tied_autoencoder, {"x": (6,)}, {"restored": "x"}, {"loss": MSE, "metrics": [MAE]},
        batch=12,
    ),
    "integer inputs": Functional(
        whole_numbers, {"words": (4,), "counts": (4,)}, {"kind": 3, "place": (2,)},
        {"loss": HEADS, "metrics": {"kind": ["accuracy"]}},
        batch=12,
        below={"words": 9, "counts": 5},
    ),
    "mask": Functional(
        masked, {"x": (5, 4)}, {"kind": 3, "place": (5, 2)},
        # Without metrics: in a training step of Keras on JAX they have lost the mask.
        {"loss": HEADS, "loss_weights": [1.0, 0.5]},
        batch=16,
        positions=(5,),
        padded=True,
    ),
}  # fmt: skip
