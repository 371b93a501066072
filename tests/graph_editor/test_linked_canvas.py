"""The canvas and the one selection: marks what other views point at, tells what it points at."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPointF, Qt

from studio.graph_editor.canvas.linking import roles_of
from studio.graph_editor.editing.context import CANVAS
from studio.session.core import entities
from studio.session.core.entities import Entity
from studio.session.document.document import Document
from tests.graph_editor.hands import Hands
from tests.session.document.networks import chain, net


@pytest.mark.slow
def test_hover_is_told_and_taken_back(hands: Hands) -> None:
    hands.open(chain())
    hands.move(hands.body("conv2d"))
    assert hands.studio.bus.hover_entity == entities.node("conv2d")
    assert hands.canvas.graph.nodes["conv2d"].marks.hovered
    hands.move(hands.middle("conv2d", "re_lu"))
    assert hands.studio.bus.hover_entity == entities.wire("conv2d", "re_lu", 0)
    hands.move(hands.nowhere())
    assert hands.studio.bus.hover_entity is None
    assert not hands.canvas.graph.nodes["conv2d"].marks.hovered


def test_hover_in_another_view_marks_without_scrolling(hands: Hands) -> None:
    hands.open(chain(), zoom=2.0)
    hands.canvas.navigation.look_at(QPointF(0, 0))
    before = hands.canvas.navigation.centre
    hands.studio.bus.hover(entities.node("dense"), "outline")
    assert hands.canvas.graph.nodes["dense"].marks.hovered
    assert hands.canvas.navigation.centre == before


def test_selection_elsewhere_scrolls_only_to_what_is_out_of_sight(hands: Hands) -> None:
    hands.open(chain(), zoom=1.0)
    hands.canvas.navigation.look_at(hands.canvas.graph.area_of(["conv2d"]).center())
    before = hands.canvas.navigation.centre
    hands.studio.bus.select([entities.node("re_lu")], source="listing")
    assert hands.canvas.navigation.centre == before
    hands.studio.bus.select([entities.node("dense")], source="listing")
    assert hands.canvas.navigation.visible.contains(hands.canvas.graph.area_of(["dense"]))
    assert hands.canvas.graph.nodes["dense"].marks.selected == "primary"


def test_own_selection_never_scrolls(hands: Hands) -> None:
    hands.open(chain(), zoom=1.0)
    hands.canvas.navigation.look_at(QPointF(0, 0))
    before = hands.canvas.navigation.centre
    hands.studio.bus.select([entities.node("dense")], source=CANVAS)
    assert hands.canvas.navigation.centre == before


def test_instruction_marks_its_layers_by_role_and_selects_them(hands: Hands) -> None:
    hands.open(net("input 8x8x1 > conv 8 3x3 relu > flatten > dense 4"), zoom=0.8)
    compilation = hands.studio.compilation

    def knows_the_layer() -> bool:
        known = compilation.provenance
        return known is not None and bool(known.instructions_of("conv2d"))

    hands.qtbot.waitUntil(knows_the_layer)
    provenance = compilation.provenance
    assert provenance is not None
    index = provenance.instructions_of("conv2d")[0]
    line = entities.instruction(provenance.key_of(index))
    hands.studio.bus.hover(line, "listing")
    roles = {each.owner: each.role for each in provenance.nodes_of(index)}
    for node_id, role in roles.items():
        assert hands.canvas.graph.nodes[node_id].marks.linked == role
    hands.studio.bus.select([line], source="listing")
    marks = hands.canvas.graph.nodes["conv2d"].marks
    assert marks.selected in ("primary", "other")
    hands.studio.bus.hover(None, "listing")
    assert not any(item.marks.linked for item in hands.canvas.graph.nodes.values())


@pytest.mark.parametrize("entity", [None, entities.run("r"), entities.tensor("none/kernel")])
def test_things_without_a_layer_have_no_roles(hands: Hands, entity: Entity | None) -> None:
    assert roles_of(entity, None) == {}


def test_drawing_follows_every_step_and_back(hands: Hands) -> None:
    hands.open(chain())
    canvas = hands.canvas.graph
    names = ("dense", "flatten", "re_lu")
    for name in names:
        hands.click(hands.body(name))
        hands.canvas.commands.delete(heal=True)
        assert set(canvas.nodes) == set(hands.state.nodes)
        assert set(canvas.wires) == set(hands.state.wires())
    while hands.document.undo():
        assert set(canvas.nodes) == set(hands.state.nodes)
        assert set(canvas.wires) == set(hands.state.wires())
    shown = sum(1 for item in canvas.items() if type(item).__name__ == "NodeItem")
    assert shown == len(hands.state.nodes)


def test_another_document_replaces_the_drawing(hands: Hands) -> None:
    hands.open(chain())
    old = hands.document
    hands.open(net("input 4 > dense 3"))
    assert set(hands.canvas.graph.nodes) == {"input", "dense"}
    old.undo()
    assert set(hands.canvas.graph.nodes) == {"input", "dense"}


@pytest.mark.slow
@pytest.mark.parametrize("key", [Qt.Key.Key_Tab, Qt.Key.Key_F2, Qt.Key.Key_S])
def test_what_is_asked_about_a_document_goes_with_it(hands: Hands, key: Qt.Key) -> None:
    hands.open(chain())
    old = hands.document
    hands.click(hands.body("re_lu"))
    hands.key(key)
    hands.type("d")
    hands.studio.replace(Document(net("input 4 > dense 3")))
    assert not hands.popup_open
    assert not hands.canvas.inline_editor.is_open
    hands.key(Qt.Key.Key_Return)
    assert old.state == chain()
    assert hands.state == net("input 4 > dense 3")


def test_wire_styles_and_theme_change_at_once(hands: Hands) -> None:
    hands.open(chain())
    wire = next(iter(hands.canvas.graph.wires.values()))
    hands.studio.preferences.set("wire_style", "straight")
    assert wire.path().elementCount() == 2
    dark = hands.canvas.graph.colours.canvas
    hands.studio.theme.choose("light")
    assert hands.canvas.graph.colours.canvas != dark
    assert hands.canvas.graph.nodes["dense"].colours is hands.canvas.graph.colours
