"""Learning-rate schedules, evaluated on the host: the rate of each step, as Keras defines it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeAlias

from studio.engine.core.configured import Configured
from studio.engine.core.errors import ParameterError
from studio.engine.core.kinds import Kind, Kinds, kind_of
from studio.engine.core.options import (
    Option,
    Plain,
    flag,
    integer,
    integers,
    number,
    numbers,
    optional_number,
    spec,
)

RATE_EFFECT = "Too high: the loss rises or becomes NaN. Too low: training is slow."


def _first_rate() -> Option[float]:
    return number(
        "Learning rate of the first step.",
        low=0.0,
        label="First rate",
        start=0.001,
        steps="decades",
    )


class Schedule(Configured, family="schedule", package="studio.engine.optim"):
    """Says the learning rate of each step, counted from 0."""

    def rate(self, step: int) -> float:
        """Learning rate of step ``step``."""
        raise TypeError(f"{type(self).__name__} defines no rate")


class Constant(Schedule, aliases=("constant",)):
    """The same rate at every step."""

    learning_rate = number("The rate.", low=0.0, start=0.001, steps="decades", effect=RATE_EFFECT)

    def rate(self, step: int) -> float:
        """The rate."""
        del step
        return self.learning_rate


class StepDecay(Schedule, aliases=("step",)):
    """Multiplies the rate by ``decay_rate`` every ``decay_steps`` steps."""

    initial_learning_rate = _first_rate()
    decay_steps = integer("Steps between drops.", low=1, start=1000)
    decay_rate = number("Factor of each drop.", 0.1, low=0.0)

    def rate(self, step: int) -> float:
        """initial·decay_rate^⌊step/decay_steps⌋."""
        return self.initial_learning_rate * self.decay_rate ** (step // self.decay_steps)


class ExponentialDecay(Schedule, aliases=("exponential",)):
    """Multiplies the rate by ``decay_rate`` over ``decay_steps`` steps, a little at each."""

    initial_learning_rate = _first_rate()
    decay_steps = integer("Steps per factor.", low=1, start=1000)
    decay_rate = number("Factor.", low=0.0, start=0.96)
    staircase = flag("Change only at whole multiples of decay_steps.")

    def rate(self, step: int) -> float:
        """initial·decay_rate^(step/decay_steps)."""
        power = step / self.decay_steps
        power = math.floor(power) if self.staircase else power
        return self.initial_learning_rate * self.decay_rate**power


class InverseTimeDecay(Schedule, aliases=("inverse_time",)):
    """Divides the rate by 1 + decay_rate·step/decay_steps."""

    initial_learning_rate = _first_rate()
    decay_steps = integer("Steps after which one decay_rate is added.", low=1, start=1000)
    decay_rate = number("Growth of the divisor.", low=0.0, start=0.96)
    staircase = flag("Change only at whole multiples of decay_steps.")

    def rate(self, step: int) -> float:
        """initial/(1 + decay_rate·step/decay_steps)."""
        passed = step / self.decay_steps
        passed = math.floor(passed) if self.staircase else passed
        return self.initial_learning_rate / (1.0 + self.decay_rate * passed)


class PolynomialDecay(Schedule, aliases=("polynomial",)):
    """Moves from one rate to another along a power curve."""

    initial_learning_rate = _first_rate()
    decay_steps = integer("Steps until the end rate.", low=1, start=1000)
    end_learning_rate = number(
        "Learning rate from then on.", 0.0001, low=0.0, label="Last rate", steps="decades"
    )
    power = number("Power of the curve; 1 is a straight line.", 1.0, low=0.0)
    cycle = flag("Stretch the curve to the next multiple of decay_steps instead of ending.")

    def rate(self, step: int) -> float:
        """(initial - end)·(1 - step/decay_steps)^power + end."""
        length, at = float(self.decay_steps), float(step)
        if self.cycle:
            length *= max(1, math.ceil(step / self.decay_steps))
        else:
            at = min(at, length)
        span = self.initial_learning_rate - self.end_learning_rate
        return float(span * (1.0 - at / length) ** self.power + self.end_learning_rate)


class CosineDecay(Schedule, aliases=("cosine",)):
    """Falls along half a cosine (Loshchilov and Hutter 2017), after an optional warm-up."""

    initial_learning_rate = _first_rate()
    decay_steps = integer("Steps of the decay.", low=1, start=1000)
    alpha = number("Fraction of the learning rate left at the end.", 0.0, low=0.0)
    warmup_target = optional_number(
        "Learning rate after the warm-up; no warm-up if not set.", low=0.0, label="Warm-up to",
        steps="decades",
    )  # fmt: skip
    warmup_steps = integer("Steps of the warm-up.", 0, low=0, label="Warm-up steps")

    def rate(self, step: int) -> float:
        """Rise to the target, then target·((1 - alpha)·(1 + cos(π·share))/2 + alpha)."""
        start, at = self.initial_learning_rate, step
        if self.warmup_target is not None:
            if at < self.warmup_steps:
                return start + (self.warmup_target - start) * at / self.warmup_steps
            start, at = self.warmup_target, at - self.warmup_steps
        share = min(at, self.decay_steps) / self.decay_steps
        fall = 0.5 * (1.0 + math.cos(math.pi * share))
        return start * ((1.0 - self.alpha) * fall + self.alpha)


class CosineDecayRestarts(Schedule, aliases=("cosine_restarts",)):
    """Falls along half a cosine and restarts, repeatedly (Loshchilov and Hutter 2017)."""

    initial_learning_rate = _first_rate()
    first_decay_steps = integer("Steps of the first cycle.", low=1, start=1000, label="First steps")
    t_mul = number("Factor of the cycle length from cycle to cycle.", 2.0, low=1.0)
    m_mul = number("Factor of the learning rate from cycle to cycle.", 1.0, low=0.0)
    alpha = number("Fraction of the learning rate left at the end of a cycle.", 0.0, low=0.0)

    def rate(self, step: int) -> float:
        """initial·m_mul^i·((1 - alpha)·(1 + cos(π·share of fall i))/2 + alpha)."""
        passed = step / self.first_decay_steps
        if self.t_mul == 1.0:
            fall_index = math.floor(passed)
            share = passed - fall_index
        else:
            fall_index = math.floor(
                math.log(1.0 - passed * (1.0 - self.t_mul)) / math.log(self.t_mul)
            )
            begun = (1.0 - self.t_mul**fall_index) / (1.0 - self.t_mul)
            share = (passed - begun) / self.t_mul**fall_index
        fall = 0.5 * self.m_mul**fall_index * (1.0 + math.cos(math.pi * share))
        return self.initial_learning_rate * ((1.0 - self.alpha) * fall + self.alpha)


class PiecewiseConstantDecay(Schedule, aliases=("piecewise",)):
    """One fixed rate up to each boundary, another after it."""

    boundaries = integers(
        "Last step of each piece but the last, ascending.", low=0, start=[1000, 2000]
    )
    values = numbers(
        "Learning rate of each piece, one more than boundaries.",
        low=0.0,
        start=[0.01, 0.001, 0.0001],
    )

    def __init__(self, *args: object, **given: object) -> None:
        super().__init__(*args, **given)
        bounds = self.boundaries
        if len(self.values) != len(bounds) + 1 or list(bounds) != sorted(set(bounds)):
            raise ParameterError(
                "expected ascending boundaries and one more value than those, got "
                f"{len(bounds)} boundaries and {len(self.values)} values",
                who=self.who,
            )

    def rate(self, step: int) -> float:
        """The value of the first boundary not below ``step``, else the last."""
        for boundary, value in zip(self.boundaries, self.values, strict=False):
            if step <= boundary:
                return value
        return self.values[-1]


Rate: TypeAlias = float | Schedule

_FIXED = "constant"


def read_rate(value: object, who: str) -> Rate:
    """A rate given as number, schedule, or the JSON form of a schedule."""
    if isinstance(value, Schedule):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        if not (0.0 <= value < math.inf):
            raise ParameterError(
                f"learning_rate: expected a number of at least 0, got {value}", who=who
            )
        return float(value)
    return Schedule.from_json(value)


def write_rate(value: Rate) -> Plain:
    """A number, or the JSON form of a schedule."""
    return value.to_json() if isinstance(value, Schedule) else value


class RateKinds(Kinds):
    """A fixed learning rate, or one of the schedules.

    Args:
        usual: the fixed rate that is the default.
    """

    def __init__(self, usual: float) -> None:
        self._usual = usual
        doc = "The same rate at every step."
        rate = number(doc, usual, low=0.0, label="Rate", steps="decades").named(_FIXED)
        self._fixed = Kind(_FIXED, "fixed", doc, (rate,))

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The fixed rate, then every schedule."""
        schedules = (m for m in Schedule.members.values() if m is not Constant)
        return (self._fixed, *(kind_of(member) for member in schedules))

    def split(self, value: Plain) -> tuple[str, dict[str, Plain]]:
        """The number, or class name and options."""
        if isinstance(value, int | float) and not isinstance(value, bool):
            return _FIXED, {_FIXED: float(value)}
        found = Schedule.from_json(value)
        return type(found).__name__, found.config()

    def join(self, key: str, values: Mapping[str, Plain]) -> Plain:
        """The number, or the JSON form of the schedule."""
        if key == _FIXED:
            return values.get(_FIXED, self._usual)
        return {"type": key, "config": dict(values)}


def rate_option(default: float) -> Option[Rate]:
    """The learning rate of an optimiser: a number or a schedule."""
    return spec(
        "Learning rate, a number or a schedule.", default, read_rate, write_rate,
        effect=RATE_EFFECT, kinds=RateKinds(default),
    )  # fmt: skip


class WarmUp(Schedule, aliases=("warmup",)):
    """Rises linearly to the first rate of another schedule, then follows it."""

    after: Option[Rate] = spec(
        "Learning rate or schedule after the warm-up.",
        0.001,
        read_rate,
        write_rate,
        low=0.0,
        editor="number",
    )
    warmup_steps = integer("Steps of the warm-up.", low=1, start=100, label="Warm-up steps")
    start = number("Learning rate of the first step.", 0.0, low=0.0)

    def rate(self, step: int) -> float:
        """start + (first rate - start)·step/warmup_steps, then the schedule from its step 0."""
        first = rate_at(self.after, 0)
        if step < self.warmup_steps:
            return self.start + (first - self.start) * step / self.warmup_steps
        return rate_at(self.after, step - self.warmup_steps)


def rate_at(rate: Rate, step: int) -> float:
    """The learning rate of a step, whether constant or scheduled."""
    return rate.rate(step) if isinstance(rate, Schedule) else rate
