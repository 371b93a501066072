"""A layer with several outputs, trained against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine import SGD, Dense, Input, Model
from studio.engine.compiler.lower import lower
from studio.engine.compiler.pipeline import compile_program
from studio.engine.compiler.target import CPU
from studio.engine.core.errors import CompileError
from studio.engine.interop.program_names import input_names, output_names
from tests.engine.layers.several_outputs import split_layer

BACKENDS = ("cpu", pytest.param("gl", marks=pytest.mark.gl))


@pytest.mark.parametrize("backend", BACKENDS)
def test_both_outputs_of_a_layer_are_trained_through(
    backend: str, rng: np.random.Generator
) -> None:
    x, left, right = (rng.normal(size=(8, n)).astype(np.float32) for n in (5, 2, 3))
    with split_layer() as split:
        entry = Input((5,))
        parts = split(2, name="cut")(Dense(5, name="mix")(entry))
        with Model(entry, [parts[1], Dense(2, name="head")(parts[0])], backend=backend) as model:
            start = [w.astype(np.float64) for w in model.get_weights()]
            model.compile(SGD(0.1), "mse")
            history = model.fit(x, [right, left], batch_size=8, epochs=3, shuffle=False).history
            found = model.get_weights()
            outputs = model.predict(x)
    assert [*history][:3] == ["loss", "cut_1_loss", "head_loss"]
    losses, wanted = trained(start, x.astype(np.float64), left, right, 3)
    np.testing.assert_allclose(history["loss"], losses, rtol=1e-5)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)
    mixed = x @ wanted[0] + wanted[1]
    np.testing.assert_allclose(outputs[0], mixed[:, 2:], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(outputs[1], mixed[:, :2] @ wanted[2] + wanted[3], rtol=1e-4,
                               atol=1e-5)  # fmt: skip


def trained(
    weights: list[np.ndarray], x: np.ndarray, left: np.ndarray, right: np.ndarray, steps: int
) -> tuple[list[float], list[np.ndarray]]:
    """Losses and weights of plain descent, in float64."""
    w, b, v, c = weights
    losses = []
    for _ in range(steps):
        mixed = x @ w + b
        head = mixed[:, :2] @ v + c
        losses.append(((mixed[:, 2:] - right) ** 2).mean() + ((head - left) ** 2).mean())
        slope = 2 * (head - left) / left.size
        below = np.hstack([slope @ v.T, 2 * (mixed[:, 2:] - right) / right.size])
        w, b = w - 0.1 * x.T @ below, b - 0.1 * below.sum(0)
        v, c = v - 0.1 * mixed[:, :2].T @ slope, c - 0.1 * slope.sum(0)
    return losses, [w, b, v, c]


def test_an_inference_program_tells_the_names_of_its_outputs() -> None:
    with split_layer() as split:
        start = Input((5,), name="start")
        first, rest = split(2, name="cut")(start)
        end = Dense(1, name="end")(rest)
        for outputs in ([rest, end], [end, rest], [first, rest], [end, end]):
            graph = Model(start, outputs).graph
            program = compile_program(lower(graph, "infer"), CPU, 2)
            assert output_names(program) == graph.output_names()
            assert input_names(program) == ("start",)


@pytest.mark.parametrize(
    ("names", "who", "number"),
    [(("val", "size"), "val", "val_loss"), (("size", "val_size"), "val_size", "val_size_loss")],
)
def test_an_output_is_not_called_as_the_validation(
    names: tuple[str, str], who: str, number: str
) -> None:
    entry = Input((3,))
    graph = Model(entry, [Dense(2, name=name)(entry) for name in names], name="two").graph
    with pytest.raises(CompileError) as caught:
        lower(graph, "train", loss="mse", metrics=["mae"])
    assert str(caught.value).startswith(f"[{who}] {number!r} is a number of this output")
    assert lower(graph, "infer").outputs
    alone = Model(entry, Dense(2, name="val")(entry), name="one").graph
    assert lower(alone, "train", loss="mse", metrics=["mae"]).meta["metrics"]
