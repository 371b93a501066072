"""Updates: one instruction per optimiser, gradient clipping, moving averages, all in place.

``w`` is the parameter, ``g`` its gradient, ``t`` the number of updates begun (word UPDATES of the
step block, 1 at the first) and lr the entry of the rate table for this step. ``decay`` is decoupled
weight decay (w -= lr·decay·w first, Loshchilov and Hutter 2019, as Keras); ``shrink`` is Dylann's
L2 (w·(1 - shrink), independent of the learning rate).
"""

from __future__ import annotations

from textwrap import dedent
from typing import Any

from studio.engine.core.tensor import Ref, TensorType
from studio.engine.formula.constants import assignments
from studio.engine.formula.uniform import Split, split
from studio.engine.isa.families import require_equal
from studio.engine.isa.fields import (
    choice,
    flag,
    number,
    reads,
    reads_many,
    side_input,
    side_result,
    updates,
    writes,
)
from studio.engine.isa.instruction import Effects, Instruction, TypeOf

_DECAY = """\
if decay != 0:
    w = w - lr * decay * w
if shrink != 0:
    w = w * (1 - shrink)
"""

_TABLES = ("step", "rates")


class Update(Instruction, category="update"):
    """Operands every optimiser update has.

    A subclass states as ``rule`` how one element of the parameter and its slots changes in place;
    decay and shrinkage come before it. A rule may also read the rate ``lr`` and the count ``t``.
    """

    w = updates("Parameter.")
    g = reads("Its gradient.", differentiable=False)
    step = reads("Step block.", differentiable=False)
    rates = reads("Learning rates [R]; this step reads rates[step mod R].", differentiable=False)
    decay = number("Decoupled weight decay.", 0.0, low=0.0, tail=True)
    shrink = number("Shrinkage of the parameter before the update.", 0.0, low=0.0, tail=True)

    def __init_subclass__(cls, **given: Any) -> None:
        if "rule" in vars(cls):
            cls.rule = _DECAY + dedent(cls.rule)
        super().__init_subclass__(**given)

    def steps(self) -> Split:
        """What happens to one element, with attributes put in, and what is computed once before."""
        if self.meaning is None or self.meaning.rule is None:
            raise TypeError(f"{self.mnemonic} states no rule")
        present = frozenset(spec.name for spec, ref in self.named_operands() if ref.present)
        fields = frozenset(spec.name for spec in self.operand_fields) - {*_TABLES}
        return split(assignments(self.meaning.rule, self.attrs, present), fields)

    def _found_effects(self) -> Effects:
        """Optional slots that are there change in place as well."""
        found = super()._found_effects()
        slots = {r for spec, r in self.named_operands() if spec.optional and r.present}
        return Effects(found.reads | slots, found.writes | slots, found.accumulates)

    def flops(self, of: TypeOf) -> int:
        """Four operations per parameter and operand."""
        return 4 * of(self.w).numel * (len(self.operands) - 2)

    def moved(self, ref: Ref, of: TypeOf) -> int:
        """Of the rates one."""
        return 1 if ref == self.rates else super().moved(ref, of)


class UpdateSGD(Update, code=350, mnemonic="UPDATE_SGD"):
    """Gradient descent.

    w -= lr·g.
    """

    synopsis = "{w} -= lr·{g}"
    rule = """
        w = w - lr * g
    """


class UpdateMomentum(Update, code=351, mnemonic="UPDATE_MOMENTUM"):
    """Gradient descent with momentum.

    form=keras: m = momentum·m - lr·g; w += m, or with ``nesterov`` w += momentum·m - lr·g.
    form=average (Dylann's): m = momentum·m + (1 - momentum)·g; w -= lr·m.
    """

    synopsis = "{w} += {m}, {m} = {momentum}·{m} - lr·{g}"
    rule = """
        if form == "average":
            m = momentum * m + (1 - momentum) * g
            w = w - lr * m
        else:
            m = momentum * m - lr * g
            w = w + (momentum * m - lr * g if nesterov else m)
    """
    m = updates("Velocity.")
    momentum = number("Momentum.", 0.9, low=0.0, high=1.0)
    nesterov = flag("Look ahead (Nesterov).")
    form = choice("Which recurrence.", "keras", "average")


