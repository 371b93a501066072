"""Cases of random instructions, keyed by step blocks and orders."""

from __future__ import annotations

from studio.engine.core.dtypes import DType
from tests.engine.conformance.case import HALO, Case, Given, exactly, floats, step_block

ORDER = Given((7,), exactly(3, 1, 6, 0, 2, 5, 4), DType.int32)


def _augment(mnemonic: str, name: str, attrs: dict[str, object], **tolerances: float) -> Case:
    operands = {"x": floats(5, 5, 7, 2), "order": ORDER, "step": step_block()}
    return Case(mnemonic, name, operands, {**attrs, "stream": 77}, **tolerances)


CASES = [
    Case("DROPOUT", "half", {"x": floats(3, 17), "step": step_block()}, {"stream": 9}),
    Case(
        "DROPOUT",
        "some",
        {"x": floats(3, 5, 7), "step": step_block()},
        {"rate": 0.3, "stream": 2**31 + 5},
    ),
    Case("DROPOUT", "none", {"x": floats(3, 5)}, {"rate": 0.0}),
    Case(
        "DROPOUT",
        "halo",
        {"x": floats(2, 3, 5, 4, pad=HALO), "step": step_block()},
        {"rate": 0.25},
        out_pad=HALO,
    ),
    Case("DROPOUT", "late-step", {"x": floats(3, 17), "step": step_block(step=70000)}),
    Case("RANDOM_NORMAL", "odd", {"step": step_block()}, {"shape": (17, 3), "stream": 5}),
    Case(
        "RANDOM_NORMAL",
        "pictures",
        {"step": step_block()},
        {"mean": -3.0, "deviation": 0.25, "shape": (-1, 5, 7), "stream": 2**31 + 5},
    ),
    Case("RANDOM_UNIFORM", "odd", {"step": step_block()}, {"shape": (17, 3), "stream": 5}),
    Case(
        "RANDOM_UNIFORM",
        "range",
        {"step": step_block()},
        {"shape": (-1, 5), "low": -2.0, "high": 3.0},
    ),
    _augment("AUGMENT_FLIP", "both", {"horizontal": True, "vertical": True}),
    *(
        Case(
            mnemonic,
            "shard",
            {"x": floats(5, 5, 7, 2), "order": ORDER, "step": step_block(offset=-3)},
            {**attrs, "stream": 77},
            **tolerances,
        )
        for mnemonic, attrs, tolerances in (
            ("AUGMENT_FLIP", {"horizontal": True, "vertical": True}, {}),
            ("AUGMENT_SHIFT", {"rows": 2, "cols": 3}, {}),
            ("AUGMENT_ROTATE", {"degrees": 30.0}, {"atol": 2e-4}),
            ("AUGMENT_NOISE", {"deviation": 0.5}, {"atol": 1e-5}),
        )
    ),
    _augment("AUGMENT_FLIP", "across", {"horizontal": True}),
    _augment("AUGMENT_FLIP", "never", {}),
    _augment("AUGMENT_SHIFT", "some", {"rows": 2, "cols": 3}),
    _augment("AUGMENT_SHIFT", "filled", {"rows": 1, "cols": 0, "fill": 0.5}),
    _augment("AUGMENT_SHIFT", "far", {"rows": 40, "cols": 40}),
    _augment("AUGMENT_ROTATE", "turn", {"degrees": 30.0}, atol=2e-4),
    _augment("AUGMENT_ROTATE", "zoom", {"degrees": 90.0, "zoom": 2.0, "fill": -1.0}, atol=2e-4),
    _augment("AUGMENT_NOISE", "some", {"deviation": 0.5}, atol=1e-5),
    _augment("AUGMENT_STANDARDIZE", "range", {"low": -1.0, "high": 1.0}, atol=1e-5),
    _augment("AUGMENT_STANDARDIZE", "moments", {"moments": True}, atol=1e-5),
    Case(
        "AUGMENT_STANDARDIZE",
        "flat",
        {"x": floats(2, 3, 3, 1, make=exactly(*[0.25] * 18)), "order": ORDER, "step": step_block()},
        {"low": 0.125, "stream": 1},
    ),
]
