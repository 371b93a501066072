"""All references by mnemonic, and gradients that are stated and not differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.engine.conformance.reference import (
    draws,
    elementwise,
    losses,
    moves,
    updates,
    windows,
)

Values = dict[str, Any]

REFERENCES: dict[str, Callable[[Values, Values], Values]] = {
    **elementwise.REFERENCES,
    **windows.REFERENCES,
    **moves.REFERENCES,
    **losses.REFERENCES,
    **draws.REFERENCES,
    **updates.REFERENCES,
}


def stated_gradient(
    mnemonic: str, v: Values, a: Values, dy: np.ndarray
) -> dict[str, np.ndarray] | None:
    """The gradient where the manual states one that is not the derivative of the value."""
    if mnemonic == "SOFTMAX_CE":
        return {"x": dy}
    if mnemonic in ("LOSS_CE", "LOSS_SPARSE_CE") and a["source"] == "softmax":
        return {"p": losses.logits_gradient(v, a, float(dy))}
    return None


def differences(
    mnemonic: str, v: Values, a: Values, dy: np.ndarray, name: str, index: int, limit: int = 48
) -> list[tuple[tuple[int, ...], float]]:
    """Central differences of Σ dy·y in float64, at up to ``limit`` elements of one operand.

    Returns pairs of element and derivative. Operands that are the same array move together.
    """
    listed = isinstance(v[name], list)
    chosen = v[name][index] if listed else v[name]
    moved = chosen.astype(np.float64)
    places = list(np.ndindex(*moved.shape))
    if len(places) > limit:
        picks = np.random.default_rng(7).choice(len(places), limit, replace=False)
        places = [places[int(i)] for i in sorted(picks)]

    def value() -> float:
        changed = {
            key: [moved if x is chosen else x for x in given]
            if isinstance(given, list)
            else (moved if given is chosen else given)
            for key, given in v.items()
        }
        return float(np.sum(dy * REFERENCES[mnemonic](changed, a)["y"]))

    found = []
    for place in places:
        kept = moved[place]
        step = 1e-5 * max(1.0, abs(float(kept)))
        moved[place] = kept + step
        up = value()
        moved[place] = kept - step
        down = value()
        moved[place] = kept
        found.append((place, (up - down) / (2 * step)))
    return found
