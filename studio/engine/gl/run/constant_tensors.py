"""Writes the values that constant tensors carry into a session."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from studio.engine.core.tensor import Role, Tensor

if TYPE_CHECKING:
    from studio.engine.gl.run.session import GlSession


def write_constants(session: GlSession, tensors: Iterable[Tensor]) -> None:
    """Write the values of those that are constants, row-major as they are declared."""
    for tensor in tensors:
        if tensor.role is Role.CONST and tensor.value is not None:
            values = np.asarray(tensor.value, dtype=np.float64).reshape(tensor.shape)
            session.write(tensor.name, values.astype(tensor.dtype.np))
