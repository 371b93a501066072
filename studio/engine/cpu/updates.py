"""One row per optimiser update: parameters and slots changed in place."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.rows import Block, Loop, Row
from studio.engine.isa.ops.data import StepWord


def _begun(k: Block) -> float:
    """Apply decay and shrinkage to the parameter; returns this step's learning rate."""
    rate = float(k.rates[int(k.step[StepWord.STEP]) % len(k.rates)])
    if k.decay:
        np.multiply(k.w, 1.0 - rate * k.decay, out=k.w)
    if k.shrink:
        np.multiply(k.w, 1.0 - k.shrink, out=k.w)
    return rate


def _count(k: Block) -> int:
    """Updates begun, this one included."""
    return int(k.step[StepWord.UPDATES])


def _mean(k: Block, mean: str, decay: float) -> None:
    """mean = decay·mean + (1 - decay)·g."""
    slot = getattr(k, mean)
    np.multiply(k.g, 1.0 - decay, out=k.s1)
    np.multiply(slot, decay, out=slot)
    np.add(slot, k.s1, out=slot)


def _mean_square(k: Block, mean: str, decay: float) -> None:
    """mean = decay·mean + (1 - decay)·g²."""
    slot = getattr(k, mean)
    np.multiply(k.g, k.g, out=k.s1)
    np.multiply(k.s1, 1.0 - decay, out=k.s1)
    np.multiply(slot, decay, out=slot)
    np.add(slot, k.s1, out=slot)


def _root(k: Block, values: str, outside: bool) -> None:
    """s1 = √(values + eps), or √values + eps."""
    if outside:
        np.sqrt(getattr(k, values), out=k.s1)
        np.add(k.s1, k.eps, out=k.s1)
    else:
        np.add(getattr(k, values), k.eps, out=k.s1)
        np.sqrt(k.s1, out=k.s1)


def _sgd(k: Block) -> None:
    rate = _begun(k)
    np.multiply(k.g, rate, out=k.s1)
    np.subtract(k.w, k.s1, out=k.w)


def _momentum_loop(k: Block) -> Loop | None:
    from studio.engine.cpu.compiled.updates import momentum

    return None if k.form == "average" else momentum


def _momentum(k: Block) -> None:
    rate = _begun(k)
    loop = _momentum_loop(k) if k.compiled else None
    if loop is not None:
        loop(k.w, k.g, k.m, k.momentum, rate, k.nesterov)
        return
    if k.form == "average":
        _mean(k, "m", k.momentum)
        np.multiply(k.m, rate, out=k.s1)
        np.subtract(k.w, k.s1, out=k.w)
        return
    np.multiply(k.g, rate, out=k.s1)
    np.multiply(k.m, k.momentum, out=k.m)
    np.subtract(k.m, k.s1, out=k.m)
    if not k.nesterov:
        np.add(k.w, k.m, out=k.w)
        return
    np.subtract(k.w, k.s1, out=k.w)
    np.multiply(k.m, k.momentum, out=k.s1)
    np.add(k.w, k.s1, out=k.w)


def _rmsprop(k: Block) -> None:
    rate = _begun(k)
    _mean_square(k, "v", k.rho)
    if k.a is None:
        _root(k, "v", k.eps_outside)
    else:
        _mean(k, "a", k.rho)
        np.multiply(k.a, k.a, out=k.s2)
        np.subtract(k.v, k.s2, out=k.s2)
        _root(k, "s2", k.eps_outside)
    np.divide(k.g, k.s1, out=k.s1)
    np.multiply(k.s1, rate, out=k.s1)
    if k.m is None:
        np.subtract(k.w, k.s1, out=k.w)
        return
    np.multiply(k.m, k.momentum, out=k.m)
    np.add(k.m, k.s1, out=k.m)
    np.subtract(k.w, k.m, out=k.w)


