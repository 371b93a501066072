"""The closed expression language in which element-wise instructions state what they compute.

A formula says how one element of a result follows from one element of each operand. It holds
numbers, names, ``+ - * /``, squares (``x**2``), comparisons, ``and``, ``or``, ``not``,
``a if condition else b`` and the functions of `functions.FUNCTIONS`, nothing else: no loop, no
index, no random number, no sum over elements. Names are operands, attributes, ``y`` (the result)
and ``dy`` (its gradient). Lines ``name = expression`` may come before the last::

    s = sigmoid(beta * x)
    dy * s * (1 + beta * x * (1 - s))

Elements are IEEE float32, or integers that stay integers: whole numbers wrap at 32 bits, and only
``float(x)`` converts one. ``a if c else b`` selects: the value of the other branch never reaches
the result. A comparison with NaN is false, except ``!=``. Subexpressions of numbers alone are
computed once, in float64, and rounded to float32.

The printers stand with their backends; broadcasting, padding and adding up gradients belong to the
code around a formula.
"""
