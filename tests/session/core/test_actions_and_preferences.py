"""The action registry and the preferences file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from studio.engine.core.errors import GraphError, ParameterError, StudioError
from studio.engine.core.signal import Signal
from studio.session.core.action_table import UNAVAILABLE, Action, ActionRegistry, ActionTable
from studio.session.core.preferences import PREFERENCES, Preferences

TABLE: ActionTable[list[str]] = ActionTable(
    0,
    Action(
        "graph.delete", "Delete", "Remove layers.", ("Del",), "Graph", "canvas",
        run=lambda ran: _refuse(),
    ),
    Action(
        "train.start", "Train", "Start.", ("F5",), "Train",
        run=lambda ran: ran.append("go"),
        enabled=lambda ran: "the graph has 2 problems" if "broken" in ran else "",
        checked=lambda ran: "go" in ran,
    ),
)  # fmt: skip


def _refuse() -> None:
    raise GraphError("no layer is selected")


def _doing_nothing(action_id: str, **more: str) -> Action[None]:
    return Action(action_id, "X", "X.", run=lambda _: None, **more)


def test_an_action_runs_only_on_a_target_and_when_it_can() -> None:
    ran = ["broken"]
    registry = ActionRegistry()
    registry.declare(TABLE)
    assert registry.why_not("train.start") == UNAVAILABLE
    assert not registry.trigger("train.start")
    assert not registry.is_checked("train.start")
    registry.attach(TABLE, ran)
    assert registry.why_not("train.start") == "the graph has 2 problems"
    assert not registry.trigger("train.start")
    ran.clear()
    assert registry.trigger("train.start")
    assert ran == ["go"]
    assert registry.is_checked("train.start")
    assert not registry["graph.delete"].checkable


def test_a_table_acts_on_the_target_attached_last() -> None:
    registry, first, second = ActionRegistry(), [], []
    registry.attach(TABLE, first)
    registry.attach(TABLE, second)
    registry.trigger("train.start")
    assert (first, second) == ([], ["go"])


def test_an_error_of_an_action_reaches_the_user() -> None:
    heard: list[StudioError] = []
    registry = ActionRegistry(heard.append)
    registry.attach(TABLE, [])
    assert registry.trigger("graph.delete")
    assert [error.message for error in heard] == ["no layer is selected"]


def test_what_is_possible_is_asked_after_the_signals_of_a_table() -> None:
    class Target:
        moved: Signal[[int]] = Signal()

    table: ActionTable[Target] = ActionTable(
        0,
        Action("a.b", "X", "X.", run=lambda _: None),
        changes=lambda target: (target.moved,),
    )
    registry, told, target = ActionRegistry(), [], Target()
    hear = told.append
    registry.attach(table, target)
    registry.changed.connect(hear)
    target.moved.emit(1)
    assert told == ["a.b"]


def test_actions_stand_by_the_order_of_tables_and_behind_those_they_name() -> None:
    registry = ActionRegistry()
    late = ActionTable(2, _doing_nothing("late.a"), _doing_nothing("late.b", after="early.a"))
    early = ActionTable(1, _doing_nothing("early.a"), _doing_nothing("early.b"))
    last = ActionTable(
        3,
        _doing_nothing("last.a", after="late.b"),
        _doing_nothing("last.b", after="nowhere"),
        _doing_nothing("last.c", after="last.d"),
        _doing_nothing("last.d", after="last.c"),
    )
    registry.declare(late, last, early)
    assert [action.id for action in registry] == [
        "early.a", "late.b", "last.a", "early.b", "late.a", "last.b", "last.c", "last.d",
    ]  # fmt: skip


def test_conflicting_keys_and_ids_are_found() -> None:
    registry = ActionRegistry()
    registry.declare(TABLE)
    registry.declare(TABLE)
    registry.declare(
        ActionTable(
            1,
            Action("listing.x", "X", "X.", ("Del",), context="listing", run=lambda _: None),
            Action("view.y", "Y", "Y.", ("Del",), run=lambda _: None),
        )
    )
    assert sorted(registry.conflicts()) == [
        ("Del", "graph.delete", "view.y"),
        ("Del", "listing.x", "view.y"),
    ]
    with pytest.raises(ValueError, match="declared twice"):
        registry.declare(ActionTable(0, _doing_nothing("train.start")))
    with pytest.raises(ValueError, match="declared twice"):
        registry.declare(ActionTable(0, _doing_nothing("one.one"), _doing_nothing("one.one")))
    assert "one.one" not in registry
    with pytest.raises(KeyError):
        registry["nobody.knows"]


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
    assert all(preferences[each.name] == each.default for each in PREFERENCES)


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
