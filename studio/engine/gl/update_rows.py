"""One row per optimiser update: GLSL statements over one element of the parameter and its slots.

Names are operands (``w``, ``g``, slots, optional slots where present), attributes, ``lr`` (the
rate of this step) and ``t`` (the number of updates begun, as float). Statements change operands in
place; what they leave in them is stored.
"""

from __future__ import annotations

from studio.engine.isa.instruction import Instruction

_MEAN = "{0} = {1} * {0} + (1.0 - {1}) * {2};"


def _sgd(_: Instruction) -> str:
    return "w -= lr * g;"


def _momentum(ins: Instruction) -> str:
    if ins.value("form") == "average":
        return _MEAN.format("m", "momentum", "g") + " w -= lr * m;"
    step = "momentum * m - lr * g" if ins.value("nesterov") else "m"
    return f"m = momentum * m - lr * g; w += {step};"


def _rmsprop(ins: Instruction) -> str:
    lines = [_MEAN.format("v", "rho", "g * g")]
    square = "v"
    if ins.ref("a").present:
        lines.append(_MEAN.format("a", "rho", "g"))
        square = "(v - a * a)"
    outside = ins.value("eps_outside")
    lines.append(f"float d = lr * g / {_root(square, outside)};")
    if ins.ref("m").present:
        lines += ["m = momentum * m + d;", "d = m;"]
    return " ".join([*lines, "w -= d;"])


def _root(square: str, outside: bool) -> str:
    return f"(root({square}) + eps)" if outside else f"root({square} + eps)"


def _adam(ins: Instruction) -> str:
    lines = [_MEAN.format("m", "beta1", "g"), _MEAN.format("v", "beta2", "g * g")]
    square = "v"
    if ins.ref("vmax").present:
        lines.append("vmax = larger(vmax, v);")
        square = "vmax"
    lines.append("float c1 = one_minus_power(beta1, t); float c2 = one_minus_power(beta2, t);")
    if ins.value("eps_at") == "hat":
        lines.append(f"w -= lr * (m / c1) / (root({square} / c2) + eps);")
    else:
        lines.append(f"w -= lr * (sqrt(c2) / c1) * m / (root({square}) + eps);")
    return " ".join(lines)


def _adagrad(ins: Instruction) -> str:
    return f"a += g * g; w -= lr * g / {_root('a', ins.value('eps_outside'))};"


def _adadelta(ins: Instruction) -> str:
    mean = _MEAN.format("a", "rho", "g * g")
    step = "float d = g * root(u + eps) / root(a + eps);"
    first = f"{step} {mean}" if ins.value("old") else f"{mean} {step}"
    return f"{first} {_MEAN.format('u', 'rho', 'd * d')} w -= lr * d;"


def _adamax(_: Instruction) -> str:
    return (
        f"{_MEAN.format('m', 'beta1', 'g')} u = larger(beta2 * u, abs(g)); "
        "w -= lr / one_minus_power(beta1, t) * m / (u + eps);"
    )


UPDATE_ROWS = {
    "UPDATE_SGD": _sgd,
    "UPDATE_MOMENTUM": _momentum,
    "UPDATE_RMSPROP": _rmsprop,
    "UPDATE_ADAM": _adam,
    "UPDATE_ADAGRAD": _adagrad,
    "UPDATE_ADADELTA": _adadelta,
    "UPDATE_ADAMAX": _adamax,
}
"""Statements by mnemonic, given the instruction (flags and optional slots choose among forms)."""


def update_statements(ins: Instruction) -> str:
    """The statements of an update, decay and shrinkage in front."""
    before = ""
    if ins.value("decay"):
        before += "w -= lr * decay * w; "
    if ins.value("shrink"):
        before += "w *= 1.0 - shrink; "
    return before + UPDATE_ROWS[ins.mnemonic](ins)
