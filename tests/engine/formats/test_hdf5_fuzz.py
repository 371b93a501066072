"""Seeded fuzz of HDF5 files: a mutant loads or is refused in one sentence.

A mutant of these files kills or hangs the library about once in a thousand.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest

from studio.engine.core.errors import FormatError
from studio.engine.formats.hdf5_child import CHILDREN, ChildLimits
from studio.engine.formats.hdf5_reading import read_hdf5
from studio.engine.formats.limits import MIB, Limits
from tests.engine.formats.test_loader_fuzz import mutant

pytestmark = pytest.mark.slow

LIMITS = Limits(total_bytes=8 * MIB, json_bytes=MIB, ratio_floor=MIB)
CHILD_LIMITS = ChildLimits(cpu_seconds=0.5)


@pytest.fixture(scope="module", autouse=True)
def none_left() -> Iterator[None]:
    yield
    CHILDREN.close()


def weights(file: h5py.File) -> None:
    """As Keras 3 lays out ``model.weights.h5``."""
    rng = np.random.default_rng(1)
    for index, shape in enumerate([(3, 3, 2, 4), (4, 5), (5, 2)]):
        group = file.create_group(f"layers/dense_{index}/vars")
        group.attrs["name"] = f"layer_{index}"
        group["0"] = rng.normal(size=shape).astype(np.float32)
        group["1"] = np.zeros(shape[-1], np.float32)
    file["optimizer/vars/0"] = np.array(7, np.int64)
    file.create_group("vars")


def legacy(file: h5py.File) -> None:
    """As Keras 2 lays out a whole model."""
    file.attrs["keras_version"] = "2.15.0"
    file.attrs["model_config"] = '{"class_name": "Sequential", "config": {"name": "s"}}' * 20
    group = file.create_group("model_weights")
    group.attrs["layer_names"] = np.array([b"conv", b"dense", b"drop"])
    for name, shape in (("conv", (3, 3, 1, 2)), ("dense", (8, 3))):
        inner = group.create_group(name)
        inner.attrs["weight_names"] = np.array([f"{name}/kernel:0".encode()])
        inner[f"{name}/kernel:0"] = np.ones(shape, np.float32)
    group.create_group("drop").attrs["weight_names"] = np.asarray([])


def packed(file: h5py.File) -> None:
    rng = np.random.default_rng(2)
    file.create_dataset(
        "a", data=rng.integers(0, 9, (40, 30)).astype(">f4"), chunks=(7, 11), compression="gzip",
        shuffle=True, fletcher32=True,
    )  # fmt: skip
    file.create_dataset("b", data=np.arange(100) % 7 > 3, chunks=(30,), compression="gzip")
    file.attrs["texts"] = ["one", "two"]


ORIGINALS = {"weights": weights, "legacy": legacy, "packed": packed}


def content(name: str) -> bytes:
    made = io.BytesIO()
    with h5py.File(made, "w", libver="latest" if name == "packed" else None) as file:
        ORIGINALS[name](file)
    return made.getvalue()


def hdf5_mutant(data: bytes, rng: np.random.Generator) -> bytes:
    """A mutant as of any file, or one with flips where the file is not empty, as most of it is."""
    if rng.integers(3) == 0:
        return mutant(data, rng)
    result = bytearray(data)
    held = np.flatnonzero(np.frombuffer(data, np.uint8))
    for at in rng.choice(held, int(rng.integers(1, 6))):
        result[at] = rng.integers(256) if rng.integers(2) else result[at] ^ (1 << rng.integers(8))
    return bytes(result)


def survive(name: str, count: int, seed: int, folder: Path) -> tuple[int, int]:
    """How many mutants loaded and how many were refused; anything else fails."""
    data, path = content(name), folder / "mutant.h5"
    rng = np.random.default_rng(seed)
    loaded = refused = 0
    for number in range(count):
        path.write_bytes(hdf5_mutant(data, rng))
        said = "it is read whole"
        try:
            with read_hdf5(path, limits=LIMITS, child_limits=CHILD_LIMITS) as file:
                read = sum(array.nbytes for array in file.arrays.values())
            assert read <= LIMITS.total_bytes
            loaded += 1
        except FormatError as error:
            said = str(error)
            refused += 1
        assert 10 < len(said) < 600, f"{name} mutant {number}: {said}"
    return loaded, refused


@pytest.mark.parametrize(
    ("name", "count"),
    [
        # Mutants of the others are read as models and weights, with all that stands on it.
        ("packed", 300),
        *(
            pytest.param(name, 100_000, marks=[pytest.mark.full, pytest.mark.timeout(14_400)])
            for name in ORIGINALS
        ),
    ],
)
def test_mutants_load_or_are_refused(name: str, count: int, tmp_path: Path) -> None:
    loaded, refused = survive(name, count, count, tmp_path)
    assert loaded > count // 50
    assert refused > count // 50
