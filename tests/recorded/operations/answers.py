"""Recorded answers of Keras and TensorFlow.js to calls of our operations.

``keras.json`` and ``tfjs.json`` hold one entry for each case of ``tests/engine/operations/cases``
that has a counterpart there: results, gradients of Σ slope·result by operand, and a sum over what
was given, which shows a recording that is older than its case.
"""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from studio.engine.operations import OPERATIONS
from tests.engine.operations.cases import arrays, elementwise, models, sampling
from tests.engine.operations.cases.case import Case

FOLDER = Path(__file__).parent
CASES = [*elementwise.CASES, *arrays.CASES, *models.CASES, *sampling.CASES]

# Cases without a counterpart although a function has the operation's name there.
ALONE = "an option that is only here"
RANKS = "operands of these numbers of dimensions are refused there"
LEAST = "-inf is never the largest there"
BROAD = "broadcasts of both operands go wrong there"
LEFT_OUT: Mapping[str, Mapping[str, str]] = {
    "keras": {
        "add(2x3-2x3)": "a sum of truth values is a truth value there",
        "nan_to_num": "recorded in float64, which has another largest number",
        "relu(2x3)": "whole numbers stay whole there",
        "var(2x3x4;axis=(0,1),ddof=1)": ALONE,
        "cumsum(2x4;axis=1,exclusive=True,reverse=False)": ALONE,
        "cumsum(2x4;axis=1,exclusive=True,reverse=True)": ALONE,
        "resize(2x4x5x3;height=3,width=8,coords=align_corners)": ALONE,
        "conv2d_transpose(2x4x5x3-3x3x2x3;strides=(2,2),padding=same,size=(7,9))": ALONE,
        "search_sorted(2x5-2x3;side=left)": RANKS,
        "search_sorted(2x5-2x3;side=right)": RANKS,
        "transform": "images tilt here, and stay in their plane there",
    },
    "tfjs": {
        "add(2x3-2x3)": "a sum of truth values is a truth value there",
        "divide(2x3-3)": "whole numbers divide to whole numbers there",
        "elu(3x4;alpha=0.5)": ALONE,
        "log_softmax(3x4;axis=0)": ALONE,
        "softmax(2x3x4;axis=1;N)": ALONE,
        "strided_slice(2x3x4;begin=(0,-2),end=(-1,3);N)": "all of the batch is taken here",
        "norm(2x3x4;axis=2,order=3.0)": ALONE,
        "matmul(4-4x2)": RANKS,
        "matmul(2x3x4-4)": RANKS,
        "matmul(4-4)": RANKS,
        "matmul(2x1x3x4-5x4x2)": BROAD,
        "dot(2x3x4-4x2)": RANKS,
        "dot(2x3-0)": RANKS,
        "outer(3-2x2)": RANKS,
        "einsum(2x3-3x4-4x2;equation=ij,jk,kl->il)": "at most two operands there",
        "einsum(2x3-4x2;equation=ba,cb)": "an arrow is needed there",
        "concatenate(2x3-2x1)": "types must be the same there",
        "pad(2x3;pads=((0,1),(2,0)),mode=edge)": ALONE,
        "tile(2x3;repeats=(2,1,3))": ALONE,
        "eye(;rows=3,columns=4,diagonal=1)": ALONE,
        "gather(2x3x4-2x2;axis=None)": ALONE,
        "in_top_k(2-2x4;k=1)": "of equals only the first is among the largest there",
        "scatter_update(2x3-2x2-2;reduction=add)": ALONE,
        "frame(2x7;length=3,step=2)": RANKS,
        "batch_normalization(2x3x4-3-3-3-3;axis=1,epsilon=0.1)": ALONE,
        "hinge(3x4-3x4;squared=True)": ALONE,
        "cosine_distance(3x4-3x4;normalized=True,reduction=none)": ALONE,
        "resize(2x4x5x3;height=2,width=3,antialias=True)": ALONE,
        "resize(2x4x5x3;height=8,width=3,method=bicubic,exclude=True)": ALONE,
        "search_sorted(9-2x4)": RANKS,
        "search_sorted(9-2x4;side=right)": RANKS,
        "search_sorted(100-3x7)": RANKS,
        "search_sorted(0-2x4)": "nothing is found in a row without elements there",
        "search_sorted(4-4)": "NaN lies in front of all numbers there",
        "conv2d_transpose(2x4x5x3-2x2x2x3;dilation=(2,2))": ALONE,
        "max_pool_with_argmax(1x2x3x1;size=(3,3),strides=(1,1),padding=same)": LEAST,
        "transform": "only the first image is right on the CPU there",
        "rotate(2x4x5x2;radians=-1.2,method=bilinear,center_x=0.2)": ALONE,
    },
}

