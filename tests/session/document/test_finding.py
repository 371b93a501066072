"""The outline, finding, moving with the arrow keys, and the map in the corner."""

from __future__ import annotations

import pytest

from studio.samples import sample_names, sample_root
from studio.session.document.cards.geometry import Box, box_of
from studio.session.document.checks.validation import validate
from studio.session.document.document import Document
from studio.session.document.edits import comments, layers, places
from studio.session.document.edits.blocks import group
from studio.session.document.edits.layers import bypass
from studio.session.document.edits.wires import add_dot
from studio.session.document.finding.keyboard_navigation import first_layer, next_node
from studio.session.document.finding.minimap import MARGIN, graph_map
from studio.session.document.finding.outline import accessible_text, find_layers, outline
from studio.session.document.report import Report
from studio.session.document.state import DocumentState, Wire
from tests.session.document.networks import chain, net, residual


@pytest.mark.parametrize("name", sample_names())
def test_the_outline_is_in_running_order(name):
    document = Document.open(sample_root() / name / f"{name}.glassbox")
    found = outline(document.state, document.report)
    assert [row.id for row in found.running] == [n.id for n in document.project().graph.order()]
    assert found.aside == ()
    assert found.running[-1].is_output


def test_what_does_not_take_part_stands_aside():
    state = layers.add_layer(
        add_dot(chain(), Wire("input", "conv2d", 0), 1.0, 1.0), "Dropout", at=(0.0, 500.0)
    )
    found = outline(comments.add_note(state, 0.0, 0.0), validate(state))
    assert [row.id for row in found.aside] == ["dropout"]
    assert [row.id for row in found.running] == list(chain().nodes)
    assert found.running[1].inputs == ("dot",)


def test_layers_that_no_data_reaches_stand_aside_with_their_warning():
    state = layers.mark_output(chain(), "dense")
    state = layers.add_layer(state, "Dense", at=(0.0, 500.0))
    state = group(layers.add_layer(state, "ReLU", after="dense_1"), ["dense_1", "re_lu_1"], "loose")
    report = validate(state)
    assert report.status("dense_1").state == "warning"
    found = outline(state, report)
    assert [row.id for row in found.running] == list(chain().nodes)
    assert [(row.id, row.parent) for row in found.aside] == [
        ("block", ""), ("dense_1", "block"), ("re_lu_1", "block")
    ]  # fmt: skip
    # Of a block that is used in part, the rest is listed without it.
    state = layers.mark_output(layers.add_layer(chain(), "Dense", after="flatten"), "dense_1")
    state = group(layers.add_layer(state, "ReLU", after="dense_1"), ["dense_1", "re_lu_1"], "half")
    found = outline(state, validate(state))
    assert [(row.id, row.parent) for row in found.running][-2:] == [
        ("block", ""), ("dense_1", "block")
    ]  # fmt: skip
    assert ("re_lu_1", "") in [(row.id, row.parent) for row in found.aside]


def test_a_row_says_how_the_layer_is():
    state = net("input 4 > conv 4 3x3 > relu")
    rows = {row.id: row for row in outline(state, validate(state)).running}
    assert (rows["conv2d"].condition, rows["re_lu"].message) == ("error", "waiting for conv2d")
    assert (rows["input"].shapes, rows["input"].parameters, rows["input"].family) == (
        ((4,),),
        0,
        "data",
    )


def test_layers_are_found_by_name_and_type():
    state = layers.rename(chain(), "conv2d", "stem")
    state = comments.add_note(state, 0.0, 0.0, "stemming from elsewhere")
    assert find_layers(state, "stem") == ("conv2d", "note")
    assert find_layers(state, "pool") == ("max_pooling2d",)
    assert find_layers(state, "relu")[0] == "re_lu"
    assert find_layers(state, "zzz") == find_layers(state, " ") == ()


