"""One call of an operation, with the answer that plain NumPy in float64 gives."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np

from studio.engine.operations import OPERATIONS

Given = tuple[int, ...] | np.ndarray


@dataclass(frozen=True)
class Case:
    """A call.

    Attributes:
        name: of the operation.
        operands: arrays, or shapes of floats to draw.
        options: by name.
        ref: the answer for operands in float64; by default the function of the same name in NumPy.
        low: smallest number drawn.
        high: bound of numbers drawn.
        gradients: whether gradients are compared with differences of the answer.
        batch: whether dimension 0 of the first operand is the batch.
        apart: drawn numbers are this far apart at least, so that differences meet no tie or bend.
        tolerance: largest difference allowed, relative where numbers are above 1.
    """

    name: str
    operands: tuple[Given, ...]
    options: dict[str, Any] = field(default_factory=dict)
    ref: Callable[..., Any] | None = None
    low: float = -2.0
    high: float = 2.0
    gradients: bool = True
    batch: bool = False
    apart: float = 0.0
    tolerance: float = 1e-5

    def __str__(self) -> str:
        shapes = "-".join("x".join(map(str, np.shape(x) if isinstance(x, np.ndarray) else x)) or "0"
                          for x in self.operands)  # fmt: skip
        more = ",".join(f"{k}={v}" for k, v in self.options.items()).replace(" ", "")
        return f"{self.name}({shapes}{';' if more else ''}{more}{';N' if self.batch else ''})"

    def arrays(self) -> list[np.ndarray]:
        """The operands; the same for the same case in every run."""
        rng = np.random.default_rng(zlib.crc32(str(self).encode()))
        return [self._drawn(rng, x) if isinstance(x, tuple) else x for x in self.operands]

    def _drawn(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        if not self.apart:
            return rng.uniform(self.low, self.high, shape).astype(np.float32)
        count = int(np.prod(shape))
        grid = self.low + self.apart * (np.arange(count) + 0.37)
        return rng.permutation(grid).reshape(shape).astype(np.float32)

    def answer(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """What the reference gives, floats in float64."""
        wide = [x.astype(np.float64) if x.dtype.kind == "f" else x for x in arrays]
        with np.errstate(all="ignore"):
            if self.ref is not None:
                found = self.ref(*wide)
            else:
                found = by_name(self.name)(*wide, **self.options)
        return [np.asarray(x) for x in (found if isinstance(found, tuple | list) else [found])]


def by_name(name: str) -> Callable[..., Any]:
    """NumPy's function for an operation."""
    path = OPERATIONS[name].aliases["numpy"][0].split(".")
    found: Callable[..., Any] = reduce(getattr, path, np)
    return found
