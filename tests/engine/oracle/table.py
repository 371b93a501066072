"""The oracle: what each instruction leaves in its results, by mnemonic.

Written in float64 NumPy from the instruction manual, for backends, passes and gradients to be
compared with. A reference takes operands and attributes by name and returns results by name.
Operands that are absent are missing or None. Two values describe what surrounds the instruction:
``rows``, the length that N stands for, and ``y_shape``, the shape of a result that no operand
gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.engine.oracle import (
    draws,
    elementwise,
    indexing,
    losses,
    metrics,
    moves,
    pictures,
    updates,
    windows,
)

Values = dict[str, Any]
Array = npt.NDArray[np.float64]
Place = tuple[int, ...]

REFERENCES: dict[str, Callable[[Values, Values], Values]] = {
    **elementwise.REFERENCES,
    **windows.REFERENCES,
    **moves.REFERENCES,
    **indexing.REFERENCES,
    **losses.REFERENCES,
    **metrics.REFERENCES,
    **pictures.REFERENCES,
    **draws.REFERENCES,
    **updates.REFERENCES,
}


def results(mnemonic: str, values: Values, attrs: Values) -> Values:
    """What an instruction leaves in the operands that it writes or updates."""
    with np.errstate(all="ignore"):
        return REFERENCES[mnemonic](values, attrs)


def stated_gradient(mnemonic: str, v: Values, a: Values, dy: Array) -> dict[str, Array] | None:
    """The gradient where the manual states one that is not the derivative of the value."""
    if mnemonic == "SOFTMAX_CE":
        return {"x": dy}
    if mnemonic == "CUMULATE" and a["op"] in ("max", "min"):
        return indexing.extreme_gradient(v, a, dy)
    if mnemonic in ("LOSS_CE", "LOSS_SPARSE_CE") and a["source"] == "softmax":
        return {"p": losses.logits_gradient(v, a, float(dy))}
    return None


def differences(
    rule: Callable[[Array], Array], x: Array, dy: Array, places: Iterable[Place]
) -> list[float]:
    """The derivative of Σ dy·rule(x) at some elements of x, by central differences."""
    moved = x.astype(np.float64)
    found = []
    for place in places:
        kept = moved[place]
        step = 1e-5 * max(1.0, abs(float(kept)))
        sides = []
        for sign in (1, -1):
            moved[place] = kept + sign * step
            sides.append(rule(moved).copy())
        moved[place] = kept
        found.append(float(((sides[0] - sides[1]) / (2 * step) * dy).sum()))
    return found
