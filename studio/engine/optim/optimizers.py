"""Optimisers with Keras' names and options; their maths is the rules of ``isa/ops/update.py``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from studio.engine.core.configured import Configured
from studio.engine.core.errors import ParameterError
from studio.engine.core.options import Option, choice, flag, number, optional_number
from studio.engine.core.renamed import moved
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops import update
from studio.engine.optim.schedules import Rate, rate_at, rate_option

_DECAY = "Weight decay reduces overfitting."

CLIPS = ("clipnorm", "global_clipnorm", "clipvalue")


def _momentum() -> Option[float]:
    return number(
        "Momentum; 0 for none.", 0.0, low=0.0, high=1.0,
        effect="Higher momentum smooths the updates and reacts more slowly.",
    )  # fmt: skip


def _epsilon() -> Option[float]:
    return number(
        "Small number that avoids division by zero.", 1e-7, low=0.0, steps="decades",
        effect="Higher values are more stable with tiny gradients.",
    )  # fmt: skip


__getattr__ = moved(__name__)


@dataclass(frozen=True)
class UpdateRule:
    """What an optimiser does with one parameter.

    Attributes:
        instruction: its update instruction.
        slots: operand name of each slot, and how the slot begins.
        attributes: attributes of the instruction.
    """

    instruction: type[Instruction]
    slots: Mapping[str, str] = field(default_factory=dict)
    attributes: Mapping[str, float | bool | str] = field(default_factory=dict)


class Optimizer(Configured, family="optimizer", package="studio.engine.optim"):
    """Options every optimiser has; a subclass states its `rule`.

    At most one of the three clips may be given. ``weight_decay`` is decoupled (Loshchilov and
    Hutter 2019) and applies to every trained parameter, as in Keras. ``shrink`` is Dylann's L2:
    kernels and scales (every parameter for RMSprop) are multiplied by 1 - shrink first, whatever
    the learning rate.
    """

    positional: ClassVar[tuple[str, ...] | None] = ("learning_rate",)
    shrinks_all: ClassVar[bool] = False

    learning_rate: Option[Rate] = rate_option(0.001)
    weight_decay = optional_number(
        "Decoupled weight decay.", low=0.0, steps="decades", effect=_DECAY
    )
    clipnorm = optional_number(
        "Largest norm of each gradient.", low=0.0, label="Clip norm",
        effect="Clipping keeps a single bad batch from destabilising training.",
    )  # fmt: skip
    global_clipnorm = optional_number(
        "Largest norm of all gradients together.", low=0.0, label="Clip all norms"
    )
    clipvalue = optional_number(
        "Largest magnitude of each element of a gradient.", low=0.0, label="Clip value"
    )
    shrink = number("Decoupled weight decay, applied before each update.", 0.0, low=0.0, high=1.0)

    def __init__(self, *args: object, **given: object) -> None:
        super().__init__(*args, **given)
        used = [name for name in CLIPS if self.option_values[name] is not None]
        if len(used) > 1:
            raise ParameterError(
                f"at most one of {', '.join(CLIPS)} may be given: got {' and '.join(used)}",
                who=self.who,
            )

    def rate(self, step: int) -> float:
        """Learning rate of a step, counted from 0."""
        return rate_at(self.learning_rate, step)

    @classmethod
    def form_options(cls) -> tuple[Option[Any], ...]:
        """What is usually given first, the learning rate before all."""
        usual = cls.positional or ()
        places = {name: place for place, name in enumerate(usual)}
        return tuple(sorted(cls.options, key=lambda o: places.get(o.name, len(places))))

    def rule(self) -> UpdateRule:
        """The update instruction, its slots and attributes."""
        raise TypeError(f"{type(self).__name__} defines no rule")


class SGD(Optimizer, aliases=("sgd",)):
    """Gradient descent with optional momentum (Sutskever et al. 2013).

    ``form='average'`` is Dylann's momentum: m = momentum·m + (1 - momentum)·g; w -= rate·m.
    """

    positional = ("learning_rate", "momentum", "nesterov")

    learning_rate = rate_option(0.01)
    momentum = _momentum()
    nesterov = flag("Nesterov momentum.")
    form = choice("Formula of the momentum.", "keras", "average")

    def rule(self) -> UpdateRule:
        """UPDATE_SGD, or UPDATE_MOMENTUM with slot m."""
        if self.momentum == 0.0:
            return UpdateRule(update.UpdateSGD)
        return UpdateRule(
            update.UpdateMomentum,
            {"m": ""},
            {"momentum": self.momentum, "nesterov": self.nesterov, "form": self.form},
        )


class RMSprop(Optimizer, aliases=("rmsprop",)):
    """Divides the gradient by its running root mean square (Tieleman and Hinton 2012)."""

    positional = ("learning_rate", "rho", "momentum", "epsilon", "centered")
    title = "RMSprop"
    shrinks_all = True

    rho = number("Decay of the mean square.", 0.9, low=0.0, high=1.0)
    momentum = _momentum()
    epsilon = _epsilon()
    centered = flag("Subtract the square of the mean gradient.")
    epsilon_outside = flag("Add epsilon to the root instead of under it (Dylann, PyTorch).")

    def rule(self) -> UpdateRule:
        """UPDATE_RMSPROP with slot v, and m and a where used."""
        slots = {"v": ""}
        if self.momentum:
            slots["m"] = ""
        if self.centered:
            slots["a"] = ""
        return UpdateRule(
            update.UpdateRMSProp,
            slots,
            {
                "rho": self.rho,
                "momentum": self.momentum,
                "eps": self.epsilon,
                "eps_outside": self.epsilon_outside,
            },
        )


class Adam(Optimizer, aliases=("adam",)):
    """Adaptive moments (Kingma and Ba 2015).

    ``epsilon_at='hat'`` adds epsilon to the corrected root, as TensorFlow.js and PyTorch do.
    """

    positional: ClassVar[tuple[str, ...] | None] = (
        "learning_rate", "beta_1", "beta_2", "epsilon", "amsgrad",
    )  # fmt: skip

    beta_1 = number("Decay of the mean.", 0.9, low=0.0, high=1.0)
    beta_2 = number("Decay of the mean square.", 0.999, low=0.0, high=1.0)
    epsilon = _epsilon()
    amsgrad = flag("Keep the largest mean square (Reddi et al. 2018).")
    epsilon_at = choice("Where epsilon is added.", "end", "hat")

    def rule(self) -> UpdateRule:
        """UPDATE_ADAM with slots m and v, and vmax for AMSGrad."""
        slots = {"m": "", "v": "", **({"vmax": ""} if self.amsgrad else {})}
        return UpdateRule(
            update.UpdateAdam,
            slots,
            {
                "beta1": self.beta_1,
                "beta2": self.beta_2,
                "eps": self.epsilon,
                "eps_at": self.epsilon_at,
            },
        )


class AdamW(Adam, aliases=("adamw",)):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019)."""

    title = "AdamW"
    positional = ("learning_rate", "weight_decay", "beta_1", "beta_2", "epsilon", "amsgrad")

    weight_decay = number("Decoupled weight decay.", 0.004, low=0.0, steps="decades", effect=_DECAY)


