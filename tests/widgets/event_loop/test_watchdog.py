"""The watchdog on a real event loop: blocks are found with their place, idleness is not."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QTimer
from pytestqt.qtbot import QtBot

from studio.widgets.event_loop.watchdog import Watchdog


@pytest.fixture
def watchdog(qtbot: QtBot) -> Iterator[Watchdog]:
    made = Watchdog()
    made.start()
    yield made
    made.stop()


def stand_still(seconds: float) -> None:
    time.sleep(seconds)


def spin(seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


@pytest.mark.slow
@pytest.mark.parametrize(
    ("block", "least"), [(stand_still, 0.3), (spin, 0.2)], ids=["waiting", "working"]
)
def test_a_block_is_found_with_the_line_it_stood_in(
    qtbot: QtBot, watchdog: Watchdog, block, least: float, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        QTimer.singleShot(60, lambda: block(0.4))
        qtbot.waitUntil(lambda: len(watchdog.blocks) == 1)
    (found,) = watchdog.blocks
    # The block lasted 400 ms; where the thread waits, its begin is known to within 100. Where it
    # works, it has Python's lock, and who looks at it comes later.
    assert found.seconds >= found.at_least >= least
    assert block.__name__ in found.stack
    assert "test_watchdog" in found.place
    (record,) = [r for r in caplog.records if "stood still" in r.getMessage()]
    assert block.__name__ in record.getMessage()
    # Users are told nothing that they can do nothing about: their log begins at warnings.
    assert record.levelno == logging.DEBUG


def test_an_idle_loop_and_short_work_are_no_blocks(qtbot: QtBot, watchdog: Watchdog) -> None:
    done: list[int] = []
    timer = QTimer()
    timer.setInterval(5)
    timer.timeout.connect(lambda: (spin(0.002), done.append(1)))
    timer.start()
    qtbot.waitUntil(lambda: len(done) >= 60)
    timer.stop()
    assert [b for b in watchdog.blocks if "spin" in b.stack] == []


@pytest.mark.slow
def test_a_stopped_watchdog_says_nothing_and_can_start_again(
    qtbot: QtBot, watchdog: Watchdog
) -> None:
    watchdog.stop()
    assert not watchdog.is_running
    assert "watchdog" not in [thread.name for thread in threading.enumerate()]
    stand_still(0.2)
    qtbot.wait(1)
    assert not watchdog.blocks
    watchdog.start()
    QTimer.singleShot(60, lambda: stand_still(0.3))
    qtbot.waitUntil(lambda: len(watchdog.blocks) == 1)


@pytest.mark.slow
def test_the_listener_hears_of_blocks_on_the_watched_thread(qtbot: QtBot) -> None:
    heard: list[str] = []
    watchdog = Watchdog(found=lambda _: heard.append(threading.current_thread().name))
    watchdog.start()
    QTimer.singleShot(60, lambda: stand_still(0.3))
    qtbot.waitUntil(lambda: bool(heard))
    watchdog.stop()
    assert heard == [threading.current_thread().name]


@pytest.mark.slow
def test_a_hang_is_told_while_it_lasts(qtbot: QtBot) -> None:
    over = threading.Event()
    stacks: list[str] = []

    def hung(stack: str) -> None:
        stacks.append(stack)
        over.set()

    watchdog = Watchdog(hang_seconds=0.2, hung=hung)
    watchdog.start()
    answers: list[bool] = []

    def hang() -> None:
        answers.append(over.wait(20))

    QTimer.singleShot(60, hang)
    qtbot.waitUntil(lambda: bool(answers))
    watchdog.stop()
    assert answers == [True]  # it was told of while nothing else could have ended it
    assert len(stacks) == 1
    assert "hang" in stacks[0]
