"""Cases of optimiser updates."""

from __future__ import annotations

from tests.engine.conformance.case import Case, Given, exactly, floats, step_block, uniform

RATES = Given((4,), exactly(0.5, 0.25, 0.125, 0.0625))
POSITIVE = floats(17, 3, make=uniform(0.3, 2))
BASE = {"w": floats(17, 3), "g": floats(17, 3), "step": step_block(step=6), "rates": RATES}
SLOTS = {"m": floats(17, 3), "v": POSITIVE, "u": POSITIVE}


def _case(mnemonic: str, name: str, slots: str, **attrs: object) -> Case:
    more = {slot: SLOTS[slot] for slot in slots}
    return Case(
        mnemonic,
        name,
        {**BASE, **more},
        attrs,
        rtol=2e-4,
        atol=2e-5,
        reason="several roundings in a row",
    )


def _squares(mnemonic: str, name: str, more: dict[str, Given], **attrs: object) -> Case:
    return Case(
        mnemonic,
        name,
        {**BASE, **more},
        attrs,
        rtol=2e-4,
        atol=2e-5,
        reason="several roundings in a row",
    )


SMALL = floats(17, 3, make=uniform(-0.1, 0.1))

CASES = [
    _case("UPDATE_SGD", "plain", ""),
    _case("UPDATE_SGD", "decay", "", decay=0.1),
    _case("UPDATE_SGD", "shrink", "", shrink=0.01),
    _case("UPDATE_MOMENTUM", "keras", "m"),
    _case("UPDATE_MOMENTUM", "nesterov", "m", nesterov=True, momentum=0.8),
    _case("UPDATE_MOMENTUM", "average", "m", form="average"),
    _case("UPDATE_RMSPROP", "plain", "v"),
    _case("UPDATE_RMSPROP", "outside", "v", eps_outside=True, eps=0.01),
    _case("UPDATE_RMSPROP", "momentum", "vm", momentum=0.9),
    _squares("UPDATE_RMSPROP", "centred", {"v": POSITIVE, "a": SMALL}),
    _squares("UPDATE_RMSPROP", "everything", {"v": POSITIVE, "a": SMALL, "m": SMALL}, momentum=0.5),
    _case("UPDATE_ADAM", "keras", "mv"),
    _case("UPDATE_ADAM", "hat", "mv", eps_at="hat", eps=0.01),
    _case("UPDATE_ADAM", "decoupled", "mv", decay=0.01),
    _squares("UPDATE_ADAM", "largest", {"m": SMALL, "v": POSITIVE, "vmax": POSITIVE}),
    _squares("UPDATE_ADAGRAD", "plain", {"a": POSITIVE}),
    _squares("UPDATE_ADAGRAD", "outside", {"a": POSITIVE}, eps_outside=True, eps=0.01),
    _squares("UPDATE_ADADELTA", "plain", {"a": POSITIVE, "u": POSITIVE}),
    _squares("UPDATE_ADADELTA", "old", {"a": POSITIVE, "u": POSITIVE}, old=True),
    _case("UPDATE_ADAMAX", "plain", "mu"),
]
