"""The backends the suite runs on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from studio.engine.cpu.backend import CpuBackend
from studio.engine.runtime.backend import Backend

BACKENDS = ("cpu", pytest.param("gl", marks=pytest.mark.gl))


def opened(kind: str) -> Iterator[Backend]:
    if kind == "gl":
        from studio.engine.gl.backend import GlBackend

        backend: Backend = GlBackend()
    else:
        backend = CpuBackend()
    yield backend
    backend.close()
