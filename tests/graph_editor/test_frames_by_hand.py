"""A layer dragged in a frame takes the frame's border along, until it has left the frame."""

from __future__ import annotations

from PySide6.QtCore import QPointF, Qt

from studio.session.document.edits.comments import add_frame, inside_frame
from tests.graph_editor.hands import SHIFT, Hands
from tests.session.document.networks import net


def test_a_frame_follows_a_dragged_layer_until_its_middle_is_outside(hands: Hands) -> None:
    state = net("input 4 > dense 8 > dense 3")
    hands.open(add_frame(state, ["dense"]), zoom=0.5)
    before = hands.state.nodes["frame"]
    start = hands.body("dense")
    hands.drag(start, start + QPointF(0, 48))
    grown = hands.state.nodes["frame"]
    assert inside_frame(hands.state, "frame") == ("dense",)
    assert grown.height > before.height
    assert hands.steps == 1
    start = hands.body("dense")
    hands.drag(start, start + QPointF(0, 800))
    assert inside_frame(hands.state, "frame") == ()
    assert hands.state.nodes["frame"] == grown


def test_a_thumbnail_shown_by_key_makes_its_frame_larger(hands: Hands) -> None:
    hands.open(add_frame(net("input 4 > dense 8 > dense 3"), ["dense"]), zoom=0.5)
    before = hands.state.nodes["frame"]
    hands.click(hands.body("dense"))
    hands.key(Qt.Key.Key_H, SHIFT)
    assert hands.state.nodes["dense"].preview == "thumbnail"
    assert inside_frame(hands.state, "frame") == ("dense",)
    assert hands.state.nodes["frame"].height > before.height
    assert hands.steps == 1
