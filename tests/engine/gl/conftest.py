"""One OpenGL engine for all tests of this folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from studio.engine.gl.backend import GlBackend
from studio.engine.gl.device.buffer_pool import BufferPool
from studio.engine.gl.device.engine_thread import EngineThread

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def engine() -> Iterator[EngineThread]:
    """An engine on a standalone context, shared by the whole session."""
    with EngineThread() as running:
        yield running


@pytest.fixture(scope="module")
def backend() -> Iterator[GlBackend]:
    """A backend for the tests of one file."""
    made = GlBackend()
    yield made
    made.close()


@pytest.fixture
def pool(engine: EngineThread) -> Iterator[BufferPool]:
    """A pool of its own per test, emptied afterwards; its methods run on the engine thread."""
    made = BufferPool(engine.gl, budget_bytes=256 << 20)
    yield made
    engine.call(made.close)
    engine.call(engine.gl.check, "closing a test's pool")
