"""Fixtures: a format of models that is there for a test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from studio.engine.interop.file_format import file_formats
from tests.engine.train.importing.model_format import seeded_format

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def seeded() -> Iterator[None]:
    file_formats()
    with seeded_format():
        yield
