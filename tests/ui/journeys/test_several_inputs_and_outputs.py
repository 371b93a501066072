"""A network of two inputs and two outputs is given an archive by a drop, and trained on the CPU."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication

from studio.session.document.edits.sections import set_training
from studio.ui.panes.data.pane import DataPane
from tests.session.data.test_mapping import arrays, network
from tests.ui.journeys.person import Person

WAIT = 60_000


def drop_on(pane: DataPane, path: Path) -> None:
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(path))])
    at, copy = QPoint(100, 60), Qt.DropAction.CopyAction
    button, keys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    QApplication.sendEvent(pane, QDragEnterEvent(at, copy, mime, button, keys))
    event = QDropEvent(QPointF(at), copy, mime, button, keys)
    QApplication.sendEvent(pane, event)
    assert event.isAccepted()


def test_an_archive_is_dropped_mapped_and_trained_on(person: Person, tmp_path: Path) -> None:
    studio = person.studio
    studio.preferences.set("profile_live", False)
    document = person.new_project()()
    settings = {"epochs": 3, "batch_size": 16, "callbacks": []}
    document.apply("network", set_training(network(), settings))
    path = tmp_path / "scenes.npz"
    np.savez(path, **arrays())
    person.click(*person.until(lambda: person.tab("Data"), WAIT))
    pane = person.until(lambda: person.sees(DataPane), WAIT)
    drop_on(pane, path)
    person.until(lambda: studio.data.status == "ready" and not studio.tasks.running, WAIT)
    person.until(lambda: studio.compilation.result and not studio.compilation.is_stale, WAIT)
    assert not studio.problems.errors
    person.press("F5")
    person.until(lambda: studio.training.state == "finished", WAIT)
    wanted = {"kind_loss", "size_loss", "kind_accuracy", "val_kind_loss", "val_size_loss"}
    person.until(lambda: any(wanted <= run.metrics.keys() for run in studio.runs.runs), WAIT)
