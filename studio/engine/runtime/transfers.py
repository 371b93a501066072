"""Checks of arrays on their way in, and answers that are there at once."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import BackendError
from studio.engine.core.tensor import Shape, shape_text
from studio.engine.isa.program import Program

T = TypeVar("T")
Array = npt.NDArray[np.generic]


def ready(value: T) -> Future[T]:
    """A future that is done."""
    future: Future[T] = Future()
    future.set_result(value)
    return future


def failed(error: BaseException) -> Future[Array]:
    """A future that raises."""
    future: Future[Array] = Future()
    future.set_exception(error)
    return future


def checked_values(name: str, values: Array, shape: Shape, dtype: DType) -> Array:
    """``values`` as an array, when shape and dtype are exactly those of the tensor.

    Raises BackendError otherwise: nothing is cast or broadcast silently.
    """
    array = np.asarray(values)
    if array.dtype != dtype.np:
        raise BackendError(
            f"values must be {dtype.name}: got {array.dtype.name}",
            who=name,
            hint=f"convert them first: values.astype('{dtype.name}')",
        )
    if array.shape != shape:
        raise BackendError(
            f"values must have shape {shape_text(shape)}: got {shape_text(array.shape)}", who=name
        )
    return array


def checked_rows(name: str, values: Array, shape: Shape, dtype: DType, row: int) -> Array:
    """``values`` as rows ``row`` and on of a tensor, when they fit; whole tensors start at row 0.

    Raises BackendError where dtype, row shape or row range do not fit.
    """
    array = np.asarray(values)
    if not shape or (row == 0 and array.shape == shape):
        return checked_values(name, array, shape, dtype)
    if not array.shape:
        return checked_values(name, array, shape, dtype)
    last = shape[0] - array.shape[0]
    if row < 0 or row > last:
        raise BackendError(
            f"rows {row} to {row + array.shape[0]} must lie inside {shape_text(shape)}", who=name
        )
    return checked_values(name, array, (array.shape[0], *shape[1:]), dtype)


def known_tensor(program: Program, tensor: int) -> None:
    """BackendError unless the program has a tensor of that id."""
    if tensor not in program.tensors:
        raise BackendError(
            f"tensor {tensor:#x} is not in the program" if tensor >= 0 else "0x- is no tensor",
            who=program.name,
        )


def fed_tensor(program: Program, tensor: int) -> None:
    """BackendError unless the tensor is an input of the program."""
    known_tensor(program, tensor)
    if tensor not in program.inputs:
        inputs = ", ".join(program.tensors[i].name for i in program.inputs) or "none"
        raise BackendError(
            f"only inputs are fed: the program's inputs are {inputs}",
            who=program.tensors[tensor].name,
        )
