from __future__ import annotations

import json
from itertools import combinations

import pytest

from studio.engine.core.errors import FormatError
from studio.engine.train.project.project import Project
from studio.session.document.cards.geometry import Box, box_of
from studio.session.document.cards.sizes import sizes_in
from studio.session.document.checks.invariants import broken_rules
from studio.session.document.document import Document
from studio.session.document.edits.block_places import move_out, move_to_level
from studio.session.document.edits.blocks import group, rename_block
from studio.session.document.edits.comments import add_note
from studio.session.document.edits.copies import duplicate, duplicate_mapped, share_block
from studio.session.document.edits.layers import add_layer, mark_output, rename, set_option
from studio.session.document.edits.linked_copies import differing_copies, make_unique
from studio.session.document.edits.places import move
from studio.session.document.edits.removal import delete
from studio.session.document.edits.sections import set_training
from studio.session.document.edits.sharing import place_again
from studio.session.document.edits.wires import connect
from studio.session.document.errors import LossInCopies
from studio.session.document.files.clipboard import copy_text, paste
from studio.session.document.levels import contents, copies_of, descendants, ports_in, ports_out
from studio.session.document.state import DocumentState
from tests.session.document.networks import chain, refusal
from tests.session.document.test_blocks import runs


def two(linked: bool = True) -> DocumentState:
    """A chain with conv2d and re_lu in a block, and a copy of it."""
    return duplicate(group(chain(), ["conv2d", "re_lu"], "stem"), ["block"], linked=linked)


def names(state: DocumentState, block: str) -> list[str]:
    return [n.name for n in contents(state, block)]


def edited(state: DocumentState, after: DocumentState) -> DocumentState:
    """What the document makes of an edit."""
    document = Document(state)
    document.apply("Edit", after)
    assert broken_rules(document.state) == ()
    assert differing_copies(document.state) == ()
    return document.state


def test_a_copy_of_a_block_has_all_that_is_in_it():
    before = group(chain(), ["conv2d", "re_lu"], "stem")
    state = duplicate(before, ["block"])
    assert broken_rules(state) == ()
    assert names(state, "block_1") == ["conv2d_1", "re_lu_1"]
    assert state.nodes["block_1"].name == "stem_1"
    assert [p.text for p in ports_in(state, "block_1")] == ["conv2d"]
    assert copies_of(state, "block") == ("block",)
    assert runs(state)[0] == runs(before)[0]
    fed = duplicate(before, ["block"], keep_inputs=True)
    assert ports_in(fed, "block_1")[0].sources == ("input",)


def test_an_edit_of_one_linked_copy_reaches_the_other():
    state = two()
    assert copies_of(state, "block") == ("block", "block_1")
    state = edited(state, set_option(state, "conv2d_1", "filters", 5))
    assert state.nodes["conv2d"].config["filters"] == 5
    state = edited(state, add_layer(state, "ReLU", after="re_lu"))
    assert names(state, "block_1") == ["conv2d_1", "re_lu_1", "re_lu_3"]
    assert state.nodes["re_lu_3"].sources == ("re_lu_1",)
    state = edited(state, delete(state, ["re_lu_1"]))
    assert "re_lu" not in state.nodes
    state = edited(state, move(state, {"conv2d_1": (7.0, 9.0)}))
    assert (state.nodes["conv2d"].x, state.nodes["conv2d"].y) == (7.0, 9.0)


def test_names_and_wires_outside_are_a_copys_own():
    state = two()
    after = edited(state, rename_block(rename(state, "conv2d", "first"), "block", "head"))
    assert after.nodes["conv2d_1"].name == "conv2d_1"
    assert after.nodes["block_1"].name == "stem_1"
    after = edited(after, connect(after, "input", ports_in(after, "block_1")[0].id))
    assert runs(after)[2] == [*((i, n) for i, n in runs(after)[2])]
    assert ports_in(after, "block")[0].sources == ("input",)
    after = edited(after, rename_block(after, ports_in(after, "block")[0].id, "image"))
    assert ports_in(after, "block_1")[0].text == "image"
    after = edited(after, delete(after, [ports_out(after, "block_1")[0].id]))
    assert ports_out(after, "block") == ()
    assert after.nodes["max_pooling2d"].inputs == ()


def test_a_copy_made_unique_keeps_to_itself():
    state = make_unique(two(), "block_1")
    assert copies_of(state, "block_1") == ("block_1",)
    after = edited(state, set_option(state, "conv2d_1", "filters", 5))
    assert after.nodes["conv2d"].config["filters"] == 8
    assert "no linked copies" in refusal(make_unique, state, "block_1").message


def test_a_linked_block_never_stands_in_its_copy():
    state = two()
    assert "copy of itself" in refusal(move_to_level, state, ["block_1"], "block").message
    outer = group(state, ["block_1", "flatten"], "outer")
    assert "copy of itself" in refusal(move_to_level, outer, ["block_2"], "block").message
    text = copy_text(state, ["block"])
    assert "copy of itself" in refusal(paste, state, text, level="block_1").message


