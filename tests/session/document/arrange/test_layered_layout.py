from __future__ import annotations

import random
from itertools import combinations, permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studio.engine.layers.graph import Port
from studio.samples import sample_names, sample_root
from studio.session.document.arrange.crossings import count_crossings, reduce_crossings
from studio.session.document.arrange.layered import ACROSS, layout
from studio.session.document.arrange.ranks import Spot, ranks_of
from studio.session.document.cards.geometry import box_of
from studio.session.document.cards.ports import input_place, output_place
from studio.session.document.document import Document
from studio.session.document.edits import comments, layers, places, wires
from studio.session.document.edits.wires import connect
from studio.session.document.flow import running_order
from studio.session.document.frozen_config import FrozenConfig
from studio.session.document.state import CanvasNode, DocumentState, Wire
from tests.session.document.networks import chain, residual
from tests.session.document.networks import places as drawn


def random_graph(seed: int, count: int) -> DocumentState:
    """Merges and single layers with wires a few steps back, in disorder."""
    source = random.Random(seed)
    nodes = [CanvasNode("n0", "layer", "Input", FrozenConfig({"name": "n0", "shape": [4]}))]
    for number in range(1, count):
        name, back = f"n{number}", [node.id for node in nodes[-5:]]
        inputs = tuple(dict.fromkeys(source.choices(back, k=source.choice([1, 1, 1, 2, 3]))))
        inputs = () if source.random() < 0.05 else tuple(Port(each) for each in inputs)
        kind = "Add" if len(inputs) != 1 else "ReLU"
        where = source.uniform(0, 3000), source.uniform(0, 2000)
        nodes.append(CanvasNode(name, "layer", kind, FrozenConfig({"name": name}), inputs, *where))
    return DocumentState().with_nodes(nodes)


def overlapping(state: DocumentState) -> list[tuple[str, str]]:
    boxes = {node.id: box_of(node) for node in state.nodes.values() if node.flows}
    return [(a, b) for a, b in combinations(boxes, 2) if boxes[a].overlaps(boxes[b])]


@pytest.mark.slow
@settings(max_examples=40)
@given(st.integers(0, 1 << 30), st.integers(1, 60), st.sampled_from(["right", "down"]))
def test_nothing_overlaps_and_wires_lead_onward(seed, count, direction):
    state = layout(random_graph(seed, count), direction=direction)
    assert overlapping(state) == []
    for wire in state.wires():
        source, target = box_of(state.nodes[wire.source]), box_of(state.nodes[wire.target])
        ends = (source.right, target.x) if direction == "right" else (source.bottom, target.y)
        assert ends[0] < ends[1]


@pytest.mark.slow
def test_three_hundred_layers_do_not_overlap():
    assert overlapping(layout(random_graph(7, 300))) == []


def test_a_chain_is_straight():
    state = layout(places.move(chain(), {"re_lu": (0.0, 900.0), "dense": (-400.0, 30.0)}))
    levels = [
        output_place(state.nodes[w.source])[1] - input_place(state.nodes[w.target])[1]
        for w in state.wires()
    ]
    assert levels == [0.0] * 5
    lefts = [node.x for node in state.nodes.values()]
    assert lefts == sorted(lefts)


def test_the_longest_line_of_a_residual_net_is_straight():
    state = layout(residual())
    main = [("input", "conv2d"), ("conv2d", "conv2d_1"), ("conv2d_1", "add")]
    for source, target in main:
        start, end = output_place(state.nodes[source]), input_place(state.nodes[target])
        assert abs(start[1] - end[1]) <= 1.0


def test_branches_do_not_bend_the_longest_line():
    state = layout(Document.open(sample_root() / "digits-resnet" / "digits-resnet.glassbox").state)
    branch = {"block2_shortcut", "block2_norm3"}
    assert len({n.y for n in state.nodes.values() if n.name not in branch}) == 1


@pytest.mark.parametrize("name", sample_names())
def test_the_layout_of_a_sample_is_the_same_when_done_again(name):
    once = layout(Document.open(sample_root() / name / f"{name}.glassbox").state)
    assert drawn(layout(once)) == drawn(once)


def test_the_corner_stays():
    state = places.move_by(random_graph(5, 30), ["n0"], -700.0, -300.0)
    before = min(n.x for n in state.nodes.values()), min(n.y for n in state.nodes.values())
    after = layout(state)
    found = min(n.x for n in after.nodes.values()), min(n.y for n in after.nodes.values())
    assert found == (round(before[0]), round(before[1]))


def branches(order: list[str]) -> DocumentState:
    """An input with parallel layers that a Concatenate joins, the layers placed in an order."""
    state = layers.add_layer(DocumentState(), "Input", config={"shape": [4]})
    for index, _ in enumerate(order):
        state = layers.add_layer(state, "Dense", after="input", at=(300.0, index * 200.0))
    names = [i for i in state.nodes if i != "input"]
    state = layers.add_layer(state, "Concatenate", after=names[0], at=(600.0, 0.0))
    for name in names[1:]:
        state = connect(state, name, "concatenate")
    return places.move(state, {name: (300.0, 200.0 * order.index(name)) for name in names})


@pytest.mark.parametrize("order", list(permutations(["dense", "dense_1", "dense_2"])), ids="-".join)
def test_branches_keep_their_order(order):
    state = layout(branches(list(order)))
    found = sorted(order, key=lambda name: state.nodes[name].y)
    assert found == list(order)


def test_pinned_layers_stay_and_the_others_come_to_them():
    state = random_graph(11, 25)
    after = layout(state, pinned=("n3", "n9"))
    assert [after.nodes[i] for i in ("n3", "n9")] == [state.nodes[i] for i in ("n3", "n9")]
    pinned = [box_of(after.nodes[i]) for i in ("n3", "n9")]
    others = [box_of(n) for n in after.nodes.values() if n.id not in ("n3", "n9")]
    assert not any(box.overlaps(fixed) for box in others for fixed in pinned)


def test_only_what_is_chosen_moves():
    state = random_graph(13, 20)
    after = layout(state, ["n4", "n5", "n6", "gone"])
    moved = {i for i in state.nodes if after.nodes[i] is not state.nodes[i]}
    assert moved <= {"n4", "n5", "n6"}
    assert layout(state, []) is state


def test_dots_are_placed_by_their_middle():
    state = wires.add_dot(chain(), Wire("conv2d", "re_lu", 0), 700.0, 700.0)
    after = layout(state)
    start = output_place(after.nodes["conv2d"])
    assert after.nodes["dot"].y == start[1]
    assert start[0] < after.nodes["dot"].x < after.nodes["re_lu"].x


def test_frames_go_along_with_what_is_in_them():
    state = comments.add_frame(chain(), ["conv2d", "re_lu"], text="stem")
    state = places.move(state, {"input": (0.0, 600.0), "dense": (0.0, -700.0)})
    after = layout(state)
    assert comments.inside_frame(after, "frame") == ("conv2d", "re_lu")


def test_notes_go_along_with_the_layer_beside_them():
    state = places.move(chain(), {"flatten": (928.0, 900.0)})
    state = comments.add_note(state, 960.0, 780.0)
    note = next(i for i, node in state.nodes.items() if node.kind == "note")
    before = state.nodes["flatten"].y - state.nodes[note].y
    after = layout(state)
    assert after.nodes["flatten"].y < 100
    assert after.nodes["flatten"].y - after.nodes[note].y == before
    assert layout(state, pinned=[note]).nodes[note] == state.nodes[note]
    layers_only = [i for i in state.nodes if i != note]
    assert layout(state, pinned=layers_only) == state
    assert layout(state, layers_only).nodes[note] == state.nodes[note]


def test_layers_without_wires_stand_in_rows():
    state = DocumentState()
    for index in range(20):
        state = layers.add_layer(state, "ReLU", at=(index * 3.0, 0.0))
    after = layout(state)
    assert overlapping(after) == []
    assert 1 < len({node.y for node in after.nodes.values()}) < 10


def test_separate_nets_lie_below_each_other():
    state = chain()
    state = layers.add_layer(state, "Input", at=(0.0, 900.0), config={"shape": [4]})
    state = layers.add_layer(state, "Dense", after="input_1")
    after = layout(state)
    bottom = max(box_of(after.nodes[i]).bottom for i in chain().nodes)
    assert after.nodes["input_1"].y > bottom + ACROSS["right"]


def test_ranks_follow_the_longest_way():
    inputs = {"a": (), "b": ("a",), "c": ("b",), "d": ("a", "c"), "e": (), "f": ("d", "e")}
    found = ranks_of(list(inputs), inputs)
    assert found == {"a": 0, "b": 1, "c": 2, "d": 3, "e": 3, "f": 4}


def rows_of(edges: list[list[int]]) -> list[list[Spot]]:
    """Two ranks, each upper spot wired to some lower ones."""
    upper = [Spot(f"u{i}", 0, order=i) for i in range(len(edges))]
    lower = [Spot(f"l{i}", 1, order=i) for i in range(1 + max(e for row in edges for e in row))]
    for spot, ends in zip(upper, edges, strict=True):
        for end in ends:
            spot.after.append(lower[end])
            lower[end].before.append(spot)
    return [upper, lower]


def crossings_by_hand(rows: list[list[Spot]]) -> int:
    wires = [(a.order, b.order) for a in rows[0] for b in a.after]
    return sum((p[0] - q[0]) * (p[1] - q[1]) < 0 for p, q in combinations(wires, 2))


@settings(max_examples=100)
@given(
    st.lists(
        st.lists(st.integers(0, 4), min_size=1, max_size=3, unique=True), min_size=1, max_size=5
    )
)
@pytest.mark.slow
def test_crossings_are_counted_and_never_grow(edges):
    rows = rows_of(edges)
    before = crossings_by_hand(rows)
    assert count_crossings(rows) == before
    after = reduce_crossings(rows)
    assert after == crossings_by_hand(rows) <= before


def test_a_crossing_that_can_be_undone_is():
    rows = rows_of([[1], [0]])
    assert count_crossings(rows) == 1
    assert reduce_crossings(rows) == 0


def test_the_running_order_of_a_laid_out_graph_is_the_same():
    state = random_graph(21, 30)
    assert running_order(layout(state).nodes) == running_order(state.nodes)
