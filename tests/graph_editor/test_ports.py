"""Layers with several outputs on the canvas: a port for each, wires from each by mouse."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QAccessible, QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QToolTip

from studio.engine.core.tensor import TensorType
from studio.engine.layers.graph import Port
from studio.engine.layers.layer import Layer
from studio.graph_editor.items.marks import PortKey
from studio.graph_editor.items.node_paint import picture_area
from studio.graph_editor.items.node_text import output_text
from studio.graph_editor.panes.outline import OutlinePane
from studio.graph_editor.panes.palette import PalettePane
from studio.session.document.adding.quick_add import entries
from studio.session.document.cards.card import wire_card
from studio.session.document.cards.geometry import PORT_STEP, node_size
from studio.session.document.edits.blocks import group
from studio.session.document.edits.layers import add_layer, collapse, mark_output, set_preview
from studio.session.document.edits.removal import delete
from studio.session.document.edits.wires import add_dot, connect, disconnect
from studio.session.document.finding.outline import accessible_text, accessible_wire_text
from studio.session.document.levels import ports_in
from studio.session.document.state import DocumentState, Wire
from studio.session.preview.preview import Preview
from tests.engine.layers.several_outputs import split_layer
from tests.graph_editor.hands import ALT, CTRL, OUT, RIGHT, SHIFT, Hands
from tests.session.document.test_ports import fork
from tests.ui.fixtures import shown

SECOND = PortKey("out", 1)


@pytest.fixture(autouse=True)
def split() -> Iterator[None]:
    with split_layer():
        entries.cache_clear()
        yield
    # The search must not offer the layer to tests that do not declare it.
    entries.cache_clear()


def cut_off() -> DocumentState:
    """The fork without the wire from its second output."""
    return disconnect(fork(), "dense_1", 0)


def test_each_output_has_a_port_and_its_wire_leaves_it(hands):
    hands.open(fork())
    first, second = hands.port("split"), hands.port("split", SECOND)
    assert first.x() == second.x()
    assert second.y() > first.y()
    assert hands.canvas.graph.nodes["split"].card.shape == "2 · 4"
    said = accessible_text(hands.state, hands.studio.document.report, "split")
    assert "outputs 2 and 4" in said
    wire = hands.canvas.graph.wires[Wire("split", "dense_1", 0, 1)]
    assert wire.path().pointAtPercent(0.0) == second
    shape = wire_card(hands.studio.document.report, wire.wire).shape
    assert (shape, hands.canvas.graph.nodes["split"].card.outputs) == ("4", 2)


def test_a_card_is_as_high_as_its_outputs_need(hands):
    hands.open(fork())
    few = hands.canvas.graph.nodes["split"].area.height()
    many = connect(fork(), Port("split", 7), "dense", 0, replacing=True, check_shapes=False)
    hands.document.apply("Connect", many)
    item = hands.canvas.graph.nodes["split"]
    assert item.area.height() > few
    heights = [hands.port("split", PortKey("out", each)).y() for each in range(8)]
    assert {after - before for before, after in pairwise(heights)} == {PORT_STEP}
    assert heights[-1] < item.scene_area.bottom()
    wire = hands.canvas.graph.wires[Wire("split", "dense", 0, 7)]
    assert wire.path().pointAtPercent(0.0).y() == heights[-1]
    hands.document.undo()
    assert hands.canvas.graph.nodes["split"].area.height() == few


def test_the_layout_keeps_a_card_with_many_outputs_clear(hands):
    state = connect(fork(), Port("split", 14), "dense", 0, replacing=True, check_shapes=False)
    state = add_layer(state, "Dense", config={"units": 3}, after="input")
    hands.open(state)
    hands.studio.actions.trigger("graph.layout_all")
    areas = [item.scene_area for item in hands.canvas.graph.nodes.values()]
    assert not any(one.intersects(other) for one, other in combinations(areas, 2))


def test_a_card_is_as_high_as_its_inputs_need(hands):
    state = add_layer(fork(), "Concatenate", at=(960, 0))
    before = node_size(state.nodes["concatenate"])
    sources = [Port("input"), Port("split"), Port("split", 1), Port("dense"), Port("dense_1"),
               Port("add")]  # fmt: skip
    for source in sources:
        state = connect(state, source, "concatenate")
    hands.open(state)
    item = hands.canvas.graph.nodes["concatenate"]
    assert node_size(state.nodes["concatenate"]) > before
    heights = [hands.input("concatenate", slot).y() for slot in range(7)]
    assert {after - before for before, after in pairwise(heights)} == {PORT_STEP}
    assert heights[-1] < item.scene_area.bottom()


@pytest.mark.slow
def test_a_wire_is_drawn_from_the_second_output(hands):
    hands.open(cut_off())
    hands.drag(hands.port("split", SECOND), hands.input("dense_1"))
    assert hands.state.nodes["dense_1"].inputs == (Port("split", 1),)
    said = accessible_wire_text(hands.state, hands.studio.document.report,
                                Wire("split", "dense_1", 0, 1))  # fmt: skip
    assert said == "Wire from output 1 of split to dense_1, carries 4"


def test_a_wire_from_an_input_ends_at_the_second_output(hands):
    hands.open(cut_off())
    hands.drag(hands.input("dense_1"), hands.port("split", SECOND))
    assert hands.state.nodes["dense_1"].inputs == (Port("split", 1),)


def test_a_wire_that_is_taken_off_keeps_its_output(hands):
    hands.open(fork())
    hands.drag(hands.input("dense_1"), hands.input("dense"))
    assert hands.state.nodes["dense_1"].inputs == ()
    assert hands.state.nodes["dense"].inputs == (Port("split", 1),)


@pytest.mark.slow
def test_what_is_added_at_the_end_of_a_wire_is_fed_by_its_output(hands):
    hands.open(cut_off())
    hands.drag(hands.port("split", SECOND), hands.nowhere())
    assert hands.popup_open
    hands.type("relu")
    hands.key(Qt.Key.Key_Return)
    assert hands.state.nodes["re_lu"].inputs == (Port("split", 1),)
    assert hands.document.report.status("re_lu").shape == (4,)


def test_the_search_offers_what_fits_the_output_of_the_wire(hands):
    hands.open(cut_off())
    hands.drag(hands.port("split", SECOND), hands.nowhere())
    hands.type("relu")
    shapes = [row.shape for row in hands.canvas.searches.popup.list.entries.rows]
    assert shapes[0] == "4"


def test_a_typed_net_begins_at_the_output_of_the_wire(hands):
    hands.open(cut_off())
    hands.drag(hands.port("split", SECOND), hands.nowhere())
    hands.type("dense 5 > relu")
    hands.key(Qt.Key.Key_Return)
    assert hands.state.nodes["dense_2"].inputs == (Port("split", 1),)
    assert hands.state.nodes["re_lu"].inputs == (Port("dense_2"),)


def test_a_layer_added_on_a_wire_of_the_second_output_fits_that_output(hands):
    hands.open(fork())
    wire = Wire("split", "dense_1", 0, 1)
    hands.click(hands.canvas.graph.wires[wire].middle())
    hands.keys(Qt.Key.Key_Tab)
    hands.type("relu")
    rows = hands.canvas.searches.popup.list.entries.rows
    assert (rows[0].title, rows[0].shape) == ("ReLU", "4")
    hands.key(Qt.Key.Key_Return)
    assert hands.state.nodes["re_lu"].inputs == (Port("split", 1),)
    assert hands.state.nodes["dense_1"].inputs == (Port("re_lu"),)


def test_wires_of_one_output_are_moved_and_cut_alone(hands):
    hands.open(fork())
    hands.drag(hands.port("split", SECOND), hands.port("input"), keys=CTRL)
    assert hands.state.nodes["dense_1"].inputs == (Port("input"),)
    assert hands.state.nodes["dense"].inputs == (Port("split"),)
    hands.studio.document.undo()
    hands.click(hands.port("split", SECOND), keys=ALT)
    assert hands.state.nodes["dense_1"].inputs == ()
    assert hands.state.nodes["dense"].inputs == (Port("split"),)


def tip_at(hands: Hands, at: QPointF) -> str:
    """What the tip over a place of the canvas says."""
    hands.move(at, buttons=Qt.MouseButton.NoButton)
    viewport, place = hands.canvas.viewport(), hands.canvas.view_point(at).toPoint()
    event = QHelpEvent(QEvent.Type.ToolTip, place, viewport.mapToGlobal(place))
    QApplication.sendEvent(viewport, event)
    said = QToolTip.text()
    QToolTip.hideText()
    return said


def test_the_tip_of_a_port_says_the_type_of_what_passes_it(hands):
    hands.open(cut_off())
    first, second = (tip_at(hands, hands.port("split", key)).splitlines()
                     for key in (OUT, SECOND))  # fmt: skip
    assert first[:2] == ["Output 0 of split", "float32[N,2]"]
    assert second[:2] == ["Output 1 of split", "float32[N,4]"]
    assert tip_at(hands, hands.port("dense")).splitlines()[:2] == [
        "Output of dense", "float32[N,3]"
    ]  # fmt: skip
    assert tip_at(hands, hands.port("dense_1")).splitlines()[1] == "type unknown"
    assert tip_at(hands, hands.input("dense")).splitlines()[:2] == [
        "Input 1 of dense, from output 0 of split", "float32[N,2]"
    ]  # fmt: skip
    assert tip_at(hands, hands.input("dense_1")) == (
        "Input 1 of dense_1\nConnect it by dragging from an output"
    )


def test_the_tip_of_an_input_says_what_feeds_it_through_bends_and_blocks(hands):
    wire = Wire("dense_1", "add", 1)
    state = add_dot(fork(), wire, 640, 100)
    hands.open(group(state, ["dense"], "stem"))
    inputs = [tip_at(hands, hands.input("add", slot)).splitlines()[0] for slot in (0, 1)]
    assert inputs == [
        "Input 1 of add, from output dense of stem", "Input 2 of add, from dense_1"
    ]  # fmt: skip
    said = accessible_text(hands.state, hands.document.report, "add")
    assert "input from output dense of stem and dense_1" in said
    said = accessible_text(hands.state, hands.document.report, "dense_1")
    assert "input from output 1 of split" in said
    block = next(i for i, node in hands.state.nodes.items() if node.is_block)
    assert tip_at(hands, hands.title(block)).splitlines()[1:3] == [
        "Inputs: dense", "Outputs: dense"
    ]  # fmt: skip
    port = ports_in(hands.state, block)[0].id
    assert tip_at(hands, hands.input(port)).splitlines()[0] == (
        "Input dense of stem, from output 0 of split"
    )


def test_several_outputs_are_numbered_beside_their_ports(hands):
    hands.open(fork())
    hands.click(hands.nowhere())
    canvas, item = hands.canvas, hands.canvas.graph.nodes["split"]

    def ink(node: str, key: PortKey) -> int:
        """How many spots have the ink of the number of a port, above its wire."""
        zoom, at = canvas.navigation.zoom, canvas.view_point(hands.port(node, key))
        corner = at + QPointF(7, -11) * zoom
        seen = canvas.viewport().grab().toImage()
        spots = [corner + QPointF(x, y) * zoom for x in range(7) for y in range(8)]
        colour = item.colours.text2.lightness()
        found = [seen.pixelColor(spot.toPoint()).lightness() for spot in spots]
        return sum(abs(each - colour) < 40 for each in found)

    assert ink("dense", OUT) == 0
    assert ink("split", OUT) > 3
    assert ink("split", SECOND) > 3
    for output in (0, 1):
        (wire,) = hands.state.wires_from(Port("split", output))
        chip = canvas.graph.wires[wire].chip
        assert chip.isVisible()
        port = hands.port("split", PortKey("out", output))
        assert not chip.sceneBoundingRect().intersects(QRectF(port + QPointF(6, -12), QSizeF(5, 8)))
    assert item.room_beside_outputs() > 10
    canvas.navigation.zoom_to(0.5)
    assert ink("split", SECOND) == 0
    canvas.navigation.zoom_to(1.0)
    hands.document.apply("Collapse", collapse(hands.state, ["split"]))
    assert item.room_beside_outputs() == 0


def pick_in_menu(hands: Hands, at: QPointF, action_id: str) -> None:
    """Take an entry of the menu over a place of the canvas."""
    hands.click(at, button=RIGHT)
    (menu,) = (m for m in hands.canvas.findChildren(QMenu, "canvas_menu") if m.isVisible())
    (action,) = (a for a in menu.actions() if a.objectName() == action_id)
    action.trigger()
    menu.close()


@pytest.mark.slow
def test_the_menu_of_a_port_marks_its_output(hands):
    hands.open(fork())
    pick_in_menu(hands, hands.port("split", SECOND), "graph.mark_output")
    assert hands.state.outputs == (Port("split", 1),)
    assert hands.document.history.undo_text == "Mark output 1 of split as output"
    card = hands.canvas.graph.nodes["split"].card
    assert (card.marked, output_text(card)) == ((1,), "output 1")
    pick_in_menu(hands, hands.port("split"), "graph.mark_output")
    assert set(hands.state.outputs) == {Port("split"), Port("split", 1)}
    assert output_text(hands.canvas.graph.nodes["split"].card) == "outputs 0, 1"
    pick_in_menu(hands, hands.port("split", SECOND), "graph.mark_output")
    assert hands.state.outputs == (Port("split"),)


def test_the_menu_of_a_layer_marks_the_output_that_is_chosen(hands):
    hands.open(fork())
    hands.click(hands.port("split", SECOND))
    assert hands.selected == ["split"]
    assert hands.canvas.graph.nodes["split"].marks.ports == {SECOND: "chosen"}
    pick_in_menu(hands, hands.body("split"), "graph.mark_output")
    assert hands.state.outputs == (Port("split", 1),)
    hands.click(hands.body("dense"))
    assert hands.canvas.graph.nodes["split"].marks.ports == {}
    pick_in_menu(hands, hands.body("split"), "graph.mark_output")
    assert Port("split") in hands.state.outputs


@pytest.mark.slow
def test_all_selected_layers_are_marked_as_outputs_and_unmarked(hands):
    hands.open(fork())
    hands.click(hands.body("dense"))
    hands.click(hands.body("dense_1"), SHIFT)
    pick_in_menu(hands, hands.body("dense"), "graph.mark_output")
    assert set(hands.state.outputs) == {Port("dense"), Port("dense_1")}
    assert hands.document.history.undo_text == "Mark 2 layers as outputs"
    pick_in_menu(hands, hands.body("dense"), "graph.mark_output")
    assert hands.state.outputs == ()
    assert hands.document.history.undo_text == "Unmark 2 layers as outputs"
    hands.document.undo()
    hands.click(hands.body("dense"))
    pick_in_menu(hands, hands.body("dense"), "graph.mark_output")
    assert hands.state.outputs == (Port("dense_1"),)
    assert hands.document.history.undo_text == "Unmark dense as output"
    # Of several of which some are marked the others join them.
    hands.click(hands.body("dense_1"), SHIFT)
    pick_in_menu(hands, hands.body("dense_1"), "graph.mark_output")
    assert set(hands.state.outputs) == {Port("dense"), Port("dense_1")}


def test_an_output_of_the_network_is_seen_at_its_port(hands):
    hands.open(fork())
    hands.click(hands.nowhere())

    def colours() -> list[str]:
        seen = hands.canvas.viewport().grab().toImage()
        spots = [hands.canvas.view_point(hands.port("split", key)) for key in (OUT, SECOND)]
        return [seen.pixelColor(spot.toPoint()).name() for spot in spots]

    before = colours()
    assert before[0] == before[1]
    hands.document.apply("Mark", mark_output(hands.state, Port("split", 1)))
    plain, marked = colours()
    assert plain == before[0]
    assert marked == hands.canvas.graph.nodes["split"].colours.accent.name()


def test_a_layer_is_added_after_the_second_output_by_keys(hands):
    hands.open(cut_off())
    hands.click(hands.body("split"))
    hands.keys(Qt.Key.Key_O, Qt.Key.Key_Tab)
    hands.type("relu")
    hands.key(Qt.Key.Key_Return)
    assert hands.state.nodes["re_lu"].inputs == (Port("split", 1),)
    hands.document.undo()
    hands.click(hands.body("split"))
    hands.keys(Qt.Key.Key_O, Qt.Key.Key_O, Qt.Key.Key_Tab)
    hands.type("relu")
    hands.key(Qt.Key.Key_Return)
    assert hands.state.nodes["re_lu"].inputs == (Port("split"),)


def test_the_palette_adds_after_the_chosen_output(hands):
    hands.open(cut_off())
    palette = PalettePane(hands.studio)
    shown(hands.qtbot, palette, active=False)
    found = Qt.MatchFlag.MatchExactly | Qt.MatchFlag.MatchRecursive

    def fed(*keys: Qt.Key) -> tuple[Port, ...]:
        """What feeds a layer that a double click in the palette adds after these keys."""
        hands.canvas.setFocus()
        hands.click(hands.body("split"))
        hands.keys(*keys)
        item = palette.tree.findItems("ReLU", found)[-1]
        palette.tree.scrollToItem(item)
        at, viewport = palette.tree.visualItemRect(item).center(), palette.tree.viewport()
        QTest.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=at)
        QTest.mouseDClick(viewport, Qt.MouseButton.LeftButton, pos=at)
        (made,) = hands.selected
        inputs = hands.state.nodes[made].inputs
        hands.document.undo()
        return inputs

    try:
        assert fed(Qt.Key.Key_O) == (Port("split", 1),)
        assert fed() == (Port("split"),)
        assert fed(Qt.Key.Key_O, Qt.Key.Key_O) == (Port("split"),)
    finally:
        palette.close()
        palette.deleteLater()


def test_a_layer_with_one_output_has_no_next_one(hands):
    hands.open(fork())
    hands.click(hands.body("dense"))
    why = hands.studio.actions.why_not("graph.next_output")
    assert why == "the selected layer has one output"


def test_the_picture_and_the_lens_show_the_output_that_is_chosen(hands, monkeypatch):
    hands.open(set_preview(fork(), ["split"], "thumbnail"))
    previews = hands.studio.previews
    wanted: list[set[Port]] = []
    monkeypatch.setattr(previews, "want", lambda ports: wanted.append(set(ports)))

    def picture(port: Port) -> Preview:
        rgba = np.zeros((6, 12, 4), np.uint8)
        rgba[..., port.output] = rgba[..., 3] = 255
        return Preview(rgba, False, f"{port.output} … 1")

    monkeypatch.setattr(previews, "picture", picture)
    item = hands.canvas.graph.nodes["split"]

    def painted() -> tuple[int, ...]:
        room = picture_area(item.card, item.area).translated(item.pos())
        seen = hands.canvas.viewport().grab().toImage()
        return seen.pixelColor(hands.canvas.view_point(room.center()).toPoint()).getRgb()[:3]

    hands.click(hands.body("split"))
    assert painted() == (255, 0, 0)
    hands.keys(Qt.Key.Key_O)
    assert painted() == (0, 255, 0)
    assert Port("split", 1) in wanted[-1]
    canvas = QAccessible.queryAccessibleInterface(hands.canvas)
    said = canvas.child(1).text(QAccessible.Text.Name)
    assert said.startswith("Output 1 chosen, Split split")
    assert tip_at(hands, hands.body("split")).splitlines()[-1] == "output 1: 1 … 1"
    hands.click(hands.body("dense"))
    assert painted() == (0, 255, 0)

    def magnified(at: QPointF) -> Port | None:
        hands.move(at, buttons=Qt.MouseButton.NoButton)
        hands.hold(Qt.Key.Key_Z)
        shown = hands.canvas.lens.port
        hands.let_go(Qt.Key.Key_Z)
        return shown

    assert magnified(hands.port("split")) == Port("split")
    assert magnified(hands.port("split", SECOND)) == Port("split", 1)
    assert magnified(hands.body("split")) == Port("split", 1)
    wire = hands.canvas.graph.wires[Wire("split", "dense_1", 0, 1)]
    assert magnified(wire.middle()) == Port("split", 1)
    hands.click(hands.port("split"))
    assert painted() == (255, 0, 0)
    hands.click(hands.port("split", SECOND))
    hands.open(fork())
    assert hands.canvas.pictures.output_of("split") == Port("split")


def test_the_chosen_output_counts_only_while_the_layer_has_it(hands):
    hands.open(fork())
    hands.click(hands.port("split", SECOND))
    assert hands.canvas.pictures.output_of("split") == Port("split", 1)
    hands.document.apply("Delete", delete(hands.state, ["split"]))
    hands.document.undo()
    assert hands.canvas.pictures.output_of("split") == Port("split")


def test_the_outline_says_the_shapes_of_all_outputs(hands):
    class Pieces(Layer):
        """Hands its input on several times."""

        category = "shape"

        def output_types(self, *types: TensorType) -> tuple[TensorType, ...]:
            return types * 5

    hands.open(add_layer(fork(), "Pieces", after="input"))
    outline = OutlinePane(hands.studio)
    shown(hands.qtbot, outline, active=False)
    try:

        def output_of(name: str) -> tuple[str, str]:
            (item,) = outline.tree.findItems(name, Qt.MatchFlag.MatchExactly)
            return item.text(2), item.toolTip(2)

        assert output_of("split") == ("2 · 4", "Output 0: 2\nOutput 1: 4")
        assert output_of("dense") == ("3", "")
        text, tip = output_of("pieces")
        assert text == "6 +4"
        assert tip.splitlines() == [f"Output {number}: 6" for number in range(5)]
    finally:
        outline.close()
        outline.deleteLater()


def test_readers_hear_which_outputs_are_the_network_s(hands):
    hands.open(fork())
    canvas = QAccessible.queryAccessibleInterface(hands.canvas)

    def said() -> list[str]:
        names = (canvas.child(i).text(QAccessible.Text.Name) for i in range(canvas.childCount()))
        return [name for name in names if "of the network" in name]

    hands.click(hands.port("split", SECOND))
    pick_in_menu(hands, hands.body("split"), "graph.mark_output")
    (heard,) = said()
    assert "Split split" in heard
    assert "output 1 is an output of the network" in heard
    hands.click(hands.body("add"))
    pick_in_menu(hands, hands.body("add"), "graph.mark_output")
    assert "output 3, output of the network, no errors" in said()[1]
