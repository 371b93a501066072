"""A CPU backend for every test that trains."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from studio.engine.train.devices import open_backend

if TYPE_CHECKING:
    from collections.abc import Iterator

    from studio.engine.runtime.backend import Backend


@pytest.fixture
def cpu() -> Iterator[Backend]:
    with open_backend("cpu") as opened:
        yield opened.backend
