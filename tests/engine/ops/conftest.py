"""The device that the tests of this folder type on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from studio.engine import ops


@pytest.fixture(scope="module", params=["cpu", pytest.param("gl", marks=pytest.mark.gl)])
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    """The CPU, and OpenGL where there is any."""
    ops.backend(request.param)
    yield request.param
    ops.close()


@pytest.fixture(scope="module")
def cpu() -> Iterator[str]:
    """The CPU."""
    ops.backend("cpu")
    yield "cpu"
    ops.close()


@pytest.fixture
def gl() -> Iterator[str]:
    """OpenGL, where there is any."""
    ops.backend("gl")
    yield "gl"
    ops.close()
