"""Published blocks: from the canvas to the palette, and from there onto the canvas."""

from __future__ import annotations

from itertools import pairwise

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu

from studio.engine.layers.graph import Port
from studio.graph_editor.editing.adding import layer_data
from studio.graph_editor.panes.palette import PalettePane
from studio.session.core import entities
from studio.session.document.adding.published_blocks import PublishedBlocks
from studio.session.document.checks.invariants import broken_rules
from studio.session.document.edits.blocks import add_port, group, rename_block
from studio.session.document.edits.places import move
from studio.session.document.edits.wires import connect, cut_wires
from studio.session.document.levels import ports_in, ports_out
from studio.session.document.state import DocumentState, Wire
from studio.session.studio import Studio
from tests.graph_editor.hands import ALT, Carrier, Hands
from tests.graph_editor.test_panes_beside_the_canvas import palette, row
from tests.session.document.networks import chain, net

__all__ = ["palette"]

K = Qt.Key


def published(hands: Hands) -> None:
    """A chain whose block ``stem`` was published by its action."""
    hands.open(rename_block(group(chain(), ["conv2d", "re_lu"]), "block", "stem"))
    hands.studio.bus.select([entities.node("block")])
    assert hands.studio.actions.trigger("graph.publish_block")


@pytest.mark.slow
def test_a_block_is_published_and_placed_by_double_click_drop_and_search(
    hands: Hands, palette: PalettePane, studio: Studio
) -> None:
    published(hands)
    assert studio.notices.all[-1].text == "Published the block stem in the palette"
    item = row(palette, "stem")
    heading = item.parent()
    assert heading is not None
    assert heading.text(0) == "Blocks"
    palette.tree.scrollToItem(item)
    studio.bus.clear()
    place = palette.tree.visualItemRect(item).center()
    viewport = palette.tree.viewport()
    QTest.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=place)
    QTest.mouseDClick(viewport, Qt.MouseButton.LeftButton, pos=place)
    assert hands.steps == 1
    assert [hands.state.nodes[i].name for i in hands.selected] == ["stem_1"]
    data = palette.tree.mimeData([row(palette, "stem")])
    hands.canvas.context.open_block.open("block")
    carrier, nowhere = Carrier(hands, data), hands.nowhere()
    assert carrier.over(nowhere)
    assert len(hands.canvas.overlay.ghost.nodes) == 1
    carrier.drop(nowhere)
    assert hands.canvas.overlay.ghost.nodes == ()
    (made,) = hands.selected
    assert hands.state.nodes[made].parent == "block"
    assert hands.canvas.graph.area_of([made]).contains(nowhere)
    assert hands.steps == 2
    hands.canvas.context.open_block.leave()
    hands.double_click(hands.nowhere())
    hands.type("stem")
    hands.key(K.Key_Return)
    assert hands.steps == 3
    assert sum(node.is_block for node in hands.state.nodes.values()) == 4
    assert not studio.palette.recent
    for _ in range(3):
        hands.document.undo()
    assert sum(node.is_block for node in hands.state.nodes.values()) == 1


def test_the_menu_of_a_published_block_removes_it(
    hands: Hands, palette: PalettePane, studio: Studio
) -> None:
    published(hands)
    item = row(palette, "stem")
    palette.tree.scrollToItem(item)
    palette.tree.customContextMenuRequested.emit(palette.tree.visualItemRect(item).center())
    menu = palette.tree.findChild(QMenu, "palette_menu")
    assert isinstance(menu, QMenu)
    QTest.keyClick(menu, K.Key_Down)
    QTest.keyClick(menu, K.Key_Down)
    QTest.keyClick(menu, K.Key_Return)
    assert studio.palette.blocks == ()
    assert not palette.tree.findItems("Blocks", Qt.MatchFlag.MatchExactly)
    assert hands.steps == 0