class UpdateRMSProp(Update, code=352, mnemonic="UPDATE_RMSPROP"):
    """RMSProp (Tieleman and Hinton 2012).

    v = rho·v + (1 - rho)·g²; with slot ``a`` (centred) a = rho·a + (1 - rho)·g and v - a² replaces
    v in the root. root = √(v + eps), or √v + eps with ``eps_outside``. Without slot ``m``
    w -= lr·g/root; with it m = momentum·m + lr·g/root; w -= m.
    """

    synopsis = "{w} -= lr·{g}/sqrt({v})"
    rule = """
        v = rho * v + (1 - rho) * g * g
        seen = v
        if has(a):
            a = rho * a + (1 - rho) * g
            seen = v - a * a
        d = lr * g / (sqrt(seen) + eps if eps_outside else sqrt(seen + eps))
        if has(m):
            m = momentum * m + d
            d = m
        w = w - d
    """
    v = updates("Mean square of the gradient.")
    rho = number("Decay of the means.", 0.9, low=0.0, high=1.0)
    momentum = number("Momentum.", 0.0, low=0.0, high=1.0)
    eps = number("Stabiliser.", 1e-7, low=0.0)
    m = side_input("Velocity slot, when momentum is used.")
    a = side_input("Mean gradient slot, when centred.")
    eps_outside = flag("Add eps to the root instead of under it.")


class UpdateAdam(Update, code=353, mnemonic="UPDATE_ADAM"):
    """Adam (Kingma and Ba 2015); AdamW with ``decay``.

    m = beta1·m + (1 - beta1)·g; v = beta2·v + (1 - beta2)·g².
    eps_at=end (Keras): w -= lr·√(1 - beta2^t)/(1 - beta1^t)·m/(√v + eps).
    eps_at=hat (tfjs, PyTorch): w -= lr·(m/(1 - beta1^t))/(√(v/(1 - beta2^t)) + eps).
    With slot ``vmax`` (AMSGrad) vmax = max(vmax, v) takes the place of v.
    """

    synopsis = "{w} -= lr·{m}/sqrt({v})"
    rule = """
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g * g
        seen = v
        if has(vmax):
            vmax = max(vmax, v)
            seen = vmax
        c1 = one_minus_pow(beta1, t)
        c2 = one_minus_pow(beta2, t)
        if eps_at == "hat":
            w = w - lr / c1 * m / (sqrt(seen) * (1 / sqrt(c2)) + eps)
        else:
            w = w - lr * (sqrt(c2) / c1) * m / (sqrt(seen) + eps)
    """
    m = updates("Mean gradient.")
    v = updates("Mean square of the gradient.")
    beta1 = number("Decay of the mean.", 0.9, low=0.0, high=1.0)
    beta2 = number("Decay of the mean square.", 0.999, low=0.0, high=1.0)
    eps = number("Stabiliser.", 1e-7, low=0.0)
    vmax = side_input("Largest mean square so far, for AMSGrad.")
    eps_at = choice("Where eps joins.", "end", "hat")


class UpdateAdagrad(Update, code=354, mnemonic="UPDATE_ADAGRAD"):
    """Adagrad (Duchi et al. 2011).

    a += g²; w -= lr·g/√(a + eps), or lr·g/(√a + eps) with ``eps_outside``.
    """

    synopsis = "{w} -= lr·{g}/sqrt({a})"
    rule = """
        a = a + g * g
        w = w - lr * g / (sqrt(a) + eps if eps_outside else sqrt(a + eps))
    """
    a = updates("Sum of squares.")
    eps = number("Stabiliser.", 1e-7, low=0.0)
    eps_outside = flag("Add eps to the root instead of under it.")


class UpdateAdadelta(Update, code=355, mnemonic="UPDATE_ADADELTA"):
    """Adadelta (Zeiler 2012).

    a = rho·a + (1 - rho)·g²; d = g·√(u + eps)/√(a + eps); u = rho·u + (1 - rho)·d²; w -= lr·d.
    With ``old`` the root uses a from before this step (deeplearn.js).
    """

    synopsis = "{w} -= lr·{g}·sqrt({u})/sqrt({a})"
    rule = """
        before = a
        a = rho * a + (1 - rho) * g * g
        d = g * sqrt(u + eps) / sqrt((before if old else a) + eps)
        u = rho * u + (1 - rho) * d * d
        w = w - lr * d
    """
    a = updates("Mean square of the gradient.")
    u = updates("Mean square of the change.")
    rho = number("Decay of the means.", 0.95, low=0.0, high=1.0)
    eps = number("Stabiliser.", 1e-7, low=0.0)
    old = flag("Divide by the previous mean square.")


