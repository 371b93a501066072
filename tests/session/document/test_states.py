from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import FrozenInstanceError

import pytest

from studio.engine.core.errors import GraphError
from studio.engine.layers.graph import Port
from studio.session.document.change import Change
from studio.session.document.checks.invariants import broken_rules
from studio.session.document.edits.layers import freeze, rename, set_option
from studio.session.document.edits.places import move
from studio.session.document.edits.removal import delete
from studio.session.document.edits.sections import set_notes
from studio.session.document.frozen_config import FrozenConfig
from studio.session.document.state import CanvasNode, DocumentState, Wire
from tests.session.document.networks import chain, residual, share

HASH = """
from tests.session.document.networks import residual
import sys
sys.stdout.write(residual().content_hash)
"""


def test_a_state_cannot_be_changed_in_place():
    state = chain()
    with pytest.raises(FrozenInstanceError):
        state.nodes["dense"].x = 3  # type: ignore[misc]
    with pytest.raises(TypeError):
        state.nodes["dense"] = CanvasNode("dense")  # type: ignore[index]


def test_an_edit_shares_everything_it_does_not_change():
    before = chain()
    after = set_option(before, "dense", "units", 12)
    same = [i for i in before.nodes if before.nodes[i] is after.nodes[i]]
    assert same == [i for i in before.nodes if i != "dense"]


def test_a_configuration_equals_what_has_the_same_values():
    one = FrozenConfig({"units": 3, "activation": "relu"})
    assert one == FrozenConfig({"activation": "relu", "units": 3})
    assert one == {"activation": "relu", "units": 3}
    assert hash(one) == hash(FrozenConfig({"activation": "relu", "units": 3}))
    assert one != FrozenConfig({"units": 3.0, "activation": "relu"})
    assert one.replaced(units=4)["units"] == 4
    assert dict(one.without("units")) == {"activation": "relu"}


def test_a_configuration_keeps_lists_of_its_own():
    given = {"shape": [8, 8, 1]}
    kept = FrozenConfig(given)
    given["shape"].append(2)
    kept.plain()["shape"].append(3)  # type: ignore[union-attr]
    assert kept["shape"] == [8, 8, 1]


@pytest.mark.slow
def test_the_hash_is_the_same_in_another_process():
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    found = subprocess.run(
        [sys.executable, "-c", HASH], capture_output=True, text=True, check=True, env=environment
    )
    assert found.stdout == residual().content_hash


def test_the_hash_differs_with_every_part():
    state = chain()
    changed = [
        state,
        move(state, {"dense": (1.0, 2.0)}),
        rename(state, "dense", "head"),
        freeze(state, ["dense"]),
        set_notes(state, "a"),
        state.replaced(outputs=(Port("dense"),)),
        state.replaced(name="b"),
        state.replaced(data=FrozenConfig({"source": "digits"})),
        state.replaced(training=FrozenConfig({"epochs": 2})),
        delete(state, ["dense"]),
    ]
    assert len({each.content_hash for each in changed}) == len(changed)


def test_a_missing_node_is_named():
    with pytest.raises(GraphError, match="'gone'"):
        chain().node("gone")


def test_wires_are_found_by_source_and_target():
    state = residual()
    assert state.wires_from("input") == (Wire("input", "conv2d", 0), Wire("input", "add", 1))
    assert state.wires_from("add") == ()
    assert len(list(state.wires())) == 4


def test_a_change_names_what_was_added_removed_modified_and_moved():
    before = chain()
    after = delete(move(set_notes(before, "x"), {"flatten": (5.0, 5.0)}), ["re_lu"])
    change = Change.between(before, after, "text")
    assert (change.added, change.removed) == ((), ("re_lu",))
    assert change.modified == ("max_pooling2d", "flatten")
    assert change.moved == ("flatten",)
    assert change.sections == {"notes"}
    assert not change.only_places
    back = Change.between(after, before)
    assert (back.added, back.removed) == (("re_lu",), ())


def test_a_change_of_places_alone_says_so():
    before = chain()
    assert Change.between(before, move(before, {"dense": (9.0, 9.0)})).only_places
    assert Change.between(before, before).is_empty


def node(**fields: object) -> CanvasNode:
    config = FrozenConfig({"name": "a", "units": 2})
    return CanvasNode(**{"id": "a", "type_name": "Dense", "config": config, **fields})  # type: ignore[arg-type]


BROKEN = {
    "wire from nowhere": (node(inputs=(Port("b"),)), "comes from nowhere"),
    "wire from a note": (node(inputs=(Port("n"),)), "comes from a note"),
    "too many wires": (node(inputs=(Port("r"), Port("r"))), "takes 1 wires"),
    "wired note": (CanvasNode("q", "note", inputs=(Port("r"),)), "has wires"),
    "dot with two wires": (CanvasNode("d", "dot", inputs=(Port("r"), Port("r"))), "2 wires"),
    "default written out": (
        node(config=FrozenConfig({"name": "a", "units": 2, "use_bias": True})),
        "not in their stored form",
    ),
    "wrong option": (node(config=FrozenConfig({"name": "a", "units": 0})), "are wrong"),
    "no name": (node(config=FrozenConfig({"units": 2})), "has no name"),
    "name of another": (node(config=FrozenConfig({"name": "r", "units": 2})), "are called 'r'"),
    "shares nothing": (node(shares="gone"), "shares a layer that is not there"),
    "shares another kind": (node(shares="r"), "differs from the layer"),
    "loop": (CanvasNode("d", "dot", inputs=(Port("d"),)), "form a loop"),
    "kept elsewhere": (node(id="z"), "kept under another id"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_the_checker_sees_what_no_state_may_have(name):
    wrong, message = BROKEN[name]
    relu = CanvasNode("r", "layer", "ReLU", FrozenConfig({"name": "r"}))
    good = DocumentState().with_nodes([relu, CanvasNode("n", "note")])
    assert broken_rules(good) == ()
    key = "a" if name == "kept elsewhere" else wrong.id
    bad = good.replaced(nodes={**good.nodes, key: wrong})
    assert any(message in rule for rule in broken_rules(bad))


def test_the_checker_sees_marks_of_what_is_no_layer():
    assert broken_rules(chain().replaced(outputs=(Port("gone"),))) == ("output 'gone' is no layer",)
    assert broken_rules(chain().replaced(outputs=(Port("dense"), Port("dense"))))


def test_a_shared_layer_is_sound():
    assert broken_rules(share(chain(), "dense", "again", "flatten")) == ()
