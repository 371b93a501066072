"""Element-wise logic: of truth values and of bits, and what numbers are."""

from __future__ import annotations

from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import TensorType
from studio.engine.isa.families import Binary, Unary
from studio.engine.isa.fields import choice
from studio.engine.isa.instruction import TypeOf


class And(Binary, code=418, mnemonic="AND", category="logic", since=2):
    """Whether both are true.

    Operands are bool; shapes broadcast. No gradient.
    """

    synopsis = "{y} = {a} and {b}"
    formula = "a and b"


class Or(Binary, code=419, mnemonic="OR", category="logic", since=2):
    """Whether one or both are true.

    Operands are bool; shapes broadcast. No gradient.
    """

    synopsis = "{y} = {a} or {b}"
    formula = "a or b"


class Xor(Binary, code=420, mnemonic="XOR", category="logic", since=2):
    """Whether exactly one is true.

    Operands are bool; shapes broadcast. No gradient.
    """

    synopsis = "{y} = {a} xor {b}"
    formula = "(a or b) and not (a and b)"


class Not(Unary, code=421, mnemonic="NOT", category="logic", since=2):
    """Whether it is false.

    The operand is bool. No gradient.
    """

    synopsis = "{y} = not {x}"
    formula = "not x"


class Asks(Unary, category="logic"):
    """A question about one number, answered by a bool."""

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The shape of x, as bool."""
        return (TensorType(of(self.x).shape, DType.bool),)


class IsNan(Asks, code=422, mnemonic="IS_NAN", since=2):
    """Whether it is NaN.

    The result is bool. Its gradient is 0.
    """

    synopsis = "{y} = isnan({x})"
    formula = "isnan(x)"
    flat = True


class IsInf(Asks, code=423, mnemonic="IS_INF", since=2):
    """Whether it is infinite, of either sign.

    The result is bool; false for NaN. Its gradient is 0.
    """

    synopsis = "{y} = isinf({x})"
    formula = "abs(x) == inf"
    flat = True


class BitAnd(Binary, code=427, mnemonic="BIT_AND", category="logic", since=2):
    """Take the bits that both have.

    Operands are whole numbers; shapes broadcast. No gradient.
    """

    synopsis = "{y} = {a} & {b}"
    formula = "bit_and(a, b)"


class BitOr(Binary, code=428, mnemonic="BIT_OR", category="logic", since=2):
    """Take the bits that one or both have.

    Operands are whole numbers; shapes broadcast. No gradient.
    """

    synopsis = "{y} = {a} | {b}"
    formula = "bit_or(a, b)"


class BitXor(Binary, code=429, mnemonic="BIT_XOR", category="logic", since=2):
    """Take the bits that exactly one has.

    Operands are whole numbers; shapes broadcast. No gradient.
    """

    synopsis = "{y} = {a} ^ {b}"
    formula = "bit_xor(a, b)"


class BitNot(Unary, code=430, mnemonic="BIT_NOT", category="logic", since=2):
    """Turn every bit over.

    The operand is a whole number, the result -1 - x. No gradient.
    """

    synopsis = "{y} = ~{x}"
    formula = "bit_not(x)"


class BitShift(Binary, code=431, mnemonic="BIT_SHIFT", category="logic", since=2):
    """Shift bits by b places.

    Operands are whole numbers; shapes broadcast. To the left zeros come in, to the right the bit of
    the sign. b below 0 or above 31 shifts every bit out. No gradient.
    """

    synopsis = "{y} = {a} shifted by {b} to the {direction}"
    formula = 'shift_left(a, b) if direction == "left" else shift_right(a, b)'
    direction = choice("Where bits go.", "left", "right")
