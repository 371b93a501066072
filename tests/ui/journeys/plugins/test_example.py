"""The sample plugin of the docs: its layer is trained, its pane opened, its file checked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QLineEdit, QListWidget, QMenu
from pytestqt.qtbot import QtBot

from studio.engine.core.app_dirs import AppDirs
from studio.engine.train.project.project import Project
from studio.ui.panes.export.dialog import ExportDialog
from studio.widgets.forms.facts import Facts
from tests.graph_editor.hands import Hands
from tests.ui.journeys.person import Person
from tests.ui.journeys.plugins.conftest import carried

LEFT = Qt.MouseButton.LeftButton


def choose(person: Person, *texts: str) -> None:
    """Click through the menu bar."""
    bar = person.window.menuBar()
    action = next(a for a in bar.actions() if a.text().replace("&", "") == texts[0])
    QTest.mouseClick(bar, LEFT, pos=bar.actionGeometry(action).center())
    for text in texts[1:]:
        menu = QMenu.menuInAction(action)
        person.until(menu.isVisible, 60_000)
        action = next(a for a in menu.actions() if a.text() == text)
        place = menu.actionGeometry(action).center()
        QTest.mouseMove(menu, place - QPoint(4, 0))
        QTest.mouseMove(menu, place)
        QTest.mouseClick(menu, LEFT, pos=place)


def build(person: Person) -> None:
    """Input, Dense, the plugin's layer, Dense, and points in circles."""
    studio = person.studio
    person.new_project()
    for word in ("input", "dense 8", "snake", "dense 2"):
        person.add(word)
    types = [node.type_name for node in studio.document.state.nodes.values()]
    assert types == ["Input", "Dense", "Snake", "Dense"]
    person.command("use circles")
    person.until(lambda: studio.data.status == "ready", 60_000)
    if not studio.document.report.is_valid:
        person.command("fit the input")
    person.until(lambda: studio.document.report.is_valid, 60_000)


def test_its_layer_trains_its_pane_opens_and_its_file_is_the_same_model(
    start: Callable[..., Person], example: Path, dirs: AppDirs, tmp_path: Path, qtbot: QtBot
) -> None:
    person = start()
    studio = person.studio
    assert studio.notices.all == ()
    build(person)
    person.press("F5")
    person.until(lambda: studio.training.status.steps > 5, 120_000)
    person.press("Shift+F5")
    person.until(lambda: studio.training.state in ("stopped", "finished"), 120_000)

    # It may be in front of others that have nothing to show; the menu would close it then.
    person.window.docks["example_shares"].close()
    choose(person, "View", "Panes", "Parameter shares")
    pane = person.until(lambda: person.window.docks["example_shares"].pane, 60_000)
    facts = person.until(lambda: person.see(Facts, inside=pane), 60_000)
    assert facts.texts == (("dense", "57.1%"), ("dense_1", "42.9%"))

    file = tmp_path / "mine.weights.json"
    export(person, file)
    trainer = studio.training.trainer
    assert trainer is not None
    written = json.loads(file.read_text())["weights"]
    kernel = np.array(written["dense/kernel"], np.float32)
    np.testing.assert_array_equal(kernel.T, trainer.read_weights()["dense/kernel"])

    saved = tmp_path / "circles.glassbox"
    studio.document.save(saved)
    assert json.loads(saved.read_text())["plugins"] == {
        "example": {"version": "1.0", "classes": {"layer": ["Snake"]}}
    }


def test_its_layer_is_dragged_from_the_palette_into_a_wire(
    start: Callable[..., Person], example: Path, qtbot: QtBot
) -> None:
    person = start()
    person.new_project()
    for word in ("input", "dense 8", "dense 2"):
        person.add(word)
    nodes = person.studio.document.state.nodes
    first, second = (node.id for node in nodes.values() if node.type_name == "Dense")
    hands = Hands(qtbot, person.canvas, person.studio)
    hands.canvas.show_all()
    snake = carried(person, "Snake")
    wire = hands.middle(first, second)
    assert snake.over(wire)
    snake.drop(wire)
    (added,) = (node for node in hands.state.nodes.values() if node.type_name == "Snake")
    assert {f"{first}>{added.id}", f"{added.id}>{second}"} < set(hands.wires.split())
    person.press("Ctrl+Z")
    carried(person, "Snake").drop(hands.nowhere())
    assert [n.inputs for n in hands.state.nodes.values() if n.type_name == "Snake"] == [()]


def export(person: Person, file: Path) -> None:
    person.press("Ctrl+E")
    dialog = person.see(ExportDialog)
    forms = person.see(QListWidget, "export_forms", dialog)
    (item,) = forms.findItems("Weights (JSON)", Qt.MatchFlag.MatchExactly)
    forms.scrollToItem(item)
    person.click(forms.viewport(), forms.visualItemRect(item).center())
    person.fill(person.see(QLineEdit, "export_path", dialog), str(file))
    person.click(person.button("Export", dialog))
    person.until(lambda: person.studio.exporting.result, 120_000)
    sentence = person.see(QLabel, "finding_sentence", dialog)
    person.until(lambda: sentence.text().startswith("Same model"), 60_000)
    person.click(person.button("Close", dialog))


@pytest.mark.slow
def test_the_command_line_exports_its_format_and_checks_it(
    example: Path, dirs: AppDirs, tmp_path: Path
) -> None:
    """Without a window, and without Qt: trained and exported in processes of their own."""
    project = tmp_path / "waves.glassbox"
    code = """
import sys
from pathlib import Path
from studio.engine.core.app_dirs import AppDirs
from studio.engine.plugins.loading import load_plugins
assert not any(state.problem for state in load_plugins(AppDirs.of_user().config))
assert not [name for name in sys.modules if name.startswith("PySide6")]
from studio.engine import Dense, Input, Project, Snake
from studio.engine.layers.symbol import graph_of
x = Input((2,))
y = Dense(2)(Snake(frequency=2.0)(Dense(8)(x)))
Project.new("waves", graph_of([x], [y], "waves"), {"source": "circles"}).save(Path(sys.argv[1]))
"""
    run("-c", code, str(project))
    assert Project.load(project).text() == project.read_text()
    run("-m", "studio", "train", str(project), "--epochs", "1", "--backend", "cpu")
    out = tmp_path / "out.weights.json"
    said = run("-m", "studio", "export", str(project), "-o", str(out))
    assert "reloaded by Glassbox, its answers on" in said
    assert "dense/kernel" in json.loads(out.read_text())["weights"]


def run(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, *words], env={**os.environ}, capture_output=True, text=True,
        timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr
