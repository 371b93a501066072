"""One step of a training as a bar whose parts sum to the time it took, the profiler's own included.

Plain steps tell how long a step is; instrumented ones how it divides. What is left when every part
with a name has been counted is called unexplained and shown, never spread over the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from studio.engine.profiler.totals import usual_times
from studio.engine.train.loop.step_sampling import ROW, InstrumentedStep, StepWindow

Part: TypeAlias = Literal[
    "data", "forward", "backward", "update", "housekeeping", "transfers", "gaps", "studio",
    "measuring", "unexplained",
]  # fmt: skip

PARTS: tuple[Part, ...] = get_args(Part)

WORRYING = 0.05
"""Share of a step above which what cannot be explained is pointed out."""

_ENOUGH_WINDOWS = 12
_LEAST_SPREAD = 0.002
_CERTAIN = 0.5

_OF_SECTION: Mapping[str, Part] = {
    "data": "data",
    "forward": "forward",
    "loss": "forward",
    "backward": "backward",
    "update": "update",
    "metrics": "housekeeping",
}

MEANINGS: Mapping[Part, str] = {
    "data": "Gathering and augmenting the batch, and shuffling on the host.",
    "forward": "Kernels of the forward pass and of the loss.",
    "backward": "Kernels of the backward pass.",
    "update": "Kernels that update the parameters.",
    "housekeeping": "Kernels of metrics and counters, and reporting them.",
    "transfers": "Learning rates written to the device and metrics read from it.",
    "gaps": "Time between kernels, while the device waits for the host.",
    "studio": "Time training waited for the window's thread.",
    "measuring": "Overhead of measuring a step.",
    "unexplained": "Time not accounted for: other programs or the system.",
}

Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True)
class StepBar:
    """One step, divided.

    Attributes:
        seconds: mean wall time of a step, instrumented ones counted.
        parts: seconds of every part; they sum to ``seconds``. Only what is unexplained may be
            below zero: then the named parts were counted too high by that much.
        plain_steps: plain steps looked at.
        instrumented_steps: instrumented ones.
        sees_studio: whether the window's share could be measured on this system.
    """

    seconds: float
    parts: Mapping[Part, float]
    plain_steps: int
    instrumented_steps: int
    sees_studio: bool

    def share(self, part: Part) -> float:
        """A part's share of the step."""
        return self.parts[part] / self.seconds if self.seconds else 0.0

    @property
    def is_worrying(self) -> bool:
        """Whether more is unexplained than should be."""
        return abs(self.share("unexplained")) > WORRYING

    @property
    def quiet_gain(self) -> float:
        """Share of the step that views and measuring take, 0 to 1: what quiet would save."""
        return self.share("studio") + self.share("measuring")


@dataclass(frozen=True)
class _Plain:
    """The mean plain step, in seconds.

    Attributes:
        wall: how long it takes.
        busy: processor time of the training thread.
        workers: processor time of the device's own threads.
        interface: processor time of the window's thread meanwhile.
    """

    wall: float
    busy: float
    workers: float
    interface: float


@dataclass(frozen=True)
class _Table:
    """Windows as a table of numbers, one row each.

    Attributes:
        rows: the numbers, in the order of `ROW`.
    """

    rows: Floats

    @classmethod
    def of(cls, windows: Sequence[StepWindow]) -> _Table:
        return cls(np.array([window.row for window in windows]))

    def __len__(self) -> int:
        return len(self.rows)

    def those(self, chosen: npt.NDArray[np.bool_]) -> _Table:
        return _Table(self.rows[chosen])

    def column(self, name: str) -> Floats:
        return self.rows[:, ROW.index(name)]

    def sum(self, name: str) -> float:
        return float(self.column(name).sum())


def step_bar(
    windows: Sequence[StepWindow], *, runs_apart: bool, sees_studio: bool = True
) -> StepBar | None:
    """Divide a step, from windows with and without instrumented steps; None without both.

    Args:
        windows: what a sampler found.
        runs_apart: whether kernels run on a device of their own while the host goes on.
        sees_studio: whether the sampler had the clock of the window's thread.
    """
    steps = [step for w in windows for step in w.instrumented]
    if not steps:
        return None
    every = _Table.of(windows)
    is_measured = np.array([bool(w.instrumented) for w in windows])
    measured, plain = every.those(is_measured), every.those(~is_measured)
    beside = plain if len(plain) else measured
    mean = _plain_step(beside)
    count = int(every.sum("count")) + len(steps)
    studio = _studio(mean, beside)
    each = (_divided_apart if runs_apart else _divided)(mean, steps, studio)
    parts = {part: each.get(part, 0.0) * count for part in PARTS}
    # The excess of instrumented steps, and what the steps after them lose.
    instrumented = measured.sum("instrumented")
    parts["measuring"] += max(0.0, instrumented - len(steps) * mean.wall)
    parts["measuring"] += _slowdown(measured, plain)
    parts["data"] += every.sum("data")
    parts["transfers"] += every.sum("transfers")
    parts["housekeeping"] += every.sum("reports")
    total = every.sum("total")
    named = sum(spent for part, spent in parts.items() if part != "unexplained")
    parts["unexplained"] = total - named
    return StepBar(
        total / count,
        {part: spent / count for part, spent in parts.items()},
        count - len(steps),
        len(steps),
        sees_studio,
    )


def _plain_step(windows: _Table) -> _Plain:
    steps = windows.sum("count")
    return _Plain(
        windows.sum("steps") / steps,
        windows.sum("busy") / steps,
        windows.sum("workers") / steps,
        windows.sum("interface") / steps,
    )


def _studio(mean: _Plain, windows: _Table) -> float:
    """Seconds a plain step loses to the window's thread.

    Windows in which that thread did much are compared with those in which it did little. Before
    there are enough of them to tell what a second of it costs the training, it is the time the
    training thread was ready and did not run, as far as the window's thread ran meanwhile.
    """
    away = max(0.0, mean.wall - mean.busy)
    cost = _cost(windows)
    if cost is None:
        return min(max(0.0, away - mean.workers), mean.interface)
    return min(cost * mean.interface, mean.wall)


def _cost(windows: _Table) -> float | None:
    """Seconds lost for a second of the window's thread; 0 where that is no more than chance.

    None where other programs blur it so much that nothing can be said.

    Speed is compared with the share of the time that the window's thread ran: were it the time of
    a step with the thread's part of it, a machine that other programs slow down would lengthen
    both alike, and their work would be taken for the studio's.
    """
    wall = windows.column("steps")
    if len(windows) < _ENOUGH_WINDOWS or wall.min() <= 0.0:
        return None
    speed = windows.column("count") / wall
    other = windows.column("interface") / wall
    if other.std() < _LEAST_SPREAD:
        return None
    apart = other - other.mean()
    slope = float(apart @ speed / (apart @ apart))
    left = speed - speed.mean() - slope * apart
    error = float(np.sqrt((left @ left) / (len(windows) - 2) / (apart @ apart)))
    alone = float(speed.mean() - slope * other.mean())
    if error > _CERTAIN * alone:
        return None
    return -slope / alone if -slope > 2.0 * error else 0.0


def _divided(mean: _Plain, steps: Sequence[InstrumentedStep], studio: float) -> dict[Part, float]:
    """A step whose kernels run on the training thread and its helpers."""
    # Off the processor the training thread waits for its helpers, for the studio, or for others.
    others = max(0.0, mean.wall - mean.busy - mean.workers - studio)
    most = max(0.0, mean.wall - studio - others)
    # Instrumented steps are held up as much as plain ones; that is not their kernels' time.
    kernels, spent = _usual_kernels(steps, most / mean.wall if mean.wall else 1.0, most)
    return {**kernels, "gaps": max(0.0, most - spent), "studio": studio}


def _divided_apart(
    mean: _Plain, steps: Sequence[InstrumentedStep], studio: float
) -> dict[Part, float]:
    """A step whose kernels run on a device of its own: it idles where the host is late."""
    most = max(0.0, mean.wall - studio)
    kernels, spent = _usual_kernels(steps, 1.0, most)
    return {
        **kernels,
        "gaps": min(max(0.0, most - spent), mean.busy + mean.workers),
        "studio": studio,
    }


def _usual_kernels(
    steps: Sequence[InstrumentedStep], factor: float, most: float
) -> tuple[dict[Part, float], float]:
    """Seconds of the kernels by part, at most ``most`` together, and their sum.

    A kernel takes the median of its times: one call that other programs held up a hundredfold
    would otherwise leave no room for the others. Where kernels are held up evenly, medians do not
    show it, and ``factor`` says which part of all their time is theirs.
    Where instrumented kernels take longer than the whole plain step, that much is what measuring
    adds to them: the same to each, since each is marked alike.
    """
    sections = [event.section for event in steps[-1].profile.events]
    spent = [step.kernel_seconds for step in steps]
    alike = np.array([each for each in spent if len(each) == len(sections)])
    usual = usual_times(alike)
    together = float(usual.sum())
    theirs = factor * float(alike.mean(axis=0).sum())
    if theirs < together:
        usual = usual * (theirs / together)
    kept = without_overhead(usual, most)
    found: dict[Part, float] = {}
    for section, seconds in zip(sections, kept, strict=True):
        part = _OF_SECTION.get(section, "housekeeping")
        found[part] = found.get(part, 0.0) + float(seconds)
    return found, float(kept.sum())


def without_overhead(spent: Floats, most: float) -> Floats:
    """Times with one amount taken off each (never below zero) so that they sum to ``most``."""
    if spent.sum() <= most:
        return spent
    ascending = np.sort(spent)
    left = ascending[::-1].cumsum()[::-1]
    for number, smallest in enumerate(ascending):
        # With everything below ``smallest`` gone, the rest gives up ``amount`` each.
        amount = (left[number] - most) / (len(ascending) - number)
        if amount <= smallest:
            kept: Floats = np.maximum(spent - amount, 0.0)
            return kept
    return np.zeros_like(spent)


def _slowdown(measured: _Table, plain: _Table) -> float:
    """Seconds the plain steps beside instrumented ones lost, where that is more than chance."""
    with_them, without = _paces(measured), _paces(plain)
    if len(with_them) < 3 or len(without) < 3:
        return 0.0
    difference = float(with_them.mean() - without.mean())
    error = with_them.var(ddof=1) / len(with_them) + without.var(ddof=1) / len(without)
    if difference <= 2.0 * float(error) ** 0.5:
        return 0.0
    return difference * measured.sum("count")


def _paces(windows: _Table) -> Floats:
    """Seconds a plain step took in each window that has some."""
    steps = windows.column("count")
    return windows.column("steps")[steps > 0] / steps[steps > 0]
