"""Optimiser updates, as their docstrings state them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Values = dict[str, Any]


def _start(v: Values, a: Values) -> tuple[np.ndarray, np.ndarray, float, int]:
    rate = float(v["rates"][int(v["step"][0]) % len(v["rates"])])
    w = v["w"] - rate * a["decay"] * v["w"]
    return w * (1 - a["shrink"]), v["g"], rate, int(v["step"][3])


def _sgd(v: Values, a: Values) -> Values:
    w, g, rate, _ = _start(v, a)
    return {"w": w - rate * g}


def _momentum(v: Values, a: Values) -> Values:
    w, g, rate, _ = _start(v, a)
    mu = a["momentum"]
    if a["form"] == "average":
        m = mu * v["m"] + (1 - mu) * g
        return {"w": w - rate * m, "m": m}
    m = mu * v["m"] - rate * g
    return {"w": w + mu * m - rate * g if a["nesterov"] else w + m, "m": m}


def _rmsprop(v: Values, a: Values) -> Values:
    w, g, rate, _ = _start(v, a)
    square = a["rho"] * v["v"] + (1 - a["rho"]) * g**2
    found: Values = {"v": square}
    inside = square
    if v.get("a") is not None:
        found["a"] = a["rho"] * v["a"] + (1 - a["rho"]) * g
        inside = square - found["a"] ** 2
    root = np.sqrt(inside) + a["eps"] if a["eps_outside"] else np.sqrt(inside + a["eps"])
    change = rate * g / root
    if v.get("m") is not None:
        change = found["m"] = a["momentum"] * v["m"] + change
    return {"w": w - change, **found}


def _adam(v: Values, a: Values) -> Values:
    w, g, rate, t = _start(v, a)
    m = a["beta1"] * v["m"] + (1 - a["beta1"]) * g
    square = a["beta2"] * v["v"] + (1 - a["beta2"]) * g**2
    found: Values = {"m": m, "v": square}
    if v.get("vmax") is not None:
        square = found["vmax"] = np.maximum(v["vmax"], square)
    one, two = 1 - a["beta1"] ** t, 1 - a["beta2"] ** t
    if a["eps_at"] == "end":
        change = rate * np.sqrt(two) / one * m / (np.sqrt(square) + a["eps"])
    else:
        change = rate * (m / one) / (np.sqrt(square / two) + a["eps"])
    return {"w": w - change, **found}


def _adagrad(v: Values, a: Values) -> Values:
    w, g, rate, _ = _start(v, a)
    total = v["a"] + g**2
    root = np.sqrt(total) + a["eps"] if a["eps_outside"] else np.sqrt(total + a["eps"])
    return {"w": w - rate * g / root, "a": total}


def _adadelta(v: Values, a: Values) -> Values:
    w, g, rate, _ = _start(v, a)
    square = a["rho"] * v["a"] + (1 - a["rho"]) * g**2
    d = g * np.sqrt(v["u"] + a["eps"]) / np.sqrt((v["a"] if a["old"] else square) + a["eps"])
    return {"w": w - rate * d, "a": square, "u": a["rho"] * v["u"] + (1 - a["rho"]) * d**2}


def _adamax(v: Values, a: Values) -> Values:
    w, g, rate, t = _start(v, a)
    m = a["beta1"] * v["m"] + (1 - a["beta1"]) * g
    u = np.maximum(a["beta2"] * v["u"], np.abs(g))
    return {"w": w - rate / (1 - a["beta1"] ** t) * m / (u + a["eps"]), "m": m, "u": u}


REFERENCES: dict[str, Callable[[Values, Values], Values]] = {
    "UPDATE_SGD": _sgd,
    "UPDATE_MOMENTUM": _momentum,
    "UPDATE_RMSPROP": _rmsprop,
    "UPDATE_ADAM": _adam,
    "UPDATE_ADAGRAD": _adagrad,
    "UPDATE_ADADELTA": _adadelta,
    "UPDATE_ADAMAX": _adamax,
}
