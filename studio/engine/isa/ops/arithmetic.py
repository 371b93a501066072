"""Element-wise arithmetic, comparison and selection."""

from __future__ import annotations

from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import TensorType
from studio.engine.isa.families import Binary, Unary, broadcast_shapes
from studio.engine.isa.fields import number, reads, writes
from studio.engine.isa.instruction import Instruction, TypeOf


class Add(Instruction, code=0, mnemonic="ADD", category="arithmetic", twin=()):
    """Add two tensors with coefficients.

    y = alpha·x1 + beta·x2, broadcasting.
    """

    synopsis = "{y} = {alpha}·{x1} + {beta}·{x2}"
    elementwise = True

    x1 = reads("First operand.")
    x2 = reads("Second operand.")
    y = writes("Weighted sum of the broadcast shape.")
    alpha = number("Coefficient of x1.", 1.0)
    beta = number("Coefficient of x2.", 1.0)

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The broadcast shape of both operands."""
        a, b = of(self.x1), of(self.x2)
        return (TensorType(broadcast_shapes(self.mnemonic, a.shape, b.shape), a.dtype),)

    def flops(self, of: TypeOf) -> int:
        """Two products and a sum per result."""
        return 3 * of(self.y).numel


class Scale(Unary, code=1, mnemonic="SCALE", category="arithmetic", twin=()):
    """Multiply a tensor by a number.

    y = alpha·x.
    """

    synopsis = "{y} = {alpha}·{x}"
    alpha = number("Factor.", 1.0)


class Mul(Binary, code=200, mnemonic="MUL", twin=("a", "b")):
    """Multiply element by element.

    y = a·b, broadcasting.
    """

    synopsis = "{y} = {a}·{b}"


class Div(Binary, code=201, mnemonic="DIV", twin=("a", "b")):
    """Divide element by element.

    y = a/b, broadcasting. x/0 is ±Inf and 0/0 is NaN, as in IEEE 754.
    """

    synopsis = "{y} = {a}/{b}"


class Maximum(Binary, code=202, mnemonic="MAXIMUM", twin=("a", "b")):
    """Take the larger of two elements.

    y = max(a, b), broadcasting. NaN in either operand gives NaN; at a tie the gradient goes to a.
    """

    synopsis = "{y} = max({a}, {b})"


class Minimum(Binary, code=203, mnemonic="MINIMUM", twin=("a", "b")):
    """Take the smaller of two elements.

    y = min(a, b), broadcasting. NaN in either operand gives NaN; at a tie the gradient goes to a.
    """

    synopsis = "{y} = min({a}, {b})"


class Pow(Binary, code=204, mnemonic="POW", twin=("a", "b", "y")):
    """Raise to a power element by element.

    y = a^b, broadcasting. Defined for a > 0, and for a = 0 with b > 0; NaN for negative a with a
    fractional b. The gradient with respect to b is 0 where a is 0.
    """

    synopsis = "{y} = {a}^{b}"


class AddScalar(Unary, code=205, mnemonic="ADD_SCALAR", category="arithmetic", twin=()):
    """Add a number to every element.

    y = x + beta.
    """

    synopsis = "{y} = {x} + {beta}"
    beta = number("Number added.", 0.0)


class Equal(Binary, code=206, mnemonic="EQUAL", category="comparison"):
    """Compare for equality.

    y = (a == b) as bool, broadcasting. NaN equals nothing. No gradient.
    """

    synopsis = "{y} = {a} == {b}"

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The broadcast shape, as bool."""
        return (TensorType(super().infer(of)[0].shape, DType.bool),)


class Greater(Binary, code=207, mnemonic="GREATER", category="comparison"):
    """Compare for order.

    y = (a > b) as bool, broadcasting. False where either is NaN. No gradient.
    """

    synopsis = "{y} = {a} > {b}"

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The broadcast shape, as bool."""
        return (TensorType(super().infer(of)[0].shape, DType.bool),)


class Select(Instruction, code=208, mnemonic="SELECT", category="comparison", twin=("c",)):
    """Choose between two tensors element by element.

    y = c ? a : b; all three of one shape. The gradient goes to the chosen side.
    """

    synopsis = "{y} = {c} ? {a} : {b}"
    elementwise = True

    c = reads("Condition, bool.", differentiable=False)
    a = reads("Taken where c is true.")
    b = reads("Taken where c is false.")
    y = writes("Result, shape and dtype of a.")

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The type of a, when all shapes agree."""
        shape = broadcast_shapes(self.mnemonic, of(self.a).shape, of(self.b).shape)
        broadcast_shapes(self.mnemonic, of(self.c).shape, shape)
        return (TensorType(shape, of(self.a).dtype),)