def _adam(k: Block) -> None:
    rate, count = _begun(k), _count(k)
    loop = _adam_loop(k) if k.compiled else None
    if loop is not None:
        _adam_compiled(k, loop, rate, count)
        return
    _mean(k, "m", k.beta1)
    _mean_square(k, "v", k.beta2)
    square = k.v
    if k.vmax is not None:
        np.maximum(k.vmax, k.v, out=k.vmax)
        square = k.vmax
    first, second = 1.0 - k.beta1**count, 1.0 - k.beta2**count
    np.sqrt(square, out=k.s1)
    if k.eps_at == "hat":
        np.divide(k.s1, second**0.5, out=k.s1)
        rate /= first
    else:
        rate *= second**0.5 / first
    np.add(k.s1, k.eps, out=k.s1)
    np.divide(k.m, k.s1, out=k.s1)
    np.multiply(k.s1, rate, out=k.s1)
    np.subtract(k.w, k.s1, out=k.w)


def _adam_loop(k: Block) -> Loop | None:
    from studio.engine.cpu.compiled.updates import adam

    return adam if k.vmax is None else None


def _adam_compiled(k: Block, loop: Loop, rate: float, count: int) -> None:
    first, second = 1.0 - k.beta1**count, (1.0 - k.beta2**count) ** 0.5
    root = second if k.eps_at == "hat" else 1.0
    rate = rate / first if k.eps_at == "hat" else rate * second / first
    loop(k.w, k.g, k.m, k.v, (k.beta1, k.beta2), root, k.eps, rate)


def _adagrad(k: Block) -> None:
    rate = _begun(k)
    np.multiply(k.g, k.g, out=k.s1)
    np.add(k.a, k.s1, out=k.a)
    _root(k, "a", k.eps_outside)
    np.divide(k.g, k.s1, out=k.s1)
    np.multiply(k.s1, rate, out=k.s1)
    np.subtract(k.w, k.s1, out=k.w)


def _adadelta(k: Block) -> None:
    rate = _begun(k)
    if k.old:
        np.add(k.a, k.eps, out=k.s2)
        _mean_square(k, "a", k.rho)
    else:
        _mean_square(k, "a", k.rho)
        np.add(k.a, k.eps, out=k.s2)
    np.add(k.u, k.eps, out=k.s1)
    np.divide(k.s1, k.s2, out=k.s1)
    np.sqrt(k.s1, out=k.s1)
    np.multiply(k.s1, k.g, out=k.s2)
    np.multiply(k.s2, k.s2, out=k.s1)
    np.multiply(k.s1, 1.0 - k.rho, out=k.s1)
    np.multiply(k.u, k.rho, out=k.u)
    np.add(k.u, k.s1, out=k.u)
    np.multiply(k.s2, rate, out=k.s2)
    np.subtract(k.w, k.s2, out=k.w)


def _adamax(k: Block) -> None:
    rate, count = _begun(k), _count(k)
    _mean(k, "m", k.beta1)
    np.multiply(k.u, k.beta2, out=k.u)
    np.absolute(k.g, out=k.s1)
    np.maximum(k.u, k.s1, out=k.u)
    np.add(k.u, k.eps, out=k.s1)
    np.divide(k.m, k.s1, out=k.s1)
    np.multiply(k.s1, rate / (1.0 - k.beta1**count), out=k.s1)
    np.subtract(k.w, k.s1, out=k.w)


UPDATES: dict[str, Row] = {
    "UPDATE_SGD": Row(_sgd, floats=1),
    "UPDATE_MOMENTUM": Row(_momentum, floats=1, loops={"": _momentum_loop}),
    "UPDATE_RMSPROP": Row(_rmsprop, floats=2),
    "UPDATE_ADAM": Row(_adam, floats=1, loops={"": _adam_loop}),
    "UPDATE_ADAGRAD": Row(_adagrad, floats=1),
    "UPDATE_ADADELTA": Row(_adadelta, floats=2),
    "UPDATE_ADAMAX": Row(_adamax, floats=1),
}
"""Rows by mnemonic, part of the element-wise table."""
