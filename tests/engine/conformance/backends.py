"""The backends the suite runs on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from studio.engine.cpu.backend import CpuBackend
from studio.engine.cpu.machine.execution_config import NUMPY_ONLY
from studio.engine.runtime.backend import Backend

BACKENDS = ("cpu", "numpy", pytest.param("gl", marks=pytest.mark.gl))


def opened(kind: str) -> Iterator[Backend]:
    if kind == "gl":
        from studio.engine.gl.backend import GlBackend

        backend: Backend = GlBackend()
    else:
        # The processor with all it has, and NumPy alone on one thread, which stands in for it.
        backend = CpuBackend(config=NUMPY_ONLY if kind == "numpy" else None)
    yield backend
    backend.close()
