"""The palette and the outline, used by mouse and keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, QRectF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QTreeWidgetItem

from studio.engine.layers.graph import Port
from studio.graph_editor.canvas import chrome
from studio.graph_editor.editing.adding import layer_data, layer_in
from studio.graph_editor.panes.outline import OUTLINE, OutlinePane
from studio.graph_editor.panes.palette import PalettePane, layer_picture
from studio.session.core import entities
from studio.session.document.adding.palette import load_palette, save_palette
from studio.session.document.adding.quick_add import Entry, entries
from studio.session.document.edits.blocks import group
from studio.session.document.edits.layers import add_layer, mark_output
from studio.session.document.edits.places import move
from studio.session.studio import Studio
from tests.graph_editor.hands import ALT, CTRL, NONE, Carrier, Hands
from tests.session.document.networks import chain, net
from tests.ui.fixtures import shown

K = Qt.Key


@pytest.fixture
def palette(hands: Hands, studio: Studio) -> Iterator[PalettePane]:
    made = PalettePane(studio)
    made.resize(260, 600)
    shown(hands.qtbot, made, active=False)
    yield made
    made.close()
    made.deleteLater()


@pytest.fixture
def outline(hands: Hands, studio: Studio) -> Iterator[OutlinePane]:
    made = OutlinePane(studio)
    made.resize(360, 300)
    shown(hands.qtbot, made, active=False)
    yield made
    made.close()
    made.deleteLater()


def entry(title: str) -> Entry:
    return next(each for each in entries() if each.title == title)


def row(palette: PalettePane, title: str) -> QTreeWidgetItem:
    """The last row of that title: the one under its family."""
    found = palette.tree.findItems(title, Qt.MatchFlag.MatchExactly | Qt.MatchFlag.MatchRecursive)
    return found[-1]


# -- palette --------------------------------------------------------------------------------------


def test_palette_shows_every_layer_under_its_family(palette: PalettePane) -> None:
    headings = [palette.tree.topLevelItem(n) for n in range(palette.tree.topLevelItemCount())]
    (operations,) = [each for each in headings if each and each.text(0) == "Operations"]
    kinds = [operations.child(n) for n in range(operations.childCount())]
    found = [
        heading.child(i).text(0)
        for heading in (*headings, *kinds)
        if heading is not None and heading is not operations
        for i in range(heading.childCount())
    ]
    assert set(found) == {each.title for each in entries() if each.key}
    assert not operations.isExpanded()


def test_double_click_adds_after_the_selected_layer_and_selects_it(
    hands: Hands, palette: PalettePane
) -> None:
    hands.open(net("input 8x8x1"))
    hands.studio.bus.select([entities.node("input")])
    for title in ("Conv2D", "ReLU"):
        item = row(palette, title)
        palette.tree.scrollToItem(item)
        place = palette.tree.visualItemRect(item).center()
        viewport = palette.tree.viewport()
        QTest.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=place)
        QTest.mouseDClick(viewport, Qt.MouseButton.LeftButton, pos=place)
    assert hands.wires == "input>conv2d conv2d>re_lu"
    assert hands.selected == ["re_lu"]
    assert hands.steps == 2


def test_search_field_finds_and_enter_adds(hands: Hands, palette: PalettePane) -> None:
    hands.open(net("input 8x8x1"))
    hands.studio.bus.select([entities.node("input")])
    QTest.keyClicks(palette.field, "flat")
    heading = palette.tree.topLevelItem(0)
    assert heading is not None
    assert heading.child(0).text(0) == "Flatten"
    QTest.keyClick(palette.field, K.Key_Return)
    assert hands.wires == "input>flatten"
    QTest.keyClick(palette.field, K.Key_Escape)
    assert palette.field.text() == ""
    QTest.keyClicks(palette.field, "zzzz")
    only = palette.tree.topLevelItem(0)
    assert only is not None
    assert "zzzz" in only.text(0)


def test_star_makes_a_favourite_that_is_kept(
    hands: Hands, palette: PalettePane, studio: Studio
) -> None:
    item = row(palette, "Dropout")
    palette.tree.setCurrentItem(item)
    QTest.keyClick(palette.tree, K.Key_Space)
    first = palette.tree.topLevelItem(0)
    assert first is not None
    assert (first.text(0), first.child(0).text(0)) == ("Favourites", "Dropout")
    path = studio.dirs.state / "palette.json"
    save_palette(studio.palette, path)
    assert load_palette(path).favourites == ("Dropout",)
    path.write_text("{broken")
    assert load_palette(path).favourites == ()


def test_dragged_layer_looks_as_large_as_it_will_be(palette: PalettePane) -> None:
    picture = layer_picture(entry("Conv2D"), 2.0)
    assert picture.deviceIndependentSize().width() == 160
    assert layer_in(layer_data(entry("Conv2D"))).type_name == "Conv2D"  # type: ignore[union-attr]


# -- dropping on the canvas -----------------------------------------------------------------------


def carried(hands: Hands, title: str) -> Carrier:
    """Carries an entry of the palette over the canvas."""
    return Carrier(hands, layer_data(entry(title)))


def test_dropped_on_nothing_it_stands_by_itself(hands: Hands) -> None:
    hands.open(chain())
    carrier = carried(hands, "Conv2D")
    place = hands.nowhere()
    assert carrier.over(place)
    assert hands.canvas.overlay.ghost.nodes == ("conv2d_1",)
    carrier.drop(place)
    assert hands.canvas.graph.area_of(["conv2d_1"]).contains(place)
    assert hands.state.nodes["conv2d_1"].sources == ()
    assert hands.steps == 1
    assert hands.canvas.overlay.ghost.nodes == ()


@pytest.mark.slow
def test_over_a_wire_it_tells_what_would_change_and_goes_into_it(hands: Hands) -> None:
    hands.open(net("input 8x8x1 > conv 8 3x3 > flatten > dense 10"))
    before = hands.state.content_hash
    carrier = carried(hands, "BatchNormalization")
    wire = hands.middle("conv2d", "flatten")
    carrier.over(wire)
    tip = hands.canvas.overlay.tip.text()
    # Four numbers for each of eight channels.
    assert "+32 parameters" in tip
    assert "6\u00d76\u00d78" in tip
    carrier.drop(wire)
    assert "conv2d>batch_normalization" in hands.wires
    assert "batch_normalization>flatten" in hands.wires
    assert hands.steps == 1
    hands.document.undo()
    assert hands.state.content_hash == before


def test_alt_and_what_does_not_fit_stay_out_of_the_wire(hands: Hands) -> None:
    hands.open(net("input 8x8x1 > conv 8 3x3 > flatten > dense 10"))
    wires = hands.wires
    carried(hands, "BatchNormalization").drop(hands.middle("conv2d", "flatten"), ALT)
    assert hands.wires == wires
    hands.document.undo()
    carried(hands, "Conv2D").drop(hands.middle("flatten", "dense"))
    assert hands.wires == wires


def test_dropped_on_a_layer_it_follows_it(hands: Hands) -> None:
    hands.open(net("input 8x8x1 > conv 8 3x3"))
    carried(hands, "Flatten").drop(hands.body("conv2d"))
    assert "conv2d>flatten" in hands.wires
    assert hands.selected == ["flatten"]


def test_carried_away_nothing_is_left(hands: Hands) -> None:
    hands.open(chain())
    carrier = carried(hands, "Conv2D")
    carrier.over(hands.nowhere())
    carrier.leave()
    assert hands.canvas.overlay.ghost.nodes == ()
    assert not hands.canvas.overlay.tip.isVisible()
    assert hands.steps == 0


def test_files_are_left_to_the_window(hands: Hands) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile("/tmp/digits.npz")])
    event = QDragEnterEvent(QPoint(5, 5), Qt.DropAction.CopyAction, data,
                            Qt.MouseButton.LeftButton, NONE)  # fmt: skip
    hands.canvas.dragEnterEvent(event)
    assert not event.isAccepted()


# -- outline --------------------------------------------------------------------------------------


def texts(outline: OutlinePane) -> list[str]:
    tree = outline.tree
    return [tree.topLevelItem(i).text(0) for i in range(tree.topLevelItemCount())]  # type: ignore[union-attr]


def test_outline_lists_layers_in_running_order_with_shapes(
    hands: Hands, outline: OutlinePane
) -> None:
    hands.open(chain())
    hands.qtbot.waitUntil(lambda: len(texts(outline)) == 6)
    assert texts(outline) == ["input", "conv2d", "re_lu", "max_pooling2d", "flatten", "dense"]
    second = outline.tree.topLevelItem(1)
    assert second is not None
    assert [second.text(i) for i in (1, 2, 3)] == ["Conv2D", "6\u00d76\u00d78", "80"]
    said = second.data(0, Qt.ItemDataRole.AccessibleTextRole)
    assert "input from input" in said
    assert "no errors" in said


def test_outline_follows_edits_and_keeps_what_is_aside_apart(
    hands: Hands, outline: OutlinePane
) -> None:
    hands.open(chain())
    hands.document.apply("Add", add_layer(hands.state, "Dropout", at=(0.0, 400.0)))
    hands.qtbot.waitUntil(lambda: "Not part of the network" in texts(outline))
    aside = outline.tree.topLevelItem(6)
    assert aside is not None
    assert aside.child(0).text(0) == "dropout"
    hands.document.undo()
    hands.qtbot.waitUntil(lambda: len(texts(outline)) == 6)


def test_a_layer_marked_as_output_joins_the_network_in_the_outline(
    hands: Hands, outline: OutlinePane
) -> None:
    state = add_layer(chain(), "Dense", after="flatten")
    (other,) = set(state.nodes) - set(chain().nodes)
    hands.open(mark_output(state, "dense"))
    hands.qtbot.waitUntil(lambda: "Not part of the network" in texts(outline))
    hands.click(hands.body(other))
    hands.studio.actions.trigger("graph.mark_output")
    hands.qtbot.waitUntil(lambda: "Not part of the network" not in texts(outline))
    assert texts(outline)[-2:] == ["dense", other]
    hands.key(K.Key_Z, CTRL)
    hands.qtbot.waitUntil(lambda: "Not part of the network" in texts(outline))


def test_a_block_without_data_is_listed_aside_with_its_layers(
    hands: Hands, outline: OutlinePane
) -> None:
    hands.open(group(chain(), ["flatten", "dense"], "head"))
    hands.qtbot.waitUntil(lambda: texts(outline)[-1:] == ["head"])
    hands.click(hands.body("block"))
    hands.studio.actions.trigger("graph.copy_linked")
    (copy,) = hands.selected
    hands.qtbot.waitUntil(lambda: texts(outline)[-1] == "Not part of the network")
    aside = outline.tree.topLevelItem(len(texts(outline)) - 1)
    assert aside is not None
    assert aside.childCount() == 1
    block = aside.child(0)
    assert block.text(0) == hands.state.nodes[copy].name
    assert [block.child(i).text(0) for i in range(block.childCount())] == ["flatten_1", "dense_1"]
    assert block.isExpanded()


def test_selecting_in_the_outline_marks_and_shows_it_on_the_canvas(
    hands: Hands, outline: OutlinePane
) -> None:
    hands.open(chain(), zoom=1.0)
    hands.canvas.navigation.look_at(QPointF(0, 0))
    hands.qtbot.waitUntil(lambda: len(texts(outline)) == 6)
    heard: list[str] = []

    def hear(_selection: object, source: str) -> None:
        heard.append(source)

    hands.studio.bus.selected.connect(hear)
    item = outline.tree.topLevelItem(5)
    place = outline.tree.visualItemRect(item).center()  # type: ignore[arg-type]
    QTest.mouseClick(outline.tree.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert hands.selected == ["dense"]
    assert heard == [OUTLINE]
    assert hands.canvas.navigation.visible.contains(hands.canvas.graph.area_of(["dense"]))
    QTest.keyClick(outline.tree, K.Key_Up)
    assert hands.selected == ["flatten"]


@pytest.mark.slow
def test_selection_elsewhere_is_marked_unless_the_outline_is_pinned(
    hands: Hands, outline: OutlinePane
) -> None:
    hands.open(chain(), zoom=0.8)
    hands.qtbot.waitUntil(lambda: len(texts(outline)) == 6)
    hands.click(hands.body("re_lu"))
    assert [item.text(0) for item in outline.tree.selectedItems()] == ["re_lu"]
    outline.set_pinned(True)
    hands.click(hands.body("dense"))
    assert [item.text(0) for item in outline.tree.selectedItems()] == ["re_lu"]
    assert hands.selected == ["dense"]


def test_empty_outline_says_what_would_be_there(outline: OutlinePane) -> None:
    assert outline.is_empty


# -- what lies over the canvas ----------------------------------------------------------------


def test_empty_canvas_offers_to_add_a_layer(hands: Hands) -> None:
    empty = hands.canvas.chrome.empty
    assert empty.is_shown
    assert empty.button.isVisible()
    hands.qtbot.mouseClick(empty.button, Qt.MouseButton.LeftButton)
    assert hands.popup_open
    hands.type("input")
    hands.key(K.Key_Return)
    assert not empty.button.isVisible()
    hands.document.undo()
    assert empty.is_shown


@pytest.mark.parametrize("width", [240, 320, 480, 1600])
def test_the_chain_of_an_empty_canvas_fits_into_it(width: int) -> None:
    boxes = chrome.chain(QRectF(0, 0, width, 300))
    assert boxes[0].left() >= 0
    assert boxes[-1].right() <= width
    assert all(one.right() < other.left() for one, other in pairwise(boxes))
    assert boxes[1].center().x() == pytest.approx(width / 2)
    assert boxes[0].width() == (112 if width >= 480 else pytest.approx((width - 32) / 4))


def test_layer_can_be_dropped_on_what_an_empty_canvas_shows(hands: Hands) -> None:
    middle = QPointF(hands.canvas.viewport().rect().center()) - QPointF(0, 80)
    under = hands.canvas.childAt(middle.toPoint())
    assert under is hands.canvas.viewport()
    carried(hands, "Input").drop(hands.canvas.navigation.scene_at(middle))
    assert list(hands.state.nodes) == ["input"]


def test_map_is_there_when_part_of_the_graph_is_not_and_looks_where_it_is_clicked(
    hands: Hands,
) -> None:
    hands.open(chain(), zoom=0.6)
    shown = hands.canvas.chrome.minimap
    hands.canvas.show_all()
    assert not shown.is_shown
    hands.canvas.navigation.zoom_to(2.0)
    assert shown.is_shown
    steps = hands.steps
    place = hands.canvas.navigation.scene_at(
        QPointF(shown.area.left() + 12, shown.area.center().y())
    )
    hands.click(place)
    first = hands.canvas.graph.area_of(["input"])
    assert hands.canvas.navigation.visible.intersects(first)
    before = hands.canvas.navigation.centre.x()
    hands.press(hands.canvas.navigation.scene_at(QPointF(shown.area.center())))
    hands.move(hands.canvas.navigation.scene_at(QPointF(shown.area.right() - 12, shown.area.y())))
    hands.release()
    assert hands.canvas.navigation.centre.x() > before
    assert hands.steps == steps
    assert hands.selected == []


def test_frame_on_the_map_is_dragged_by_where_it_is_taken(hands: Hands) -> None:
    hands.open(chain(), zoom=2.0)
    navigation, shown = hands.canvas.navigation, hands.canvas.chrome.minimap
    place = navigation.scene_at
    hands.click(place(QPointF(shown.area.center())))
    begin = navigation.centre
    hold = QPointF(shown.area.center()) + QPointF(8, 4)
    hands.press(place(hold))
    assert navigation.centre == begin
    hands.move(place(hold + QPointF(10, 0)))
    hands.move(place(hold))
    # The bars of the canvas stand at whole pixels.
    back = navigation.centre - begin
    assert abs(back.x()) + abs(back.y()) < 3
    hands.release()
    hands.click(place(hold))
    assert navigation.centre.x() > begin.x() + 10


def test_all_of_a_long_graph_is_shown_and_the_wheel_goes_on_from_there(hands: Hands) -> None:
    hands.open(chain())
    hands.studio.document.apply(
        "Move", move(hands.state, {"dense": (hands.canvas.viewport().width() * 20.0, 0.0)})
    )
    hands.canvas.show_all()
    navigation = hands.canvas.navigation
    whole = hands.canvas.graph.area_of(list(hands.state.nodes))
    hands.qtbot.waitUntil(lambda: navigation.visible.contains(whole))
    smallest = navigation.zoom
    assert smallest < 0.1
    hands.wheel(-1, navigation.centre)
    assert navigation.zoom == smallest
    hands.wheel(1, navigation.centre)
    assert navigation.zoom == pytest.approx(smallest * 1.1)


def test_wheel_on_the_map_zooms_in_the_same_steps(hands: Hands) -> None:
    hands.open(chain(), zoom=2.0)
    zoom = hands.canvas.navigation.zoom
    area = hands.canvas.chrome.minimap.area
    centre = hands.canvas.navigation.centre
    hands.wheel(1, hands.canvas.navigation.scene_at(QPointF(area.center())))
    assert hands.canvas.navigation.zoom == pytest.approx(zoom * 1.1)
    away = hands.canvas.navigation.centre - centre
    assert abs(away.x()) + abs(away.y()) < 3


def test_map_can_be_switched_off(hands: Hands) -> None:
    hands.open(chain(), zoom=2.0)
    assert hands.canvas.chrome.minimap.is_shown
    hands.studio.preferences.set("minimap", False)
    assert not hands.canvas.chrome.minimap.is_shown


def test_lens_shows_the_layer_under_the_pointer_while_its_key_is_held(hands: Hands) -> None:
    hands.open(chain())
    hands.move(hands.middle("conv2d", "re_lu"), NONE, Qt.MouseButton.NoButton)
    hands.hold(K.Key_Z)
    assert hands.canvas.lens.isVisible()
    assert hands.canvas.lens.port == Port("conv2d")
    hands.let_go(K.Key_Z)
    assert not hands.canvas.lens.isVisible()


@pytest.mark.slow
def test_lens_follows_the_pointer_while_its_key_is_held(hands: Hands) -> None:
    hands.open(chain())
    hands.move(hands.middle("conv2d", "re_lu"), NONE, Qt.MouseButton.NoButton)
    hands.hold(K.Key_Z)
    hands.move(hands.body("flatten"), NONE, Qt.MouseButton.NoButton)
    assert hands.canvas.lens.port == Port("flatten")
    hands.let_go(K.Key_Z)


@pytest.mark.parametrize("wide", [240, 520])
def test_shapes_stay_in_sight_in_a_narrow_outline(
    hands: Hands, outline: OutlinePane, wide: int
) -> None:
    hands.open(chain())
    outline.resize(wide, 300)
    header, metrics = outline.tree.header(), outline.tree.fontMetrics()
    longest = metrics.horizontalAdvance("MaxPooling2D")
    hands.qtbot.waitUntil(lambda: (header.sectionSize(1) > longest) == (wide > 240))
    shape_end = header.sectionViewportPosition(2) + header.sectionSize(2)
    assert shape_end <= outline.tree.viewport().width()
    assert header.sectionSize(2) >= metrics.horizontalAdvance(outline.tree.topLevelItem(1).text(2))


@pytest.mark.slow
@pytest.mark.parametrize("wide", range(200, 520, 40))
def test_parameters_in_the_outline_are_seen_whole_or_not_at_all(
    hands: Hands, outline: OutlinePane, wide: int
) -> None:
    hands.open(chain())
    hands.qtbot.waitUntil(lambda: len(texts(outline)) == 6)
    outline.resize(wide, 300)
    header, room = outline.tree.header(), outline.tree.viewport().width()
    left = header.sectionPosition(3)
    assert left >= room or left + header.sectionSize(3) <= room
    outline.resize(520, 300)
    assert header.sectionPosition(3) + header.sectionSize(3) <= outline.tree.viewport().width()
