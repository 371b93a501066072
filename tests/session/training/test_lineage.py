"""A layer is not the one that was trained because it has its name."""

from __future__ import annotations

import numpy as np
import pytest

from studio.session.document.document import Document
from studio.session.document.edits.insertion import add_on_wire
from studio.session.document.edits.layers import rename
from studio.session.document.edits.places import move
from studio.session.document.edits.removal import delete
from studio.session.document.edits.switching import switch_type
from studio.session.document.state import DocumentState, Wire
from studio.session.live.sources import HeldWeights, is_replaced
from studio.session.preview.preview import origin_of
from studio.session.training.staleness import Lineage
from tests.session.document.networks import net


@pytest.fixture
def document() -> Document:
    return Document(net("input 4 > dense 8 > dense 8 > dense 3"))


@pytest.fixture
def lineage(document: Document) -> Lineage:
    lineage = Lineage()
    lineage.begin(document.state)
    document.changed.connect(lineage.follow)
    return lineage


def again(state: DocumentState) -> DocumentState:
    """A new layer where one was deleted; it has the same id, name, options and wires."""
    return add_on_wire(state, "Dense", Wire("dense", "dense_2", 0), config={"units": 8})


def test_a_new_layer_of_the_same_name_is_another(document: Document, lineage: Lineage) -> None:
    before = document.state
    document.apply("Delete", delete(document.state, ["dense_1"]))
    assert lineage.replaced == frozenset()
    document.apply("Add", again(document.state))
    assert document.state.nodes["dense_1"].config == before.nodes["dense_1"].config
    assert document.state.nodes["dense_1"].inputs == before.nodes["dense_1"].inputs
    assert lineage.replaced == {"dense_1"}
    document.undo()
    document.undo()
    assert lineage.replaced == frozenset()
    document.redo()
    document.redo()
    assert lineage.replaced == {"dense_1"}


def test_what_is_done_to_a_layer_leaves_it_itself(document: Document, lineage: Lineage) -> None:
    document.apply("Move", move(document.state, {"dense_1": (500.0, 300.0)}))
    document.apply("Rename", rename(document.state, "dense_1", "middle"))
    assert lineage.replaced == frozenset()


def test_swapped_names_and_another_type_are_other_layers(
    document: Document, lineage: Lineage
) -> None:
    for old, new in (("dense", "x"), ("dense_1", "dense"), ("dense", "dense_1")):
        document.apply("Rename", rename(document.state, old, new))
    assert lineage.replaced == {"dense", "dense_1"}
    for _ in range(3):
        document.undo()
    assert lineage.replaced == frozenset()
    state = rename(document.state, "dense_1", "own")
    document.apply("Rename", state)
    lineage.begin(document.state)
    document.apply("Switch", switch_type(document.state, "dense_1", "BatchNormalization"))
    assert lineage.replaced == {"own"}


def test_previews_take_no_weights_of_a_layer_that_is_another() -> None:
    kept = {"a/kernel": np.ones((2, 2)), "b/kernel": np.ones((2, 2))}
    resting = HeldWeights("weights of run 1", lambda: kept, 7, lambda: frozenset({"b"}))
    assert [is_replaced(resting, name) for name in ("a/kernel", "b/kernel")] == [False, True]

    class Live:
        trainer = None

    live = Live()
    live.resting = resting  # type: ignore[attr-defined]
    origin = origin_of(live)  # type: ignore[arg-type]
    assert origin.read is not None
    assert list(origin.read(["a/kernel", "b/kernel"])) == ["a/kernel"]
    whole = HeldWeights("weights of run 1", lambda: kept, 7)
    live.resting = whole  # type: ignore[attr-defined]
    assert origin_of(live).key != origin.key  # type: ignore[arg-type]
