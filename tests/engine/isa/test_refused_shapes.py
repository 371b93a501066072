"""Operands and attributes that do not fit each other are refused by the instruction's own name."""

from __future__ import annotations

from typing import Any

import pytest

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import StudioError
from studio.engine.core.tensor import BATCH, Shape
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.instruction import by_mnemonic

N = BATCH
REFUSED: dict[str, tuple[str, tuple[Shape, ...], dict[str, Any], str]] = {
    "axis outside": ("ARGMAX", ((3, 4),), {"axis": 2}, "axis 2 is outside rank 2"),
    "negative axis outside": ("ARGMIN", ((3, 4),), {"axis": -3}, "axis -3 is outside rank 2"),
    "axis of a scalar": ("ARGMAX", ((),), {}, "axis -1 is outside rank 0"),
    "softmax of another length": (
        "SOFTMAX", ((N, 4, 5),), {"axis": 1, "step": 5}, "step 5 must be the length of dimension 1",
    ),
    "softmax over the batch": (
        "SOFTMAX_LOG", ((N, 4),), {"axis": 0, "step": 4}, "must be the length of dimension 0",
    ),
    "softmax outside": ("SOFTMAX", ((N, 4),), {"axis": 3, "step": 4}, "axis 3 is outside rank 2"),
    "no step": (
        "SLICE", ((N, 4),), {"begin": (0, 0), "size": (-1, 2), "steps": (1, 0)},
        "a step must not be 0",
    ),
    "steps too few": (
        "SLICE", ((N, 4),), {"begin": (0, 0), "size": (-1, 2), "steps": (2,)},
        "one number for each",
    ),
    "steps past the front": (
        "SLICE", ((N, 4),), {"begin": (0, 3), "size": (-1, 3), "steps": (1, -2)},
        "must lie inside",
    ),
    "steps past the end": (
        "SLICE", ((N, 4),), {"begin": (0, 0), "size": (-1, 3), "steps": (1, 2)},
        "must lie inside",
    ),
    "batch backwards": (
        "SLICE", ((N, 4),), {"begin": (0, 0), "size": (-1, -1), "steps": (-1, 1)},
        "must lie inside",
    ),
    "all of it backwards": (
        "SLICE", ((3, 4),), {"begin": (0, 3), "size": (-1, -1), "steps": (1, -1)},
        "must lie inside",
    ),
    "a mode with a number": (
        "PAD", ((N, 4),), {"pads": (0, 0, 1, 1), "mode": "edge", "fill": 2.0},
        "the mode edge has no fill",
    ),
    "nothing to repeat": (
        "PAD", ((N, 0),), {"pads": (0, 0, 1, 1), "mode": "wrap"}, "has nothing to wrap",
    ),
    "nearest that smooths": (
        "RESIZE", ((N, 4, 4, 1),), {"height": 2, "width": 2, "antialias": True}, "cannot smooth",
    ),
    "no picture": ("RESIZE", ((N, 4),), {"height": 2, "width": 2}, "rank 4 or more"),
    "grid of other images": (
        "SAMPLE_GRID", ((N, 4, 4, 1), (2, 3, 3, 2)), {}, "grid for images",
    ),
    "grid of three numbers": ("SAMPLE_GRID", ((2, 4, 4, 1), (2, 3, 3, 3)), {}, "grid for images"),
    "empty picture": ("RESIZE", ((N, 0, 4, 1),), {"height": 2, "width": 2}, "rows and columns"),
    "batch padded": (
        "PAD", ((N, 4),), {"pads": (1, 0, 1, 1), "mode": "reflect"}, "cannot be padded",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_does_not_fit_is_refused_by_name(what: str) -> None:
    mnemonic, shapes, attrs, words = REFUSED[what]
    cls = by_mnemonic(mnemonic)
    assert cls is not None
    builder = ProgramBuilder("refused", "infer")
    read = [f.name for f in cls.operand_fields if f.access.value == "reads"]
    refs = {
        name: builder.tensor(name, shape, DType.float32)
        for name, shape in zip(read, shapes, strict=False)
    }
    with pytest.raises(StudioError, match=words) as caught:
        builder.emit("forward", cls, **refs, **attrs)
    assert caught.value.who == mnemonic