def test_a_layer_is_one_sentence_for_the_ear():
    state = layers.freeze(bypass(chain(), ["re_lu"]), ["dense"])
    report = validate(state)
    assert accessible_text(state, report, "conv2d") == (
        "Conv2D conv2d, filters 8, kernel size 3 by 3, input from input, output 6 by 6 by 8, "
        "no errors"
    )
    assert "bypassed" in accessible_text(state, report, "re_lu")
    assert "frozen" in accessible_text(state, report, "dense")
    wrong = net("input 4 > conv 4 3x3")
    assert "error: expected an input" in accessible_text(wrong, validate(wrong), "conv2d")
    note = comments.add_note(chain(), 0.0, 0.0, "why")
    assert accessible_text(note, Report(), "note") == "Note why"


def test_left_and_right_follow_the_wires():
    state, seen = chain(), ["input"]
    while found := next_node(state, seen[-1], "right"):
        seen.append(found)
    assert seen == list(chain().nodes)
    assert [next_node(state, i, "left") for i in seen] == ["", *seen[:-1]]
    assert next_node(state, "gone", "left") == ""


def test_arrow_keys_passes_dots():
    state = add_dot(chain(), Wire("conv2d", "re_lu", 0), 0.0, 0.0)
    state = add_dot(state, Wire("dot", "re_lu", 0), 0.0, 0.0)
    assert next_node(state, "conv2d", "right") == "re_lu"
    assert next_node(state, "re_lu", "left") == "conv2d"


def test_of_several_the_nearest_in_height_is_next():
    state = places.move(residual(), {"add": (900.0, -300.0), "conv2d": (232.0, 0.0)})
    assert next_node(state, "input", "right") == "conv2d"
    state = places.move(state, {"conv2d": (232.0, 900.0)})
    assert next_node(state, "input", "right") == "add"


def test_up_and_down_go_among_siblings():
    state = chain()
    for y in (200.0, 400.0):
        state = layers.add_layer(state, "Dropout", after="input", at=(232.0, y))
    assert next_node(state, "conv2d", "down") == "dropout"
    assert next_node(state, "dropout", "down") == "dropout_1"
    assert next_node(state, "dropout_1", "up") == "dropout"
    assert next_node(state, "dropout", "up") == "conv2d"
    assert next_node(state, "dropout_1", "down") == ""


def test_without_siblings_the_nearest_above_or_below_is_next():
    state = layers.add_layer(chain(), "Dropout", at=(500.0, 300.0))
    assert next_node(state, "re_lu", "down") == "dropout"
    assert next_node(state, "dropout", "up") == "re_lu"


def test_arrow_keys_begins_at_the_first_layer():
    assert first_layer(chain()) == "input"
    assert first_layer(DocumentState()) == ""


def test_the_map_shows_everything_where_it_lies():
    state = comments.add_frame(add_dot(chain(), Wire("conv2d", "re_lu", 0), 400.0, 99.0), ["dense"])
    found = graph_map(state, validate(state))
    assert found is not None
    assert {mark.id for mark in found.marks} == set(state.nodes)
    assert found.marks[0].kind == "frame"
    assert all(found.area.contains(mark.box) for mark in found.marks)
    assert {m.id: m.box for m in found.marks} == {i: box_of(n) for i, n in state.nodes.items()}
    families = {mark.id: mark.family for mark in found.marks}
    assert (families["conv2d"], families["re_lu"]) == ("linear", "activation")
    assert graph_map(DocumentState(), Report()) is None


def test_the_map_keeps_proportions_and_leads_back():
    state = chain()
    found = graph_map(state, validate(state))
    assert found is not None
    for size in ((200.0, 150.0), (90.0, 300.0)):
        whole = found.to_map(found.area, *size)
        assert whole.width <= size[0] + 1e-9
        assert whole.height <= size[1] + 1e-9
        assert whole.width / whole.height == pytest.approx(found.area.width / found.area.height)
        box = found.to_map(box_of(state.nodes["dense"]), *size)
        assert found.to_canvas(box.x, box.y, *size) == pytest.approx(
            (state.nodes["dense"].x, state.nodes["dense"].y)
        )


def test_no_map_is_needed_when_everything_is_in_sight():
    state = chain()
    found = graph_map(state, validate(state))
    assert found is not None
    inside = found.area.grown(-MARGIN)
    assert found.fits(inside)
    assert not found.fits(Box(inside.x + 1, inside.y, inside.width, inside.height))