@pytest.mark.slow
def test_blocks_of_another_window_are_seen_when_the_palette_is_shown(
    hands: Hands, palette: PalettePane, studio: Studio
) -> None:
    state = rename_block(group(chain(), ["conv2d"]), "block", "theirs")
    folder = studio.dirs.config / "blocks"
    palette.hide()
    PublishedBlocks(folder).publish(state, "block")
    (folder / "broken.json").write_text("{")
    palette.show()
    assert row(palette, "theirs").parent() is not None
    assert "broken.json is not in the palette" in studio.notices.all[-1].text


def test_blocks_of_another_window_come_and_go_while_the_palette_is_open(
    hands: Hands, palette: PalettePane, studio: Studio
) -> None:
    def titles() -> list[str]:
        return [entry.title for entry in studio.palette.blocks]

    folder = studio.dirs.config / "blocks"
    assert not folder.exists()
    other = PublishedBlocks(folder)
    for name in ("theirs", "another"):
        state = rename_block(group(chain(), ["conv2d"]), "block", name)
        other.publish(state, "block")
        hands.qtbot.waitUntil(lambda name=name: name in titles(), timeout=60_000)
        assert row(palette, name).parent() is not None
    other.remove("theirs")
    hands.qtbot.waitUntil(lambda: titles() == ["another"], timeout=60_000)


def test_the_search_finds_what_another_window_published(hands: Hands, studio: Studio) -> None:
    hands.open(chain())
    assert studio.palette.blocks == ()
    state = rename_block(group(chain(), ["conv2d"]), "block", "theirs")
    PublishedBlocks(studio.dirs.config / "blocks").publish(state, "block")
    hands.double_click(hands.nowhere())
    hands.type("theirs")
    assert hands.offered[0] == "theirs"


def test_the_search_on_a_wire_offers_blocks_that_fit(hands: Hands, stem: Carrier) -> None:
    hands.click(hands.canvas.graph.wires[LONG].middle())
    hands.key(K.Key_Tab)
    hands.type("stem")
    assert hands.offered[0] == "stem"
    hands.key(K.Key_Return)
    (block,) = hands.selected
    assert ports_in(hands.state, block)[0].inputs == (Port("conv2d"),)
    assert LONG not in set(hands.state.wires())
    hands.document.undo()
    hands.click(hands.canvas.graph.wires[Wire("flatten", "dense", 0)].middle())
    hands.key(K.Key_Tab)
    hands.type("stem")
    assert "stem" not in hands.offered


# -- where it is dropped ---------------------------------------------------------------------------


def with_ports(**ports: int) -> DocumentState:
    """A chain whose block has so many ports more."""
    state = rename_block(group(chain(), ["conv2d", "re_lu"]), "block", "stem")
    for side, count in ports.items():
        for _ in range(count):
            state = add_port(state, "block", "in" if side == "ins" else "out").state
    return state


@pytest.fixture
def stem(hands: Hands) -> Carrier:
    """A block with one input and one output over images, which are flattened."""
    return carrying(hands, with_ports())


def carrying(hands: Hands, state: DocumentState) -> Carrier:
    hands.studio.palette.publish(state, "block")
    images = net("input 8x8x1 > conv 4 3x3 > flatten > dense 10")
    places = {"conv2d": (240.0, 0.0), "flatten": (720.0, 0.0), "dense": (960.0, 0.0)}
    hands.open(move(images, places), zoom=0.8)
    (entry,) = hands.studio.palette.blocks
    return Carrier(hands, layer_data(entry))


LONG = Wire("conv2d", "flatten", 0)


