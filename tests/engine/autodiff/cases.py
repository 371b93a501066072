"""For every instruction with a gradient a small program: parameters, the instruction, a loss."""

from __future__ import annotations

from typing import NamedTuple

from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import BATCH, Ref, Role
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.fields import Access
from studio.engine.isa.instruction import Instruction, all_instructions
from studio.engine.isa.ops.arithmetic import Mul
from studio.engine.isa.ops.function import Square
from studio.engine.isa.ops.reduce import ReduceMean
from studio.engine.isa.program import Program


class Case(NamedTuple):
    """Shapes of the operands by name (a list for an operand list), attributes, range of values."""

    shapes: dict[str, object]
    attrs: dict[str, object]
    low: float = -1.5
    high: float = 1.5


WINDOW = {"stride_h": 2, "stride_w": 1, "pad_h": 1, "pad_w": 0, "pad_end": (0, 1)}
POOL = {"window_h": 2, "window_w": 3, "stride_h": 1, "stride_w": 2, "pad_h": 1, "pad_w": 1}
NORM = dict.fromkeys(("gamma", "beta", "mean", "var"), (3,))
ENTRY = dict.fromkeys(("gamma", "beta", "mean", "var"), (2, 3))
IMAGE = (BATCH, 4, 5, 3)

CASES: dict[str, list[Case]] = {
    "ADD": [
        Case({"x1": (3, 4), "x2": (3, 4)}, {"alpha": 2.0, "beta": -0.5}),
        Case({"x1": (3, 1), "x2": (2, 1, 4)}, {"alpha": 0.5, "beta": 3.0}),
    ],
    "SELECT": [Case({"c": (3, 4), "a": (3, 4), "b": (3, 4)}, {})],
    "POW": [Case({"a": (3, 4), "b": (4,)}, {}, 0.4, 2.0)],
    "DIV": [Case({"a": (3, 4), "b": (3, 1)}, {}, 0.5, 2.0)],
    "LOG": [Case({"x": (3, 4)}, {}, 0.3, 2.0)],
    "SQRT": [Case({"x": (3, 4)}, {}, 0.3, 2.0)],
    "RSQRT": [Case({"x": (3, 4)}, {}, 0.3, 2.0)],
    "RECIPROCAL": [Case({"x": (3, 4)}, {}, 0.3, 2.0)],
    "LOG1P": [Case({"x": (3, 4)}, {}, -0.5, 2.0)],
    "ASIN": [Case({"x": (3, 4)}, {}, -0.8, 0.8)],
    "ACOS": [Case({"x": (3, 4)}, {}, -0.8, 0.8)],
    "ATANH": [Case({"x": (3, 4)}, {}, -0.8, 0.8)],
    "ACOSH": [Case({"x": (3, 4)}, {}, 1.3, 3.0)],
    "TAN": [Case({"x": (3, 4)}, {}, -1.0, 1.0)],
    "PRELU": [
        Case({"x": (3, 4), "alpha": (3, 4)}, {}),
        Case({"x": (2, 3, 4), "alpha": (3, 1)}, {}),
        Case({"x": (3, 4), "alpha": ()}, {}),
    ],
    "SCALE": [Case({"x": (3, 4)}, {"alpha": -1.5})],
    "CLIP": [Case({"x": (3, 4)}, {"low": -0.6, "high": 0.7})],
    "CLIPPED_RELU": [Case({"x": (3, 4)}, {"ceiling": 0.8})],
    "THRESHOLDED_RELU": [Case({"x": (3, 4)}, {"slope": 0.1, "threshold": 0.2, "ceiling": 1.0})],
    "LINEAR": [
        Case({"w": (4, 3), "b": (4,), "x": (BATCH, 3)}, {}),
        Case({"w": (4, 3), "x": (BATCH, 2, 3)}, {}),
    ],
    "MATMUL": [
        Case({"a": (2, 3, 4), "b": (4, 2)}, {}),
        Case({"a": (4, 3), "b": (2, 2, 4)}, {"ta": True, "tb": True}),
    ],
    "CONV2D": [
        Case({"w": (3, 2, 3, 2), "b": (2,), "x": IMAGE}, WINDOW),
        Case({"w": (2, 2, 3, 2), "x": IMAGE}, {"dil_h": 2, "dil_w": 3}),
    ],
    "DEPTHWISE_CONV2D": [Case({"w": (3, 2, 3, 2), "b": (6,), "x": IMAGE}, WINDOW)],
    "MAXPOOL2D": [Case({"x": IMAGE}, POOL)],
    "AVGPOOL2D": [Case({"x": IMAGE}, POOL), Case({"x": IMAGE}, {**POOL, "exclude": True})],
    "GLOBAL_AVGPOOL2D": [Case({"x": IMAGE}, {})],
    "BATCHNORM": [Case({"x": (BATCH, 2, 3), **ENTRY}, {"factor": 0.1})],
    "BATCHNORM2D": [
        Case({"x": IMAGE, **NORM}, {"factor": 0.1}),
        Case({"x": IMAGE, **NORM}, {"frozen": True}),
        Case({"x": IMAGE, "mean": (3,), "var": (3,)}, {}),
    ],
    "SOFTMAX": [Case({"x": (BATCH, 2, 3)}, {"step": 3}), Case({"x": (BATCH, 2, 3)}, {"step": 6})],
    "SOFTMAX_LOG": [Case({"x": (BATCH, 6)}, {"step": 3})],
    "CONCAT": [Case({"xs": [(2, 3), (4, 3), (1, 3)]}, {"axis": 0})],
    "CONCAT_CHANNEL": [Case({"xs": [(BATCH, 3), (BATCH, 2)]}, {"count": 2})],
    "FLATTEN": [Case({"x": IMAGE}, {})],
    "RESHAPE": [Case({"x": (BATCH, 2, 6)}, {"shape": (-1, 3, 4)})],
    "TRANSPOSE": [Case({"x": (2, 3, 4)}, {"perm": (1, 2, 0)})],
    "SLICE": [Case({"x": (3, 5)}, {"begin": (0, 1), "size": (-1, 3)})],
    "PAD": [Case({"x": (2, 3)}, {"pads": (1, 0, 0, 2), "fill": 3.0})],
    "BROADCAST": [Case({"x": (3, 1)}, {"shape": (2, 3, 4)})],
    "REVERSE": [Case({"x": (2, 3, 4)}, {"axes": (0, 2)})],
    "RESIZE": [
        Case({"x": IMAGE}, {"height": 7, "width": 3, "method": "bilinear"}),
        Case({"x": IMAGE}, {"height": 2, "width": 9, "method": "bicubic"}),
    ],
    "SAMPLE_GRID": [
        Case({"x": IMAGE, "grid": (IMAGE[0], 3, 2, 2)}, {"outside": outside, "coords": coords})
        for outside in ("zeros", "border", "reflect")
        for coords in ("half_pixel", "align_corners", "pixels")
    ],
    "GATHER": [Case({"x": (3, 4), "i": (2, 3)}, {"axis": 1}), Case({"x": (3, 4), "i": (5,)}, {})],
    "GATHER_ELEMENTS": [Case({"x": (3, 4), "i": (5, 4)}, {"axis": 0})],
    "GATHER_ND": [
        Case({"x": (2, 3, 4), "i": (4, 2)}, {}),
        Case({"x": (2, 3, 4), "i": (2, 3, 1)}, {"batch": 1}),
    ],
    "SCATTER": [
        Case({"x": (3, 4), "i": (5, 4), "u": (5, 4)}, {"axis": 0, "reduction": how})
        for how in ("none", "add", "mul", "max", "min")
    ],
    "SCATTER_ND": [
        Case({"x": (2, 3, 4), "i": (5, 2), "u": (5, 4)}, {"reduction": how})
        for how in ("none", "add", "mul", "max", "min")
    ],
    "TOPK": [
        Case({"x": (3, 5)}, {"k": 2, "axis": 1}),
        Case({"x": (5, 3)}, {"k": 2, "axis": 0, "order": "smallest"}),
    ],
    "CUMULATE": [
        Case({"x": (3, 4)}, {"axis": 1, "op": "sum", "exclusive": True}),
        Case({"x": (4, 3)}, {"axis": 0, "op": "prod", "reverse": True}),
        Case({"x": (3, 4)}, {"axis": 1, "op": "max"}),
        Case({"x": (3, 4)}, {"axis": 1, "op": "min", "reverse": True}),
    ],
    "DROPOUT": [Case({"x": (BATCH, 8)}, {"rate": 0.4, "stream": 5})],
    "REDUCE_SUM": [Case({"x": (2, 3, 4)}, {"axes": (0, 2)})],
    "REDUCE_MEAN": [Case({"x": (2, 3, 4)}, {"axes": (1,), "keepdims": True})],
    "REDUCE_PROD": [Case({"x": (2, 3, 4)}, {"axes": (1,)}), Case({"x": (2, 3)}, {})],
    "REDUCE_MAX": [Case({"x": (2, 3, 4)}, {"axes": (1,)})],
    "REDUCE_MIN": [Case({"x": (2, 3, 4)}, {})],
    "LOSS_CE": [
        Case({"p": (BATCH, 4)}, {"source": "logits"}),
        Case({"p": (BATCH, 4), "weights": (BATCH,)}, {"source": "probs"}, 0.2, 0.8),
    ],
    "LOSS_SPARSE_CE": [
        Case({"p": (BATCH, 2, 4)}, {"source": "logits"}),
        Case({"p": (BATCH, 2, 4), "weights": (BATCH, 2)}, {"source": "logits"}),
    ],
    "LOSS_BCE": [
        Case({"p": (BATCH, 4), "weights": (BATCH,)}, {"source": "logits"}),
        Case({"p": (BATCH, 4)}, {"source": "probs"}, 0.2, 0.8),
    ],
    "LOSS_MSE": [
        Case({"p": (BATCH, 4), "weights": (BATCH,)}, {}),
        Case({"p": (BATCH, 2, 3), "weights": (BATCH, 2)}, {}),
        Case({"p": (BATCH, 2, 3), "weights": (BATCH, 2, 3)}, {}),
        Case({"p": (BATCH, 4)}, {"dylann_sum": True}),
    ],
    "LOSS_MAE": [Case({"p": (BATCH, 4)}, {})],
    "LOSS_L1L2": [Case({"w": (3, 4)}, {"l1": 0.1, "l2": 0.2})],
}
DEFINED_OTHERWISE = {"SOFTMAX_CE"}
"""Its gradient is by definition not the derivative of its forward rule."""


