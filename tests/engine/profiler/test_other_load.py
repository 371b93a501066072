"""What other processes use, and nothing where the system does not say."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from studio.engine.profiler import other_load
from studio.engine.profiler.other_load import OtherLoad


@pytest.mark.skipif(not Path("/proc/stat").exists(), reason="the system does not say")
def test_a_busy_process_is_seen() -> None:
    load = OtherLoad()
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        deadline = time.monotonic() + 60
        while load.cores < 0.05 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert load.cores >= 0.05
    finally:
        busy.kill()
        busy.wait()


@pytest.mark.parametrize("content", [None, "", "cpu\n", "cpu a b c d e f g h\n", "intr 1 2\n"])
def test_where_the_system_does_not_say_it_is_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: str | None
) -> None:
    if content is not None:
        (tmp_path / "stat").write_text(content)
    monkeypatch.setattr(other_load, "_STAT", tmp_path / "stat")
    assert OtherLoad().cores == 0.0
