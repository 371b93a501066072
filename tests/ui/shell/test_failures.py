"""What nobody caught: logged, said once, and the window goes on."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QTimer, qWarning
from pytestqt.qtbot import QtBot

from studio.engine.core.errors import DataError
from studio.ui.models.studio import Studio
from studio.ui.shell.failures import Guard


@pytest.fixture
def guard(studio: Studio) -> Iterator[Guard]:
    made = Guard(studio, lambda: None)
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
    assert "your work is still here" in errors(studio)[0]
    assert studio.notices.all[-1].details == "RuntimeError: a part is broken"
    qtbot.waitUntil(lambda: any("a part is broken" in line.text for line in studio.log.lines))
    line = next(line for line in studio.log.lines if "a part is broken" in line.text)
    assert "in fail" in line.details


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


def test_messages_of_qt_go_to_the_log(qtbot: QtBot, studio: Studio, guard: Guard) -> None:
    qWarning("QWidget::something is not right")
    qWarning("This plugin does not support propagateSizeHints()")
    qtbot.waitUntil(lambda: any("is not right" in line.text for line in studio.log.lines))
    assert not any("propagateSizeHints" in line.text for line in studio.log.lines)


def test_everything_is_put_back(studio: Studio) -> None:
    hooks = (sys.excepthook, threading.excepthook)
    made = Guard(studio)
    assert sys.excepthook != hooks[0]
    made.close()
    assert (sys.excepthook, threading.excepthook) == hooks
