"""Calls of operations: what users give becomes operands, and the call is recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ParameterError, ShapeError, quoted
from studio.engine.core.tensor import ABSENT, MAX_RANK, TensorType
from studio.engine.operations.table import OPERATIONS, Operation
from studio.engine.ops import patterns, seeds
from studio.engine.ops.handle import Tensor, shown
from studio.engine.ops.patterns import Pattern, Writes, kind_of
from studio.engine.ops.recording import STATE, add
from studio.engine.ops.values import Value, value_of_float, value_of_int

Number: TypeAlias = "bool | int | float"
Given: TypeAlias = "Tensor | Number | npt.ArrayLike"

_INT32 = 1 << 31
_OF_KIND = {"f": DType.float32, "i": DType.int32, "u": DType.int32, "b": DType.bool}
_KEPT = {d.np: d for d in (DType.uint8, DType.int8, DType.float16)}


def call(operation: Writes, given: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """Record a call; returns its result, or a tuple of several.

    Args:
        operation: what is called.
        given: operands: tensors, numbers, arrays, None for one that is left out.
        options: by name.

    Raises:
        ShapeError, ParameterError: operands or options do not fit; at the line of the call.
    """
    trace = STATE.trace
    kinds: list[int] = []
    places: list[int] = []
    for x in given:
        if x is None or x is ABSENT:
            kinds.append(-1)
            continue
        tensor = x if isinstance(x, Tensor) else None
        if tensor is None:
            value = value_of(x, operation.name)
            places.append(trace.new_place(value))
            kinds.append(value.kind)
        else:
            places.append(tensor._place if tensor._trace is trace else trace.leaf(tensor))
            kinds.append(tensor._kind)
    pattern = pattern_for(operation, tuple(kinds), options)
    if pattern.draws:
        places.append(trace.place_of(seeds.next_block()))
    made = add(pattern, places, shown)
    return made[0] if len(made) == 1 else made


def pattern_for(operation: Writes, kinds: tuple[int, ...], options: Mapping[str, Any]) -> Pattern:
    """The pattern of a call with operands of these types."""
    settled = {name: _settled(value) for name, value in options.items()}
    key = (operation, kinds, *sorted(settled.items()))
    try:
        found = patterns.known(key)
    except TypeError:
        raise ParameterError(
            f"an option is of no known type: {quoted(settled)}", who=operation.name
        ) from None
    return found or patterns.pattern_of(operation, kinds, settled, key)


def _settled(value: Any) -> Any:
    """An option as it can be compared: lists become tuples, NumPy's numbers those of Python."""
    if isinstance(value, list | tuple):
        return tuple(_settled(v) for v in value)
    if isinstance(value, np.generic | np.ndarray) and value.ndim == 0:
        return value.item()
    if isinstance(value, np.ndarray):
        return _settled(value.tolist())
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return np.dtype(value).name
    return value.name if isinstance(value, DType) else value


def value_of(given: Any, who: str, dtype: DType | None = None) -> Value:
    """A number or an array as a value of its own.

    Whole numbers become int32, fractions float32; uint8, int8 and float16 arrays stay.

    Raises:
        ShapeError: it is no number or array of numbers, or has too many dimensions.
        ParameterError: a whole number beyond int32.
    """
    if dtype is None and type(given) is float:
        return value_of_float(given)
    if dtype is None and type(given) is int and (whole := value_of_int(given)) is not None:
        return whole
    try:
        array = np.asarray(given)
    except ValueError:
        raise ShapeError("its rows must be of one length", who=who) from None
    if dtype is None:
        dtype = _KEPT.get(array.dtype) or _OF_KIND.get(array.dtype.kind)
    if dtype is None or array.dtype.kind not in "fiub":
        raise ShapeError(
            f"expected a tensor, a number or an array of numbers: got {quoted(given)}", who=who
        )
    if array.ndim > MAX_RANK:
        raise ShapeError(f"tensors have 0 to {MAX_RANK} dimensions: got {array.ndim}", who=who)
    if dtype is DType.int32 and array.dtype.kind in "iu" and array.size:
        low, high = int(array.min()), int(array.max())
        if low < -_INT32 or high >= _INT32:
            raise ParameterError(
                f"whole numbers must fit int32: got {low if low < -_INT32 else high}",
                who=who,
                hint="write it as a fraction, such as 3e9",
            )
    return Value(kind_of(TensorType(array.shape, dtype)), np.array(array, dtype.np, order="C"))


def found_name(name: str) -> Operation | None:
    """The operation of a name, or None."""
    return OPERATIONS.get(name)


def named(name: str) -> Operation:
    """The operation of a name."""
    return OPERATIONS[name]