# Operations whose gradient is another there.
OTHER_GRADIENTS: Mapping[str, Mapping[str, str]] = {
    "keras": {},
    "tfjs": {
        "floor_divide": "it is that of the quotient there",
        "resize_nearest": "only that of the first image is right on the CPU there",
        "mirror_pad": "only what lies in the middle gets a gradient there",
        "softmax_cross_entropy": "targets count as if they added up to 1 there",
        "average_pool2d": "means over cells of the padding are differentiated there",
        "average_pool3d": "means over cells of the padding are differentiated there",
    },
}


@dataclass(frozen=True)
class Answer:
    """What a library gives: results, and gradients by the place of their operand."""

    results: list[np.ndarray]
    gradients: dict[int, np.ndarray] = field(default_factory=dict)


def slopes(shape: tuple[int, ...]) -> np.ndarray:
    """What results weigh in the sum that is differentiated."""
    count = int(np.prod(shape))
    return (np.arange(count) % 5 - 1.5).reshape(shape)


def cases_of(library: str) -> list[Case]:
    """Cases with a counterpart in a library."""
    found = {}
    for case in CASES:
        left_out = LEFT_OUT[library]
        named = OPERATIONS[case.name].aliases.get(library)
        if named and not {case.name, str(case)} & set(left_out):
            found[str(case)] = case
    return list(found.values())


def given_sum(case: Case) -> int:
    """Tells one set of operands from another."""
    return zlib.crc32(b"".join(x.tobytes() for x in case.arrays()))


def plain(values: np.ndarray) -> dict[str, Any]:
    """An array for a file, as exact as float32."""
    wide = np.asarray(values)
    kind = wide.dtype.kind
    flat = [f"{v:.8g}" if kind == "f" else str(int(v)) for v in wide.ravel()]
    return {"shape": list(wide.shape), "kind": "i" if kind == "u" else kind, "of": " ".join(flat)}


def read_array(stored: Mapping[str, Any]) -> np.ndarray:
    """The array of `plain`."""
    dtype = {"f": np.float64, "i": np.int64, "b": np.bool_}[stored["kind"]]
    values = np.array([float(v) for v in stored["of"].split()])
    return values.astype(dtype).reshape(stored["shape"])


def text_of(library: str, answers: Mapping[str, Answer]) -> str:
    """The file of a library: one line for each case."""
    sums = {str(case): given_sum(case) for case in cases_of(library)}
    lines = [
        f"{json.dumps(name)}: " + json.dumps({
            "given": sums[name], "results": [plain(y) for y in found.results],
            "gradients": {
                str(i): plain(g) for i, g in found.gradients.items()
                if name.partition("(")[0] not in OTHER_GRADIENTS[library]
            },
        }, separators=(",", ":"))
        for name, found in answers.items()
    ]  # fmt: skip
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main(library: str, answers: Mapping[str, Answer]) -> None:
    """Write the recording of a library anew, or print it with ``--print``."""
    text = text_of(library, answers)
    if "--print" in sys.argv:
        sys.stdout.write(text)
    else:
        (FOLDER / f"{library}.json").write_text(text, encoding="utf-8")


def recorded(library: str) -> dict[str, dict[str, Any]]:
    """The recording of a library."""
    found: dict[str, dict[str, Any]] = json.loads(
        (FOLDER / f"{library}.json").read_text(encoding="utf-8")
    )
    return found
