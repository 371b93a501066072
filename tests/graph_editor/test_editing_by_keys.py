"""Keys that change the graph: how many steps each is, and what it leaves."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPointF
from PySide6.QtGui import QGuiApplication

from studio.session.core import entities
from studio.session.document.document import Document
from studio.session.document.edits.blocks import group
from studio.session.document.edits.copies import duplicate_mapped
from studio.session.document.edits.places import move
from studio.session.document.levels import copies_of
from tests.graph_editor.hands import CTRL, SHIFT, Hands
from tests.graph_editor.text_fields import K
from tests.session.document.networks import chain, net, places

CTRL_SHIFT = CTRL | SHIFT


def test_ten_layers_by_keyboard_only_are_ten_steps(hands: Hands) -> None:
    words = ["input", "conv", "relu", "conv", "relu", "maxpool", "flatten", "dense", "dropout",
             "softmax"]  # fmt: skip
    for number, word in enumerate(words, 1):
        hands.key(K.Key_Tab)
        assert hands.popup_field.hasFocus()
        hands.type(word)
        hands.key(K.Key_Return)
        assert hands.steps == number
        assert hands.canvas.hasFocus()
    assert hands.wires == (
        "input>conv2d conv2d>re_lu re_lu>conv2d_1 conv2d_1>re_lu_1 re_lu_1>max_pooling2d "
        "max_pooling2d>flatten flatten>dense dense>dropout dropout>softmax"
    )
    for _ in words:
        hands.key(K.Key_Z, CTRL)
    assert not hands.state.nodes


def test_nudges_become_one_step_of_eight_pixels_each(hands: Hands) -> None:
    hands.open(chain())
    hands.click(hands.body("re_lu"))
    x, y = places(hands.state)["re_lu"]
    for _ in range(3):
        hands.key(K.Key_Right, CTRL)
    hands.key(K.Key_Down, CTRL)
    assert places(hands.state)["re_lu"] == (x + 24, y + 8)
    assert hands.steps == 1


def test_align_brings_edges_to_one_line(hands: Hands) -> None:
    hands.open(move(chain(), {"re_lu": (450.0, 70.0), "flatten": (900.0, -40.0)}), zoom=0.6)
    hands.key(K.Key_A, CTRL)
    hands.key(K.Key_Up, CTRL | SHIFT)
    assert {y for _, y in places(hands.state).values()} == {-40.0}
    assert hands.steps == 1


def test_delete_heals_and_offers_undo(hands: Hands) -> None:
    hands.open(chain(), zoom=0.8)
    hands.click(hands.body("re_lu"))
    hands.key(K.Key_Delete)
    assert "conv2d>max_pooling2d" in hands.wires
    notice = hands.studio.notices.all[-1]
    assert notice.text == "Deleted 1 layer, reconnected 1 wire"
    assert notice.action is not None
    assert notice.action[0] == "Undo"
    notice.action[1]()
    assert "re_lu" in hands.state.nodes
    hands.click(hands.body("re_lu"))
    hands.key(K.Key_Delete, SHIFT)
    assert "conv2d>max_pooling2d" not in hands.wires


@pytest.mark.slow
def test_undo_offered_for_a_deletion_takes_back_nothing_else(hands: Hands) -> None:
    hands.open(chain(), zoom=0.8)
    hands.click(hands.body("re_lu"))
    hands.key(K.Key_Delete)
    notice = hands.studio.notices.all[-1]
    hands.click(hands.body("dense"))
    hands.key(K.Key_Right, CTRL)
    assert "re_lu" not in hands.state.nodes
    # Another step came after it, so it is not offered any more; nor when that was taken back.
    assert notice.action is None
    hands.key(K.Key_Z, CTRL)
    assert notice.action is None
    assert hands.studio.notices.unseen == 0
    hands.key(K.Key_Z, CTRL)
    assert hands.state == chain()


def test_switch_type_keeps_wires(hands: Hands) -> None:
    hands.open(chain())
    hands.click(hands.body("max_pooling2d"))
    hands.key(K.Key_S)
    hands.type("average")
    hands.key(K.Key_Return)
    node = hands.state.nodes["max_pooling2d"]
    assert node.type_name == "AveragePooling2D"
    assert "re_lu>max_pooling2d max_pooling2d>flatten" in hands.wires
    assert hands.steps == 1


def test_copy_and_paste_between_documents(hands: Hands) -> None:
    hands.open(chain(), zoom=0.8)
    hands.click(hands.body("conv2d"))
    hands.click(hands.body("re_lu"), SHIFT)
    hands.key(K.Key_C, CTRL)
    assert '"conv2d"' in QGuiApplication.clipboard().text()
    hands.open(net("input 8x8x1"))
    hands.key(K.Key_V, CTRL)
    assert hands.wires == "conv2d>re_lu"
    assert hands.selected == ["conv2d", "re_lu"]
    assert hands.steps == 1


def test_pasting_something_else_is_refused_with_a_sentence(hands: Hands) -> None:
    hands.open(chain())
    QGuiApplication.clipboard().setText("{broken")
    hands.key(K.Key_V, CTRL)
    assert hands.studio.notices.all[-1].severity == "error"
    assert hands.steps == 0


def test_paste_keeping_inputs_feeds_the_copies(hands: Hands) -> None:
    hands.open(chain(), zoom=0.8)
    hands.click(hands.body("re_lu"))
    hands.key(K.Key_C, CTRL)
    hands.key(K.Key_V, CTRL_SHIFT)
    assert "conv2d>re_lu_1" in hands.wires


def test_bypass_freeze_and_collapse_show_on_the_card(hands: Hands) -> None:
    hands.open(chain(), zoom=0.8)
    hands.click(hands.body("re_lu"))
    hands.keys(K.Key_M, K.Key_H)
    hands.click(hands.body("conv2d"))
    hands.key(K.Key_F, SHIFT)
    nodes = hands.state.nodes
    assert (nodes["re_lu"].bypassed, nodes["re_lu"].collapsed) == (True, True)
    assert nodes["conv2d"].frozen
    assert hands.canvas.graph.nodes["re_lu"].card.node.bypassed
    assert hands.canvas.graph.nodes["re_lu"].area.height() == 28
    assert hands.steps == 3


def test_layout_of_everything_is_one_step(hands: Hands) -> None:
    hands.open(move(chain(), {"re_lu": (0.0, 500.0)}), zoom=0.6)
    hands.key(K.Key_L, SHIFT)
    assert hands.steps == 1
    after = places(hands.state)
    assert list(after) == sorted(after, key=lambda node: after[node][::-1])


def test_action_that_needs_a_selection_says_so(hands: Hands, refusals: list[str]) -> None:
    hands.open(chain())
    hands.key(K.Key_M)
    assert refusals == ["graph.bypass: no layer is selected"]
    hands.studio.bus.select([entities.node("re_lu")])
    hands.key(K.Key_M)
    assert hands.state.nodes["re_lu"].bypassed


def test_document_that_may_only_be_looked_at_says_so_and_stays(hands: Hands) -> None:
    hands.studio.replace(Document(chain(), read_only="saved by a newer version"))
    hands.canvas.show_all()
    before = hands.state.content_hash
    hands.drag(hands.body("re_lu"), hands.body("re_lu") + QPointF(90, 90))
    assert hands.canvas.gestures.current is None
    assert hands.studio.notices.all[-1].text.endswith("saved by a newer version")
    hands.drag(hands.port("conv2d"), hands.input("dense"))
    hands.click(hands.body("re_lu"))
    hands.keys(K.Key_Delete, K.Key_M)
    hands.key(K.Key_Tab)
    hands.type("relu")
    hands.key(K.Key_Return)
    assert hands.state.content_hash == before


def test_several_blocks_are_dissolved_in_one_step(hands: Hands) -> None:
    hands.open(group(group(chain(), ["conv2d"], "first"), ["dense"], "second"))
    hands.key(K.Key_A, CTRL)
    hands.key(K.Key_G, CTRL_SHIFT)
    assert not any(node.is_block for node in hands.state.nodes.values())
    assert hands.steps == 1
    assert hands.selected == ["conv2d", "dense"]


@pytest.mark.slow
def test_several_linked_copies_are_unlinked_in_one_step(hands: Hands) -> None:
    hands.open(duplicate_mapped(group(chain(), ["conv2d"]), ["block"], linked=True).state)
    before = hands.state
    hands.key(K.Key_A, CTRL)
    hands.key(K.Key_U, CTRL)
    assert hands.steps == 1
    blocks = [node for node in hands.state.nodes.values() if node.is_block]
    assert len(blocks) == 2
    assert all(len(copies_of(hands.state, block.id)) == 1 for block in blocks)
    hands.key(K.Key_Z, CTRL)
    assert hands.state == before
