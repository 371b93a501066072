"""What nobody caught: logged, said once, and the window goes on."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QTimer, qCritical, qWarning
from pytestqt.qtbot import QtBot

from studio.engine.core.errors import DataError
from studio.session.safety.debug_log import DebugLog
from studio.session.studio import Studio
from studio.ui.shell.start.failures import Guard


@pytest.fixture
def guard(studio: Studio) -> Iterator[Guard]:
    made = Guard(studio)
    yield made
    made.close()


def errors(studio: Studio) -> list[str]:
    return [notice.text for notice in studio.notices.all if notice.severity == "error"]


def fail() -> None:
    raise RuntimeError("a part is broken")


@pytest.mark.qt_no_exception_capture
def test_an_exception_in_a_slot_is_told_and_logged(
    qtbot: QtBot, studio: Studio, guard: Guard
) -> None:
    hook = sys.excepthook
    sys.excepthook = guard.caught
    try:
        QTimer.singleShot(0, fail)
        qtbot.waitUntil(lambda: bool(errors(studio)))
    finally:
        sys.excepthook = hook
    assert "your work is not lost" in errors(studio)[0]
    assert studio.notices.all[-1].details == "RuntimeError: a part is broken"
    qtbot.waitUntil(lambda: bool(studio.log.lines))
    # One entry, which has the traceback: no second one beside it that has none.
    (line,) = studio.log.lines
    assert line.text == "RuntimeError: a part is broken"
    assert "in fail" in line.details
    word, act = studio.notices.all[-1].action
    assert word == "Show the log"
    act()
    assert studio.log.pointed_at is line


@pytest.mark.qt_no_exception_capture
def test_a_task_that_breaks_leads_to_its_traceback(
    qtbot: QtBot, studio: Studio, guard: Guard
) -> None:
    studio.tasks.start("Count", lambda _: fail(), lambda _: None)
    qtbot.waitUntil(lambda: bool(errors(studio)), timeout=60_000)
    assert errors(studio) == ["studio: Count failed: RuntimeError: a part is broken"]
    studio.notices.all[-1].action[1]()
    (line,) = studio.log.lines
    assert studio.log.pointed_at is line
    assert "in fail" in line.details


@pytest.mark.slow
def test_the_same_failure_is_told_once_in_a_while(
    qtbot: QtBot, studio: Studio, guard: Guard
) -> None:
    for _ in range(30):
        try:
            fail()
        except RuntimeError as error:
            guard.caught(type(error), error, error.__traceback__)
    qtbot.waitUntil(lambda: len(errors(studio)) == 1)
    guard.caught(ValueError, ValueError("another"), None)
    qtbot.waitUntil(lambda: len(errors(studio)) == 2)


def test_a_thread_that_fails_is_told_too(qtbot: QtBot, studio: Studio, guard: Guard) -> None:
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    qtbot.waitUntil(lambda: bool(errors(studio)))


def test_an_error_of_the_user_keeps_its_sentence(
    qtbot: QtBot, studio: Studio, guard: Guard
) -> None:
    error = DataError("a row is too short", who="table.csv", hint="fill row 7")
    guard.caught(DataError, error, None)
    qtbot.waitUntil(lambda: errors(studio) == ["table.csv: a row is too short"])
    assert studio.notices.all[-1].details == "fill row 7"


def test_what_qt_warns_of_is_for_developers_and_what_it_cannot_do_for_all(
    qtbot: QtBot, studio: Studio, guard: Guard, tmp_path: Path
) -> None:
    written = DebugLog(tmp_path / "debug.log")
    qWarning("QWidget::something is not right")
    qWarning("This plugin does not support propagateSizeHints()")
    qCritical("no room for a window")
    qtbot.waitUntil(lambda: bool(studio.log.lines), timeout=60_000)
    written.close()
    assert [line.text for line in studio.log.lines] == ["Qt: no room for a window"]
    text = (tmp_path / "debug.log").read_text()
    assert "something is not right" in text
    assert "propagateSizeHints" not in text


def test_everything_is_put_back(studio: Studio) -> None:
    hooks = (sys.excepthook, threading.excepthook)
    made = Guard(studio)
    assert sys.excepthook != hooks[0]
    made.close()
    assert (sys.excepthook, threading.excepthook) == hooks
