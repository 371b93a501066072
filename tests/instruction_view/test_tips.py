"""What pops up over an opcode."""

from __future__ import annotations

import pytest

from studio.engine.core.tensor import Ref
from studio.engine.isa.ops.activation import Swish
from studio.instruction_view.tips import opcode_tip

pytest.importorskip("PySide6")


@pytest.mark.usefixtures("qapp")
def test_the_card_of_an_instruction_shows_formula_and_slopes() -> None:
    fields = {"x": Ref(1), "y": Ref(2), "beta": 1.5}
    card = opcode_tip(Swish(**fields))
    assert "y = x·sigmoid(beta·x)<br>z = beta·x<br>" in card
    assert "dx = dy·s·(1 + z·(1 - s))" in card
    assert Swish.grad_class is not None
    gradient = opcode_tip(Swish.grad_class(**fields))
    assert "dx = dy·s·(1 + z·(1 - s))" in gradient
    assert "y = x·sigmoid(beta·x)<br>" not in gradient
