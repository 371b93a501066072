"""A loss or an optimiser may bring the instruction it needs in its own file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_new_records import TRAIN, answers

# Trains on each backend by a record that brings an instruction of its own.
BOTH = """
def trained(optimizer, loss):
    found = []
    for choice in ("cpu", "gl"):
        with engine.Model.of_graph(model.graph, backend=choice, seed=2) as one:
            one.compile(optimizer, loss)
            one.fit(x, y, epochs=2, batch_size=24, shuffle=False)
            found.append(one.get_weights())
    return found

kernel, bias = (w.astype(float) for w in engine.Model.of_graph(model.graph, seed=2).get_weights())
"""


OWN_TERM = '''
"""Huber's loss, whose element is an instruction of its own."""

from studio.engine.core.options import number
from studio.engine.isa import fields
from studio.engine.isa.families import Binary
from studio.engine.optim.losses import PointwiseLoss


class HuberTerm(Binary, code=399, mnemonic="HUBER"):
    """Compare as Huber does.

    y = d²/2 where d = |a - b| is at most delta, else delta·(d - delta/2).
    """

    synopsis = "{y} = huber({a} - {b})"
    formula = """
        d = abs(a - b)
        d**2 / 2 if d <= delta else delta * (d - delta / 2)
    """
    slopes = {"a": "dy * clip(a - b, -delta, delta)", "b": "dy * clip(b - a, -delta, delta)"}
    delta = fields.number("Where it becomes linear.", 1.0, low=0.0)


class Huber(PointwiseLoss, aliases=("huber",)):
    """Squared near the target, linear farther away (Huber 1964)."""

    delta = number("Distance where it becomes linear.", 1.0, low=0.0)

    def terms(self, emit, p, t):
        """HUBER."""
        return emit(HuberTerm, a=p, b=t, delta=self.delta)
'''


@pytest.mark.gl
def test_a_loss_with_an_instruction_of_its_own(tmp_path: Path) -> None:
    found = answers(
        tmp_path,
        "studio.engine.optim",
        OWN_TERM,
        TRAIN
        + BOTH
        + """
both = trained("sgd", engine.Huber(delta=0.5))
for start in (0, 24, 48) * 2:
    rows = slice(start, start + 24)
    slope = np.clip(x[rows] @ kernel + bias - y[rows], -0.5, 0.5) / y[rows].size
    kernel, bias = kernel - 0.01 * x[rows].T @ slope, bias - 0.01 * slope.sum(axis=0)
print(json.dumps([bool(np.allclose(found[0], kernel, atol=1e-5)) for found in both]))
""",
    )
    assert found == [True, True]


def test_an_instruction_of_a_record_is_known_when_a_program_is_read(tmp_path: Path) -> None:
    found = answers(
        tmp_path,
        "studio.engine.optim",
        OWN_TERM,
        """
        from studio.engine.isa.instruction import by_code, by_mnemonic
        from studio.engine.isa.manual import manual

        print(json.dumps([by_code(1399).mnemonic, by_mnemonic("HUBER").code, "HUBER" in manual()]))
        """,
    )
    assert found == ["GRADS_HUBER", 399, True]


OWN_RULE = '''
"""Descent along signs."""

from studio.engine.core.options import number
from studio.engine.isa import fields
from studio.engine.isa.ops.update import Update
from studio.engine.optim.optimizers import Optimizer, Rule


class UpdateLion(Update, code=398, mnemonic="UPDATE_LION"):
    """Lion (Chen et al. 2023).

    w -= lr·sign(b1·m + (1 - b1)·g), then m = b2·m + (1 - b2)·g.
    """

    synopsis = "{w} -= lr·sign({m}, {g})"
    rule = """
        w = w - lr * sign(b1 * m + (1 - b1) * g)
        m = b2 * m + (1 - b2) * g
    """
    m = fields.updates("Mean gradient.")
    b1 = fields.number("Share of the mean in a step.", 0.9, low=0.0, high=1.0)
    b2 = fields.number("Decay of the mean.", 0.99, low=0.0, high=1.0)


class Lion(Optimizer, aliases=("lion",)):
    """Steps of one size, along the sign of a mean gradient (Chen et al. 2023)."""

    beta_1 = number("Share of the mean in a step.", 0.9, low=0.0, high=1.0)
    beta_2 = number("Decay of the mean.", 0.99, low=0.0, high=1.0)

    def rule(self):
        """UPDATE_LION with slot m."""
        return Rule(UpdateLion, {"m": ""}, {"b1": self.beta_1, "b2": self.beta_2})
'''


@pytest.mark.gl
def test_an_optimizer_with_a_rule_of_its_own(tmp_path: Path) -> None:
    found = answers(
        tmp_path,
        "studio.engine.optim",
        OWN_RULE,
        TRAIN
        + BOTH
        + """
both = trained(engine.Lion(0.01), "mse")
means = [np.zeros_like(kernel), np.zeros_like(bias)]
for start in (0, 24, 48) * 2:
    rows = slice(start, start + 24)
    slope = 2 * (x[rows] @ kernel + bias - y[rows]) / y[rows].size
    slopes = [x[rows].T @ slope, slope.sum(axis=0)]
    steps = [np.sign(0.9 * m + 0.1 * g) for m, g in zip(means, slopes)]
    kernel, bias = kernel - 0.01 * steps[0], bias - 0.01 * steps[1]
    means = [0.99 * m + 0.01 * g for m, g in zip(means, slopes)]
print(json.dumps([bool(np.allclose(found[0], kernel, atol=1e-5)) for found in both]))
""",
    )
    assert found == [True, True]
