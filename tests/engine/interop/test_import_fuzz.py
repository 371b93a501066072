"""Seeded fuzz of whole models: a mutant is read or refused in a sentence, in little memory."""

from __future__ import annotations

import json
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from studio.engine.core.errors import InternalError, StudioError
from studio.engine.formats.hdf5_child import CHILDREN, ChildLimits
from studio.engine.formats.limits import MIB
from studio.engine.interop.file_format import format_named
from studio.engine.interop.keras.dialects import model_from_json
from studio.engine.interop.keras.graph_in import graph_from_keras
from tests import hostile
from tests.engine.formats.test_hdf5_fuzz import hdf5_mutant
from tests.engine.formats.test_loader_fuzz import mutant
from tests.engine.interop.foreign_files import (
    archive,
    by_path,
    document,
    hdf5,
    hdf5_file,
    keras_members,
    old_document,
    text,
    tfjs_folder,
)

pytestmark = pytest.mark.slow

MOST = 24 * MIB
"""What reading a mutant may take; the files are below 100 KB."""
Random = np.random.Generator


@pytest.fixture(scope="module", autouse=True)
def none_left() -> Iterator[None]:
    yield
    CHILDREN.close()


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mutant that hangs the HDF5 library is given up soon."""
    monkeypatch.setattr(ChildLimits, "for_length", lambda *_: ChildLimits(cpu_seconds=0.5))


def json_mutant(value: Any, rng: Random) -> bytes:
    """A document with a wild value at some place, or a mutant of its text."""
    if rng.integers(3) == 0:
        return mutant(text(value), rng)
    places = list(hostile.paths(value))
    for _ in range(int(rng.integers(1, 3))):
        place = places[int(rng.integers(len(places)))]
        wild = hostile.VALUES[int(rng.integers(len(hostile.VALUES)))]
        try:
            value = hostile.changed(value, place, wild)
        except (KeyError, IndexError, TypeError):
            continue  # An earlier change took the place away.
    return json.dumps(value).encode()


def keras_mutant(folder: Path, rng: Random) -> Path:
    """A ``.keras`` file with another network or other weights, or of wrong bytes."""
    held = dict(MEMBERS)
    kind = int(rng.integers(4))
    if kind < 2:
        held["config.json"] = json_mutant(DOCUMENT, rng)
    elif kind == 2:
        held["model.weights.h5"] = hdf5_mutant(WEIGHTS, rng)
    path = folder / "m.keras"
    data = archive(held)
    path.write_bytes(mutant(data, rng) if kind == 3 else data)
    return path


def hdf5_model_mutant(folder: Path, rng: Random) -> Path:
    """An ``.h5`` file with another network in it, or with wrong bytes."""
    if rng.integers(2):
        return hdf5_file(folder, json_mutant(OLD_DOCUMENT, rng))
    path = folder / "m.h5"
    path.write_bytes(hdf5_mutant(WHOLE, rng))
    return path


def weights_mutant(folder: Path, rng: Random) -> Path:
    """A ``.weights.h5`` file with wrong bytes."""
    path = folder / "m.weights.h5"
    path.write_bytes(hdf5_mutant(WEIGHTS, rng))
    return path


def tfjs_mutant(folder: Path, rng: Random) -> Path:
    """A layers model with another network, another ``model.json`` or other bytes of weights."""
    kind = int(rng.integers(4))
    path = tfjs_folder(folder, json_mutant(OLD_DOCUMENT, rng) if kind < 2 else None)
    changed = folder / "group1-shard1of1.bin" if kind == 2 else path
    if kind == 3:
        path.write_bytes(json_mutant(json.loads(path.read_bytes()), rng))
    elif kind == 2:
        changed.write_bytes(mutant(changed.read_bytes(), rng))
    return path


def whole() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        return hdf5_file(Path(folder)).read_bytes()


DOCUMENT, OLD_DOCUMENT = document(), old_document()
WEIGHTS, WHOLE, MEMBERS = hdf5(by_path), whole(), keras_members()
GRAPH = graph_from_keras(model_from_json(DOCUMENT))[0]

FORMATS: dict[str, tuple[Callable[[Path, Random], Path], Callable[[Path], object]]] = {
    "keras": (keras_mutant, lambda path: format_named("keras").read_model(path)),
    "hdf5": (hdf5_model_mutant, lambda path: format_named("hdf5").read_model(path)),
    "keras-weights": (
        weights_mutant, lambda path: format_named("keras-weights").read(path, GRAPH)),
    "tfjs": (tfjs_mutant, lambda path: format_named("tfjs").read_model(path)),
}  # fmt: skip


def refusal(load: Callable[[Path], object], path: Path) -> str:
    """What is said against a file; empty where it is read. Whatever is no StudioError goes on."""
    try:
        load(path)
    except StudioError as error:
        if isinstance(error, InternalError):
            raise
        return str(error)
    return ""


def survive(name: str, count: int, folder: Path) -> tuple[int, int]:
    """How many mutants were read and how many were refused."""
    make, load = FORMATS[name]
    rng = np.random.default_rng(count)
    read = refused = 0
    for number in range(count):
        path = make(folder, rng)
        case = f"{name} mutant {number}"
        if number % (count // 100) == 0:
            said, peak = traced(load, path)
            assert peak < MOST, f"{case} took {peak} bytes"
        else:
            said = refusal(load, path)
        read, refused = read + (not said), refused + bool(said)
        assert len(said) < 900, f"{case}: {said}"
        assert said.replace("\n  hint: ", "").isprintable(), f"{case}: {said!r}"
    return read, refused


def traced(load: Callable[[Path], object], path: Path) -> tuple[str, int]:
    """What is said against a file, and the most memory that took."""
    tracemalloc.start()
    try:
        return refusal(load, path), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    "count",
    [
        300,
        pytest.param(4_000, marks=pytest.mark.peers),
        pytest.param(100_000, marks=[pytest.mark.full, pytest.mark.timeout(14_400)]),
    ],
)
def test_mutants_are_read_or_refused(name: str, count: int, tmp_path: Path) -> None:
    read, refused = survive(name, count, tmp_path)
    assert read > count // 50
    assert refused > count // 4
