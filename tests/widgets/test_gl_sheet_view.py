"""What the widget that draws from the device gives back, without a device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from studio.widgets.gl_sheet_view import GlSheetView

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot


class Lent:
    """Stands for a snapshot."""

    def __init__(self) -> None:
        self.fences: list[int] = []

    def drawn(self, fence: int) -> None:
        self.fences.append(fence)

    def release(self) -> None:
        """Nothing is to be given back here."""


class Painter:
    """Stands for what draws in a context that makes this fence, 0 where it is lost."""

    def __init__(self, made: int) -> None:
        self._made = made

    def fence(self) -> int:
        return self._made

    def release(self) -> None:
        """Nothing was made."""


@pytest.mark.parametrize(("made", "told"), [(7, [7]), (0, [])])
def test_a_context_that_goes_leaves_its_fence_where_it_makes_one(
    qtbot: QtBot, made: int, told: list[int]
) -> None:
    view = cast("Any", GlSheetView())
    qtbot.addWidget(view)
    lent = Lent()
    view._painter, view._snapshot, view._drawn = Painter(made), lent, True
    view._context_going()
    assert lent.fences == told
    view.clear()
    assert lent.fences == told
