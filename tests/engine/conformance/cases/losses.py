"""Cases of softmax, losses, metrics and batch normalisation."""

from __future__ import annotations

from dataclasses import replace

from tests.engine.conformance.case import (
    HALO,
    Case,
    Given,
    away,
    floats,
    integers,
    one_hot,
    shares,
    uniform,
    whole,
)

LOG = "float32 logarithms and sums"


def _softmax() -> list[Case]:
    found = []
    for mnemonic in ("SOFTMAX", "SOFTMAX_LOG", "SOFTMAX_CE"):
        found += [
            Case(mnemonic, "rows", {"x": floats(3, 10)}, {"step": 10}, atol=1e-5, reason=LOG),
            Case(mnemonic, "odd", {"x": floats(3, 5, 7)}, {"step": 7}, atol=1e-5, reason=LOG),
            Case(mnemonic, "pairs", {"x": floats(1, 14)}, {"step": 2}, atol=1e-5, reason=LOG),
            Case(mnemonic, "wide", {"x": floats(17, 300)}, {"step": 300}, atol=1e-5, reason=LOG),
            Case(
                mnemonic,
                "large",
                {"x": floats(3, 5, make=uniform(-90, 90))},
                {"step": 5},
                rtol=1e-4,
                atol=1e-5,
                reason=LOG,
            ),
        ]
    along: dict[str, tuple[Given, int]] = {
        "middle": (floats(3, 5, 7), 1),
        "first": (floats(5, 3), 0),
        "alone": (floats(17), 0),
        "channels": (floats(2, 3, 5, 4, pad=HALO), 1),
        "far": (floats(2, 3, 5, 4), 2),
        "long": (floats(2, 70, 19), 1),
    }
    for mnemonic in ("SOFTMAX", "SOFTMAX_LOG"):
        found += [
            Case(mnemonic, f"axis-{name}", {"x": x}, {"step": x.shape[axis], "axis": axis},
                 atol=1e-5, reason=LOG)
            for name, (x, axis) in along.items()
        ]  # fmt: skip
    return found


def _cross_entropy() -> list[Case]:
    found = []
    for source, make in (("probs", shares), ("logits", None), ("softmax", shares)):
        attrs = {"source": source}
        p = Given((3, 7), make) if make else floats(3, 7)
        wide = Given((3, 4, 5), make) if make else floats(3, 4, 5)
        weights = floats(3, make=uniform(0.2, 2))
        found += [
            Case("LOSS_CE", source, {"p": p, "t": Given((3, 7), one_hot)}, attrs, reason=LOG),
            Case("LOSS_CE", f"{source}-soft", {"p": p, "t": Given((3, 7), shares)}, attrs),
            Case(
                "LOSS_CE",
                f"{source}-weights",
                {"p": wide, "t": Given((3, 4, 5), one_hot), "weights": weights},
                attrs,
            ),
            Case("LOSS_SPARSE_CE", source, {"p": p, "t": integers(3, high=7)}, attrs),
            Case(
                "LOSS_SPARSE_CE",
                f"{source}-weights",
                {"p": wide, "t": integers(3, 4, high=5), "weights": weights},
                attrs,
            ),
            *_weighed_positions(source, wide, attrs),
            Case("ROW_CE", source, {"p": p, "t": Given((3, 7), shares)}, attrs, reason=LOG),
            Case(
                "ROW_CE",
                f"{source}-weights",
                {"p": wide, "t": Given((3, 4, 5), one_hot), "weights": weights},
                attrs,
            ),
            Case("ROW_SPARSE_CE", source, {"p": p, "t": integers(3, high=7)}, attrs),
            Case(
                "ROW_SPARSE_CE",
                f"{source}-weights",
                {"p": wide, "t": integers(3, 4, high=5), "weights": weights},
                attrs,
            ),
        ]
    p, t = Given((5, 3), shares), Given((5, 3), one_hot)
    found += [
        Case("LOSS_CE", "seed-sum", {"p": p, "t": t}, {"source": "softmax", "dylann_sum": True}),
        Case(
            "LOSS_SPARSE_CE",
            "seed-sum",
            {"p": p, "t": integers(5, high=3)},
            {"source": "softmax", "dylann_sum": True},
        ),
        Case("LOSS_CE", "one", {"p": Given((1, 2), shares), "t": Given((1, 2), one_hot)}),
    ]
    return found


