"""Files of weights alone that were made to do harm, each refused in a sentence."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest

from studio.engine.core.errors import InternalError, StudioError
from studio.engine.formats import safetensors
from studio.engine.formats.hdf5_child import CHILDREN
from studio.engine.formats.limits import MIB
from studio.engine.interop.keras.dialects import model_from_json
from studio.engine.interop.keras.graph_in import graph_from_keras
from studio.engine.interop.reading import load_weights
from studio.engine.train.importing.matching import weight_arrays
from tests.engine.formats import test_hdf5_hostile as hostile_hdf5
from tests.engine.interop.foreign_files import PATHS, WEIGHTS, by_path, document, hdf5

MOST = 8 * MIB
"""What a refusal may take; the files are a few kilobytes."""
GRAPH = graph_from_keras(model_from_json(document()))[0]
PLACE = f"{PATHS['d']}/vars/0"
KERNEL = WEIGHTS["d", "kernel"]
Fill = Callable[[h5py.File], object]


@pytest.fixture(scope="module", autouse=True)
def none_left() -> Iterator[None]:
    yield
    CHILDREN.close()


def refused(load: Callable[[], object]) -> str:
    """What is said, once it is seen to be clean and cheap."""
    tracemalloc.start()
    try:
        with pytest.raises(StudioError) as caught:
            load()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    error = caught.value
    assert not isinstance(error, InternalError)
    assert "\n" not in error.message
    assert len(error.message) < 600
    assert str(error).replace("\n  hint: ", "").isprintable()
    assert peak < MOST
    return str(error)


def written(folder: Path, content: bytes, ending: str) -> Path:
    path = folder / f"m{ending}"
    path.write_bytes(content)
    return path


# ------------------------------------------------------------------------ HDF5


def in_place(make: Fill) -> Fill:
    """The weights with what a function makes of ``x`` where a kernel is expected."""

    def fill(file: h5py.File) -> None:
        by_path(file)
        del file[PLACE]
        make(file)
        if "x" in file and file.get("x", getlink=True).__class__ is h5py.HardLink:
            file.move("x", PLACE)
        else:
            link = file.get("x", getlink=True)
            del file["x"]
            file[PLACE] = link

    return fill


def kernel(array: object) -> Fill:
    def fill(file: h5py.File) -> None:
        by_path(file)
        del file[PLACE]
        if array is not None:
            file[PLACE] = array

    return fill


def beside(path: str, array: object) -> Fill:
    def fill(file: h5py.File) -> None:
        by_path(file)
        file[path] = array

    return fill


def group(file: h5py.File) -> None:
    kernel(None)(file)
    file.create_group(PLACE)


def attribute(name: str, value: object) -> Fill:
    def fill(file: h5py.File) -> None:
        by_path(file)
        file.attrs[name] = value

    return fill


MADE = (
    hostile_hdf5.external_link, hostile_hdf5.soft_link, hostile_hdf5.dangling_link,
    hostile_hdf5.array_twice, hostile_hdf5.root_in_itself, hostile_hdf5.external_storage,
    hostile_hdf5.virtual, hostile_hdf5.virtual_in_itself, hostile_hdf5.shape_bomb,
    hostile_hdf5.overflowing_shape, hostile_hdf5.zero_bomb, hostile_hdf5.lying_chunk,
    hostile_hdf5.never_written, hostile_hdf5.unknown_filter, hostile_hdf5.texts,
    hostile_hdf5.records, hostile_hdf5.references, hostile_hdf5.lists, hostile_hdf5.complexes,
    hostile_hdf5.no_shape,
)  # fmt: skip
"""What makes an array ``x`` that no reader may take."""

HDF5: dict[str, Fill] = {
    **{make.__name__.replace("_", " "): in_place(make) for make in MADE},
    "another shape": kernel(np.zeros((3, 64), np.float32)),
    "another rank": kernel(np.zeros((64, 3, 1), np.float32)),
    "one number": kernel(np.float32(1)),
    "whole numbers": kernel(np.zeros((64, 3), np.int32)),
    "bools": kernel(np.zeros((64, 3), bool)),
    "missing": kernel(None),
    "a group": group,
    "a weight more": beside(f"{PATHS['d']}/vars/2", np.zeros(3, np.float32)),
    "a layer more": beside("layers/dense_7/vars/0", np.zeros(3, np.float32)),
    "facts that are no JSON": attribute("glassbox", "{"),
    "facts twice": attribute("glassbox", '{"a": "1", "a": "2"}'),
    "facts that are nested": attribute("glassbox", "[" * 5000),
    "names that are a number": attribute("layer_names", 3),
    "names of layers that are not there": attribute("layer_names", [b"evil"]),
    "names that are paths": attribute("layer_names", [b"../../layers/dense", b"/layers"]),
    "NaN": kernel(np.full_like(KERNEL, np.nan)),
    "beyond float32": kernel(np.full(KERNEL.shape, 1e300)),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", HDF5)
def test_hdf5(tmp_path: Path, case: str) -> None:
    path = written(tmp_path, hdf5(HDF5[case]), ".weights.h5")
    assert str(path) in refused(lambda: load_weights(path, GRAPH))


WHOLE = hdf5(by_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "content",
    [b"", b"hello " * 50, WHOLE[:-1], WHOLE[: len(WHOLE) // 2], WHOLE[:8], b"#!/bin/sh\n" + WHOLE],
    ids=["empty", "text", "one byte less", "half", "signature", "data in front"],
)
def test_what_is_no_whole_file(tmp_path: Path, content: bytes) -> None:
    path = written(tmp_path, content, ".weights.h5")
    refused(lambda: load_weights(path, GRAPH))
    refused(lambda: weight_arrays(path))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [">f8", "<f8", ">f4", "<f2"])
def test_other_precision_and_order_is_read(tmp_path: Path, dtype: str) -> None:
    path = written(tmp_path, hdf5(kernel(KERNEL.astype(dtype))), ".weights.h5")
    found = load_weights(path, GRAPH)["d/kernel"]
    assert found.dtype == np.float32
    wanted = KERNEL.astype(dtype).astype(np.float32)
    np.testing.assert_array_equal(np.sort(found.ravel()), np.sort(wanted.ravel()))


@pytest.mark.slow
@pytest.mark.parametrize("make", MADE, ids=lambda make: make.__name__)
def test_a_table_of_what_matches_takes_none_of_it_either(tmp_path: Path, make: Fill) -> None:
    path = written(tmp_path, hdf5(in_place(make)), ".weights.h5")
    refused(lambda: weight_arrays(path))


# ------------------------------------------------------------------------ small safetensors

SMALL = {
    **{f"{layer}/{name}": array for (layer, name), array in WEIGHTS.items()},
    "d/kernel": np.ones((64, 3), np.int8),
    "d/kernel.scale": np.full((1, 3), 0.5, np.float32),
}


def small(**changes: object) -> dict[str, np.ndarray]:
    """Weights with an int8 kernel, and what is changed in them; None takes an array away."""
    named = {f"d/{name.replace('_scale', '.scale')}": value for name, value in changes.items()}
    made = {**SMALL, **named}
    return {name: np.asarray(value) for name, value in made.items() if value is not None}


CASES: dict[str, tuple[dict[str, np.ndarray], str]] = {
    "no scales": (small(kernel_scale=None), "is int8 and has no scales"),
    "scales of other channels": (
        small(kernel_scale=np.ones((64, 2), np.float32)), "must be float32 and broadcast"),
    "scales with an axis more": (
        small(kernel_scale=np.ones((1, 1, 3), np.float32)), "must be float32 and broadcast"),
    "one scale without axes": (small(kernel_scale=np.float32(1)), "must be float32"),
    "no scale at all": (
        small(kernel_scale=np.zeros((0, 3), np.float32)), "must be float32 and broadcast"),
    "scales in double precision": (small(kernel_scale=np.ones((1, 3))), "must be float32"),
    "scales that are whole numbers": (small(kernel_scale=np.ones((1, 3), np.int8)), "float32"),
    "scales that are NaN": (
        small(kernel_scale=np.full((1, 3), np.nan, np.float32)), "hold NaN or infinity"),
    "scales that are infinite": (
        small(kernel_scale=np.full((1, 3), np.inf, np.float32)), "hold NaN or infinity"),
    "scales that lead beyond float32": (
        small(kernel=np.full((64, 3), 127, np.int8),
              kernel_scale=np.full((1, 3), 3e38, np.float32)), "exceed float32"),
    "another shape": (
        small(kernel=np.ones((3, 64), np.int8), kernel_scale=np.ones((3, 1), np.float32)),
        "[64,3]"),
    "a kernel without sign": (small(kernel=np.ones((64, 3), np.uint8)), "d/kernel"),
    "halves that are infinite": (
        small(kernel=np.full((64, 3), np.inf, np.float16), kernel_scale=None), "NaN or infinity"),
    "scales of nothing": (
        small(kernel=None), "d/kernel"),
    "scales of a kernel in float32": (small(kernel=KERNEL), "d/kernel.scale"),
    "scales of scales": (
        {**small(kernel_scale=np.ones((64, 3), np.int8)),
         "d/kernel.scale.scale": np.ones((64, 3), np.float32)}, "must be float32"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_small_weights(tmp_path: Path, case: str) -> None:
    arrays, words = CASES[case]
    path = tmp_path / "m.safetensors"
    safetensors.save(path, arrays, {"weights": "int8"})
    assert words in refused(lambda: load_weights(path, GRAPH))


def test_what_a_file_says_of_its_weights_changes_nothing(tmp_path: Path) -> None:
    """The numbers' own dtype counts, so that no statement can make them others."""
    path = tmp_path / "m.safetensors"
    for said in ({}, {"weights": "float16"}, {"weights": "../etc"}, {"weights": json.dumps({})}):
        safetensors.save(path, SMALL, said)
        found = load_weights(path, GRAPH)
        np.testing.assert_array_equal(found["d/kernel"], np.full((3, 64), 0.5, np.float32))
