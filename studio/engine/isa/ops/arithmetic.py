"""Element-wise arithmetic, comparison and selection."""

from __future__ import annotations

from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import TensorType
from studio.engine.isa.families import Binary, Unary, broadcast_shapes
from studio.engine.isa.fields import number, reads, writes
from studio.engine.isa.instruction import Instruction, TypeOf


class Add(Instruction, code=0, mnemonic="ADD", category="arithmetic"):
    """Add two tensors with coefficients.

    Shapes broadcast.
    """

    synopsis = "{y} = {alpha}·{x1} + {beta}·{x2}"
    formula = "alpha * x1 + beta * x2"
    slopes = {"x1": "alpha * dy", "x2": "beta * dy"}
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


class Scale(Unary, code=1, mnemonic="SCALE", category="arithmetic"):
    """Multiply a tensor by a number."""

    synopsis = "{y} = {alpha}·{x}"
    formula = "alpha * x"
    slopes = {"x": "alpha * dy"}
    alpha = number("Factor.", 1.0)


class Mul(Binary, code=200, mnemonic="MUL"):
    """Multiply element by element.

    Shapes broadcast.
    """

    synopsis = "{y} = {a}·{b}"
    formula = "a * b"
    slopes = {"a": "dy * b", "b": "dy * a"}


class Div(Binary, code=201, mnemonic="DIV"):
    """Divide element by element.

    Shapes broadcast. x/0 is ±Inf and 0/0 is NaN, as in IEEE 754.
    """

    synopsis = "{y} = {a}/{b}"
    formula = "a / b"
    slopes = {"a": "dy / b", "b": "-dy * a / b**2"}


class Maximum(Binary, code=202, mnemonic="MAXIMUM"):
    """Take the larger of two elements.

    Shapes broadcast. NaN in either operand gives NaN; at a tie the gradient goes to a.
    """

    synopsis = "{y} = max({a}, {b})"
    formula = "max(a, b)"
    slopes = {"a": "dy if a >= b else 0", "b": "0 if a >= b else dy"}


class Minimum(Binary, code=203, mnemonic="MINIMUM"):
    """Take the smaller of two elements.

    Shapes broadcast. NaN in either operand gives NaN; at a tie the gradient goes to a.
    """

    synopsis = "{y} = min({a}, {b})"
    formula = "min(a, b)"
    slopes = {"a": "dy if a <= b else 0", "b": "0 if a <= b else dy"}


class Pow(Binary, code=204, mnemonic="POW"):
    """Raise to a power element by element.

    Shapes broadcast. Defined for a > 0, and for a = 0 with b > 0; NaN for negative a with a
    fractional b. The gradient with respect to b is 0 where a is 0.
    """

    synopsis = "{y} = {a}^{b}"
    formula = "pow(a, b)"
    slopes = {
        "a": "0 if b == 0 else dy * (b * pow(a, b - 1))",
        "b": "0 if a == 0 else dy * (y * log(a))",
    }


class Mod(Binary, code=415, mnemonic="MOD", since=2):
    """Remainder of the floored quotient, of the sign of b.

    a - b·⌊a/b⌋, as Python's %. Shapes broadcast. NaN for b = 0 and for infinite a; of whole numbers
    0 for b = 0. The gradient takes the quotient as constant.
    """

    synopsis = "{y} = {a} mod {b}"
    formula = "mod(a, b)"
    slopes = {"a": "dy", "b": "-dy * floor_div(a, b)"}


class FloorDiv(Binary, code=416, mnemonic="FLOOR_DIV", since=2):
    """Quotient rounded towards minus infinity.

    ⌊a/b⌋, as Python's //. Shapes broadcast. NaN for b = 0 and for infinite a; of whole numbers 0
    for b = 0, and -2³¹ // -1 wraps to itself. Its gradient is 0.
    """

    synopsis = "{y} = ⌊{a}/{b}⌋"
    formula = "floor_div(a, b)"
    flat = True


class AddScalar(Unary, code=205, mnemonic="ADD_SCALAR", category="arithmetic"):
    """Add a number to every element."""

    synopsis = "{y} = {x} + {beta}"
    formula = "x + beta"
    slopes = {"x": "dy"}
    beta = number("Number added.", 0.0)


class Equal(Binary, code=206, mnemonic="EQUAL", category="comparison"):
    """Compare for equality.

    The result is bool; shapes broadcast. NaN equals nothing. Its gradient is 0.
    """

    synopsis = "{y} = {a} == {b}"
    formula = "a == b"
    flat = True

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The broadcast shape, as bool."""
        return (TensorType(super().infer(of)[0].shape, DType.bool),)


class Greater(Binary, code=207, mnemonic="GREATER", category="comparison"):
    """Compare for order.

    The result is bool; shapes broadcast. False where either is NaN. Its gradient is 0.
    """

    synopsis = "{y} = {a} > {b}"
    formula = "a > b"
    flat = True

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The broadcast shape, as bool."""
        return (TensorType(super().infer(of)[0].shape, DType.bool),)


class GreaterEqual(Binary, code=417, mnemonic="GREATER_EQUAL", category="comparison", since=2):
    """Compare for order, equality included.

    The result is bool; shapes broadcast. False where either is NaN. Its gradient is 0.
    """

    synopsis = "{y} = {a} >= {b}"
    formula = "a >= b"
    flat = True

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The broadcast shape, as bool."""
        return (TensorType(super().infer(of)[0].shape, DType.bool),)


class Select(Instruction, code=208, mnemonic="SELECT", category="comparison"):
    """Choose between two tensors element by element.

    All three have one shape. The gradient goes to the chosen side.
    """

    synopsis = "{y} = {c} ? {a} : {b}"
    formula = "a if c else b"
    slopes = {"a": "dy if c else 0", "b": "0 if c else dy"}
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
