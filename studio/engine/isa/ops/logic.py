"""Element-wise logic: truth values, and what numbers are."""

from __future__ import annotations

from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import TensorType
from studio.engine.isa.families import Binary, Unary
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

    The result is bool. No gradient.
    """

    synopsis = "{y} = isnan({x})"
    formula = "isnan(x)"


class IsInf(Asks, code=423, mnemonic="IS_INF", since=2):
    """Whether it is infinite, of either sign.

    The result is bool; false for NaN. No gradient.
    """

    synopsis = "{y} = isinf({x})"
    formula = "abs(x) == inf"
