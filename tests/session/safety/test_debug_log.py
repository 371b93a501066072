"""The file for developers: everything is in it, and nothing depends on it."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from studio.session.safety import debug_log
from studio.session.safety.debug_log import DebugLog

LOGGER = logging.getLogger("studio.widgets.anything")


def test_records_of_every_level_are_written_with_their_traceback(tmp_path: Path) -> None:
    path = tmp_path / "state" / "debug.log"
    made = DebugLog(path)
    LOGGER.debug("the window stood still for %d ms", 120)
    try:
        int("inner")
    except ValueError:
        LOGGER.exception("a pane failed")
    made.close()
    LOGGER.error("too late")
    text = path.read_text()
    assert "DEBUG studio.widgets.anything: the window stood still for 120 ms" in text
    assert "ValueError: invalid literal" in text
    assert "too late" not in text
    assert not LOGGER.isEnabledFor(logging.DEBUG)


def test_the_file_is_kept_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debug_log, "_BYTES", 2000)
    made = DebugLog(tmp_path / "debug.log")
    for number in range(200):
        LOGGER.debug("line %d", number)
    made.close()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["debug.log", "debug.log.1"]
    assert sum(each.stat().st_size for each in tmp_path.iterdir()) < 4200
    assert "line 199" in (tmp_path / "debug.log").read_text()


def test_a_file_that_cannot_be_written_is_done_without(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "state").write_text("a file where the folder would be")
    made = DebugLog(tmp_path / "state" / "debug.log")
    LOGGER.error("nowhere to go")
    made.close()
    made.close()
    assert capfd.readouterr().err == ""