def test_linked_blocks_inside_linked_blocks_follow_on_both_levels():
    state = group(two(), ["block_1"], "outer")
    state = duplicate(state, ["block_2"], linked=True)
    inner = [n.id for n in state.nodes.values() if n.is_block and n.definition == "block"]
    assert len(inner) == 3
    conv = next(n.id for n in contents(state, inner[2]) if n.type_name == "Conv2D")
    state = edited(state, set_option(state, conv, "filters", 3))
    found = {n.config["filters"] for n in state.layers() if n.type_name == "Conv2D"}
    assert found == {3}
    state = edited(state, add_layer(state, "Flatten", after=conv))
    assert sum(n.type_name == "Flatten" for n in state.layers()) == 4


def test_shared_as_a_whole_there_is_one_set_of_weights():
    copied = share_block(group(chain(), ["conv2d", "re_lu"]), "block")
    state = copied.state
    assert broken_rules(state) == ()
    assert state.nodes["block"].model
    assert state.nodes["block_1"].model
    assert state.nodes["conv2d_1"].shares == "conv2d"
    assert state.nodes["conv2d_1"].name == "conv2d"
    state = edited(state, set_option(state, "conv2d_1", "filters", 3))
    assert state.nodes["conv2d"].config["filters"] == 3
    state = edited(state, add_layer(state, "Conv2D", after="conv2d_1"))
    first, second = (
        [n for n in contents(state, b) if n.is_layer][-1] for b in ("block", "block_1")
    )
    assert {first.shares, second.shares} == {"", first.shares or second.shares}
    assert first.name == second.name
    state = edited(state, delete(state, ["conv2d"]))
    assert "conv2d_1" not in state.nodes
    assert "input cannot" in refusal(share_block, group(chain(), ["input"]), "block").message


def test_blocks_are_pasted_into_blocks_and_other_documents():
    state = two()
    text = copy_text(state, ["block"])
    other = paste(DocumentState(), text)
    assert broken_rules(other) == ()
    assert names(other, "block") == ["conv2d", "re_lu"]
    assert other.nodes["block"].definition == ""
    assert copies_of(paste(state, text), "block") == ("block", "block_1", "block_2")
    plain = copy_text(chain(), ["dense"])
    inside = edited(state, paste(state, plain, level="block"))
    assert sum(n.type_name == "Dense" for n in inside.layers()) == 3
    alone = group(chain(), ["conv2d"])
    assert copies_of(paste(alone, copy_text(alone, ["block"])), "block") == ("block",)
    linked = paste(alone, copy_text(alone, ["block"]), linked=True)
    assert copies_of(linked, "block") == ("block", "block_1")


def test_a_port_is_copied_only_with_its_block():
    state = two()
    assert duplicate(state, [ports_in(state, "block")[0].id]).nodes == state.nodes


@pytest.mark.parametrize("make", [two, lambda: group(two(), ["block_1"], "outer")])
def test_drawings_with_blocks_survive_their_file(make):
    state = make()
    text = Document(state).project().text()
    assert json.loads(text)["version"] == json.loads(text)["canvas"]["version"] == 2
    again = Document.of_project(Project.from_json(json.loads(text)))
    assert again.warnings == ()
    assert again.state.nodes == state.nodes
    assert list(again.state.nodes) == list(state.nodes)
    assert again.project().text() == text


def test_blocks_are_drawn_from_the_section_alone():
    before = share_block(group(chain(), ["conv2d", "re_lu"], "twin"), "block").state
    before = edited(before, rename_block(before, ports_in(before, "block")[0].id, "image"))
    before = edited(before, connect(before, "input", ports_in(before, "block_1")[0].id))
    before = add_layer(before, "Flatten", after=ports_out(before, "block_1")[0].id)
    before = add_layer(before, "Concatenate")
    before = connect(connect(before, "flatten_1", "concatenate"), "dense", "concatenate")
    project = Document(before).project()
    assert set(project.blocks) == {"twin", "twin_1"}
    assert project.blocks["twin"].inputs[0].name == "image"
    document = project.to_json()
    del document["canvas"]
    again = Document.of_project(Project.from_json(document))
    assert again.warnings == ()
    assert broken_rules(again.state) == ()
    assert runs(again.state)[0] == runs(before)[0]
    assert len(copies_of(again.state, "block")) == 2
    assert [p.text for p in ports_in(again.state, "block")] == ["image"]
    assert again.state.nodes["block"].model
    assert {n.id for n in descendants(again.state, "block") if n.is_layer} == {"conv2d", "re_lu"}


def test_settings_of_an_output_go_with_it_when_a_copy_loses_it():
    state = duplicate(group(chain(), ["dense"]), ["block"], keep_inputs=True, linked=True)
    state = mark_output(mark_output(mark_output(state, "dense"), "dense_1"), "flatten")
    losses = {name: {"type": "mse"} for name in ("dense", "dense_1", "flatten")}
    state = set_training(state, {"loss": losses})
    after = edited(state, delete(state, ["dense"]))
    assert [port.node for port in after.outputs] == ["flatten"]
    assert "dense" not in str(after.training.get("loss"))


