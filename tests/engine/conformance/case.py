"""What a conformance case is, and how its operands are made."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import Pads, Shape

Make = Callable[[np.random.Generator, Shape], np.ndarray]


@dataclass(frozen=True)
class Given:
    """An operand: its shape, how it is filled, its dtype and halo."""

    shape: Shape
    make: Make = lambda rng, shape: rng.uniform(-2.0, 2.0, shape)
    dtype: DType = DType.float32
    pad: Pads = ()

    def values(self, rng: np.random.Generator) -> np.ndarray:
        return np.asarray(self.make(rng, self.shape)).astype(self.dtype.np).reshape(self.shape)


@dataclass(frozen=True)
class Case:
    """One instruction with operands and attributes.

    ``operands`` holds a Given (or a list of them) per operand that is read or updated; absent
    ones are left out. ``same`` makes an operand the very tensor another operand is. ``out_pad``
    gives the result a halo; ``out`` states the result's shape where nothing is inferred.
    ``without`` names optional results that are absent.
    Tolerances are relative and absolute; ``reason`` says why they are wider than the default.
    """

    mnemonic: str
    name: str
    operands: Mapping[str, Given | Sequence[Given]]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    same: Mapping[str, str] = field(default_factory=dict)
    out: Given | None = None
    out_pad: Pads = ()
    without: Sequence[str] = ()
    rtol: float = 2e-5
    atol: float = 2e-6
    grad_rtol: float = 2e-3
    grad_atol: float = 2e-4
    gradients: bool = True
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.mnemonic}-{self.name}"

    def values(self) -> dict[str, Any]:
        """Operand contents, the same on every run."""
        rng = np.random.default_rng(zlib.crc32(str(self).encode()))
        found: dict[str, Any] = {}
        for name, given in self.operands.items():
            found[name] = (
                given.values(rng) if isinstance(given, Given) else [g.values(rng) for g in given]
            )
        for name, other in self.same.items():
            found[name] = found[other]
        return found


def mnemonic(case: Case) -> str:
    """The instruction that a case tries."""
    return case.mnemonic


def uniform(low: float, high: float) -> Make:
    return lambda rng, shape: rng.uniform(low, high, shape)


def away(*kinks: float, low: float = -2.0, high: float = 2.0) -> Make:
    """Uniform, but no closer than 0.02 to a place where the derivative jumps."""

    def make(rng: np.random.Generator, shape: Shape) -> np.ndarray:
        values = rng.uniform(low, high, shape)
        for kink in kinks:
            near = np.abs(values - kink) < 0.02
            values = np.where(near, kink + np.where(values >= kink, 0.04, -0.04), values)
        return values

    return make


def apart(rng: np.random.Generator, shape: Shape) -> np.ndarray:
    """All elements different by at least 0.05, so that a maximum has one place."""
    count = int(np.prod(shape))
    return (rng.permutation(count).reshape(shape) - count / 2) * 0.05


def whole(low: int, high: int) -> Make:
    return lambda rng, shape: rng.integers(low, high, shape)


def exactly(*values: float) -> Make:
    return lambda _, shape: np.asarray(values).reshape(shape)


def shares(rng: np.random.Generator, shape: Shape) -> np.ndarray:
    """Positive rows that sum to one."""
    raw = rng.uniform(0.1, 1.0, shape)
    return raw / raw.sum(axis=-1, keepdims=True)


def one_hot(rng: np.random.Generator, shape: Shape) -> np.ndarray:
    return np.eye(shape[-1])[rng.integers(0, shape[-1], shape[:-1])]


def floats(*shape: int, make: Make | None = None, pad: Pads = ()) -> Given:
    return Given(shape, make or uniform(-2.0, 2.0), pad=pad)


def integers(*shape: int, low: int = 0, high: int = 5) -> Given:
    return Given(shape, whole(low, high), DType.int32)


def step_block(
    step: int = 3,
    epoch: int = 2,
    cursor: int = 4,
    updates: int = 5,
    record: int = 6,
    offset: int = 0,
) -> Given:
    return Given(
        (8,),
        exactly(step, epoch, cursor, updates, record, 123456789, 987654, offset),
        DType.int32,
    )


HALO: Pads = ((0, 0), (1, 2), (2, 1), (0, 0))
