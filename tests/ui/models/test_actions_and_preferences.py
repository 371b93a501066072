"""The action registry and the preferences file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from studio.engine.core.errors import GraphError, ParameterError, StudioError
from studio.ui.models.actions import UNAVAILABLE, ActionRegistry, ActionSpec
from studio.ui.models.preferences import PREFERENCES, Preferences

SPECS = (
    ActionSpec("graph.delete", "Delete", "Remove layers.", ("Del",), "Graph", "canvas"),
    ActionSpec("train.start", "Train", "Start.", ("F5",), "Train"),
)


def test_an_action_runs_only_when_it_can() -> None:
    ran: list[str] = []
    registry = ActionRegistry()
    registry.declare(SPECS)
    assert registry.why_not("train.start") == UNAVAILABLE
    assert not registry.trigger("train.start")
    why = "the graph has 2 problems"
    registry.bind("train.start", lambda: ran.append("go"), lambda: why)
    assert registry.why_not("train.start") == why
    assert not registry.trigger("train.start")
    why = ""
    assert registry.trigger("train.start")
    assert ran == ["go"]
    registry.unbind("train.start")
    assert not registry.trigger("train.start")


def test_an_error_of_a_handler_reaches_the_user() -> None:
    heard: list[StudioError] = []
    registry = ActionRegistry(heard.append)
    registry.declare(SPECS)

    def refuse() -> None:
        raise GraphError("no layer is selected")

    registry.bind("graph.delete", refuse)
    assert registry.trigger("graph.delete")
    assert [error.message for error in heard] == ["no layer is selected"]


def test_conflicting_keys_are_found() -> None:
    registry = ActionRegistry()
    registry.declare(SPECS)
    registry.declare(
        [
            ActionSpec("listing.x", "X", "X.", ("Del",), context="listing"),
            ActionSpec("view.y", "Y", "Y.", ("Del",)),
        ]
    )
    assert sorted(registry.conflicts()) == [
        ("Del", "graph.delete", "view.y"),
        ("Del", "listing.x", "view.y"),
    ]
    with pytest.raises(ValueError, match="declared twice"):
        registry.declare(SPECS[:1])
    with pytest.raises(KeyError):
        registry.bind("nobody.knows", lambda: None)


def test_preferences_keep_only_what_was_chosen(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "preferences.json"
    first, told = Preferences(path), []
    changed = told.append
    first.changed.connect(changed)
    first.set("theme", "dark")
    first.set("theme", "dark")
    first.set("live_rate", 5)
    assert told == ["theme", "live_rate"]
    assert json.loads(path.read_text()) == {"live_rate": 5, "theme": "dark"}
    again = Preferences(path)
    assert again.text("theme") == "dark"
    assert again.number("live_rate") == 5
    again.reset("theme")
    assert json.loads(path.read_text()) == {"live_rate": 5}


@pytest.mark.parametrize(
    ("name", "value"),
    [("theme", "pink"), ("theme", 3), ("live_rate", 0), ("live_rate", True), ("minimap", 1)],
)
def test_wrong_preferences_are_refused(name: str, value: object) -> None:
    preferences = Preferences()
    with pytest.raises(ParameterError):
        preferences.set(name, value)
    assert preferences.is_default(name)


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"theme": 7, "nobody": 1}', "\x00"])
def test_a_damaged_preferences_file_gives_defaults(tmp_path: Path, text: str) -> None:
    path = tmp_path / "preferences.json"
    path.write_text(text)
    preferences = Preferences(path)
    assert all(preferences[each.id] == each.default for each in PREFERENCES)


def test_a_read_only_folder_is_said_and_the_value_holds(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("")
    preferences = Preferences(blocker / "preferences.json")
    with pytest.raises(StudioError):
        preferences.set("theme", "dark")
    assert preferences.text("theme") == "dark"


def test_an_override_is_in_force_until_the_user_chooses_and_is_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "preferences.json"
    preferences = Preferences(path)
    heard: list[str] = []

    def hear(name: str) -> None:
        heard.append(name)

    preferences.changed.connect(hear)
    preferences.set("theme", "light")
    preferences.override("theme", "dark")
    assert preferences.text("theme") == "dark"
    assert Preferences(path).text("theme") == "light"
    preferences.set("theme", "light")
    assert preferences.text("theme") == "light"
    preferences.override("backend", "cpu")
    preferences.set("backend", "cpu")
    assert Preferences(path).text("backend") == "cpu"
    assert heard == ["theme", "theme", "theme", "backend"]
    with pytest.raises(ParameterError):
        preferences.override("theme", "blue")
