"""Views of tensors with a clock turned by hand, and a CPU backend."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from studio.engine.runtime.backend import Backend
from studio.engine.train.devices import open_backend
from tests.session.live.bench import Studio


@pytest.fixture
def cpu() -> Iterator[Backend]:
    with open_backend("cpu") as opened:
        yield opened.backend


@pytest.fixture
def studio() -> Iterator[Studio]:
    made = Studio()
    yield made
    made.close()
