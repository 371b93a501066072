"""One window through many projects: nothing of those before stays behind."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QEvent
from pytestqt.qtbot import QtBot

from studio.samples import open_copy
from studio.session.document.document import Document
from studio.ui.shell.window import MainWindow
from studio.widgets.binding import Delivery
from tests.ui.shell.driving import press

SWITCHES = 20


def deliveries() -> int:
    # What is to be deleted later goes when the event loop of an application comes round.
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()
    return sum(type(each) is Delivery for each in gc.get_objects())


def test_following_one_project_after_the_other_keeps_nothing_of_those_before(
    qtbot: QtBot, opened: MainWindow, project: Path, tmp_path: Path
) -> None:
    for pane in ("outline", "history", "inspector", "data", "listing", "tensor_map"):
        opened.docks.show(pane).ensure()
    other = open_copy("spirals", tmp_path)
    seen: list[weakref.ref[Document]] = []

    def switch(number: int) -> None:
        before = opened.studio.document
        seen.append(weakref.ref(before))
        opened.ensure_canvas().setFocus()
        if number % 3 == 2:
            press("Ctrl+N")
        else:
            opened.documents.open_path((other, project)[number % 3])
        assert opened.studio.document is not before
        settled = opened.studio.compilation
        qtbot.waitUntil(lambda: not settled.is_stale)

    for number in range(3):
        switch(number)
    before = deliveries()
    for number in range(3, 3 + SWITCHES):
        switch(number)
    assert deliveries() == before
    alive = [number for number, document in enumerate(seen) if document() is not None]
    assert len(alive) <= 1, alive
