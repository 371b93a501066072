"""One backend of each kind for all cases."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from studio.engine.runtime.backend import Backend
from tests.engine.conformance.backends import BACKENDS, opened


@pytest.fixture(scope="module", params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    yield from opened(str(request.param))
