"""Data sets that need no file of the user: digits and iris, and generated spirals, moons, circles.

Generated sets are two-dimensional and the same for the same seed.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import DataError, ParameterError, quoted
from studio.engine.core.philox import normal, stream_of, uniform
from studio.engine.train.data.arrays.numpy_files import ArrayOptions, load_npz
from studio.engine.train.data.csv.table import CsvOptions, load_csv
from studio.engine.train.data.dataset import Dataset

_LICENCE = "CC BY 4.0"
_PACKAGE = Path(__file__).resolve().parents[3]

MAX_POINTS = 1 << 24

_NOISE_STREAM = stream_of("data/toy/noise")
_PLACE_STREAM = stream_of("data/toy/place")


def bundled_path(name: str) -> Path:
    """The file called ``name`` among the bundled data, in a checkout or in an installed package.

    Raises:
        DataError: there is no such file.
    """
    checkout = _PACKAGE.parent
    folders = [_PACKAGE / "projects" / "data"]
    if (checkout / "pyproject.toml").is_file():
        folders.insert(0, checkout / "projects" / "data")
    for folder in folders:
        if Path(name).name == name and (folder / name).is_file():
            return folder / name
    raise DataError(
        f"there is no bundled file {quoted(name)}",
        who="data",
        hint="the installation is incomplete: install Glassbox again",
    )


def load_digits() -> Dataset:
    """1,797 handwritten digits, uint8 [8, 8, 1] of values 0 to 16, ten classes."""
    loaded = load_npz(bundled_path("digits.npz"), ArrayOptions(value_range=(0.0, 16.0)))
    return replace(
        loaded,
        attribution="Optical Recognition of Handwritten Digits, E. Alpaydin and C. Kaynak (1998), "
        "UCI Machine Learning Repository, https://doi.org/10.24432/C50P49",
        licence=_LICENCE,
    )


def load_iris() -> Dataset:
    """150 iris flowers: four measurements in centimetres, three species."""
    loaded = load_csv(bundled_path("iris.csv"), CsvOptions(label="species"))
    return replace(
        loaded,
        attribution="Iris, R. A. Fisher (1936), UCI Machine Learning Repository, "
        "https://doi.org/10.24432/C56C76",
        licence=_LICENCE,
    )


def spirals(
    n: int = 600, classes: int = 2, turns: float = 1.0, noise: float = 0.02, seed: int = 0
) -> Dataset:
    """Arms that wind around the origin, one per class.

    Arm c of k is the curve ``r = t``, ``angle = 2 pi (turns t + c / k)`` for t from 0.05 to 1.

    Args:
        n: points in all; classes take turns, so their counts differ by at most one.
        classes: arms, 2 to 64.
        turns: revolutions of an arm.
        noise: standard deviation of the normal noise added to each coordinate.
        seed: 64-bit seed.
    """
    labels = _labels(n, classes, noise)
    if not 0.0 < turns <= 100.0:
        raise ParameterError(f"turns must lie between 0 and 100: got {turns}", who="spirals")
    t = 0.05 + 0.95 * _place(n, seed)
    angle = 2.0 * np.pi * (turns * t + labels / classes)
    points = np.stack([t * np.cos(angle), t * np.sin(angle)], axis=1)
    return _dataset("spirals", points, labels, classes, noise, seed)


def moons(n: int = 600, noise: float = 0.1, seed: int = 0) -> Dataset:
    """Two interleaved half circles of radius 1, the lower one centred at (1, 0.5).

    Args:
        n: points in all, half of each class (the first class has one more if n is odd).
        noise: standard deviation of the normal noise added to each coordinate.
        seed: 64-bit seed.
    """
    labels = _labels(n, 2, noise)
    angle = np.pi * _place(n, seed)
    upper = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    lower = np.stack([1.0 - np.cos(angle), 0.5 - np.sin(angle)], axis=1)
    return _dataset("moons", np.where(labels[:, None] == 0, upper, lower), labels, 2, noise, seed)


def circles(
    n: int = 600, classes: int = 2, factor: float = 0.5, noise: float = 0.05, seed: int = 0
) -> Dataset:
    """Circles around the origin; class c lies at radius ``factor ** c``.

    Args:
        n: points in all; classes take turns, so their counts differ by at most one.
        classes: circles, 2 to 64.
        factor: radius of each circle relative to the one around it, between 0 and 1.
        noise: standard deviation of the normal noise added to each coordinate.
        seed: 64-bit seed.
    """
    labels = _labels(n, classes, noise)
    if not 0.0 < factor < 1.0:
        raise ParameterError(f"factor must lie between 0 and 1: got {factor}", who="circles")
    radius = factor ** labels.astype(np.float64)
    angle = 2.0 * np.pi * _place(n, seed)
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return _dataset("circles", points, labels, classes, noise, seed)


def _labels(n: int, classes: int, noise: float) -> npt.NDArray[np.int32]:
    if not 2 <= classes <= 64 or not classes <= n <= MAX_POINTS:
        raise ParameterError(
            f"expected 2 to 64 classes and at most {MAX_POINTS} points, one per class at least: "
            f"got {classes} classes and {n} points",
            who="data",
        )
    if not 0.0 <= noise <= 10.0:
        raise ParameterError(f"noise must lie between 0 and 10: got {noise}", who="data")
    return (np.arange(n) % classes).astype(np.int32)


def _place(n: int, seed: int) -> npt.NDArray[np.float64]:
    """Where each point lies along its curve, uniform in [0, 1)."""
    return uniform(seed, _PLACE_STREAM, 0, n).astype(np.float64)


def _dataset(
    name: str,
    points: npt.NDArray[np.float64],
    labels: npt.NDArray[np.int32],
    classes: int,
    noise: float,
    seed: int,
) -> Dataset:
    jitter = normal(seed, _NOISE_STREAM, 0, points.size).reshape(points.shape)
    return Dataset(
        x=(points + noise * jitter).astype(np.float32),
        y=labels,
        name=name,
        kind="points",
        class_names=tuple(str(i) for i in range(classes)),
        feature_names=("x", "y"),
        notes=(f"generated with seed {seed}",),
    )
