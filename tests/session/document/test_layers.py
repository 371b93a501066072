from __future__ import annotations

import pytest

from studio.engine.core.errors import GraphError, ParameterError
from studio.engine.layers.catalog import all_layers
from studio.engine.layers.graph import Port
from studio.session.document.cards.geometry import box_of
from studio.session.document.checks.invariants import broken_rules
from studio.session.document.checks.validation import validate
from studio.session.document.edits import layers, removal
from studio.session.document.edits.chains import NewLayer, add_chain
from studio.session.document.edits.copies import duplicate, duplicate_mapped
from studio.session.document.edits.layers import bypass
from studio.session.document.edits.sharing import give_own_layer
from studio.session.document.edits.switching import switch_type, switchable
from studio.session.document.edits.wires import add_dot
from studio.session.document.flow import flow_of
from studio.session.document.repairs.search import with_fixes
from studio.session.document.resolve import resolve
from studio.session.document.state import DocumentState, Wire
from tests.session.document.networks import chain, net, refusal, residual, share
from tests.session.document.networks import wires as drawn

TYPES = [cls.__name__ for cls in all_layers()]


@pytest.mark.parametrize("type_name", TYPES)
def test_every_layer_of_the_catalogue_can_be_added(type_name):
    state = layers.add_layer(DocumentState(), type_name)
    (node,) = state.nodes.values()
    assert (node.type_name, node.name) == (type_name, node.id)
    assert broken_rules(state) == ()


def test_a_new_layer_is_named_and_wired_and_stands_free():
    state = layers.add_layer(chain(), "ReLU", after="dense")
    node = state.nodes["re_lu_1"]
    assert node.sources == ("dense",)
    boxes = [box_of(each) for each in state.nodes.values()]
    assert not any(a.overlaps(b) for a in boxes for b in boxes if a is not b)
    again = layers.add_layer(state, "ReLU", after="dense")
    assert again.nodes["re_lu_2"].y > again.nodes["re_lu_1"].y


def test_an_input_layer_is_not_wired_to_what_is_selected():
    assert layers.add_layer(chain(), "Input", after="dense").nodes["input_1"].sources == ()


def test_options_are_checked_by_the_layer_itself():
    state = layers.set_option(chain(), "dense", "units", 32)
    assert state.nodes["dense"].config["units"] == 32
    assert "units" in refusal(layers.set_option, state, "dense", "units", 0).message
    assert (
        "unknown option 'colour'" in refusal(layers.set_option, state, "dense", "colour", 1).message
    )
    assert (
        "is not a layer"
        in refusal(
            layers.set_option, add_dot(state, Wire("flatten", "dense", 0), 0, 0), "dot", "units", 1
        ).message
    )


def test_an_option_set_to_its_default_is_not_kept():
    state = layers.set_option(chain(), "conv2d", "padding", "same")
    assert state.nodes["conv2d"].config["padding"] == "same"
    assert layers.set_option(state, "conv2d", "padding", "valid") == chain()
    assert layers.set_option(state, "conv2d", "padding", None) == chain()


def test_an_optional_option_is_set_to_none():
    state = layers.set_option(chain(), "max_pooling2d", "strides", 1)
    assert state.nodes["max_pooling2d"].config["strides"] == [1, 1]
    assert layers.set_option(state, "max_pooling2d", "strides", None) == chain()


def test_options_that_depend_on_each_other_are_set_at_once():
    state = layers.set_options(chain(), "conv2d", {"filters": 4, "padding": "same"})
    assert (state.nodes["conv2d"].config["filters"], flow_of(state).shape("conv2d")) == (
        4,
        (8, 8, 4),
    )


NAMES = {"": "1 to 64", "two words": "1 to 64", "loss": "1 to 64", "conv2d": "is taken"}


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_name_is_refused(name):
    error = refusal(layers.rename, chain(), "dense", name)
    assert NAMES[name] in error.message


def test_renaming_keeps_the_id_and_the_wires():
    state = layers.rename(chain(), "conv2d", "stem")
    assert state.nodes["conv2d"].name == "stem"
    assert drawn(state) == drawn(chain())
    assert layers.rename(state, "conv2d", "stem") is state


def test_freezing_toggles_all_or_none():
    state = layers.freeze(chain(), ["dense"])
    assert state.nodes["dense"].frozen
    both = layers.freeze(state, ["dense", "conv2d"])
    assert both.nodes["dense"].frozen
    assert both.nodes["conv2d"].frozen
    assert layers.freeze(both, ["dense", "conv2d"]) == chain()


def test_collapse_and_preview_are_kept_for_each_layer():
    state = layers.collapse(chain(), ["dense", "gone"])
    assert state.nodes["dense"].collapsed
    assert layers.collapse(state, ["dense"]) == chain()
    assert layers.set_preview(state, ["dense"], "full").nodes["dense"].preview == "full"


def test_outputs_are_marked_and_unmarked():
    state = layers.mark_output(chain(), "flatten")
    assert resolve(state).outputs == (Port("flatten"),)
    assert resolve(state).reached == {"input", "conv2d", "re_lu", "max_pooling2d", "flatten"}
    assert layers.mark_output(state, "flatten") == chain()
    assert resolve(chain()).outputs == (Port("dense"),)


def test_every_use_of_a_shared_layer_has_its_options():
    state = share(chain(), "dense", "again", "flatten")
    state = layers.set_option(state, "again", "units", 3)
    assert state.nodes["dense"].config["units"] == 3
    assert layers.rename(state, "dense", "twin").nodes["again"].name == "twin"
    assert broken_rules(layers.freeze(state, ["again"])) == ()