def _weighed_positions(source: str, p: Given, attrs: dict[str, str]) -> list[Case]:
    """Cross-entropies with a weight for each position, or for each of some leading dimensions."""
    some, all_ = (floats(*shape, make=uniform(0, 2)) for shape in ((3, 4), (3, 4, 2)))
    deep = Given((3, 4, 2, 5), p.make)
    found = []
    for kind in ("LOSS", "ROW"):
        for name, weights in (("some", some), ("all", all_)):
            rows = {"p": deep, "t": Given((3, 4, 2, 5), shares), "weights": weights}
            classes = {"p": deep, "t": integers(3, 4, 2, high=5), "weights": weights}
            title = f"{source}-{name}-positions"
            found.append(Case(f"{kind}_CE", title, rows, attrs, reason=LOG))
            found.append(Case(f"{kind}_SPARSE_CE", title, classes, attrs, reason=LOG))
    long = {"p": Given((3, 4, 70), p.make), "t": integers(3, 4, high=70), "weights": some}
    return [*found, Case("LOSS_SPARSE_CE", f"{source}-long-positions", long, attrs, reason=LOG)]


def _weighed_elements() -> list[Case]:
    """Other losses and the accuracies, with weights of positions and of single numbers."""
    shape = (3, 4, 5)
    bits, inside = Given(shape, whole(0, 2)), floats(*shape, make=uniform(0.05, 0.95))
    apart = {"p": floats(*shape, make=uniform(0.5, 2)), "t": floats(*shape, make=uniform(-2, 0.4))}
    found = []
    for name, given in (("positions", (3, 4)), ("numbers", shape)):
        weights = {"weights": floats(*given, make=uniform(0, 2))}
        found += [
            Case("LOSS_BCE", name, {"p": inside, "t": bits, **weights}, reason=LOG),
            Case("LOSS_MSE", name, {**apart, **weights}),
            Case("LOSS_MAE", name, {**apart, **weights}),
            Case(
                "WEIGHTED_ACCURACY",
                f"binary-{name}",
                {"p": inside, "t": bits, **weights},
                {"kind": "binary", "threshold": 0.3},
            ),
        ]
    for name, given in (("entries", (3,)), ("positions", (3, 4)), ("none", (3,))):
        make = whole(0, 1) if name == "none" else uniform(0, 2)
        operands = {"p": floats(*shape), "weights": floats(*given, make=make)}
        found += [
            Case(
                "WEIGHTED_ACCURACY",
                f"categorical-{name}",
                {**operands, "t": Given(shape, one_hot)},
            ),
            Case(
                "WEIGHTED_ACCURACY",
                f"sparse-{name}",
                {**operands, "t": integers(3, 4, high=5)},
                {"kind": "sparse"},
            ),
        ]
    many = {"p": floats(900, 7), "weights": floats(900, make=uniform(0, 2))}
    many["t"] = integers(900, high=7)
    return [*found, Case("WEIGHTED_ACCURACY", "many", many, {"kind": "sparse"})]


def _other_losses() -> list[Case]:
    weights = floats(3, make=uniform(0.2, 2))
    inside = floats(3, 5, make=uniform(0.05, 0.95))
    bits = Given((3, 5), whole(0, 2))
    shifted = {
        "p": floats(3, 4, 2, make=uniform(0.5, 2)),
        "t": floats(3, 4, 2, make=uniform(-2, 0.4)),
    }
    return [
        Case("LOSS_BCE", "probs", {"p": inside, "t": bits}, atol=1e-5, reason=LOG),
        Case("LOSS_BCE", "weights", {"p": inside, "t": bits, "weights": weights}, reason=LOG),
        Case("LOSS_BCE", "logits", {"p": floats(3, 5), "t": bits}, {"source": "logits"}),
        Case("LOSS_MSE", "odd", {"p": floats(3, 5), "t": floats(3, 5)}),
        Case("LOSS_MSE", "deep", {"p": floats(3, 4, 5), "t": floats(3, 4, 5), "weights": weights}),
        Case(
            "LOSS_MSE",
            "seed-sum",
            {"p": floats(3, 5), "t": floats(3, 5)},
            {"dylann_sum": True},
            rtol=1e-4,
        ),
        Case("LOSS_MAE", "odd", shifted),
        Case("LOSS_MAE", "weights", {**shifted, "weights": weights}),
        Case("LOSS_MEAN", "rows", {"x": floats(700)}),
        Case("LOSS_MEAN", "positions", {"x": floats(3, 5, 7)}),
        Case("LOSS_L1L2", "both", {"w": floats(17, 3, make=away(0.0))}, {"l1": 0.01, "l2": 0.02}),
        Case("LOSS_L1L2", "squares", {"w": floats(3, 3, 2, 5)}, {"l2": 0.5}),
        Case("ACCURACY", "categorical", {"p": floats(17, 5), "t": Given((17, 5), one_hot)}),
        Case(
            "ACCURACY",
            "sparse",
            {"p": floats(17, 3), "t": integers(17, high=3)},
            {"kind": "sparse"},
        ),
        Case(
            "ACCURACY",
            "ties",
            {"p": Given((17, 3), whole(0, 2)), "t": integers(17, high=3)},
            {"kind": "sparse"},
        ),
        Case(
            "ACCURACY",
            "binary",
            {"p": floats(17, 3, make=uniform(0, 1)), "t": Given((17, 3), whole(0, 2))},
            {"kind": "binary", "threshold": 0.3},
        ),
    ]


