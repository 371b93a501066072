"""Parts of work in turns of the event loop: what waits for the window comes between them."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QEvent, QObject
from pytestqt.qtbot import QtBot

from studio.widgets.event_loop.in_turns import InTurns


class Neighbour(QObject):
    """Something else the window has to do."""

    def __init__(self, said: list[str]) -> None:
        super().__init__()
        self._said = said

    def ask(self) -> None:
        QCoreApplication.postEvent(self, QEvent(QEvent.Type.User))

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.User:
            self._said.append("other")
            return True
        return super().event(event)


def test_what_else_is_due_comes_between_the_parts(qtbot: QtBot) -> None:
    said: list[str] = []
    other = Neighbour(said)

    def part(name: str) -> None:
        said.append(name)
        other.ask()

    with_parts = InTurns([lambda: part("a"), lambda: part("b"), lambda: part("c")], other)
    with_parts.begin()
    assert said == []
    assert with_parts.is_at_work
    qtbot.waitUntil(lambda: said.count("other") == 3)
    assert said == ["a", "other", "b", "other", "c", "other"]
    assert not with_parts.is_at_work


def test_who_asks_in_the_middle_gets_all_parts_once_more_at_the_end(qtbot: QtBot) -> None:
    said: list[str] = []
    home = QObject()

    def first() -> None:
        said.append("a")

    def second() -> None:
        if len(said) == 1:
            made.begin()
            made.begin()
        said.append("b")

    def third() -> None:
        said.append("c")

    made = InTurns([first, second, third], home)
    made.begin()
    qtbot.waitUntil(lambda: not made.is_at_work)
    assert said == ["a", "b", "c", "a", "b", "c"]


def test_what_is_asked_in_the_last_part_is_not_lost(qtbot: QtBot) -> None:
    said: list[str] = []
    home = QObject()

    def last() -> None:
        said.append("last")
        if len(said) == 1:
            made.begin()

    made = InTurns([last], home)
    made.begin()
    qtbot.waitUntil(lambda: not made.is_at_work)
    assert said == ["last", "last"]


def test_stopped_parts_are_left_out_until_they_are_asked_for(qtbot: QtBot) -> None:
    said: list[str] = []
    home = QObject()
    made = InTurns([lambda: said.append("a"), lambda: made.stop(), lambda: said.append("c")], home)
    made.begin()
    qtbot.waitUntil(lambda: said == ["a"] and not made.is_at_work)
    made.begin()
    qtbot.waitUntil(lambda: said == ["a", "a"] and not made.is_at_work)
