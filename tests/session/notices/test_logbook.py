"""The log takes lines from every thread, in order, and shows those that matter."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator

import pytest

from studio.engine.core.errors import BackendError
from studio.session.core.scheduling import ManualScheduler
from studio.session.notices.logbook import MOST, Logbook, LogFilter, as_text
from studio.session.notices.notices import Notices


@pytest.fixture
def scheduler() -> ManualScheduler:
    return ManualScheduler()


@pytest.fixture
def book(scheduler: ManualScheduler) -> Iterator[Logbook]:
    made = Logbook(scheduler)
    yield made
    made.close()


def texts(book: Logbook) -> list[str]:
    return [line.text for line in book.lines]


def test_lines_of_many_threads_arrive_on_the_windows_thread(
    book: Logbook, scheduler: ManualScheduler
) -> None:
    threads = [
        threading.Thread(target=lambda n=n: [book.add(f"{n}.{k}") for k in range(50)])
        for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert book.lines == ()
    scheduler.advance()
    assert len(book.lines) == 200
    for n in range(4):
        own = [text for text in texts(book) if text.startswith(f"{n}.")]
        assert own == [f"{n}.{k}" for k in range(50)]
    numbers = [line.number for line in book.lines]
    assert numbers == list(range(1, 201))


def test_a_flood_wakes_the_window_once(book: Logbook, scheduler: ManualScheduler) -> None:
    heard: list[int] = []

    def count() -> None:
        heard.append(len(book.lines))

    book.changed.connect(count)
    for number in range(300):
        book.add(str(number))
    scheduler.advance()
    assert heard == [300]


def test_a_line_said_again_is_counted(book: Logbook, scheduler: ManualScheduler) -> None:
    for text in ("slow", "slow", "slow", "done", "slow"):
        book.add(text, "warning", "engine")
    scheduler.advance()
    assert [(line.text, line.times) for line in book.lines] == [
        ("slow", 3), ("done", 1), ("slow", 1),
    ]  # fmt: skip
    assert "(3 times)" in book.lines[0].plain()


def test_old_lines_leave_first(book: Logbook, scheduler: ManualScheduler) -> None:
    for number in range(MOST + 10):
        book.add(str(number))
    scheduler.advance()
    assert texts(book)[0] == "10"
    assert len(book.lines) == MOST


def test_notices_and_errors_are_lines(book: Logbook, scheduler: ManualScheduler) -> None:
    notices = Notices()
    book.follow_notices(notices)
    notices.add("Saved", "ok")
    error = BackendError("no room for 2 GiB", who="conv1", hint="make the batch smaller")
    book.add_error(error, "training")
    scheduler.advance()
    saved, failed = book.lines
    assert (saved.text, saved.severity) == ("Saved", "ok")
    assert (failed.text, failed.severity) == ("conv1: no room for 2 GiB", "error")
    assert failed.details == "make the batch smaller"


def test_warnings_of_the_engine_are_lines_and_lesser_records_are_not(
    book: Logbook, scheduler: ManualScheduler
) -> None:
    book.follow_logging()
    engine = logging.getLogger("studio.engine.gl.device.context")
    engine.warning("the driver is old: %s", "3.1")
    engine.info("nothing to see")
    logging.getLogger("studio.widgets.event_loop.watchdog").debug(
        "the window stood still for 120 ms"
    )
    try:
        int("inner")
    except ValueError:
        logging.getLogger("studio.ui.shell").exception("a pane failed")
    scheduler.advance()
    first, second = book.lines
    assert (first.text, first.severity, first.source) == (
        "the driver is old: 3.1", "warning", "engine",
    )  # fmt: skip
    assert (second.severity, second.source) == ("error", "window")
    assert "ValueError: invalid literal" in second.details
    book.close()
    engine.warning("too late")
    scheduler.advance()
    assert len(book.lines) == 2


def test_the_latest_line_of_a_text_is_pointed_at(book: Logbook, scheduler: ManualScheduler) -> None:
    asked: list[bool] = []

    def hear() -> None:
        asked.append(True)

    book.pointed.connect(hear)
    for text in ("broken", "fine", "broken", "other"):
        book.add(text)
    scheduler.advance()
    book.point_at("broken")
    assert book.pointed_at is book.lines[2]
    book.clear()
    assert book.pointed_at is None
    book.point_at("broken")
    assert book.pointed_at is None
    assert asked == [True, True]


def test_a_filter_shows_a_severity_and_everything_above(
    book: Logbook, scheduler: ManualScheduler
) -> None:
    book.add("began", "info", "training")
    book.add("finished", "ok", "training")
    book.add("kernel is slow", "warning", "engine", "conv2d on llvmpipe")
    book.add("failed", "error", "training")
    scheduler.advance()

    def shown(**which: str) -> list[str]:
        return [line.text for line in book.shown(LogFilter(**which))]

    assert shown() == ["began", "finished", "kernel is slow", "failed"]
    assert shown(least="warning") == ["kernel is slow", "failed"]
    assert shown(least="error") == ["failed"]
    assert shown(source="training", least="warning") == ["failed"]
    assert shown(text="LLVMpipe slow") == ["kernel is slow"]
    assert shown(text="slow quick") == []


def test_lines_are_copied_as_text(book: Logbook, scheduler: ManualScheduler) -> None:
    book.add("failed", "error", "training", "first\nsecond")
    book.add("then", "info", "studio")
    scheduler.advance()
    lines = as_text(book.lines).splitlines()
    assert len(lines) == 4
    assert lines[0].endswith("error    training  failed")
    assert [line.strip() for line in lines[1:3]] == ["first", "second"]


def test_clearing_forgets_every_line(book: Logbook, scheduler: ManualScheduler) -> None:
    book.add("one")
    scheduler.advance()
    book.clear()
    assert book.lines == ()
