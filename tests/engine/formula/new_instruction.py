"""Declares an element-wise instruction, an update, and what uses them; prints what they do.

    python -m tests.engine.formula.new_instruction gl

Run in a process of its own: instructions are known to all of a process.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

from studio.engine import Dense, Input, Sequential
from studio.engine.core.options import number as option
from studio.engine.core.tensor import Ref
from studio.engine.gl.backend import GlBackend
from studio.engine.isa.families import Unary
from studio.engine.isa.fields import number, updates
from studio.engine.isa.ops.update import Update
from studio.engine.layers.context import LayerContext
from studio.engine.layers.layer import Layer
from studio.engine.optim.optimizers import Optimizer, Rule
from tests.engine.gl.one_line import OneLine


class BentInstruction(Unary, code=990, mnemonic="BENT", category="activation"):
    """Bends smoothly towards ±1/√alpha.

    y = x/√(1 + alpha·x²).
    """

    synopsis = "{y} = bent({x}, {alpha})"
    formula = "x * rsqrt(1 + alpha * x**2)"
    slopes = {
        "x": """
            r = rsqrt(1 + alpha * x**2)
            dy * (r * r * r)
        """
    }
    alpha = number("How early it bends.", 1.0, low=0.0)


class UpdateSigned(Update, code=991, mnemonic="UPDATE_SIGNED"):
    """Steps of one length by the sign of a mean.

    m = momentum·m + (1 - momentum)·g; w -= lr·sign(m).
    """

    synopsis = "{w} -= lr·sign({m})"
    rule = """
        m = momentum * m + (1 - momentum) * g
        w = w - lr * sign(m)
    """
    m = updates("Mean gradient.")
    momentum = number("Decay of the mean.", 0.9, low=0.0, high=1.0)


class Bent(Layer):
    """Bends smoothly."""

    category = "activation"
    alpha = option("How early it bends.", 1.0, low=0.0)

    def lower(self, context: LayerContext, *inputs: Ref) -> Ref:
        """BENT."""
        return context.emit(BentInstruction, x=inputs[0], alpha=self.alpha)


class Signed(Optimizer):
    """Steps by the sign of a mean gradient."""

    momentum = option("Momentum.", 0.9, low=0.0, high=1.0)

    def rule(self) -> Rule:
        """UPDATE_SIGNED with slot m."""
        return Rule(UpdateSigned, {"m": "zeros"}, {"momentum": self.momentum})


def trained(backend: str) -> dict[str, Any]:
    """Losses and weights of a short training."""
    rng = np.random.default_rng(4)
    x = rng.uniform(-1, 1, (64, 3)).astype(np.float32)
    y = np.sin(x @ [[1.0], [2.0], [-1.0]]).astype(np.float32)
    layers = [Input((3,)), Dense(16), Bent(alpha=2.0), Dense(1)]
    with Sequential(layers, backend=backend, seed=3) as model:
        model.compile(Signed(0.01, weight_decay=0.001), "mse")
        history = model.fit(x, y, batch_size=16, epochs=12, shuffle=False)
        weights = [w.astype(float).tolist() for w in model.get_weights()]
        answers = model.predict(x)
    return {
        "losses": history.history["loss"],
        "weights": weights,
        "error": float(np.mean((answers - y) ** 2)),
    }


def fused() -> dict[str, Any]:
    """A product followed by the instruction, in one kernel."""
    rng = np.random.default_rng(5)
    x, w = (rng.standard_normal(shape).astype(np.float32) for shape in ((5, 8), (8, 12)))
    line = OneLine("MATMUL", {"a": x, "b": w, "y": (5, 12)})
    line.follow("BENT")
    backend = GlBackend()
    session = backend.open_session()
    executable = backend.compile(line.program, session, line.batch)
    kernels = [one.source.text for _, planned in executable.planned for one in planned]
    for tensor, values in line.feeds.items():
        executable.feed(tensor, values)
    executable.run()
    found = executable.fetch(line.refs["z"]).result(60)
    executable.close()
    session.close()
    backend.close()
    product = x.astype(np.float64) @ w
    return {
        "kernels": ["inverse_root(1.0 + " in text for text in kernels],
        "apart": float(np.abs(found - product / np.sqrt(1 + product**2)).max()),
    }


if __name__ == "__main__":
    which = sys.argv[1]
    sys.stdout.write(json.dumps(fused() if which == "fused" else trained(which)))