def cases_of(cls: type[Instruction]) -> list[Case]:
    """The cases of a class; element-wise ones fall back on a plain one."""
    if cls.mnemonic in CASES:
        return CASES[cls.mnemonic]
    names = [f.name for f in cls.operand_fields if f.access is Access.READ and not f.tail]
    if names == ["x"]:
        return [Case({"x": (3, 4)}, {})]
    assert names == ["a", "b"], f"{cls.mnemonic} needs a case"
    return [Case({"a": (3, 4), "b": (3, 4)}, {}), Case({"a": (3, 1), "b": (2, 1, 4)}, {})]


def all_cases() -> list[tuple[type[Instruction], Case]]:
    """Every instruction class with a gradient and each of its cases."""
    return [
        (cls, case)
        for cls in all_instructions()
        if cls.grad_class is not None and cls.mnemonic not in DEFINED_OTHERWISE
        for case in cases_of(cls)
    ]


def program_of(cls: type[Instruction], case: Case) -> Program:
    """Differentiable operands are trainable parameters; the result goes into a sum of squares."""
    build = ProgramBuilder(cls.mnemonic.lower(), "train")
    inputs: list[Ref] = []
    fields: dict[str, object] = dict(case.attrs)
    for spec in cls.operand_fields:
        if spec.name not in case.shapes:
            continue
        shapes = case.shapes[spec.name]
        many = isinstance(shapes, list)
        refs = []
        for i, shape in enumerate(shapes if many else [shapes]):
            role = Role.PARAM if spec.differentiable and spec.access is Access.READ else Role.INPUT
            role = Role.STATE if spec.access is Access.UPDATE else role
            name = f"{spec.name}{i}" if many else spec.name
            dtype = {"c": DType.bool, "i": DType.int32}.get(name, DType.float32)
            refs.append(build.tensor(name, shape, dtype, role, trainable=role is Role.PARAM))
            inputs += [refs[-1]] if role is Role.INPUT else []
        fields[spec.name] = tuple(refs) if many else refs[0]
    with build.owned_by("layer"):
        if cls.category == "loss":
            if cls.mnemonic != "LOSS_L1L2":
                shape = build.type_of(fields["p"]).shape
                shape = shape[:-1] if cls.mnemonic == "LOSS_SPARSE_CE" else shape
                fields["t"] = build.tensor("t", shape, role=Role.TARGET)
                inputs.append(fields["t"])
            build.emit("loss", cls, **fields)
        else:
            y = build.emit("forward", cls, **fields)[0]
            _square_loss(build, y, inputs)
    return build.finish(tuple(inputs), ())


def _square_loss(build: ProgramBuilder, y: Ref, inputs: list[Ref]) -> None:
    """A weighted mean of squares, so that every element has a gradient of its own."""
    share = build.tensor("share", build.type_of(y).shape, role=Role.INPUT)
    inputs.append(share)
    product = build.emit("loss", Mul, a=build.emit("loss", Square, x=y)[0], b=share)[0]
    build.emit("loss", ReduceMean, x=product)