def test_over_a_wire_the_ghost_is_joined_and_it_goes_into_the_wire(hands: Hands, stem: Carrier):
    before, graph = hands.state.content_hash, hands.canvas.graph
    middle = graph.wires[LONG].middle()
    assert stem.over(middle)
    overlay = hands.canvas.overlay
    assert graph.wires[LONG].marked == "target"
    ways = [wire.path() for wire in overlay.ghost.wires]
    assert any(way.pointAtPercent(0) == hands.port("conv2d") for way in ways)
    assert any(way.currentPosition().y() == hands.input("flatten").y() for way in ways)
    # From the image of 6 by 6 by 4: 3 by 3 kernels of 8 filters, and less behind.
    assert "parameters" in overlay.tip.text()
    stem.drop(middle)
    (block,) = hands.selected
    (source,), (out,) = (
        (p.inputs for p in ports_in(hands.state, block)),
        ports_out(hands.state, block),
    )
    assert source == (Port("conv2d"),)
    assert hands.state.nodes["flatten"].inputs == (Port(out.id),)
    assert broken_rules(hands.state) == ()
    areas = [graph.nodes[i].scene_area for i in ("conv2d", block, "flatten", "dense")]
    assert all(one.right() < other.left() for one, other in pairwise(areas))
    assert hands.steps == 1
    hands.document.undo()
    assert hands.state.content_hash == before


def test_with_alt_it_stays_out_of_the_wire(hands: Hands, stem: Carrier):
    wires = set(hands.state.wires())
    stem.drop(hands.canvas.graph.wires[LONG].middle(), ALT)
    assert wires < set(hands.state.wires())
    (block,) = hands.selected
    assert not any(port.inputs for port in ports_in(hands.state, block))


@pytest.mark.parametrize("ports", [{"ins": 1}, {"outs": 1}])
def test_a_block_with_more_ports_does_not_go_into_a_wire(hands: Hands, ports: dict[str, int]):
    carrier = carrying(hands, with_ports(**ports))
    middle = hands.canvas.graph.wires[LONG].middle()
    carrier.over(middle)
    assert hands.canvas.graph.wires[LONG].marked == ""
    carrier.drop(middle)
    assert LONG in set(hands.state.wires())


@pytest.mark.slow
def test_what_does_not_fit_stays_out_of_the_wire(hands: Hands, stem: Carrier):
    behind = Wire("flatten", "dense", 0)
    stem.over(hands.canvas.graph.wires[behind].middle())
    assert hands.canvas.graph.wires[behind].marked == ""


def test_on_a_layer_it_stands_behind_it_and_the_ghost_shows_the_wire(hands: Hands, stem: Carrier):
    at, ghost = hands.title("conv2d"), hands.canvas.overlay.ghost
    stem.over(at)
    assert [wire.path().pointAtPercent(0) for wire in ghost.wires] == [hands.port("conv2d")]
    assert "after conv2d" in hands.canvas.overlay.tip.text()
    stem.drop(at)
    (block,) = hands.selected
    (port,) = ports_in(hands.state, block)
    assert port.inputs == (Port("conv2d"),)
    end = hands.canvas.graph.wires[Wire("conv2d", port.id, 0)].path().currentPosition()
    assert end == hands.input(port.id)


def test_a_block_on_the_canvas_is_dragged_into_a_wire(hands: Hands):
    state = with_ports()
    out = ports_out(state, "block")[0].id
    entry = ports_in(state, "block")[0].id
    state = cut_wires(state, [Wire("input", entry, 0), Wire(out, "max_pooling2d", 0)])
    state = connect(state, "input", "max_pooling2d")
    places = {"block": (240.0, 400.0), "flatten": (1000.0, 0.0), "dense": (1300.0, 0.0)}
    state = move(state, places)
    hands.open(state, zoom=0.8)
    wire = Wire("flatten", "dense", 0)
    hands.carry(hands.title("block"), hands.canvas.graph.wires[wire].middle())
    # What is in it takes images, so not there.
    assert hands.canvas.graph.wires[wire].marked == ""
    hands.key(K.Key_Escape)
    hands.release()
    images = Wire("max_pooling2d", "flatten", 0)
    hands.drag(hands.title("block"), hands.canvas.graph.wires[images].middle())
    assert hands.state.nodes["flatten"].inputs == (Port(out),)
    assert hands.state.nodes[entry].inputs == (Port("max_pooling2d"),)
