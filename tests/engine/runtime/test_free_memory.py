"""What is free is what the system says, and more than that is refused before it is taken."""

from __future__ import annotations

from pathlib import Path

import pytest

from studio.engine.core.errors import BackendError
from studio.engine.runtime import free_memory as module
from studio.engine.runtime.free_memory import free_memory, require_memory

GIB = 1 << 30


def test_what_linux_can_give_away_is_free(tmp_path: Path) -> None:
    told = tmp_path / "meminfo"
    told.write_text("MemTotal: 999 kB\nMemFree: 10 kB\nMemAvailable:     40 kB\n", "ascii")
    assert free_memory(told) == 40 << 10


def test_elsewhere_it_is_pages_times_their_size_or_unknown(tmp_path: Path) -> None:
    nowhere = tmp_path / "meminfo"
    pages = {"SC_AVPHYS_PAGES": 10, "SC_PAGE_SIZE": 4096}
    assert free_memory(nowhere, pages.__getitem__) == 40960

    def refuse(_name: str) -> int:
        raise ValueError("unknown")

    assert free_memory(nowhere, refuse) is None
    assert free_memory(nowhere, None) is None


def test_more_than_is_free_is_refused_with_both_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "free_memory", lambda: GIB)
    require_memory(GIB - GIB // 8, "a step")
    with pytest.raises(BackendError, match=r"1\.0 GiB are free, of which 128\.0 MiB are kept"):
        require_memory(GIB, "a step")
    with pytest.raises(BackendError, match=r"needs 2\.0 GiB of memory, but 1\.0 GiB are free"):
        require_memory(2 * GIB, "a step")
    monkeypatch.setattr(module, "free_memory", lambda: None)
    require_memory(2 * GIB, "a step")
