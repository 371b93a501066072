from __future__ import annotations

import re

from studio.graph_editor.canvas.actions import ACTIONS
from studio.session.core.action_table import CONTEXTS, MENUS, ActionRegistry

EXPECTED = {
    "edit.undo": ("Ctrl+Z",), "edit.redo": ("Ctrl+Shift+Z", "Ctrl+Y"), "edit.copy": ("Ctrl+C",),
    "edit.cut": ("Ctrl+X",), "edit.paste": ("Ctrl+V",), "edit.paste_inputs": ("Ctrl+Shift+V",),
    "graph.delete": ("Del", "Backspace"), "graph.delete_only": ("Shift+Del",),
    "graph.duplicate": ("Ctrl+D", "Shift+D"), "graph.bypass": ("M",), "graph.freeze": ("Shift+F",),
    "graph.layout": ("L",), "graph.layout_all": ("Shift+L",), "graph.straighten": ("Q",),
    "graph.distribute": ("Shift+Q",), "graph.rename": ("F2",), "graph.collapse": ("H",),
    "graph.preview": ("Shift+H",), "graph.switch_type": ("S",), "graph.frame": ("Ctrl+J",),
    "graph.note": ("C",), "canvas.frame_selection": ("F",), "canvas.quick_add": ("Tab",),
    "canvas.frame_all": ("Home", "Shift+1"), "canvas.zoom_100": ("Ctrl+0",),
    "canvas.find": ("Ctrl+F",),
    "canvas.walk_left": ("Left",), "canvas.extend_up": ("Shift+Up",),
    "graph.nudge_down": ("Ctrl+Down",), "graph.align_right": ("Ctrl+Shift+Right",),
}  # fmt: skip

KEY = re.compile(r"((Ctrl|Shift|Alt)\+)*([A-Z0-9+=.-]|F\d+|[A-Z][a-z]+)")


def test_the_keys_are_those_users_are_told():
    keys = {spec.id: spec.keys for spec in ACTIONS}
    assert {action: keys.get(action) for action in EXPECTED} == EXPECTED


def test_no_two_actions_claim_a_key():
    registry = ActionRegistry()
    registry.declare(ACTIONS)
    assert registry.conflicts() == []


def test_every_action_can_be_shown_and_found():
    assert len({spec.text for spec in ACTIONS}) == len(ACTIONS.actions)
    for spec in ACTIONS:
        assert re.fullmatch(r"(edit|graph|canvas)\.[a-z0-9_]+", spec.id)
        assert spec.tip.endswith(".")
        assert spec.menu.partition("/")[0] in MENUS
        assert spec.context in CONTEXTS
        assert all(KEY.fullmatch(key) for key in spec.keys)


def test_single_letters_work_on_the_canvas_only():
    for spec in ACTIONS:
        if any(len(key) == 1 or key in ("Tab", "Del", "Backspace", "Return") for key in spec.keys):
            assert spec.context == "canvas"
