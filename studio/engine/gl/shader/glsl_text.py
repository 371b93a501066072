"""Small pieces of GLSL text: literals of Python numbers and the GLSL side of element types."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np

from studio.engine.core.dtypes import DType

ElementType: TypeAlias = Literal["float", "int"]

VALUE_TYPES: dict[DType, ElementType] = {
    DType.float32: "float",
    DType.float16: "float",
    DType.int32: "int",
    DType.uint8: "int",
    DType.int8: "int",
    DType.bool: "int",
}
"""The GLSL type an element has in a kernel, whatever its storage."""

PER_WORD: dict[DType, int] = {
    DType.float32: 1,
    DType.float16: 2,
    DType.int32: 1,
    DType.uint8: 4,
    DType.int8: 4,
    DType.bool: 1,
}
"""Elements of a type in one 32-bit word of device storage."""


def float_literal(value: float) -> str:
    """A GLSL expression for exactly that float32."""
    number = np.float32(value)
    if not np.isfinite(number):
        (bits,) = struct.unpack("<I", struct.pack("<f", number))
        return f"uintBitsToFloat({bits:#010x}u)"
    text = str(number)
    text = text if any(mark in text for mark in ".e") else f"{text}.0"
    # Parentheses keep a minus sign from joining one before it.
    return f"({text})" if number < 0 or text.startswith("-") else text


def int_literal(value: int) -> str:
    """A GLSL expression for a whole number; above the signed range the same 32 bits."""
    if value >= 1 << 31:
        value -= 1 << 32
    return f"({value})" if value < 0 else str(value)


def for_each_lane(lines: Sequence[str]) -> list[str]:
    """Statements over ``[k]`` written out for the four lanes of a vector.

    In a loop that the driver leaves rolled, vectors indexed by k would go through memory.
    """
    return [
        text
        for k in range(4)
        for text in ("{", *(f"    {line.replace('[k]', f'[{k}]')}" for line in lines), "}")
    ]
