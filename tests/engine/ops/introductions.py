"""The notebooks to begin with: their cells, their form in the tree, what each must find."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from studio.engine.train.data.builtin import load_digits

FOLDER = Path(__file__).resolve().parents[3] / "projects" / "notebooks"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def text_of(name: str) -> str:
    """A notebook's file."""
    return (FOLDER / f"{name}.ipynb").read_text(encoding="utf-8")


def cells_of(name: str) -> list[str]:
    """The code of its cells."""
    cells = json.loads(text_of(name))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def stored_form(text: str) -> str:
    """How a notebook lies in the tree: no outputs, no counts, no machine it ran on."""
    notebook = json.loads(text)
    cells = []
    for cell in notebook["cells"]:
        lines = "".join(cell["source"]).rstrip().splitlines(keepends=True)
        kept = {key: cell[key] for key in ("cell_type", "id")}
        kept |= {"metadata": {}, "source": lines}
        if cell["cell_type"] == "code":
            kept |= {"execution_count": None, "outputs": []}
        cells.append(kept)
    whole = {"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def judge_polynomial(found: Any) -> None:
    """The factors are those of least squares."""
    x, y = np.array(found["x"]), np.array(found["y"])
    right = np.polynomial.polynomial.polyfit(x, y, 3)[::-1]
    np.testing.assert_allclose(found["factors"], right, atol=0.02)
    assert found["history"][-1] < 1e-3 < found["history"][0]


def judge_gradients(found: Any) -> None:
    """Slopes by the rules of calculus, and what the rules of the notebook say."""
    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(found["slopes"], 3 * x**2, rtol=1e-6)
    assert found["area"] == [12.0, 4.0, 3.0]
    assert found["still"] == 0.0
    assert found["passed"] == [1.0, 1.0]
    assert found["rounded"] == 3.0
    assert found["steep"] == [-1.0, 0.5, 1.0]


def judge_memory(found: Any) -> None:
    """Of what was made in scopes only what was kept is there, and the rest is told."""
    assert found["more"] == [(1, 4_000_000), (0, 0)]
    assert found["gone"].endswith("disposed>")
    assert found["operations"] >= {"matmul", "relu", "exp", "sum"}
    assert min(found["milliseconds"]) > 0
    assert "[log]" in found["message"]
    assert "must be finite" in found["message"]


def judge_digits(found: Any) -> None:
    """The weights, taken through the network in float64, name digits that they never saw."""
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.x))[len(digits.x) * 4 // 5 :]
    x = np.asarray(digits.x, np.float64)[order] / 16
    kernel, bias, last, last_bias = (np.array(found["weights"][name]) for name in (
        "kernel", "kernel_bias", "last", "last_bias"
    ))  # fmt: skip
    room = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    h = sum(room[:, r : r + 8, s : s + 8] @ kernel[r, s] for r in range(3) for s in range(3))
    h = np.maximum(h + bias, 0).reshape(len(x), 4, 2, 4, 2, 8).max((2, 4))
    guessed = (h.reshape(len(x), -1) @ last + last_bias).argmax(1)
    right = float(np.mean(guessed == np.asarray(digits.y).reshape(-1)[order]))
    assert right > 0.9
    assert abs(found["accuracy"] - right) < 0.01


READ = {
    "polynomial": """{
        'x': x.tolist(), 'y': y.tolist(), 'factors': factors.numpy()[:, 0].tolist(),
        'history': history,
    }""",
    "gradients": """{
        'slopes': slope(ops.tensor([1.0, 2.0, 3.0])).numpy().tolist(),
        'area': [value.item(), by_width.item(), by_height.item()], 'still': still.item(),
        'passed': passed.numpy().tolist(), 'rounded': rounded(x).item(),
        'steep': steep.numpy().tolist(),
    }""",
    "memory": """{
        'more': [(m.tensors - before.tensors, m.bytes - before.bytes) for m in (inside, after)],
        'gone': repr(gone), 'message': message,
        'operations': {name for row in seen.rows for name in row.operation.split('+')},
        'milliseconds': [took.wall_ms, took.kernel_ms],
    }""",
    "digits": """{
        'weights': {each.name: each.numpy().tolist() for each in weights}, 'accuracy': accuracy,
    }""",
}
"""What is read behind the last cell of each notebook."""

NOTEBOOKS: Mapping[str, tuple[str, Callable[[Any], None]]] = MappingProxyType(
    {
        "polynomial": (READ["polynomial"], judge_polynomial),
        "gradients": (READ["gradients"], judge_gradients),
        "memory": (READ["memory"], judge_memory),
        "digits": (READ["digits"], judge_digits),
    }
)
"""That for each notebook, and what judges it."""
