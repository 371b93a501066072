"""The window's part in data and exports: the dialog with pictures, the data pane in front."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication, QFileDialog, QMenu
from pytestqt.qtbot import QtBot

from studio.engine.core.errors import DataError
from studio.session.core import entities
from studio.session.core.theme import PALETTES
from studio.session.export.exporting import form_named
from studio.session.studio import Studio
from studio.ui.panes.export.dialog import ExportDialog
from studio.ui.shell.docks.layout_store import LayoutStore
from studio.ui.shell.window import MainWindow
from studio.widgets import theme
from tests.ui.fixtures import shown

PROJECT = Path(__file__).resolve().parents[3] / "projects" / "digits-cnn" / "digits-cnn.glassbox"


@pytest.fixture
def window(studio: Studio, qtbot: QtBot, tmp_path: Path) -> Iterator[MainWindow]:
    studio.preferences.set("backend", "cpu")
    made = MainWindow(studio, LayoutStore(tmp_path / "config"))
    shown(qtbot, made)
    studio.open(PROJECT)
    made.show_canvas()
    yield made
    studio.document.history.mark_clean()
    studio.training.close()
    made.close()
    made.deleteLater()


def test_the_dialog_opens_by_its_action_and_draws(
    window: MainWindow, studio: Studio, qtbot: QtBot, tmp_path: Path
) -> None:
    assert studio.actions.trigger("export.dialog")
    dialog = window.findChild(ExportDialog)
    assert dialog is not None
    assert dialog.isVisible()
    dialog.choose("svg")
    dialog.path.setText(str(tmp_path / "graph.svg"))
    dialog.export()
    words = " ".join(re.findall(r">([^<>]+)</text>", (tmp_path / "graph.svg").read_text()))
    for layer in studio.document.state.layers():
        assert layer.name in words
    assert studio.exporting.last == (form_named("svg"), tmp_path / "graph.svg")
    dialog.close()
    qtbot.waitUntil(lambda: not studio.tasks.running)


def test_data_is_chosen_in_its_pane(window: MainWindow, studio: Studio, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: studio.data.status == "ready")
    assert studio.actions.trigger("data.choose")
    qtbot.waitUntil(lambda: isinstance(QApplication.activePopupWidget(), QMenu))
    menu = QApplication.activePopupWidget()
    assert menu.objectName() == "source_menu"
    menu.close()
    assert studio.actions.trigger("data.attach")
    dialog = window.findChild(QFileDialog, "attach_dialog")
    assert dialog is not None
    dialog.reject()


def test_pictures_of_the_graph_are_light_and_clean_whatever_the_window_shows(
    window: MainWindow, studio: Studio
) -> None:
    draw = studio.exporting.pictures
    studio.theme.choose("dark")
    clean = {form: draw[form]() for form in ("svg", "png")}
    layer = next(studio.document.state.layers())
    studio.bus.select((entities.node(layer.id),), source="test")
    studio.bus.hover(entities.node(layer.id), "test")
    QApplication.processEvents()
    assert {form: draw[form]() for form in ("svg", "png")} == clean
    image = QImage.fromData(clean["png"])
    assert image.pixelColor(2, 2).name().upper() == PALETTES["light"]["canvas"]
    used = set(re.findall(r'"(#[0-9a-f]{6})"', clean["svg"].decode()))
    assert PALETTES["light"]["text"].lower() in used
    assert not used & {PALETTES["dark"][role].lower() for role in ("canvas", "dock", "text")}
    assert theme.current().mode == "dark"


def test_an_empty_canvas_makes_no_picture(window: MainWindow, studio: Studio) -> None:
    studio.new()
    with pytest.raises(DataError, match="nothing on the canvas"):
        studio.exporting.pictures["png"]()


def test_an_export_without_the_dialog_says_what_came_of_it(
    window: MainWindow, studio: Studio, qtbot: QtBot, tmp_path: Path
) -> None:
    studio.exporting.export(form_named("png"), tmp_path / "graph.png")
    assert studio.notices.all[-1].text == "graph.png: written"
    assert str(tmp_path) in studio.notices.all[-1].details
    said = len(studio.notices.all)
    assert studio.actions.trigger("export.dialog")
    studio.exporting.export(form_named("png"), tmp_path / "again.png")
    assert len(studio.notices.all) == said, "the dialog says it"
    window.findChild(ExportDialog).close()
    qtbot.waitUntil(lambda: not studio.tasks.running)
