"""Values of one kind out of several: the classes of a family say all that a form shows of them."""

from __future__ import annotations

import pytest

from studio.engine.core.configured import Configured
from studio.engine.core.errors import ParameterError
from studio.engine.core.kinds import FamilyKinds, SettingsKinds
from studio.engine.core.options import integer, number, optional_number


class Brush(Configured, family="brush"):
    """What all brushes share."""

    size = integer("Width.", 2, low=1)


class FlatBrush(Brush):
    """Paints ``broad`` strokes.

    Not shown in forms.
    """

    angle = number("Turn.", start=45.0, low=10.0)


class HB(Brush):
    """Draws lines."""

    title = "Pencil HB"

    hardness = number("Hardness.", low=0.5)
    tilt = optional_number("Tilt.")


KINDS = FamilyKinds(Brush, none="no brush")


def test_a_kind_is_described_by_its_class() -> None:
    none, flat, pencil = KINDS.kinds
    assert (none.key, none.label, none.options) == ("", "no brush", ())
    assert (flat.key, flat.label, flat.doc) == ("FlatBrush", "Flat brush", "Paints broad strokes.")
    assert pencil.label == "Pencil HB"
    assert pencil.options == HB.options
    assert KINDS.kind("unknown") is not None
    assert [kind.key for kind in FamilyKinds(Brush).kinds] == ["FlatBrush", "HB"]


def test_a_kind_begins_with_what_it_needs_and_keeps_what_both_have() -> None:
    flat = KINDS.with_kind(None, "FlatBrush")
    assert flat == {"type": "FlatBrush", "config": {"angle": 45.0}}
    wide = KINDS.with_value(flat, "size", 7)
    assert KINDS.split(wide) == ("FlatBrush", {"size": 7, "angle": 45.0})
    pencil = KINDS.with_kind(wide, "HB")
    # Without a value to begin with, the least that is allowed, but 1 where that is less.
    assert pencil == {"type": "HB", "config": {"size": 7, "hardness": 1.0}}
    assert KINDS.with_kind(pencil, "") is None


def test_no_value_takes_the_default_unless_none_is_allowed() -> None:
    pencil = {"type": "HB", "config": {"size": 7, "hardness": 3.0, "tilt": 0.5}}
    assert KINDS.with_value(pencil, "size", None) == {
        "type": "HB", "config": {"hardness": 3.0, "tilt": 0.5},
    }  # fmt: skip
    assert KINDS.split(KINDS.with_value(pencil, "hardness", None))[1]["hardness"] == 1.0
    assert KINDS.with_value(pencil, "tilt", None) == {
        "type": "HB", "config": {"size": 7, "hardness": 3.0, "tilt": None},
    }  # fmt: skip
    with pytest.raises(ParameterError, match="unknown brush 'Chalk'"):
        KINDS.split("Chalk")


def test_settings_that_are_used_or_not() -> None:
    kinds = SettingsKinds(FlatBrush, none="off")
    assert [kind.label for kind in kinds.kinds] == ["off", "on"]
    assert kinds.with_kind(None, "FlatBrush") == {"angle": 45.0}
    assert kinds.with_value({"angle": 45.0}, "size", 3) == {"angle": 45.0, "size": 3}
    assert kinds.split(None) == ("", {})
    assert len(SettingsKinds(FlatBrush).kinds) == 1
