"""Cells of recurrent networks, one step each."""

from __future__ import annotations

from studio.engine.core.errors import ShapeError
from studio.engine.core.tensor import ABSENT, Ref, shape_text
from studio.engine.isa.ops import activation
from studio.engine.operations import types
from studio.engine.operations.activations import softmax
from studio.engine.operations.lines import Lines, cut, plus, scaled, shape_of, shifted, times
from studio.engine.operations.moving import concatenate
from studio.engine.operations.products import matmul
from studio.engine.operations.table import operation


def _gates(lines: Lines, x: Ref, state: Ref, kernel: Ref, bias: Ref, count: int) -> tuple[Ref, ...]:
    """Columns of [x, state]·kernel + bias in ``count`` parts."""
    joined = concatenate(lines, x, state, axis=-1)
    product = plus(lines, matmul(lines, joined, kernel), bias)
    shape = shape_of(lines, product)
    if len(shape) != 2:
        raise ShapeError(f"expected an input [N, in], got one that gives {shape_text(shape)}")
    width = shape[-1]
    if width % count:
        raise ShapeError(f"the kernel needs {count} parts of one width: got {width} columns")
    units = width // count
    return tuple(cut(lines, product, 1, i * units, units) for i in range(count))


@operation(symbol="LSTM", tfjs="basicLSTMCell")
def basic_lstm_cell(
    lines: Lines,
    x: Ref,
    hidden: Ref,
    cell: Ref,
    kernel: Ref,
    bias: Ref,
    *,
    forget_bias: float = 1.0,
) -> tuple[Ref, Ref]:
    """One step of a long short-term memory (Hochreiter and Schmidhuber 1997): hidden, cell.

    Columns of the kernel are the gates input, new, forget, output.

    Args:
        x: input [N, in].
        hidden: [N, units] of the step before.
        cell: [N, units] of the step before.
        kernel: [in + units, 4·units].
        bias: [4·units].
        forget_bias: Added to the forget gate.
    """
    x, hidden, cell, kernel, bias = types.floats(lines, x, hidden, cell, kernel, bias)
    i, j, f, o = _gates(lines, x, hidden, kernel, bias, 4)
    kept = times(lines, cell, _sigmoid(lines, shifted(lines, f, forget_bias)))
    taken = times(lines, _sigmoid(lines, i), _tanh(lines, j))
    state = plus(lines, kept, taken)
    return times(lines, _tanh(lines, state), _sigmoid(lines, o)), state


@operation(symbol="RNN")
def basic_rnn_cell(lines: Lines, x: Ref, hidden: Ref, kernel: Ref, bias: Ref) -> Ref:
    """One step of a plain recurrent network: tanh([x, hidden]·kernel + bias).

    Args:
        x: input [N, in].
        hidden: [N, units] of the step before.
        kernel: [in + units, units].
        bias: [units].
    """
    x, hidden, kernel, bias = types.floats(lines, x, hidden, kernel, bias)
    return _tanh(lines, _gates(lines, x, hidden, kernel, bias, 1)[0])


@operation(symbol="GRU")
def basic_gru_cell(
    lines: Lines, x: Ref, hidden: Ref, gates: Ref, gate_bias: Ref, kernel: Ref, bias: Ref
) -> Ref:
    """One step of a gated recurrent unit (Cho et al. 2014).

    Args:
        x: input [N, in].
        hidden: [N, units] of the step before.
        gates: [in + units, 2·units], columns of the gates reset and update.
        gate_bias: [2·units].
        kernel: [in + units, units].
        bias: [units].
    """
    x, hidden, gates, gate_bias, kernel, bias = types.floats(
        lines, x, hidden, gates, gate_bias, kernel, bias
    )
    r, u = (_sigmoid(lines, g) for g in _gates(lines, x, hidden, gates, gate_bias, 2))
    new = _tanh(lines, _gates(lines, x, times(lines, r, hidden), kernel, bias, 1)[0])
    rest = shifted(lines, scaled(lines, u, -1.0), 1.0)
    return plus(lines, times(lines, u, hidden), times(lines, rest, new))


@operation(symbol="attend", keras="dot_product_attention", tfjs="")
def dot_product_attention(
    lines: Lines, query: Ref, key: Ref, value: Ref, mask: Ref = ABSENT, *, scale: float = 0.0
) -> Ref:
    """Means of values weighted by how queries meet keys (Vaswani et al. 2017).

    Args:
        query: [..., queries, width].
        key: [..., keys, width].
        value: [..., keys, out].
        mask: added to scores, 0 or very negative.
        scale: Factor of scores; 0 stands for 1/√width.
    """
    query, key, value = types.floats(lines, query, key, value)
    shape = shape_of(lines, query)
    if len(shape) < 2:
        raise ShapeError(f"expected queries [..., queries, width], got {shape_text(shape)}")
    scores = matmul(lines, query, key, transpose_b=True)
    scores = scaled(lines, scores, scale or shape[-1] ** -0.5)
    if mask.present:
        scores = plus(lines, scores, types.floats(lines, mask)[0])
    return matmul(lines, softmax(lines, scores, axis=-1), value)


def _sigmoid(lines: Lines, x: Ref) -> Ref:
    return lines.emit(activation.Sigmoid, x=x)[0]


def _tanh(lines: Lines, x: Ref) -> Ref:
    return lines.emit(activation.Tanh, x=x)[0]
