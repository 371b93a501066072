"""The user's own keys: in force at once, kept, and never two actions' where they meet."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from studio.engine.core.errors import FormatError
from studio.session.core.action_table import Action, ActionRegistry, ActionTable
from studio.session.core.user_keys import UserKeys


def registry(choices: UserKeys) -> ActionRegistry:
    made = ActionRegistry(keys=choices)
    made.declare(
        ActionTable(
            0,
            Action("file.save", "Save", "Save.", ("Ctrl+S",), run=lambda _: None),
            Action("file.open", "Open", "Open.", ("Ctrl+O", "F2"), run=lambda _: None),
            Action("graph.find", "Find", "Find.", ("Ctrl+F",), context="canvas",
                   run=lambda _: None),
            Action("list.find", "Find", "Find.", ("Ctrl+F",), context="listing",
                   run=lambda _: None),
        )
    )  # fmt: skip
    return made


def keys(of: ActionRegistry) -> dict[str, tuple[str, ...]]:
    return {action.id: action.keys for action in of}


AT_FIRST = {
    "file.save": ("Ctrl+S",), "file.open": ("Ctrl+O", "F2"), "graph.find": ("Ctrl+F",),
    "list.find": ("Ctrl+F",),
}  # fmt: skip


def test_keys_are_in_force_at_once_and_at_the_next_start(tmp_path: Path) -> None:
    path = tmp_path / "config" / "keys.json"
    actions = registry(UserKeys(path.parent))
    heard: list[str] = []
    hear = heard.append
    actions.changed.connect(hear)
    actions.keys.choose({"file.save": ("F9",), "file.open": ()})
    assert sorted(heard) == ["file.open", "file.save"]
    after = AT_FIRST | {"file.save": ("F9",), "file.open": ()}
    assert keys(actions) == after
    assert actions["file.save"].keys == ("F9",)
    assert actions.keys_at_first("file.save") == ("Ctrl+S",)
    assert keys(registry(UserKeys(path.parent))) == after
    actions.keys.choose({"file.save": None})
    assert keys(actions) == AT_FIRST | {"file.open": ()}
    actions.keys.reset()
    assert keys(actions) == AT_FIRST
    assert keys(registry(UserKeys(path.parent))) == AT_FIRST
    assert json.loads(path.read_text()) == {}


def test_holders_are_actions_whose_keys_meet() -> None:
    actions = registry(UserKeys())
    held = {
        (each.id, other.id)
        for each in actions
        for other in actions.holders("Ctrl+F", each.id)
    }  # fmt: skip
    assert held == {
        ("file.save", "graph.find"), ("file.save", "list.find"),
        ("file.open", "graph.find"), ("file.open", "list.find"),
    }  # fmt: skip


def test_a_key_that_was_chosen_is_no_other_action_s_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    path.write_text(json.dumps({"graph.find": ["Ctrl+S", "F2"]}))
    actions = registry(UserKeys(path.parent))
    assert keys(actions) == AT_FIRST | {
        "graph.find": ("Ctrl+S", "F2"), "file.save": (), "file.open": ("Ctrl+O",),
    }  # fmt: skip
    assert actions.conflicts() == []


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{", "\0\1", '{"file.save": "F9"}', '{"file.save": [1]}', '{"file.save": [""]}',
     '{"file.save": ["' + 61 * "x" + '"]}', json.dumps({"file.save": 9 * ["F9"]}),
     '{"file.save": null}'],
)  # fmt: skip
def test_what_is_not_understood_is_left_out(tmp_path: Path, content: str) -> None:
    path = tmp_path / "keys.json"
    path.write_bytes(content.encode())
    assert keys(registry(UserKeys(path.parent))) == AT_FIRST


def test_of_actions_that_a_file_gives_the_same_key_the_first_has_it(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    given = {"list.find": ["F9", "F7"], "graph.find": ["F9"], "file.open": ["F7", "F8"]}
    path.write_text(json.dumps(given))
    actions = registry(UserKeys(tmp_path / "config"))
    actions.keys.import_from(path)
    assert actions.conflicts() == []
    found = keys(actions)
    # Canvas and listing do not meet; the window meets both.
    assert (found["graph.find"], found["list.find"]) == (("F9",), ("F9",))
    assert found["file.open"] == ("F7", "F8")
    assert json.loads((tmp_path / "config" / "keys.json").read_text()) == given


def test_keys_of_actions_that_are_not_there_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    path.write_text('{"plugin.count": ["F9"]}')
    choices = UserKeys(path.parent)
    registry(choices)
    choices.choose({"file.save": ("F10",)})
    assert json.loads(path.read_text()) == {"plugin.count": ["F9"], "file.save": ["F10"]}


def test_a_file_that_cannot_be_written_is_told_and_the_keys_work(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("no folder")
    actions = registry(UserKeys(tmp_path / "config"))
    with pytest.raises(FormatError):
        actions.keys.choose({"file.save": ("F9",)})
    assert actions["file.save"].keys == ("F9",)
