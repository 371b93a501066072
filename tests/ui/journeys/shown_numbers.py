"""Reads numbers as a person reads them off the window, and compares them with the truth."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from math import floor, isclose, log10
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from safetensors import safe_open

Array: TypeAlias = npt.NDArray[np.float64]

_SPACES = "\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}"
_NUMBER = re.compile(
    rf"[-\N{{MINUS SIGN}}]?(?:\d{{1,3}}(?:[{_SPACES}]\d{{3}})+|\d+)(?:\.\d+)?(?:e-?\d+)?"
)
_UNIT = re.compile(rf"[{_SPACES} ]?([^\s{_SPACES},;/)]*)")
_SCALES = {
    "%": 0.01, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "µs": 1e-6, "ms": 1e-3,
    "min": 60.0, "h": 3600.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
    "kFLOP": 1e3, "MFLOP": 1e6, "GFLOP": 1e9,
}  # fmt: skip


@dataclass(frozen=True)
class Figure:
    """A number of a text.

    Attributes:
        value: in units without prefix: bytes, seconds, parts of one.
        mantissa: the digits alone.
        scale: what they are multiplied by.
        decimals: digits behind the point.
    """

    value: float
    mantissa: float
    scale: float
    decimals: int

    def unit(self, digits: int | None) -> float:
        """Worth of the last digit, which is cut off where it is a nought: so many digits are meant.

        Args:
            digits: significant digits that are shown at most; None for those that are there.
        """
        places = self.decimals
        if digits is not None and self.mantissa:
            places = max(0, digits - 1 - floor(log10(abs(self.mantissa))))
        return 10.0**-places * self.scale


def figures(text: str) -> list[Figure]:
    """Every number of a text."""
    found = []
    for match in _NUMBER.finditer(text):
        digits = match.group().replace("\N{MINUS SIGN}", "-")
        for space in _SPACES:
            digits = digits.replace(space, "")
        unit = _UNIT.match(text, match.end())
        scale = _SCALES.get(unit.group(1) if unit else "", 1.0)
        plain, _, power = digits.partition("e")
        scale *= 10.0 ** int(power or 0)
        decimals = len(plain.partition(".")[2])
        found.append(Figure(float(plain) * scale, float(plain), scale, decimals))
    return found


def figure(text: str, place: int = 0) -> Figure:
    """One number of a text."""
    found = figures(text)
    assert len(found) > place, f"{text!r} has no number {place}"
    return found[place]


def seconds(text: str) -> float:
    """A time: ``2 min 5 s``."""
    return sum(each.value for each in figures(text))


@dataclass(frozen=True)
class Record:
    """A number that was shown, and what it ought to be."""

    place: str
    name: str
    shown: str
    truth: str
    is_right: bool


class ShownNumbers:
    """Collects what was shown and whether it is so."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def number(
        self, place: str, name: str, text: str, truth: float, *, part: int = 0,
        digits: int | None = None, within: float = 0.0, scale: float = 1.0,
    ) -> None:  # fmt: skip
        """A number of a text equals the truth as far as its digits go.

        Args:
            place: part of the window.
            name: which number.
            text: what is shown.
            truth: what it ought to be, in units without prefix.
            part: which number of the text.
            digits: significant digits the place shows, where noughts at the end are left out.
            within: part of the truth by which it may be off besides, for what a clock measures.
            scale: of a column whose heading has the unit.
        """
        found = figure(text, part)
        half = 0.5000001 * found.unit(digits) * scale
        allowed = half + within * abs(truth)
        off = abs(found.value * scale - truth)
        right = off <= allowed or isclose(found.value * scale, truth, rel_tol=1e-9)
        self.records.append(Record(place, name, text, f"{truth:.9g}", bool(right)))

    def time(self, place: str, name: str, text: str, truth: float, *, allowed: float) -> None:
        """A time in words differs from the truth by no more than so many seconds."""
        above = seconds(text) - truth
        right = above >= -allowed if text.lstrip().startswith("<") else abs(above) <= allowed
        self.records.append(Record(place, name, text, f"{truth:.9g} ± {allowed:.3g}", bool(right)))

    def text(self, place: str, name: str, text: str, truth: str) -> None:
        """Digits that are no number, such as a shape or a hash, are these."""
        self.records.append(Record(place, name, text, truth, text == truth))

    def check(self, places: tuple[str, ...], least: int, least_each: int) -> None:
        """All are right, and there are enough of each place."""
        wrong = [
            f"{r.place}: {r.name}: shown {r.shown!r}, truth {r.truth}"
            for r in self.records
            if not r.is_right
        ]
        counts = Counter(record.place for record in self.records)
        assert not wrong, f"{len(wrong)} of {len(self.records)} differ:\n" + "\n".join(wrong)
        assert len(self.records) >= least
        assert min(counts[place] for place in places) >= least_each, counts


