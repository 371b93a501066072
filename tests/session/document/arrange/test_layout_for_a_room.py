"""The layout chooses its flow by the shape of what it is seen in, and breaks nothing by that."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studio.samples import sample_names, sample_root
from studio.session.document.arrange.layered import layout, layout_level
from studio.session.document.arrange.wrapping import (
    RANK_GAP,
    ROW_GAP,
    Ranked,
    Room,
    column_widths,
    row_lengths,
    rows_of,
)
from studio.session.document.cards.geometry import NODE_WIDTH, WIDEST, bounds, box_of, card_width
from studio.session.document.cards.ports import input_place, output_place
from studio.session.document.cards.sizes import sizes_in
from studio.session.document.document import Document
from studio.session.document.edits.blocks import group
from studio.session.document.edits.layers import add_layer, rename
from studio.session.document.edits.places import move, move_by
from studio.session.document.levels import TOP
from studio.session.document.state import DocumentState
from tests.session.document.arrange.test_layered_layout import overlapping, random_graph
from tests.session.document.networks import chain, net, places, residual

ROOMS = {
    "wide": Room(1400, 420),
    "usual": Room(760, 480),
    "square": Room(700, 700),
    "tall": Room(420, 900),
    "narrow": Room(200, 1200),
    "small": Room(330, 250),
}


def sample(name: str) -> DocumentState:
    return Document.open(sample_root() / name / f"{name}.glassbox").state


def zoom_of(state: DocumentState, room: Room) -> float:
    around = bounds(state.nodes.values(), sizes_in(state))
    assert around is not None
    return room.zoom(around.width, around.height)


def in_reading_order(state: DocumentState) -> list[str]:
    return [node.id for node in sorted(state.nodes.values(), key=lambda n: (n.y, n.x))]


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 1 << 30),
    st.integers(1, 50),
    st.floats(100, 3000),
    st.floats(100, 2000),
)
def test_nothing_overlaps_in_any_room(seed: int, count: int, width: float, height: float) -> None:
    room = Room(width, height)
    before = random_graph(seed, count)
    state = layout(before, room=room)
    assert overlapping(state) == []
    assert layout(before, room=room) == state
    moved_only = {i: replace(node, x=0.0, y=0.0) for i, node in before.nodes.items()}
    assert {i: replace(node, x=0.0, y=0.0) for i, node in state.nodes.items()} == moved_only


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1 << 30), st.integers(2, 40), st.sampled_from(list(ROOMS)))
def test_wires_lead_onward_in_a_row_or_into_a_later_one(seed: int, count: int, name: str) -> None:
    state = layout(random_graph(seed, count), room=ROOMS[name])
    for wire in state.wires():
        source, target = box_of(state.nodes[wire.source]), box_of(state.nodes[wire.target])
        assert source.right < target.x or source.bottom < target.y


@pytest.mark.parametrize("room", ROOMS.values(), ids=list(ROOMS))
@pytest.mark.parametrize("name", sample_names())
def test_a_sample_is_never_smaller_than_in_a_single_line(name: str, room: Room) -> None:
    state = sample(name)
    made = layout(state, room=room)
    assert overlapping(made) == []
    for direction in ("right", "down"):
        # Rows are preferred only for what they gain, and crossings count against them.
        assert zoom_of(made, room) >= 0.85 * zoom_of(layout(state, direction=direction), room)
    again = layout(made, room=room)
    assert places(again) == places(made)


@pytest.mark.parametrize("room", ROOMS.values(), ids=list(ROOMS))
def test_a_chain_is_read_row_by_row(room: Room) -> None:
    state = sample("digits-cnn")
    assert in_reading_order(layout(state, room=room)) == list(state.nodes)


def test_the_shape_of_the_room_decides() -> None:
    state = sample("digits-cnn")
    rows = {
        name: len({node.y for node in layout(state, room=room).nodes.values()})
        for name, room in {**ROOMS, "line": Room(2400, 300)}.items()
    }
    assert rows["line"] == 1
    assert rows["line"] < rows["wide"] <= rows["usual"] < rows["tall"] < rows["narrow"]
    assert rows["narrow"] == len(state.nodes)


def test_the_network_of_the_digits_is_seen_at_full_size_on_a_usual_canvas() -> None:
    room = Room(760 - 64, 480 - 64)
    assert zoom_of(layout(sample("digits-cnn"), room=room), room) == 1.0
    assert zoom_of(layout(sample("digits-resnet"), room=room), room) > 0.5


def test_rows_stand_below_each_other_with_the_columns_in_line() -> None:
    state = layout(sample("digits-cnn"), room=ROOMS["usual"])
    boxes = [box_of(node) for node in state.nodes.values()]
    for first, second in pairwise(boxes):
        assert second.x >= first.right + RANK_GAP or second.y >= first.bottom + ROW_GAP
    middles = {box.x + box.width / 2 for box in boxes}
    assert len(middles) == 3


def test_the_main_line_of_each_row_is_straight() -> None:
    state = layout(sample("digits-resnet"), room=ROOMS["wide"])
    main = [i for i in state.nodes if i not in ("block2_shortcut", "block2_norm3")]
    for source, target in pairwise(main):
        one, other = state.nodes[source], state.nodes[target]
        if other.x > one.x and target in {w.target for w in state.wires_from(source)}:
            slot = next(w.slot for w in state.wires_from(source) if w.target == target)
            assert abs(output_place(one)[1] - input_place(other, slot)[1]) <= 20.0


def test_layers_without_wires_fill_the_room_as_well() -> None:
    state = DocumentState()
    for index in range(12):
        state = add_layer(state, "ReLU", at=(index * 3.0, 0.0))
    tall, wide = (layout(state, room=ROOMS[name]) for name in ("tall", "wide"))
    assert overlapping(tall) == overlapping(wide) == []
    assert len({n.y for n in tall.nodes.values()}) > len({n.y for n in wide.nodes.values()})


def test_pinned_layers_stay_and_a_part_is_laid_out_where_it_is() -> None:
    state = move_by(sample("digits-cnn"), ["pool"], 400.0, 300.0)
    made = layout(state, pinned=["pool"], room=ROOMS["tall"])
    assert made.nodes["pool"] == state.nodes["pool"]
    part = layout(state, ["hidden", "dropout2", "digit"], room=ROOMS["narrow"])
    moved = {i for i in state.nodes if part.nodes[i] != state.nodes[i]}
    assert moved <= {"hidden", "dropout2", "digit"}
    assert len({part.nodes[i].x for i in ("hidden", "dropout2", "digit")}) == 1


def test_blocks_are_laid_out_by_the_room_too() -> None:
    state = group(residual(), ["conv2d", "conv2d_1"], "stem")
    made = layout_level(state, TOP, room=ROOMS["narrow"])
    sizes = sizes_in(made)
    seen = [box_of(made.nodes[i], sizes) for i in ("input", "block", "add")]
    assert [box.y for box in seen] == sorted(box.y for box in seen)
    assert seen[0].bottom < seen[1].y


def test_nothing_and_a_single_layer_have_a_layout() -> None:
    assert layout(DocumentState(), room=ROOMS["usual"]) == DocumentState()
    alone = add_layer(DocumentState(), "Input", config={"shape": [4]}, at=(7.0, 9.0))
    assert layout(alone, room=Room(1.0, 1.0)) == alone


def test_rows_are_broken_where_fewest_wires_lead_into_the_next() -> None:
    piece = Ranked((160.0,) * 8, (100.0,) * 8, (0, 1, 3, 1, 3, 3, 1, 1))
    assert rows_of(piece, 4, tidy=False) == (0, 4)
    assert rows_of(piece, 4, tidy=True) == (0, 3, 7)
    assert row_lengths(9) == [9, 5, 3, 2, 1]
    assert column_widths((1.0, 5.0, 2.0, 3.0, 4.0), (0, 3)) == [3.0, 5.0, 2.0]


# -- cards --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "wider"),
    [("a", False), ("average_pool2d", True), ("global_average_pooling2d", True), ("x" * 60, True)],
)
def test_a_card_is_as_wide_as_its_name_within_limits(name: str, wider: bool) -> None:
    state = rename(chain(), "conv2d", name)
    width = card_width(state.nodes["conv2d"])
    assert (width > NODE_WIDTH) == wider
    assert NODE_WIDTH <= width <= WIDEST
    assert width % 8 == 0


def test_a_layer_that_gets_a_longer_name_pushes_its_row_aside() -> None:
    document = Document(move(chain(), {"dense": (0.0, 400.0)}))
    before = document.state
    document.apply("Rename", rename(before, "conv2d", "a_name_of_many_letters_and_more"))
    after = document.state
    assert overlapping(after) == []
    assert after.nodes["conv2d"].x == before.nodes["conv2d"].x
    assert after.nodes["input"] == before.nodes["input"]
    assert after.nodes["dense"] == before.nodes["dense"]
    steps = {after.nodes[i].x - before.nodes[i].x for i in ("re_lu", "max_pooling2d", "flatten")}
    assert len(steps) == 1
    assert min(steps) > 0.0
    document.undo()
    assert document.state == before


# -- opening ------------------------------------------------------------------------------------


def test_a_file_without_places_is_laid_out_for_what_it_is_seen_in(tmp_path: Path) -> None:
    path = sample_root() / "digits-cnn" / "digits-cnn.glassbox"
    document = Document.open(path)
    assert document.is_laid_out_freely
    for room in ROOMS.values():
        document.lay_out_for(room)
        assert zoom_of(document.state, room) == zoom_of(layout(document.state, room=room), room)
        assert not document.dirty
        assert document.history.position == 0
        assert not document.undo()
    document.save(tmp_path / "copy.glassbox")
    assert not document.dirty
    assert (tmp_path / "copy.glassbox").read_bytes() == path.read_bytes()


def test_places_that_were_chosen_are_never_changed_by_opening(tmp_path: Path) -> None:
    document = Document(net("input 8x8x1 > flatten > dense 10"))
    assert not document.is_laid_out_freely
    document.save(tmp_path / "own.glassbox")
    opened = Document.open(tmp_path / "own.glassbox")
    assert not opened.lay_out_for(ROOMS["tall"])
    assert places(opened.state) == places(document.state)


def test_an_edit_makes_the_places_the_users_own(tmp_path: Path) -> None:
    document = Document.open(sample_root() / "digits-mlp" / "digits-mlp.glassbox")
    assert document.lay_out_for(ROOMS["usual"])
    document.apply("Move", move_by(document.state, ["hidden1"], 40.0, 0.0))
    chosen = places(document.state)
    assert not document.lay_out_for(ROOMS["tall"])
    assert places(document.state) == chosen
    document.save(tmp_path / "moved.glassbox")
    opened = Document.open(tmp_path / "moved.glassbox")
    assert not opened.lay_out_for(ROOMS["wide"])
    assert places(opened.state) == chosen
    document.undo()
    assert not document.lay_out_for(ROOMS["tall"])