def test_deleting_the_owner_of_a_shared_layer_leaves_it_to_the_next():
    state = share(share(chain(), "dense", "second", "flatten"), "dense", "third", "flatten")
    state = removal.delete(state, ["dense"])
    assert (state.nodes["second"].shares, state.nodes["third"].shares) == ("", "second")
    assert broken_rules(state) == ()


def test_a_use_of_a_shared_layer_can_get_its_own():
    state = share(chain(), "dense", "second", "flatten")
    own = give_own_layer(state, "second")
    assert (own.nodes["second"].shares, own.nodes["second"].name) == ("", "dense_1")
    from_owner = give_own_layer(state, "dense")
    assert (from_owner.nodes["dense"].name, from_owner.nodes["second"].shares) == ("dense_1", "")
    assert broken_rules(own) == broken_rules(from_owner) == ()
    assert "not share" in refusal(give_own_layer, chain(), "dense").message


def test_bypassed_layers_pass_data_on():
    state = bypass(chain(), ["re_lu"])
    assert resolve(state).inputs["max_pooling2d"] == (Port("conv2d"),)
    assert flow_of(state).shape("re_lu") == (6, 6, 8)
    assert bypass(state, ["re_lu"]) == chain()


def test_a_bypassed_merge_passes_its_first_input():
    state = bypass(layers.add_layer(residual(), "ReLU", after="add"), ["add"])
    assert resolve(state).inputs["re_lu"] == (Port("conv2d_1"),)


def test_a_bypass_that_does_not_fit_is_an_error_at_what_follows_and_can_be_ended():
    before = net("input 8x8x1 > reshape 64 > reshape 4x4x4 > conv 2 3x3")
    state = bypass(before, ["reshape_1"])
    report = with_fixes(validate(state), state, None)
    (problem,) = report.errors
    assert (problem.id, problem.node) == ("shape.rank", "conv2d")
    assert "(64)" in problem.message or "[64]" in problem.message
    fix = next(fix for fix in problem.fixes if fix.text == "Stop bypassing reshape_1")
    assert fix.apply(state) == before
    assert "cannot be bypassed" in refusal(bypass, chain(), ["input"]).message


def test_a_bypass_is_allowed_where_what_follows_is_wrong_already():
    state = net("input 4 > relu > conv 2 3x3")
    assert bypass(state, ["re_lu"]).nodes["re_lu"].bypassed


def test_duplicates_are_wired_among_themselves():
    state = duplicate(chain(), ["conv2d", "re_lu"])
    assert state.nodes["conv2d_1"].sources == ()
    assert state.nodes["re_lu_1"].sources == ("conv2d_1",)
    kept = duplicate(chain(), ["conv2d", "re_lu"], keep_inputs=True)
    assert kept.nodes["conv2d_1"].sources == ("input",)


def test_duplicates_never_hide_each_other():
    state = chain()
    for _ in range(4):
        state = duplicate(state, ["dense"])
    places = [(node.x, node.y) for node in state.nodes.values()]
    assert len(set(places)) == len(places)
    assert [i for i in state.nodes if i.startswith("dense")] == [
        "dense",
        *(f"dense_{k}" for k in (1, 2, 3, 4)),
    ]


def test_duplicates_share_what_is_duplicated_with_them():
    state = share(chain(), "dense", "second", "flatten")
    both = duplicate_mapped(state, ["dense", "second"])
    assert both.state.nodes[both.ids["second"]].shares == both.ids["dense"]
    alone = duplicate_mapped(state, ["second"])
    assert alone.state.nodes[alone.ids["second"]].shares == ""
    assert broken_rules(both.state) == broken_rules(alone.state) == ()


def test_a_switched_layer_keeps_wires_place_and_common_options():
    state = layers.set_options(chain(), "conv2d", {"activation": "relu", "padding": "same"})
    after = switch_type(state, "conv2d", "DepthwiseConv2D")
    node = after.nodes["conv2d"]
    assert dict(node.config) == {
        "name": "depthwise_conv2d", "kernel_size": [3, 3], "padding": "same", "activation": "relu",
    }  # fmt: skip
    assert drawn(after) == drawn(state)
    assert (node.x, node.y) == (state.nodes["conv2d"].x, state.nodes["conv2d"].y)


def test_a_name_of_the_users_own_outlives_a_switch():
    state = switch_type(layers.rename(chain(), "conv2d", "stem"), "conv2d", "Dense")
    assert (state.nodes["conv2d"].name, state.nodes["conv2d"].config["units"]) == ("stem", 64)


def test_a_switch_that_cannot_keep_the_wires_is_refused():
    error = refusal(switch_type, residual(), "add", "Dense")
    assert isinstance(error, GraphError)
    assert error.message == "Dense takes 1 wire, 2 are connected"
    assert switchable(residual(), "add") == ("Multiply", "Concatenate")
    assert "Input" not in switchable(chain(), "dense")
    assert "Input" in switchable(layers.add_layer(chain(), "ReLU", at=(0, 0)), "re_lu_1")
    assert isinstance(refusal(switch_type, chain(), "dense", "Foo"), ParameterError)


def test_a_chain_is_added_behind_a_layer_or_on_a_wire():
    new = [NewLayer("ReLU", {}), NewLayer("Dropout", {"rate": 0.5})]
    made = add_chain(chain(), new, after="dense")
    assert made.ids == ("re_lu_1", "dropout")
    assert drawn(made.state).endswith("dense>re_lu_1 re_lu_1>dropout")
    on = add_chain(chain(), new, wire=Wire("conv2d", "re_lu", 0)).state
    assert on.nodes["re_lu"].sources == ("dropout",)
    assert on.nodes["re_lu_1"].sources == ("conv2d",)