# -- what files say, read without Glassbox ------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RunFiles:
    """A run as its files tell it.

    Attributes:
        folder: of the run.
        summary: how it ended.
        epochs: a line for each epoch.
        marks: when it began and ended, by the system's clock.
        names: of what is recorded of a step.
        steps: a record for each step: ``step``, ``wall`` (by the system's clock), ``relative``
            (of training) and ``values``.
    """

    folder: Path
    summary: dict[str, object]
    epochs: list[dict[str, float]]
    marks: list[dict[str, float]]
    names: list[str]
    steps: np.ndarray[tuple[int], np.dtype[np.void]]

    @classmethod
    def read(cls, folder: Path) -> RunFiles:
        """Read them."""

        def lines(name: str) -> list[dict[str, float]]:
            return [json.loads(line) for line in (folder / name).read_text().splitlines()]

        head, _, body = (folder / "steps.bin").read_bytes().partition(b"\n")
        header = json.loads(head)
        form = [("step", "<u4"), ("wall", "<f4"), ("relative", "<f4"),
                ("values", "<f4", (len(header["metrics"]),))]  # fmt: skip
        raw = np.frombuffer(body, np.dtype(form))
        wide = [(name, "<f8", *shape) for name, _, *shape in form]
        steps = raw.astype(np.dtype(wide))
        steps["wall"] += header["began"]
        summary = json.loads((folder / "summary.json").read_text())
        return cls(folder, summary, lines("metrics.jsonl"), lines("marks.jsonl"),
                   header["metrics"], steps)  # fmt: skip

    def values(self, name: str) -> Array:
        """What was recorded of every step."""
        return np.asarray(self.steps["values"][:, self.names.index(name)])

    @property
    def final(self) -> Path:
        """The weights it ended with."""
        return self.folder / "checkpoints" / "final.safetensors"


def tensors_of(path: Path) -> dict[str, npt.NDArray[np.generic]]:
    """Tensors of a checkpoint."""
    with safe_open(path, framework="numpy") as file:
        names = file.keys()
        return {name.removeprefix("tensor/"): file.get_tensor(name) for name in names}


def averaged(values: Array, weight: float) -> float:
    """The exponential average at the end, corrected for its beginning."""
    powers = weight ** np.arange(len(values))[::-1]
    return float((values * powers).sum() / powers.sum())


# -- the network counted and run in NumPy, float64 ----------------------------------------------


def answers(weights: dict[str, npt.NDArray[np.generic]], pictures: Array) -> Array:
    """Shares of the ten classes by the digits-cnn network.

    Args:
        weights: of the network.
        pictures: [samples, 8, 8, 1], 0 to 1.
    """
    wide = {name: value.astype(np.float64) for name, value in weights.items()}
    x = pictures
    for name in ("conv1", "conv2"):
        x = _convolved(x, wide[f"{name}/kernel"]) + wide[f"{name}/bias"]
        x = np.maximum(x, 0.0)
    x = x.reshape(len(x), 4, 2, 4, 2, -1).max(axis=(2, 4)).reshape(len(x), -1)
    x = np.maximum(x @ wide["hidden/kernel"].T + wide["hidden/bias"], 0.0)
    x = x @ wide["digit/kernel"].T + wide["digit/bias"]
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def _convolved(x: Array, kernel: Array) -> Array:
    """A convolution with a kernel of three by three that keeps the size."""
    high, wide = x.shape[1:3]
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    made = np.zeros((*x.shape[:3], kernel.shape[3]))
    for row in range(3):
        for column in range(3):
            made += padded[:, row : row + high, column : column + wide] @ kernel[row, column]
    return made


@dataclass(frozen=True)
class Count:
    """What digits-cnn takes of a step, counted from its shapes alone.

    A product and a sum are two operations, a bias one; a gradient takes what the layer takes, once
    for each tensor it is computed of; Adam takes twenty for each number.
    """

    batch: int = 32
    samples: int = 1437

    @property
    def parameters(self) -> dict[str, int]:
        """Numbers of each layer."""
        return {
            "conv1": 9 * 16 + 16, "conv2": 9 * 16 * 32 + 32, "hidden": 512 * 64 + 64,
            "digit": 64 * 10 + 10,
        }  # fmt: skip

    def tensor(self, *shape: int) -> int:
        """Bytes of a tensor of the batch."""
        return 4 * self.batch * int(np.prod(shape))

    def linear(self, outputs: int, inputs: int) -> int:
        """Operations of a layer of products, for the batch."""
        return self.batch * outputs * (2 * inputs + 1)

    @property
    def conv1(self) -> int:
        """Operations of its forward pass, without the activation."""
        return self.linear(8 * 8 * 16, 9)

    @property
    def conv2(self) -> int:
        """Operations of its forward pass, without the activation."""
        return self.linear(8 * 8 * 32, 9 * 16)

    @property
    def step(self) -> int:
        """Operations of a training step."""
        n = self.batch
        relu1, relu2, pool = n * 64 * 16, n * 64 * 32, n * 16 * 32 * 4
        drop1, drop2, loss = n * 16 * 32, n * 64, n * 10 * 5
        hidden, digit = self.linear(64, 512), self.linear(10, 64)
        data = 2 * n * 64 + n * 64
        forward = self.conv1 + self.conv2 + hidden + digit
        both_ways = 2 * (relu1 + relu2 + pool + drop1 + drop2 + n * 64 + loss)
        backward = 2 * self.conv1 + 3 * (self.conv2 + hidden + digit)
        update = 20 * sum(self.parameters.values())
        return data + forward + both_ways + 2 * loss + backward + update + n * 10

    @property
    def gradients(self) -> int:
        """Bytes of all gradients: of parameters, and of what layers give each other."""
        inner = 2 * self.tensor(8, 8, 16) + 2 * self.tensor(8, 8, 32) + 2 * self.tensor(4, 4, 32)
        ends = 3 * self.tensor(64) + 2 * self.tensor(10) + 4
        return 4 * sum(self.parameters.values()) + inner + ends
