"""Tests of tuning keep what they measure in a folder of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from studio.engine.gl.backend import GlBackend
from studio.engine.gl.choices.measured_choices import table_path


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own; the file of the table in it."""
    monkeypatch.setenv("GLASSBOX_CACHE_DIR", str(tmp_path / "cache"))
    path = table_path()
    assert path is not None
    return path


@pytest.fixture
def backend(cache: Path) -> Iterator[GlBackend]:
    made = GlBackend()
    yield made
    made.close()
