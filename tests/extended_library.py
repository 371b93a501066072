"""Uses the examples of ``docs/extending.md`` without a window; `test_extending.py` runs it in a
copy of the tree that has them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from studio import engine
from studio.engine.formats.npz import load_npz
from studio.engine.isa.manual import manual
from studio.engine.layers.catalog import all_layers
from studio.graph_editor.model.edits.layers import add_layer
from studio.graph_editor.model.layer_names import successors, type_of_word
from studio.graph_editor.model.palette import Palette
from studio.graph_editor.model.quick_add import Place, QuickAdd
from studio.graph_editor.model.state import DocumentState

BACKENDS = pytest.mark.parametrize("backend", ["cpu", "gl"])
ROWS, RATE = 24, 0.05


def made(name: str) -> Any:
    """A class of the examples, under its public name."""
    assert name in engine.__all__
    return getattr(engine, name)


@pytest.fixture
def points(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return rng.normal(size=(ROWS, 3)).astype("f"), rng.normal(size=(ROWS, 2)).astype("f")


def one_step(
    backend: str, points: tuple[np.ndarray, np.ndarray], optimizer: Any, loss: Any, **dense: Any
) -> tuple[list[np.ndarray], list[np.ndarray], float]:
    """Weights before and after one step of a dense layer, and the loss before."""
    x, y = points
    network = engine.Sequential([engine.Input((3,)), engine.Dense(2, **dense)])
    with engine.Model.of_graph(network.graph, backend=backend, seed=2) as model:
        model.compile(optimizer, loss)
        before = [w.astype(float) for w in model.get_weights()]
        history = model.fit(x, y, epochs=1, batch_size=ROWS, shuffle=False)
        return before, model.get_weights(), history.history["loss"][0]


@BACKENDS
def test_the_instruction(backend: str, points: tuple[np.ndarray, np.ndarray]) -> None:
    """As an activation by its name: forward by the loss, backward by a step of SGD."""
    x, y = points
    (w, b), after, loss = one_step(backend, points, engine.SGD(RATE), "mse", activation="bent")
    z = x @ w + b
    error = z / np.sqrt(1 + z * z) - y
    assert np.isclose(loss, np.square(error).mean(), rtol=1e-5)
    slope = 2 * error / y.size * (1 + z * z) ** -1.5
    assert np.allclose(after[0], w - RATE * x.T @ slope, atol=1e-6)
    assert np.allclose(after[1], b - RATE * slope.sum(axis=0), atol=1e-6)


def test_the_instruction_is_in_manual_and_listing(tmp_path: Path) -> None:
    assert "Bends smoothly towards ±1/√alpha." in manual()
    file = project(tmp_path)
    assert "BENT" in glassbox("compile", file)
    assert "GRADS_BENT" in glassbox("compile", file)


@BACKENDS
@pytest.mark.parametrize("name", ["Signed", "Heavy"])
def test_the_optimizers(backend: str, name: str, points: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = points
    (w, b), after, _ = one_step(backend, points, made(name)(RATE), "mse")
    slope = 2 * (x @ w + b - y) / y.size
    wanted = x.T @ slope if name == "Heavy" else np.sign(x.T @ slope)
    assert np.allclose(after[0], w - RATE * wanted, atol=1e-6)


@BACKENDS
@pytest.mark.parametrize("name", ["LogCosh", "Huber"])
def test_the_losses(backend: str, name: str, points: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = points
    (w, b), after, loss = one_step(backend, points, engine.SGD(RATE), made(name)())
    error = x @ w + b - y
    size = np.abs(error)
    huber = np.where(size <= 1, error**2 / 2, size - 0.5), np.clip(error, -1, 1)
    values, slopes = huber if name == "Huber" else (np.log(np.cosh(error)), np.tanh(error))
    assert np.isclose(loss, values.mean(), rtol=1e-5)
    assert np.allclose(after[0], w - RATE * x.T @ slopes / y.size, atol=1e-6)


@BACKENDS
def test_layer_metric_initialiser_and_callback(
    backend: str, points: tuple[np.ndarray, np.ndarray]
) -> None:
    x, y = points
    layer = made("GatedDense")(2, kernel_initializer="alternating(0.2)")
    network = engine.Sequential([engine.Input((3,)), layer])
    with engine.Model.of_graph(network.graph, backend=backend, seed=2) as model:
        model.compile("sgd", "mse", ["agreement"])
        kernel, gate, bias = model.get_weights()
        assert np.allclose(kernel.ravel(), np.where(np.arange(6) % 2, -0.2, 0.2))
        assert gate.shape == (3, 2)
        wanted = (x @ kernel) / (1 + np.exp(-(x @ gate + bias)))
        assert np.allclose(model.predict(x), wanted, atol=1e-5)
        found = model.evaluate(x, y, return_dict=True)["agreement"]
        assert np.isclose(found, np.exp(-np.abs(wanted - y)).mean(), rtol=1e-4)
        stop = made("StopBelow")(loss=1e9)
        assert len(model.fit(x, y, epochs=5, callbacks=[stop]).epoch) == 1


def test_the_schedule() -> None:
    optimizer = engine.SGD(made("Zigzag")(stretch=2))
    assert [optimizer.rate(step) for step in range(5)] == [0.1, 0.1, 0.05, 0.05, 0.1]


def test_palette_and_quick_add_have_the_layer() -> None:
    assert made("GatedDense") in all_layers()
    assert type_of_word("GLU") == "GatedDense"
    assert "GatedDense" in successors("Flatten")
    entries = [entry.title for group in Palette().groups() for entry in group.entries]
    assert entries.count("GatedDense") == 1
    state = add_layer(DocumentState(), "Input", config={"shape": [4]})
    assert QuickAdd().offers(state, "gated", Place())[0].entry.title == "GatedDense"
    added = {n.type_name: dict(n.config) for n in add_layer(state, "GatedDense").nodes.values()}
    assert added["GatedDense"]["units"] == 32


def project(folder: Path) -> Path:
    """The iris sample, with the layer, activation, metric, optimiser and callback."""
    from studio.samples import open_copy

    file = open_copy("iris", folder)
    told = json.loads(file.read_text())
    hidden = told["graph"]["nodes"][1]
    hidden["config"]["activation"] = "bent"
    gated = {"config": {"name": "gated", "units": 8}, "id": "gated", "inputs": ["hidden"]}
    told["graph"]["nodes"].insert(2, {**gated, "type": "GatedDense"})
    told["graph"]["nodes"][3]["inputs"] = ["gated"]
    told["graph"]["nodes"][3]["config"] |= {"kernel_initializer": "alternating(0.2)"}
    rate = {"type": "Zigzag", "config": {"first": 0.01}}
    told["training"] |= {
        "epochs": 6,
        "optimizer": {"type": "Signed", "config": {"learning_rate": rate}},
        "callbacks": [{"type": "StopBelow", "config": {"loss": 0.9}}],
    }  # fmt: skip
    file.write_text(json.dumps(told))
    return file


def glassbox(*words: object) -> str:
    """What the command prints."""
    child = subprocess.run(
        [sys.executable, "-m", "studio", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == 0, child.stdout + child.stderr
    return child.stdout


@BACKENDS
def test_a_project_of_them_trains_and_is_exported(tmp_path: Path, backend: str) -> None:
    file = project(tmp_path)
    glassbox("train", file, "--backend", backend)
    (run,) = (tmp_path / "iris").glob("*.runs/*/summary.json")
    assert json.loads(run.read_text())["epochs"] < 6
    out = tmp_path / "weights.plain"
    told = json.loads(glassbox("export", file, "-o", out, "--json"))
    assert out.read_bytes().startswith(b"PLAIN")
    assert {name.split("/")[0] for name in load_npz(out.read_bytes()[5:])} == {
        "hidden", "gated", "species",
    }  # fmt: skip
    assert (told["format"], told["same"], told["written"]) == ("plain", True, True)
