"""The selection bus: what reaches whom, and what stays as it is."""

from __future__ import annotations

import pytest

from studio.session.compile.selection import Selection, SelectionBus
from studio.session.core import entities

A, B, C = entities.node("a"), entities.node("b"), entities.tensor("a/kernel")


class Heard:
    def __init__(self, bus: SelectionBus) -> None:
        self.hovers: list[object] = []
        self.selections: list[tuple[Selection, str]] = []
        bus.hovered.connect(self.hovered)
        bus.selected.connect(self.selected)

    def hovered(self, entity: object, source: str) -> None:
        self.hovers.append((entity, source))

    def selected(self, selection: Selection, source: str) -> None:
        self.selections.append((selection, source))


def test_selection_modes_replace_add_and_toggle() -> None:
    bus = SelectionBus()
    bus.select([A], source="canvas")
    assert bus.selection == Selection((A,), A)
    bus.select([B], mode="add")
    assert bus.selection == Selection((A, B), B)
    bus.select([A], mode="toggle")
    assert bus.selection == Selection((B,), B)
    bus.select([A, C], primary=A, mode="replace")
    assert bus.selection == Selection((A, C), A)
    bus.clear()
    assert bus.selection == Selection()


def test_selecting_the_same_again_tells_nobody() -> None:
    bus = SelectionBus()
    heard = Heard(bus)
    bus.select([A], source="canvas")
    bus.select([A], source="listing")
    assert heard.selections == [(Selection((A,), A), "canvas")]


def test_hover_tells_once_and_leaves_the_selection() -> None:
    bus = SelectionBus()
    heard = Heard(bus)
    bus.select([A])
    bus.hover(B, "listing")
    bus.hover(B, "canvas")
    bus.hover(None, "listing")
    assert heard.hovers == [(B, "listing"), (None, "listing")]
    assert bus.selection.primary == A


def test_forgotten_things_leave_selection_and_hover() -> None:
    bus = SelectionBus()
    bus.select([A, B], primary=A)
    bus.hover(A, "canvas")
    bus.forget([A])
    assert bus.selection == Selection((B,), B)
    assert bus.hover_entity is None


def test_entities_give_their_parts_back() -> None:
    first, second = ("conv.1", "add-2", 1, 0), ("conv.1", "add-2", 1, 3)
    assert entities.wire(*first) == entities.Entity("wire", "conv.1→add-2:1")
    for ends in (first, second):
        assert entities.wire_ends(entities.wire(*ends)) == ends
    assert entities.tensor_name(entities.tensor("c/kernel", grad=True)) == ("c/kernel", True)
    assert entities.kernel_parts(entities.kernel("train/forward/a/RELU/0", 2)) == (
        "train/forward/a/RELU/0",
        2,
    )
    with pytest.raises(ValueError, match="expected a wire"):
        entities.wire_ends(A)
