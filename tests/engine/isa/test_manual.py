"""The manual is current and every declaration is complete enough to print."""

import pytest

from studio.engine.core.errors import ParameterError
from studio.engine.isa import ops
from studio.engine.isa.instruction import GradInstruction, all_instructions
from studio.engine.isa.manual import entry, manual, markdown


def test_manual_is_current(golden):
    golden("../../docs/instructions.md", manual())


@pytest.mark.parametrize("cls", all_instructions(), ids=lambda c: c.mnemonic)
def test_every_instruction_is_documented(cls):
    found = entry(cls.mnemonic)
    assert found.text.splitlines()[0].endswith(".")
    assert found.category
    assert all(f.doc for f in (*found.operands, *found.attributes))
    if not issubclass(cls, GradInstruction):
        assert cls.synopsis
        named = {f.name: "t" for f in (*cls.operand_fields, *cls.attr_fields)}
        assert cls.synopsis.format(**named)


def test_an_entry_shows_formula_and_slopes():
    assert entry("SOFTSIGN").formula == ("y = x / (1 + |x|)", "dx = dy / (1 + |x|)²")
    assert entry("GRADS_SOFTSIGN").formula == ("dx = dy / (1 + |x|)²",)
    assert "    y = x / (1 + |x|)\n    dx = dy / (1 + |x|)²\n" in markdown(entry("SOFTSIGN"))
    assert entry("CONV2D").formula == ()


def test_unknown_instruction_suggests_near_names():
    with pytest.raises(ParameterError, match="CONV2D"):
        entry("conv")
    assert ops.conv.Conv2D.code == 3
