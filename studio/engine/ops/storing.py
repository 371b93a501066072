"""Tensors in files, as safetensors."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from studio.engine.core.errors import FormatError
from studio.engine.formats import safetensors
from studio.engine.ops.calls import value_of
from studio.engine.ops.handle import Tensor, Variable, of_value

Path_ = str | os.PathLike[str]


def save(path: Path_, tensors: Mapping[str, Tensor] | Iterable[Variable]) -> None:
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


def load(path: Path_) -> dict[str, Tensor]:
    """The tensors of a safetensors file by name.

    Raises:
        FormatError: it is no such file.
    """
    arrays, _ = safetensors.load(Path(path))
    return {name: of_value(value_of(array, name)) for name, array in arrays.items()}
