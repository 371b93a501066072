"""Tensors from numbers and files, variables, and the device they live on."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import FormatError, ParameterError
from studio.engine.formats import safetensors
from studio.engine.ops import recording
from studio.engine.ops.calls import call, named, value_of
from studio.engine.ops.handle import Tensor, Variable, of_value
from studio.engine.ops.recording import STATE
from studio.engine.ops.seeds import seed

__all__ = [
    "Tensor", "Variable", "backend", "check", "close", "load", "save", "seed", "tensor", "variable",
]  # fmt: skip

Place = str | os.PathLike[str]

_NUMBERS = count(1)


def tensor(values: Any, dtype: str | None = None) -> Tensor:
    """A tensor of numbers: a number, a list of lists, an array.

    Args:
        values: numbers. Fractions become float32, whole numbers int32.
        dtype: element type, where another is wanted.

    Raises:
        ShapeError: the rows differ in length, or it holds no numbers.
    """
    kind = None if dtype is None else DType.parse(dtype)
    if not isinstance(values, Tensor):
        return of_value(value_of(values, "tensor", kind))
    if kind is None or values.dtype == kind.name:
        return values
    made: Tensor = call(named("cast"), (values,), {"dtype": kind.name})
    return made


def variable(
    values: Any, dtype: str | None = None, *, name: str = "", trainable: bool = True
) -> Variable:
    """A tensor that can be given new numbers with ``assign``.

    Args:
        values: its first numbers.
        dtype: element type, where another is wanted.
        name: what `variable_grads` and `save` call it; ``variable1``, ``variable2`` … without one.
        trainable: whether `variable_grads` looks at it.
    """
    first = tensor(values, dtype)
    made = of_value(first._computed(), Variable)
    assert isinstance(made, Variable)
    made.name = name or f"variable{next(_NUMBERS)}"
    made.trainable = trainable
    return made


def backend(choice: str | None = None) -> str:
    """The device in use as a person would name it; with a choice, that one from now on.

    Args:
        choice: ``cpu``, ``gl`` or ``auto``. Tensors go with you.

    Raises:
        ParameterError: another choice.
        BackendError: the device cannot be had.
    """
    found = recording.runner() if choice is None else recording.use(choice)
    return found.backend.device


def close() -> None:
    """Give the device back; tensors keep their numbers, and the next call opens a device again."""
    recording.close()


def check(on: bool = True) -> None:
    """Check mode on this thread: each call runs at once and stops at the first NaN or infinity.

    The error, a NumericError, names the operation and the line that called it.
    """
    if STATE.trace.tape:
        raise ParameterError("check mode is switched outside of gradients", who="check")
    recording.flush()
    STATE.checks = on
    STATE.trace = recording.new_trace()


def save(path: Place, tensors: Mapping[str, Tensor] | Iterable[Variable]) -> None:
    """Write tensors to a safetensors file; a failed write leaves the old file.

    Args:
        path: the file.
        tensors: by name, or variables, which have names.

    Raises:
        FormatError: two variables have one name, or the file cannot be written.
    """
    if not isinstance(tensors, Mapping):
        named: dict[str, Tensor] = {}
        for variable in tensors:
            if variable.name in named:
                raise FormatError(f"two variables are called {variable.name!r}", who="save")
            named[variable.name] = variable
        tensors = named
    safetensors.save(Path(path), {name: tensor.numpy() for name, tensor in tensors.items()})


def load(path: Place) -> dict[str, Tensor]:
    """The tensors of a safetensors file by name.

    Raises:
        FormatError: it is no such file.
    """
    arrays, _ = safetensors.load(Path(path))
    return {name: of_value(value_of(array, name)) for name, array in arrays.items()}