class Adagrad(Optimizer, aliases=("adagrad",)):
    """Divides the gradient by the root of its sum of squares (Duchi et al. 2011)."""

    positional = ("learning_rate", "initial_accumulator_value", "epsilon")

    initial_accumulator_value = number(
        "Initial value of the sum of squares.", 0.1, low=0.0, label="First sum"
    )
    epsilon = _epsilon()
    epsilon_outside = flag("Add epsilon to the root instead of under it (PyTorch).")

    def rule(self) -> UpdateRule:
        """UPDATE_ADAGRAD with slot a."""
        start = self.initial_accumulator_value
        return UpdateRule(
            update.UpdateAdagrad,
            {"a": f"constant({start!r})" if start else ""},
            {"eps": self.epsilon, "eps_outside": self.epsilon_outside},
        )


class Adadelta(Optimizer, aliases=("adadelta",)):
    """Scales steps by running means of squared steps and gradients (Zeiler 2012).

    ``previous_mean`` divides by the mean square from before the step, as deeplearn.js does.
    """

    positional = ("learning_rate", "rho", "epsilon")

    rho = number("Decay of the means.", 0.95, low=0.0, high=1.0)
    epsilon = _epsilon()
    previous_mean = flag("Divide by the mean square of the previous steps.")

    def rule(self) -> UpdateRule:
        """UPDATE_ADADELTA with slots a and u."""
        return UpdateRule(
            update.UpdateAdadelta,
            {"a": "", "u": ""},
            {"rho": self.rho, "eps": self.epsilon, "old": self.previous_mean},
        )


class Adamax(Optimizer, aliases=("adamax",)):
    """Adam with the largest recent gradient in place of the root (Kingma and Ba 2015)."""

    positional = ("learning_rate", "beta_1", "beta_2", "epsilon")

    beta_1 = number("Decay of the mean.", 0.9, low=0.0, high=1.0)
    beta_2 = number("Decay of the maximum.", 0.999, low=0.0, high=1.0)
    epsilon = _epsilon()

    def rule(self) -> UpdateRule:
        """UPDATE_ADAMAX with slots m and u."""
        return UpdateRule(
            update.UpdateAdamax,
            {"m": "", "u": ""},
            {"beta1": self.beta_1, "beta2": self.beta_2, "eps": self.epsilon},
        )
