"""The list of plugins in the preferences: by mouse, on and off, and where that cannot be kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QCheckBox, QLabel, QPushButton, QWidget

from studio.engine.core.app_dirs import AppDirs
from studio.engine.plugins.enabling import FILE, VARIABLE
from studio.ui.shell.dialogs import plugin_list
from studio.ui.shell.dialogs.preferences import PreferencesDialog
from tests.ui.journeys.person import Person, in_sight
from tests.ui.journeys.plugins.conftest import EXAMPLE

W = TypeVar("W", bound=QWidget)


def opened(person: Person) -> PreferencesDialog:
    person.press("Ctrl+,")
    dialog = person.until(lambda: person.sees(PreferencesDialog), 60_000)
    person.fill(dialog.field, "plugins")
    return dialog


def shown(dialog: PreferencesDialog, kind: type[W], name: str) -> W | None:
    return next((each for each in dialog.findChildren(kind, name) if in_sight(each)), None)


def box_of(person: Person, dialog: PreferencesDialog, name: str) -> QCheckBox:
    return person.until(lambda: shown(dialog, QCheckBox, f"plugin.{name}"), 60_000)


def state_of(person: Person, dialog: PreferencesDialog, name: str) -> str:
    return person.until(lambda: shown(dialog, QLabel, f"state.{name}"), 60_000).text()


def switch(person: Person, dialog: PreferencesDialog, name: str) -> None:
    box = box_of(person, dialog, name)
    person.click(box, QPoint(8, box.height() // 2))


def enabled(dirs: AppDirs) -> dict[str, str]:
    return json.loads((dirs.config / FILE).read_text())["enabled"]


def test_one_is_switched_on_and_off_by_mouse(
    start: Callable[..., Person], put: Callable[..., Path], dirs: AppDirs
) -> None:
    put("example", EXAMPLE.read_text(), on=False)
    person = start()
    dialog = opened(person)
    assert "run with your permissions" in person.see(QLabel, "plugins_remark", dialog).text()
    assert not box_of(person, dialog, "example").isChecked()
    assert box_of(person, dialog, "example").text() == "example 1.0"
    assert state_of(person, dialog, "example").startswith("Turned off.\n")
    assert not dialog.findChild(QPushButton, "restart").isVisible()
    switch(person, dialog, "example")
    assert enabled(dirs) == {"example": "1.0"}
    assert state_of(person, dialog, "example").startswith("Loaded at the next start.")
    assert dialog.findChild(QPushButton, "restart").isVisible()

    person = start()
    assert "example_shares" in person.window.docks
    dialog = opened(person)
    assert state_of(person, dialog, "example").startswith("Loaded.")
    switch(person, dialog, "example")
    assert enabled(dirs) == {}
    assert state_of(person, dialog, "example").startswith("Turned off from the next start.")


def test_what_fails_and_what_is_gone_can_be_switched_off(
    start: Callable[..., Person], put: Callable[..., Path], dirs: AppDirs
) -> None:
    put("broken", "raise ValueError('no luck')")
    put("faulty", "def (:")
    put("gone", "").unlink()
    person = start()
    dialog = opened(person)
    assert "no luck" in state_of(person, dialog, "broken")
    assert state_of(person, dialog, "gone") == "Not installed."
    for name in ("broken", "faulty", "gone"):
        assert box_of(person, dialog, name).isChecked()
        switch(person, dialog, name)
    assert enabled(dirs) == {}
    assert not box_of(person, dialog, "faulty").isEnabled()


def test_a_safe_start_lists_the_user_s_plugins(
    start: Callable[..., Person], example: Path, dirs: AppDirs
) -> None:
    person = start(safe=True)
    dialog = opened(person)
    switch(person, dialog, "example")
    assert enabled(dirs) == {}


def test_a_new_version_has_to_be_switched_on_again(
    start: Callable[..., Person], example: Path, dirs: AppDirs
) -> None:
    example.write_text(EXAMPLE.read_text().replace('__version__ = "1.0"', '__version__ = "1.1"'))
    person = start()
    dialog = opened(person)
    assert state_of(person, dialog, "example").startswith("Version 1.0 was turned on, this is 1.1.")
    assert not box_of(person, dialog, "example").isChecked()
    switch(person, dialog, "example")
    assert enabled(dirs) == {"example": "1.1"}


def test_a_list_that_cannot_be_read_is_written_again(
    start: Callable[..., Person], example: Path, dirs: AppDirs
) -> None:
    (dirs.config / FILE).write_text("{")
    person = start()
    dialog = opened(person)
    assert "Cannot read" in person.see(QLabel, "plugins_remark", dialog).text()
    switch(person, dialog, "example")
    assert enabled(dirs) == {"example": "1.0"}


def test_a_change_that_cannot_be_kept_is_said(
    start: Callable[..., Person], example: Path, dirs: AppDirs
) -> None:
    person = start()
    dialog = opened(person)
    # A folder of that name cannot be replaced by a file, whoever the user is.
    (dirs.config / FILE).unlink()
    (dirs.config / FILE).mkdir()
    (dirs.config / FILE / "x").touch()
    switch(person, dialog, "example")
    assert any(notice.severity == "error" for notice in person.studio.notices.all)


def test_the_variable_decides_where_it_is_set(
    start: Callable[..., Person],
    example: Path,
    dirs: AppDirs,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(VARIABLE, "")
    person = start()
    dialog = opened(person)
    assert VARIABLE in person.see(QLabel, "plugins_remark", dialog).text()
    assert not box_of(person, dialog, "example").isEnabled()
    assert plugin_list.listed_plugins(dirs.config)[0].state == "Turned off."
