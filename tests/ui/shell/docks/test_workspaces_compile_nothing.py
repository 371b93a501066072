"""Switching workspaces compiles nothing: the network is the same whatever is looked at."""

from __future__ import annotations

import json
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from studio.engine.train.settings import MAX_EPOCHS
from studio.samples import open_copy
from studio.session.compile.compilation_result import Compiled, Compiler
from studio.session.core import entities
from studio.ui.shell.window import MainWindow

SWITCHES = 20
KEYS = {"train": Qt.Key.Key_2, "profile": Qt.Key.Key_3, "build": Qt.Key.Key_1}


@pytest.fixture
def compiles(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """When the worker ended each compile."""
    record: list[float] = []
    compile_really = Compiler.compile

    def recorded(self: Compiler, *args: Any, **named: Any) -> Compiled:
        made = compile_really(self, *args, **named)
        record.append(made.ended)
        return made

    monkeypatch.setattr(Compiler, "compile", recorded)
    return record


@pytest.fixture
def compiled(compiles: list[float], qtbot: QtBot, window: MainWindow, tmp_path: Path) -> MainWindow:
    """A window with a small network of convolutions, compiled; one of its layers is selected."""
    path = open_copy("digits-cnn", tmp_path)
    project = json.loads(path.read_text("utf-8"))
    project["training"]["epochs"] = MAX_EPOCHS
    project["training"].pop("early_stopping", None)
    path.write_text(json.dumps(project), "utf-8")
    window.documents.open_path(path)
    studio = window.studio
    studio.preferences.set("backend", "cpu")
    qtbot.waitUntil(lambda: window.is_ready)
    qtbot.waitUntil(lambda: studio.compilation.result is not None)
    layer = next(n for n in studio.document.state.layers() if n.type_name == "Dense")
    studio.bus.select((entities.node(layer.id),), source="")
    settle(qtbot, window)
    return window


def settle(qtbot: QtBot, window: MainWindow) -> None:
    """Wait until nothing is under way that could still ask for a compile."""
    studio = window.studio

    def at_rest() -> bool:
        return window.is_ready and not studio.compilation.is_compiling and not studio.tasks.running

    qtbot.waitUntil(at_rest)


def switch_often(qtbot: QtBot, window: MainWindow) -> None:
    """By keys, and not before the last one stands: panes are made and shown in between."""
    for workspace in islice(cycle(KEYS), SWITCHES):
        QTest.keyClick(window, KEYS[workspace], Qt.KeyboardModifier.ControlModifier)
        qtbot.waitUntil(lambda name=workspace: window.docks.workspace == name)
        settle(qtbot, window)


@pytest.mark.slow
def test_workspaces_compile_nothing(
    qtbot: QtBot, compiled: MainWindow, compiles: list[float]
) -> None:
    studio = compiled.studio
    before, shown = list(compiles), studio.compilation.shown
    assert studio.compilation.result is not None
    assert before[-1] == studio.compilation.result.ended
    switch_often(qtbot, compiled)
    assert compiles == before
    assert studio.compilation.shown is shown
    # The record would tell: one that is wanted is in it.
    studio.compilation.compile_now()
    settle(qtbot, compiled)
    assert len(compiles) == len(before) + 1


@pytest.mark.slow
def test_workspaces_compile_nothing_beside_a_training(
    qtbot: QtBot, compiled: MainWindow, compiles: list[float]
) -> None:
    studio = compiled.studio
    studio.training.start()
    qtbot.waitUntil(lambda: studio.training.state == "running")
    qtbot.waitUntil(lambda: not studio.compilation.is_compiling)
    before = list(compiles)
    for workspace in islice(cycle(KEYS), SWITCHES):
        QTest.keyClick(compiled, KEYS[workspace], Qt.KeyboardModifier.ControlModifier)
        qtbot.waitUntil(lambda name=workspace: compiled.docks.workspace == name)
        qtbot.waitUntil(lambda: compiled.is_ready)
    assert studio.training.is_busy
    studio.training.stop()
    qtbot.waitUntil(lambda: not studio.training.is_busy)
    settle(qtbot, compiled)
    assert compiles == before