class UpdateAdamax(Update, code=356, mnemonic="UPDATE_ADAMAX"):
    """Adamax (Kingma and Ba 2015, section 7).

    m = beta1·m + (1 - beta1)·g; u = max(beta2·u, |g|); w -= lr/(1 - beta1^t)·m/(u + eps).
    """

    synopsis = "{w} -= lr·{m}/{u}"
    rule = """
        m = beta1 * m + (1 - beta1) * g
        u = max(beta2 * u, abs(g))
        w = w - lr / one_minus_pow(beta1, t) * m / (u + eps)
    """
    m = updates("Mean gradient.")
    u = updates("Largest recent gradient.")
    beta1 = number("Decay of the mean.", 0.9, low=0.0, high=1.0)
    beta2 = number("Decay of the maximum.", 0.999, low=0.0, high=1.0)
    eps = number("Stabiliser.", 1e-7, low=0.0)


class Begin(Instruction, code=357, mnemonic="BEGIN_UPDATE", category="update"):
    """Count an update, so that bias corrections know t.

    updates word of the step block += 1. ``now`` is a copy of the whole block after that: what reads
    the copy does not hold up the line that moves the block on.
    """

    synopsis = "{step}.updates += 1"
    step = updates("Step block.")
    now = side_result("Copy of the step block after counting.", since=2)

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The type of the step block."""
        return (of(self.step),)

    def flops(self, of: TypeOf) -> int:
        """None."""
        return 0


class ClipValue(Instruction, code=360, mnemonic="CLIP_VALUE", category="update"):
    """Limit every element of a gradient.

    NaN stays NaN.
    """

    synopsis = "{g} = clip({g}, ±{limit})"
    formula = "clip(g, -limit, limit)"
    elementwise = True
    g = updates("Gradient.")
    limit = number("Largest magnitude.", 1.0, low=0.0)

    def flops(self, of: TypeOf) -> int:
        """Two comparisons per element."""
        return 2 * of(self.g).numel


class GlobalNorm(Instruction, code=361, mnemonic="GLOBAL_NORM", category="update"):
    """Length of all gradients taken together.

    y = √(Σ over all operands Σ g²).
    """

    synopsis = "{y} = norm({gs})"
    gs = reads_many("Gradients.", differentiable=False)
    y = writes("The norm, a scalar.")

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """A float32 scalar."""
        return (TensorType(()),)

    def flops(self, of: TypeOf) -> int:
        """A product and a sum per element."""
        return 2 * sum(of(g).numel for g in self.gs)


class ClipNorm(Instruction, code=362, mnemonic="CLIP_NORM", category="update"):
    """Shorten a gradient whose norm is too large."""

    synopsis = "{g} = {g}·{limit}/max({norm}, {limit})"
    formula = "g * (limit / max(norm, limit))"
    elementwise = True
    g = updates("Gradient.")
    norm = reads("Its norm, or the norm of all gradients, a scalar.", differentiable=False)
    limit = number("Largest norm.", 1.0, low=0.0)

    def flops(self, of: TypeOf) -> int:
        """One product per element."""
        return of(self.g).numel


class MovingAverage(Instruction, code=363, mnemonic="MOVING_AVERAGE", category="update", since=2):
    """Bring an average closer to a value.

    average = (1 - factor)·average + factor·x. No gradient.
    """

    synopsis = "{average} = (1 - {factor})·{average} + {factor}·{x}"
    formula = "(1 - factor) * average + factor * x"
    elementwise = True
    average = updates("The average.")
    x = reads("The value, shape of the average.", differentiable=False)
    factor = number("Weight of the value.", 0.01, low=0.0, high=1.0)

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """Nothing is written anew; the value must fit."""
        require_equal(self.mnemonic, "x", of(self.x).shape, of(self.average).shape)
        return ()

    def flops(self, of: TypeOf) -> int:
        """Two products and a sum per element."""
        return 3 * of(self.average).numel
