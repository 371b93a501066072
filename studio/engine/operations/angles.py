"""Angles and hyperbolas: functions of one or two tensors, element by element."""

from __future__ import annotations

from studio.engine.core.tensor import Ref
from studio.engine.isa.ops import angles
from studio.engine.isa.ops.function import Cos, Sin
from studio.engine.operations import types
from studio.engine.operations.lines import Lines, times
from studio.engine.operations.table import operation, plain

tan = plain(
    angles.Tan, family=__name__, name="tan", symbol="tan",
    numpy="tan", keras="tan", onnx="Tan", tfjs="tan",
)  # fmt: skip
arcsin = plain(
    angles.Asin, family=__name__, name="arcsin", symbol="asin",
    numpy="arcsin asin", keras="arcsin", onnx="Asin", tfjs="asin",
)  # fmt: skip
arccos = plain(
    angles.Acos, family=__name__, name="arccos", symbol="acos",
    numpy="arccos acos", keras="arccos", onnx="Acos", tfjs="acos",
)  # fmt: skip
arctan = plain(
    angles.Atan, family=__name__, name="arctan", symbol="atan",
    numpy="arctan atan", keras="arctan", onnx="Atan", tfjs="atan",
)  # fmt: skip
arctan2 = plain(
    angles.Atan2, family=__name__, name="arctan2", symbol="atan2",
    numpy="arctan2 atan2", keras="arctan2", onnx="", tfjs="atan2",
)  # fmt: skip
sinh = plain(
    angles.Sinh, family=__name__, name="sinh", symbol="sinh",
    numpy="sinh", keras="sinh", onnx="Sinh", tfjs="sinh",
)  # fmt: skip
cosh = plain(
    angles.Cosh, family=__name__, name="cosh", symbol="cosh",
    numpy="cosh", keras="cosh", onnx="Cosh", tfjs="cosh",
)  # fmt: skip
arcsinh = plain(
    angles.Asinh, family=__name__, name="arcsinh", symbol="asinh",
    numpy="arcsinh asinh", keras="arcsinh", onnx="Asinh", tfjs="asinh",
)  # fmt: skip
arccosh = plain(
    angles.Acosh, family=__name__, name="arccosh", symbol="acosh",
    numpy="arccosh acosh", keras="arccosh", onnx="Acosh", tfjs="acosh",
)  # fmt: skip
arctanh = plain(
    angles.Atanh, family=__name__, name="arctanh", symbol="atanh",
    numpy="arctanh atanh", keras="arctanh", onnx="Atanh", tfjs="atanh",
)  # fmt: skip


@operation(symbol="r,φ→x,y")
def polar_to_plane(lines: Lines, radius: Ref, angle: Ref) -> tuple[Ref, Ref]:
    """Coordinates of points given by distance and angle: r·cos φ, r·sin φ."""
    radius, angle = types.floats(lines, radius, angle)
    across = times(lines, radius, lines.emit(Cos, x=angle)[0])
    return across, times(lines, radius, lines.emit(Sin, x=angle)[0])