@pytest.mark.parametrize(
    "change",
    [
        {"id": "block", "parent": "block"},
        {"id": "conv2d", "parent": ""},
        {"id": "port", "parent": "gone"},
        {"id": "port", "parent": "conv2d"},
        {"id": "conv2d", "model": True},
    ],
)
def test_wrong_blocks_are_not_pasted(change):
    state = two()
    data = json.loads(copy_text(state, ["block"]))
    node = next(each for each in data["nodes"] if each["id"] == change["id"])
    node |= change
    found = refusal(paste, state, json.dumps(data))
    assert found.code == FormatError.code
    project = Document(state).project().to_json()
    drawn = next(each for each in project["canvas"]["nodes"] if each["id"] == change["id"])
    drawn |= change
    opened = Document.of_project(Project.from_json(project))
    assert opened.warnings
    assert broken_rules(opened.state) == ()


def test_copies_map_ids():
    found = duplicate_mapped(group(chain(), ["conv2d"]), ["block"])
    assert found.ids["conv2d"] == "conv2d_1"


def boxes_at_top(state: DocumentState) -> list[Box]:
    return [box_of(node, sizes_in(state)) for node in contents(state)]


def lie_apart(state: DocumentState) -> bool:
    return not any(one.overlaps(other) for one, other in combinations(boxes_at_top(state), 2))


@pytest.mark.parametrize("linked", [True, False])
def test_copies_of_a_block_land_on_free_ground_beside_it(linked: bool):
    state = add_layer(group(chain(), ["conv2d", "re_lu"], "stem"), "Dense", at=(0.0, 0.0))
    block = state.nodes["block"]
    state = move(state, {"dense_1": (block.x + 40, block.y + block.height + 60)})
    assert lie_apart(state)
    for count in (2, 3, 4):
        state = duplicate(state, ["block"], linked=linked)
        assert sum(node.is_block for node in state.nodes.values()) == count
        assert lie_apart(state)
    copies = [node for node in state.nodes.values() if node.is_block]
    assert {node.x for node in copies} == {block.x}
    assert lie_apart(share_block(state, "block").state)


def test_a_pasted_block_lands_on_free_ground_near_the_pointer():
    state = group(chain(), ["conv2d", "re_lu"], "stem")
    block, text = state.nodes["block"], copy_text(state, ["block"])
    middle = block.x + block.width / 2, block.y + block.height / 2
    for at in (middle, (middle[0] + 30, middle[1] - 20), None):
        state = paste(state, text, at)
        assert lie_apart(state)
    empty = middle[0], middle[1] - 900
    state = paste(state, text, empty)
    pasted = list(state.nodes.values())[-1]
    copy = state.nodes[pasted.parent or pasted.id]
    assert (copy.x + copy.width / 2, copy.y + copy.height / 2) == empty


def test_blocks_and_layers_copied_together_keep_their_places_to_each_other():
    state = group(chain(), ["conv2d", "re_lu"], "stem")
    made = duplicate_mapped(state, ["block", "max_pooling2d"])
    assert lie_apart(made.state)
    old = [state.nodes[i] for i in ("block", "max_pooling2d")]
    new = [made.state.nodes[made.ids[node.id]] for node in old]
    assert new[1].x - new[0].x == old[1].x - old[0].x
    assert new[1].y - new[0].y == old[1].y - old[0].y


def test_moving_out_of_a_linked_copy_is_refused_where_others_would_lose_layers():
    state = duplicate(two(), ["block"], linked=True)
    error = refusal(move_out, state, ["re_lu"])
    assert isinstance(error, LossInCopies)
    assert error.message == (
        "moving it out of the block stem would remove re_lu_1 and re_lu_2"
        " from 2 other linked copies"
    )
    assert (error.who, error.hint) == ("re_lu", "unlink the block first")
    assert error.block.id == "block"
    unlinked = make_unique(state, "block")
    after = edited(unlinked, move_out(unlinked, ["re_lu"]))
    assert {node.id for node in after.layers()} == {node.id for node in state.layers()}
    assert runs(after)[0] == runs(state)[0]


def test_moving_out_to_a_level_that_the_copies_share_takes_all_layers_along():
    state = group(two(linked=False), ["block", "max_pooling2d"], "outer")
    state = duplicate(state, ["block_2"], linked=True)
    before = {node.id for node in state.layers()}
    after = edited(state, move_out(state, ["re_lu"]))
    assert {node.id for node in after.layers()} == before
    moved = [node.parent for node in after.layers() if node.type_name == "ReLU"]
    assert "block_2" in moved


def test_notes_leave_a_linked_copy_freely():
    state = edited(two(), add_note(two(), 0.0, 0.0, "why", level="block"))
    (note,) = (n.id for n in contents(state, "block") if n.kind == "note")
    after = edited(state, move_out(state, [note]))
    assert after.nodes[note].parent == ""


def test_a_layer_of_one_copy_is_used_again_in_another():
    state = duplicate(two(), ["block"], linked=True)
    used = place_again(state, "conv2d", after="re_lu_1")
    after = edited(state, used)
    uses = [node.parent for node in after.layers() if node.shares == "conv2d"]
    assert sorted(uses) == ["block", "block_1", "block_2"]