def _batch_norm() -> list[Case]:
    found = []
    forms: dict[str, tuple[str, tuple[int, ...], tuple[int, ...]]] = {
        "pictures": ("BATCHNORM2D", (3, 5, 7, 3), (3,)),
        "rows": ("BATCHNORM2D", (17, 5), (5,)),
        "activations": ("BATCHNORM", (7, 3, 5), (3, 5)),
        "features": ("BATCHNORM", (5, 7), (7,)),
        "many": ("BATCHNORM2D", (5, 33, 31, 17), (17,)),
    }
    for name, (mnemonic, shape, stats) in forms.items():
        for frozen in (False, True):
            operands = {
                "x": floats(*shape, make=uniform(-1, 3)),
                "gamma": floats(*stats, make=uniform(0.5, 2)),
                "beta": floats(*stats),
                "mean": floats(*stats),
                "var": floats(*stats, make=uniform(0.5, 2)),
            }
            found.append(
                Case(
                    mnemonic,
                    f"{name}-frozen" if frozen else name,
                    operands,
                    {"frozen": frozen, "factor": 0.1},
                    rtol=1e-4,
                    atol=2e-5,
                    grad_rtol=5e-3,
                    grad_atol=2e-3 if name == "many" else 1e-3,
                    reason="sums over the batch, and a quotient by the deviation",
                )
            )
    plain = {k: v for k, v in found[0].operands.items() if k not in ("gamma", "beta")}
    halo = {**plain, "x": floats(3, 5, 7, 3, pad=HALO)}
    for name, operands, pad in (("plain", plain, ()), ("halo", halo, HALO)):
        found.append(
            Case(
                "BATCHNORM2D",
                name,
                operands,
                out_pad=pad,
                rtol=1e-4,
                atol=2e-5,
                grad_rtol=5e-3,
                grad_atol=1e-3,
                reason="sums over the batch",
            )
        )
    return found


def _column_sums() -> list[Case]:
    shapes = {
        "rows": (17, 5),
        "fours": (9, 8),
        "pictures": (3, 5, 7, 12),
        "many": (5, 33, 31, 17),
        "wide": (3, 1036),
    }
    found = []
    for name, shape in shapes.items():
        x, columns = floats(*shape, make=uniform(-1, 3)), shape[-1]
        wide = {"rtol": 1e-4, "atol": 2e-5, "reason": "sums over the rows"}
        found.append(Case("COLUMN_STATS", name, {"x": x}, **wide))
        operands = {"dy": floats(*shape), "x": x, "mean": floats(columns)}
        found.append(Case("COLUMN_PRODUCTS", name, operands, **{**wide, "atol": 2e-3}))
        norm = {n: floats(columns, make=uniform(0.5, 2)) for n in ("gamma", "mean", "var")}
        given = {**norm, "x": x, "stats": floats(2, columns, make=uniform(1, 3))}
        batch = Case("BATCHNORM2D", f"given-{name}", given, {"factor": 0.25}, gradients=False)
        found.append(replace(batch, **{**wide, "reason": "a quotient by the deviation"}))
    halo = {"x": floats(3, 5, 7, 12, pad=HALO)}
    found.append(Case("COLUMN_STATS", "halo", halo, rtol=1e-4, atol=2e-5, reason="sums"))
    mean = {"x": floats(40, 8, make=uniform(1e4, 1e4 + 1))}
    found.append(Case("COLUMN_STATS", "large", mean, rtol=2e-3, reason="a float32 far from zero"))
    return found


CASES = [
    *_softmax(),
    *_cross_entropy(),
    *_other_losses(),
    *_weighed_elements(),
    *_batch_norm(),
    *_column_sums(),
]
