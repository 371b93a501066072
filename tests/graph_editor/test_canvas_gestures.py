"""Selecting, moving, inserting, cutting, zooming and panning by hand."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QMenu

from studio.graph_editor.items.block_item import PortItem
from studio.session.document.edits.comments import add_frame, add_note
from studio.session.document.edits.layers import add_layer
from studio.session.document.edits.places import move
from studio.session.document.edits.wires import add_dot
from studio.session.document.state import DocumentState, Wire
from tests.graph_editor.hands import ALT, CTRL, LEFT, MIDDLE, NONE, RIGHT, SHIFT, Hands
from tests.session.document.networks import chain, nested_blocks, net, places

WIRES = "input>conv2d conv2d>re_lu re_lu>max_pooling2d max_pooling2d>flatten flatten>dense"


def loose() -> DocumentState:
    """input → conv2d → flatten, and a normalisation by itself below."""
    state = net("input 8x8x1 > conv 8 3x3 > flatten")
    return add_layer(state, "BatchNormalization", at=(200.0, 300.0))


# -- selecting ------------------------------------------------------------------------------------


def test_click_selects_and_shift_or_ctrl_toggle(hands: Hands) -> None:
    hands.open(chain(), zoom=0.8)
    hands.click(hands.body("conv2d"))
    assert hands.selected == ["conv2d"]
    hands.click(hands.body("re_lu"), SHIFT)
    assert hands.selected == ["conv2d", "re_lu"]
    hands.click(hands.body("conv2d"), CTRL)
    assert hands.selected == ["re_lu"]
    hands.click(hands.nowhere())
    assert hands.selected == []
    assert hands.steps == 0


def test_click_on_one_of_several_selects_it_alone(hands: Hands) -> None:
    hands.open(chain(), zoom=0.8)
    hands.canvas.commands.select_all()
    hands.click(hands.body("flatten"))
    assert hands.selected == ["flatten"]


@pytest.mark.slow
def test_click_on_a_wire_selects_it_and_delete_removes_it(hands: Hands) -> None:
    hands.open(chain(), zoom=0.8)
    hands.click(hands.middle("conv2d", "re_lu"))
    (entity,) = hands.studio.bus.selection.entities
    assert entity.kind == "wire"
    hands.key(Qt.Key.Key_Delete)
    assert "conv2d>re_lu" not in hands.wires
    assert hands.steps == 1


def test_marquee_selects_what_it_touches(hands: Hands) -> None:
    hands.open(chain(), zoom=0.8)
    first, last = hands.canvas.graph.area_of(["conv2d"]), hands.canvas.graph.area_of(["re_lu"])
    start = first.topLeft() + QPointF(-30, -30)
    hands.carry(start, QPointF(last.left() + 5, first.bottom() + 40))
    assert hands.canvas.graph.nodes["re_lu"].marks.caught
    assert not hands.canvas.graph.nodes["flatten"].marks.caught
    hands.release()
    assert hands.selected == ["conv2d", "re_lu"]
    assert not hands.canvas.graph.nodes["re_lu"].marks.caught
    flatten = hands.canvas.graph.area_of(["flatten"])
    hands.drag(flatten.topLeft() + QPointF(-30, -30), flatten.center(), SHIFT)
    assert hands.selected == ["conv2d", "re_lu", "flatten"]
    hands.drag(first.topLeft() + QPointF(-30, -30), first.center(), CTRL)
    assert hands.selected == ["re_lu", "flatten"]
    assert hands.steps == 0


def test_movement_below_the_threshold_is_a_click(hands: Hands) -> None:
    hands.open(chain())
    before = places(hands.state)
    start = hands.body("conv2d")
    hands.press(start)
    hands.move(start + QPointF(3, 2))
    hands.release()
    assert places(hands.state) == before
    assert hands.selected == ["conv2d"]
    assert hands.steps == 0


# -- moving ---------------------------------------------------------------------------------------


def test_dragged_layers_move_together_in_one_step(hands: Hands) -> None:
    hands.open(chain(), zoom=0.8)
    before = places(hands.state)
    hands.click(hands.body("conv2d"))
    hands.click(hands.body("re_lu"), SHIFT)
    hands.drag(hands.body("re_lu"), hands.body("re_lu") + QPointF(80, 160))
    after = places(hands.state)
    for name in ("conv2d", "re_lu"):
        assert after[name] == (before[name][0] + 80, before[name][1] + 160)
    assert after["flatten"] == before["flatten"]
    assert hands.steps == 1
    assert hands.document.history.undo_text == "Move 2 items"
    hands.document.undo()
    assert places(hands.state) == before


def test_escape_while_dragging_puts_layers_back(hands: Hands) -> None:
    hands.open(chain(), zoom=0.8)
    before = hands.state.content_hash
    hands.carry(hands.body("re_lu"), hands.body("re_lu") + QPointF(100, 100))
    assert hands.state.content_hash != before
    hands.key(Qt.Key.Key_Escape)
    hands.release()
    assert hands.state.content_hash == before
    assert hands.steps == 0


def test_frame_takes_along_what_is_in_it_and_is_held_by_its_heading(hands: Hands) -> None:
    state = add_frame(chain(), ["conv2d", "re_lu"], text="stem")
    hands.open(state, zoom=0.7)
    before = places(hands.state)
    area = hands.canvas.graph.nodes["frame"].scene_area
    hands.drag(area.topLeft() + QPointF(60, 12), area.topLeft() + QPointF(60, 92))
    after = places(hands.state)
    steps = {after[i][1] - before[i][1] for i in ("frame", "conv2d", "re_lu")}
    assert len(steps) == 1
    assert abs(steps.pop() - 80) <= 4
    assert after["flatten"] == before["flatten"]
    hands.click(hands.body("conv2d"))
    assert hands.selected == ["conv2d"]


def test_note_is_resized_by_its_corner(hands: Hands) -> None:
    hands.open(add_note(chain(), 0.0, 300.0, "why"))
    corner = hands.canvas.graph.nodes["note"].scene_area.bottomRight() - QPointF(5, 5)
    hands.drag(corner, corner + QPointF(40, 24))
    note = hands.state.nodes["note"]
    assert (note.width, note.height) == (220.0, 120.0)
    assert hands.steps == 1


# -- inserting ------------------------------------------------------------------------------------


def insertion(hands: Hands, keys: Qt.KeyboardModifier = NONE) -> None:
    hands.drag(hands.body("batch_normalization"), hands.middle("conv2d", "flatten"), keys,
               end_keys=keys)  # fmt: skip


def test_layer_dragged_onto_a_wire_goes_into_it_and_undo_is_identity(hands: Hands) -> None:
    hands.open(loose())
    before = hands.state.content_hash
    place = hands.state.nodes["flatten"].x
    hands.carry(hands.body("batch_normalization"), hands.middle("conv2d", "flatten"))
    assert hands.canvas.graph.wires[Wire("conv2d", "flatten", 0)].marked == "target"
    hands.release()
    assert hands.wires == ("input>conv2d batch_normalization>flatten conv2d>batch_normalization")
    assert hands.state.nodes["flatten"].x > place
    assert hands.steps == 1
    hands.document.undo()
    assert hands.state.content_hash == before


def test_alt_keeps_a_dragged_layer_out_of_wires(hands: Hands) -> None:
    hands.open(loose())
    insertion(hands, ALT)
    assert hands.wires == "input>conv2d conv2d>flatten"
    assert hands.steps == 1


def test_wires_give_way_to_a_layer_when_it_is_let_go(hands: Hands) -> None:
    state = move(loose(), {"flatten": (900.0, 0.0)})
    hands.open(state)
    wire = hands.canvas.graph.wires[Wire("conv2d", "flatten", 0)]
    before, node = wire.path(), hands.canvas.graph.nodes["batch_normalization"]
    start, middle = hands.body("batch_normalization"), wire.middle()

    def is_over() -> bool:
        path = wire.path()
        return any(node.scene_area.contains(path.pointAtPercent(i / 99)) for i in range(100))

    # It may still be meant to go into the wire, so that waits.
    hands.carry(start, middle, ALT)
    assert is_over()
    hands.key(Qt.Key.Key_Escape)
    assert wire.path() == before
    hands.release()
    hands.drag(start, middle, ALT)
    assert hands.wires == "input>conv2d conv2d>flatten"
    assert not is_over()
    hands.document.undo()
    assert wire.path() == before


@pytest.mark.slow
def test_t_turns_the_side_that_makes_room(hands: Hands) -> None:
    hands.open(loose())
    left, right = hands.state.nodes["conv2d"].x, hands.state.nodes["flatten"].x
    hands.carry(hands.body("batch_normalization"), hands.middle("conv2d", "flatten"))
    hands.key(Qt.Key.Key_T)
    hands.release()
    assert hands.state.nodes["flatten"].x == right
    assert hands.state.nodes["conv2d"].x < left


def test_layer_that_would_not_fit_is_not_inserted(hands: Hands) -> None:
    state = add_layer(net("input 8x8x1 > conv 8 3x3 > flatten"), "Conv2D",
                      at=(200.0, 300.0), config={"filters": 4, "kernel_size": [9, 9]})  # fmt: skip
    hands.open(state)
    hands.drag(hands.body("conv2d_1"), hands.middle("conv2d", "flatten"))
    assert hands.wires == "input>conv2d conv2d>flatten"


@pytest.mark.parametrize("ratio", [1, 3])
@pytest.mark.parametrize(("keys", "button", "thick"), [(NONE, LEFT, 1), (CTRL, RIGHT, 2)])
def test_marquee_and_knife_are_as_thick_on_a_fine_screen(
    hands: Hands,
    monkeypatch: pytest.MonkeyPatch,
    keys: Qt.KeyboardModifier,
    button: Qt.MouseButton,
    thick: int,
    ratio: int,
) -> None:
    hands.open(chain(), zoom=0.5)
    monkeypatch.setattr(hands.canvas, "devicePixelRatioF", lambda: float(ratio))
    start = hands.nowhere()
    hands.carry(start, start + QPointF(200, 200 if button == LEFT else 0), keys, button)
    line = QRectF(start + QPointF(50, -10), start + QPointF(150, 10))
    image = QImage(100 * ratio, 20 * ratio, QImage.Format.Format_ARGB32)
    image.setDevicePixelRatio(ratio)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    hands.canvas.scene().render(painter, QRectF(0, 0, 100, 20), line)
    painter.end()
    # The ground of the marquee is faint, and the knife's line has gaps.
    shown = [
        sum(image.pixelColor(x, y).alpha() > 128 for y in range(image.height()))
        for x in range(image.width())
    ]
    assert max(shown) == thick * ratio
    hands.key(Qt.Key.Key_Escape)
    hands.release(button, keys)


# -- wires ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["ctrl-right", "held K"])
def test_knife_cuts_the_wires_it_crosses(hands: Hands, way: str) -> None:
    hands.open(chain(), zoom=0.8)
    first = hands.middle("conv2d", "re_lu")
    start, end = first + QPointF(0, -60), first + QPointF(0, 60)
    if way == "ctrl-right":
        hands.carry(start, end, CTRL, RIGHT)
    else:
        hands.hold(Qt.Key.Key_K)
        hands.carry(start, end)
    assert hands.canvas.graph.wires[Wire("conv2d", "re_lu", 0)].marked == "cut"
    assert hands.canvas.graph.wires[Wire("re_lu", "max_pooling2d", 0)].marked == ""
    hands.release(*((RIGHT, CTRL) if way == "ctrl-right" else (LEFT, NONE)))
    hands.let_go(Qt.Key.Key_K)
    assert hands.wires == WIRES.replace(" conv2d>re_lu", "")
    assert hands.steps == 1
    assert hands.document.history.undo_text == "Cut 1 wire"


def test_escape_puts_the_knife_away(hands: Hands) -> None:
    hands.open(chain(), zoom=0.8)
    middle = hands.middle("conv2d", "re_lu")
    hands.carry(middle + QPointF(0, -60), middle + QPointF(0, 60), CTRL, RIGHT)
    hands.key(Qt.Key.Key_Escape)
    hands.release(RIGHT, CTRL)
    assert hands.wires == WIRES
    assert hands.canvas.graph.wires[Wire("conv2d", "re_lu", 0)].marked == ""


def test_double_click_bends_a_wire_and_delete_heals_it(hands: Hands) -> None:
    hands.open(chain())
    hands.double_click(hands.middle("conv2d", "re_lu"))
    assert "conv2d>dot" in hands.wires
    assert "dot>re_lu" in hands.wires
    assert hands.selected == ["dot"]
    assert hands.steps == 1
    hands.drag(hands.port("dot"), hands.port("dot") + QPointF(0, 80))
    assert hands.steps == 2
    hands.key(Qt.Key.Key_Delete)
    assert hands.wires == WIRES


@pytest.mark.slow
def test_wire_from_a_dot_branches(hands: Hands) -> None:
    state = add_dot(chain(), Wire("conv2d", "re_lu", 0), 300.0, 150.0)
    state = add_layer(state, "Flatten", at=(500.0, 300.0))
    hands.open(state)
    hands.click(hands.port("dot"))
    hands.drag(hands.input("flatten_1"), hands.port("dot"))
    assert "dot>flatten_1" in hands.wires


# -- looking --------------------------------------------------------------------------------------


def test_wheel_zooms_at_the_pointer_within_limits(hands: Hands) -> None:
    hands.open(chain())
    at = hands.body("conv2d")
    seen = hands.canvas.view_point(at)
    hands.wheel(1, at)
    assert hands.canvas.navigation.zoom == pytest.approx(1.1)
    away = hands.canvas.view_point(at) - seen
    assert abs(away.x()) + abs(away.y()) < 2
    for _ in range(40):
        hands.wheel(1)
    assert hands.canvas.navigation.zoom == pytest.approx(4.0)
    for _ in range(80):
        hands.wheel(-1)
    assert hands.canvas.navigation.zoom == pytest.approx(0.1)


@pytest.mark.parametrize("way", ["middle", "space"])
def test_drag_pans(hands: Hands, way: str) -> None:
    hands.open(chain())
    start = hands.body("conv2d")
    seen = hands.canvas.view_point(start)
    end = hands.canvas.navigation.scene_at(seen + QPointF(60, 40))
    if way == "space":
        hands.hold(Qt.Key.Key_Space)
    button = MIDDLE if way == "middle" else LEFT
    hands.press(start, button)
    hands.move(end, NONE, button)
    hands.release(button)
    hands.let_go(Qt.Key.Key_Space)
    moved = hands.canvas.view_point(start) - seen
    assert (round(moved.x()), round(moved.y())) == (60, 40)
    assert not hands.popup_open
    assert hands.steps == 0


def test_very_far_away_the_graph_can_still_be_worked_on(hands: Hands) -> None:
    hands.open(chain(), zoom=0.12)
    hands.click(hands.canvas.graph.area_of(["flatten"]).center())
    assert hands.selected == ["flatten"]
    before = places(hands.state)["flatten"]
    start = hands.canvas.graph.area_of(["flatten"]).center()
    hands.drag(start, start + QPointF(800, 400))
    assert places(hands.state)["flatten"] != before
    assert hands.canvas.grab().toImage().pixelColor(5, 5).isValid()


def test_right_click_opens_the_menu_on_release_and_selects(hands: Hands) -> None:
    hands.open(chain())
    hands.press(hands.body("re_lu"), RIGHT)
    assert not menus(hands)
    hands.release(RIGHT)
    (menu,) = menus(hands)
    assert hands.selected == ["re_lu"]
    ids = [action.objectName() for action in menu.actions() if action.objectName()]
    assert ids[:3] == ["graph.edit_options", "graph.rename", "graph.duplicate"]
    assert ids[-1] == "graph.delete"
    menu.close()


def menus(hands: Hands) -> list[QMenu]:
    found = hands.canvas.findChildren(QMenu, "canvas_menu")
    return [menu for menu in found if menu.isVisible()]


def test_dragging_to_the_edge_scrolls(hands: Hands) -> None:
    hands.open(move(chain(), {"dense": (3000.0, 0.0)}))
    hands.canvas.navigation.look_at(QPointF(0, 0))
    start = hands.port("conv2d")
    edge = hands.canvas.navigation.scene_at(QPointF(hands.canvas.viewport().width() - 4, 300))
    before = hands.canvas.navigation.centre.x()
    hands.carry(start, edge)
    hands.qtbot.waitUntil(lambda: hands.canvas.navigation.centre.x() > before + 40)
    hands.key(Qt.Key.Key_Escape)
    hands.release()


@pytest.mark.parametrize("keys", [CTRL, SHIFT], ids=["ctrl", "shift"])
def test_dragging_another_layer_with_a_key_held_takes_it_along(
    hands: Hands, keys: Qt.KeyboardModifier
) -> None:
    hands.open(chain(), zoom=0.8)
    before = places(hands.state)
    hands.click(hands.body("re_lu"))
    start = hands.body("dense")
    hands.drag(start, start + QPointF(0, 160), keys)
    after = places(hands.state)
    assert sorted(hands.selected) == ["dense", "re_lu"]
    moved = {i for i in after if after[i] != before[i]}
    assert moved == {"dense", "re_lu"}
    assert hands.steps == 1


@pytest.mark.slow
@pytest.mark.parametrize("node", ["input", "conv2d", "block"])
@pytest.mark.parametrize("zoom", [0.5, 1.0, 2.0])
def test_click_anywhere_on_a_card_but_its_dots_selects_it(
    hands: Hands, node: str, zoom: float
) -> None:
    hands.open(nested_blocks() if node == "block" else chain(), zoom=zoom)
    item = hands.canvas.graph.nodes[node]
    hands.canvas.navigation.look_at(item.scene_area.center())
    area = item.scene_area.adjusted(1, 1, -1, -1)
    ports = [port for port in hands.canvas.graph.nodes.values()
             if isinstance(port, PortItem) and port.block is item]  # fmt: skip
    dots = [each.pos() + spot for each in (item, *ports) for spot in each.spots().values()]
    assert dots
    missed = []
    for down in range(13):
        for across in range(21):
            at = QPointF(area.left() + area.width() * across / 20,
                         area.top() + area.height() * down / 12)  # fmt: skip
            away = min(max(abs(at.x() - dot.x()), abs(at.y() - dot.y())) for dot in dots)
            if away <= 8:
                continue
            hands.click(hands.nowhere())
            assert hands.selected == []
            hands.click(at)
            if hands.selected != [node]:
                missed.append((at.x() - area.left(), at.y() - area.top()))
    assert missed == []
    assert hands.steps == 0


def test_a_wire_is_still_drawn_from_beside_the_dot(hands: Hands) -> None:
    hands.open(chain(), zoom=1.0)
    wired = hands.wires
    hands.drag(hands.port("conv2d") + QPointF(-2, 9), hands.nowhere())
    assert hands.popup_open
    assert hands.wires == wired
    hands.key(Qt.Key.Key_Escape)
