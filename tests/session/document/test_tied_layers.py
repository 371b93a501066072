"""Layers that name another layer: the name follows when that one is renamed or copied too."""

from __future__ import annotations

from studio.session.document.document import Document
from studio.session.document.edits.copies import duplicate_mapped
from studio.session.document.edits.layers import add_layer, rename
from studio.session.document.state import DocumentState


def autoencoder() -> DocumentState:
    state = add_layer(Document.new().state, "Input", config={"shape": [6]})
    state = add_layer(state, "Dense", after="input", config={"units": 2})
    return add_layer(state, "TiedDense", after="dense", config={"units": 6, "tied_to": "dense"})


def tied_to(state: DocumentState, node_id: str = "tied_dense") -> object:
    return state.nodes[node_id].config.get("tied_to")


def test_the_name_follows_the_layer() -> None:
    state = rename(autoencoder(), "dense", "code")
    assert tied_to(state) == "code"
    state = rename(state, "input", "x")
    assert tied_to(state) == "code"
    state = rename(state, "tied_dense", "restored")
    assert tied_to(state) == "code"


def test_a_copy_is_tied_to_the_copy_or_to_what_is_not_copied() -> None:
    state = autoencoder()
    both = duplicate_mapped(state, ["dense", "tied_dense"])
    assert tied_to(both.state, both.ids["tied_dense"]) == both.ids["dense"]
    assert tied_to(both.state) == "dense"
    alone = duplicate_mapped(state, ["tied_dense"])
    assert tied_to(alone.state, alone.ids["tied_dense"]) == "dense"
