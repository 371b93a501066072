"""The studio started as its program starts it, with plugins that are taken out again afterwards."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QDialog
from pytestqt.qtbot import QtBot

from studio.engine.core.app_dirs import CONFIG_VARIABLE, AppDirs
from studio.engine.core.discovery import all_or_none
from studio.engine.interop.file_format import file_formats
from studio.engine.plugins.enabling import VARIABLE, set_enabled
from studio.engine.plugins.finding import FOLDER, MODULES, find_plugins
from studio.engine.plugins.loading import load_plugins
from studio.engine.plugins.plugin import forget, plugin_modules
from studio.engine.train.project.plugin_use import FAMILIES
from studio.graph_editor.panes.palette import PalettePane
from studio.session.document.adding import quick_add
from studio.session.document.layer_types import layer_of
from studio.ui.shell.start.app import StudioApp
from studio.ui.shell.start.launch import LaunchOptions
from tests.graph_editor.hands import Carrier, Hands
from tests.ui.journeys.person import Person

EXAMPLE = Path(__file__).resolve().parents[4] / "docs" / "plugins" / "example.py"


@pytest.fixture
def dirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AppDirs:
    made = AppDirs.below(tmp_path / "places")
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv(CONFIG_VARIABLE, str(made.config))
    return made


class _TakenOutError(Exception):
    """Makes `all_or_none` take everything out again."""


def _forget_layers() -> None:
    """A program loads plugins once, before it asks for layers; tests do so several times."""
    layer_of.cache_clear()
    quick_add.entries.cache_clear()
    quick_add._starting.cache_clear()


@pytest.fixture
def registries(dirs: AppDirs) -> Iterator[None]:
    """Plugins loaded by the test are out again when it is over."""
    # What belongs to Glassbox is there before, so that it stays.
    file_formats()
    for family in FAMILIES.values():
        len(family.members)
    with suppress(_TakenOutError), all_or_none():
        _forget_layers()
        yield
        _forget_layers()
        for _, module in plugin_modules():
            forget(module)
        for name in [name for name in sys.modules if name.split(".")[0] == MODULES]:
            del sys.modules[name]
        load_plugins(dirs.state)
        raise _TakenOutError


@pytest.fixture
def put(dirs: AppDirs) -> Callable[..., Path]:
    """Puts a plugin into the user's folder, switched on unless told."""

    def put(name: str, text: str, *, on: bool = True) -> Path:
        folder = dirs.config / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}.py"
        path.write_text(text)
        if on:
            found = next(f for f in find_plugins(dirs.config) if f.plugin.name == name)
            set_enabled(dirs.config, found.plugin, on=True)
        return path

    return put


@pytest.fixture
def start(
    qtbot: QtBot,
    qapp: QApplication,
    dirs: AppDirs,
    registries: None,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Callable[..., Person]]:
    """Starts the studio in this process, in place of the one started before."""
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    interval = sys.getswitchinterval()
    made: list[StudioApp] = []

    def end() -> None:
        session = made.pop()
        studio, window = session.studio, session.window
        studio.training.stop()
        qtbot.waitUntil(lambda: not studio.training.is_busy, timeout=60_000)
        for dialog in window.findChildren(QDialog):
            dialog.close()
        studio.document.history.mark_clean()
        window.close()
        qtbot.waitUntil(lambda: not window.isVisible(), timeout=60_000)
        session.close()
        window.deleteLater()

    def begin(**options: object) -> Person:
        if made:
            end()
        session = StudioApp(qapp, LaunchOptions(**{"theme": "dark", **options}), dirs)
        made.append(session)
        session.studio.preferences.set("backend", "cpu")
        # Its log of stalls would hide what a failed test says.
        session.studio.preferences.set("watchdog", False)
        session.window.resize(1600, 1000)
        session.begin()
        session.window.activateWindow()
        qtbot.waitUntil(session.window.isActiveWindow, timeout=60_000)
        qtbot.waitUntil(lambda: session.window.is_ready, timeout=60_000)
        return Person(qtbot, session.window)

    yield begin
    if made:
        end()
    sys.setswitchinterval(interval)


def carried(person: Person, title: str) -> Carrier:
    """A layer taken from the palette, carried over the canvas."""
    palette = person.until(lambda: person.sees(PalettePane), 60_000)
    match = Qt.MatchFlag.MatchExactly | Qt.MatchFlag.MatchRecursive
    item = person.until(lambda: palette.tree.findItems(title, match), 60_000)[-1]
    palette.tree.scrollToItem(item)
    assert Qt.ItemFlag.ItemIsDragEnabled in item.flags()
    return Carrier(Hands(person.qtbot, person.canvas, person.studio), palette.tree.mimeData([item]))


@pytest.fixture
def example(put: Callable[..., Path]) -> Path:
    """The sample plugin of the docs, switched on."""
    return put("example", EXAMPLE.read_text())
