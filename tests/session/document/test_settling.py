"""Layers that grow get room, and frames hold what they held."""

from __future__ import annotations

from itertools import combinations

import pytest

from studio.session.document.arrange.layered import layout
from studio.session.document.cards.geometry import box_of
from studio.session.document.document import Document
from studio.session.document.edits.chains import NewLayer, add_chain
from studio.session.document.edits.comments import add_frame, inside_frame
from studio.session.document.edits.insertion import add_on_wire
from studio.session.document.edits.layers import set_preview
from studio.session.document.edits.places import move_by
from studio.session.document.state import DocumentState, PreviewMode, Wire
from tests.session.document.networks import net


def rows(count: int = 3) -> DocumentState:
    """Chains below each other, as close as the layout puts them."""
    state = net("input 16")
    for _ in range(count):
        layers = [NewLayer("Dense", {"units": 4 + each}) for each in range(3)]
        state = add_chain(state, layers, after="input").state
    return layout(state)


def overlaps(state: DocumentState) -> list[tuple[str, str]]:
    solid = [node for node in state.nodes.values() if node.kind != "frame"]
    return [
        (one.id, other.id)
        for one, other in combinations(solid, 2)
        if box_of(one).overlaps(box_of(other))
    ]


@pytest.mark.parametrize("mode", ["thumbnail", "full"])
@pytest.mark.parametrize("chosen", ["all", "dense", "dense_4"])
def test_thumbnails_do_not_lay_layers_over_each_other(mode: PreviewMode, chosen: str) -> None:
    document = Document(rows())
    before = document.state
    assert overlaps(before) == []
    ids = list(before.nodes) if chosen == "all" else [chosen]
    document.apply("Preview", set_preview(before, ids, mode))
    after = document.state
    assert all(after.nodes[i].preview == mode for i in ids)
    assert overlaps(after) == []
    level = {
        (a, b) for a in before.nodes for b in before.nodes if before.nodes[a].y == before.nodes[b].y
    }
    assert all(after.nodes[a].y == after.nodes[b].y for a, b in level)
    assert overlaps(layout(after)) == []
    document.undo()
    assert document.state is before


def test_what_has_room_stays_where_it_is() -> None:
    state = move_by(rows(), ["dense_3", "dense_4", "dense_5"], 0.0, 2000.0)
    document = Document(state)
    document.apply("Preview", set_preview(state, ["dense"], "thumbnail"))
    places = {i: (n.x, n.y) for i, n in document.state.nodes.items()}
    assert places == {i: (n.x, n.y) for i, n in state.nodes.items()}


def test_a_frame_grows_with_what_it_holds() -> None:
    state = rows()
    inner = ["dense", "dense_1", "dense_2"]
    state = add_frame(add_frame(state, inner), [*inner, "frame"])
    held = set(inside_frame(state, "frame"))
    assert held == set(inner)
    for edit in (
        lambda s: set_preview(s, ["dense"], "full"),
        lambda s: move_by(s, ["dense_2"], 60.0, 30.0),
        lambda s: move_by(s, ["dense"], -60.0, -90.0),
        lambda s: add_on_wire(s, "ReLU", Wire("dense_1", "dense_2", 0)),
    ):
        document = Document(state)
        document.apply("Edit", edit(state))
        assert held <= set(inside_frame(document.state, "frame"))
        assert held | {"frame"} <= set(inside_frame(document.state, "frame_1"))
        document.undo()
        assert document.state is state


def test_a_frame_is_left_alone_when_it_is_moved_or_nothing_of_it_changes() -> None:
    state = add_frame(rows(), ["dense", "dense_1"])
    for ids in (["frame"], ["dense_8"], ["frame", "dense", "dense_1"]):
        document = Document(state)
        document.apply("Move", move_by(state, ids, 40.0, 400.0))
        frame, before = document.state.nodes["frame"], state.nodes["frame"]
        assert (frame.width, frame.height) == (before.width, before.height)
