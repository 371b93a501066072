"""Weights alone from HDF5 files: by place, in the older form by name, and by names for a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from studio.engine.core.errors import CheckpointError, FormatError
from studio.engine.interop.file_format import format_named
from studio.engine.interop.reading import format_of, load_weights
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.graph_json import graph_from_json
from studio.engine.layers.named_parameters import public_weights
from tests.engine.interop.keras.answers import Array

CONV, NORM, DENSE = "layers/conv2d/vars", "layers/batch_normalization/vars", "layers/dense/vars"


def network() -> LayerGraph:
    nodes: list[dict[str, Any]] = [
        {"id": "x", "type": "Input", "config": {"name": "x", "shape": [3, 3, 1]}},
        {"id": "first", "type": "Conv2D",
         "config": {"name": "first", "filters": 2, "kernel_size": 2}},
        {"id": "norm", "type": "BatchNormalization", "config": {"name": "norm"}},
        {"id": "flat", "type": "Flatten", "config": {"name": "flat"}},
        {"id": "last", "type": "Dense", "config": {"name": "last", "units": 3}},
    ]  # fmt: skip
    for before, node in pairwise(nodes):
        node["inputs"] = [before["id"]]
    return graph_from_json({"name": "net", "nodes": nodes, "outputs": ["last"]})


def drawn() -> dict[str, Array]:
    """Weights in Keras' layout by path."""
    draw = np.random.default_rng(3)
    shapes = {f"{CONV}/0": (2, 2, 1, 2), f"{CONV}/1": (2,), f"{DENSE}/0": (8, 3),
              f"{DENSE}/1": (3,), **{f"{NORM}/{i}": (2,) for i in range(4)}}  # fmt: skip
    return {path: draw.normal(size=s).astype(np.float32) for path, s in shapes.items()}


def written(
    path: Path, arrays: Mapping[str, Array], names: Mapping[str, str] | None = None
) -> Path:
    with h5py.File(path, "w") as file:
        for place, values in arrays.items():
            file[place] = values
        for place, name in (names or {}).items():
            file[place].attrs["name"] = name
    return path


ROLES = {
    "first/kernel": f"{CONV}/0", "first/bias": f"{CONV}/1", "norm/gamma": f"{NORM}/0",
    "norm/beta": f"{NORM}/1", "norm/moving_mean": f"{NORM}/2", "norm/moving_variance": f"{NORM}/3",
    "last/kernel": f"{DENSE}/0", "last/bias": f"{DENSE}/1",
}  # fmt: skip


def require_all(graph: LayerGraph, weights: Mapping[str, Array]) -> None:
    arrays = drawn()
    public = public_weights(graph, weights)
    assert set(public) == set(ROLES)
    for name, path in ROLES.items():
        np.testing.assert_array_equal(public[name], arrays[path])


def test_weights_are_found_by_their_place(tmp_path: Path) -> None:
    path = written(tmp_path / "net.weights.h5", {**drawn(), "optimizer/vars/0": np.int64(7)})
    assert format_of(path) is format_named("keras-weights")
    require_all(network(), load_weights(path, network()))


def test_the_older_form_goes_by_names(tmp_path: Path) -> None:
    path = tmp_path / "older.weights.h5"
    arrays = drawn()
    with h5py.File(path, "w") as file:
        # A list that is too long for one attribute is split.
        file.attrs["layer_names0"] = np.array([b"x", b"last"])
        file.attrs["layer_names1"] = np.array([b"flat", b"norm", b"first"])
        for layer in ("x", "flat", "norm", "first", "last"):
            own = [name for name in ROLES if name.startswith(f"{layer}/")]
            group = file.create_group(layer)
            group.attrs["weight_names"] = np.array([f"{n}:0".encode() for n in own], dtype="S")
            for name in own:
                group[f"{name}:0"] = arrays[ROLES[name]]
    require_all(network(), load_weights(path, network()))
    found = format_named("keras-weights").read(path)
    assert set(found.weights) == set(ROLES)


def test_weights_for_a_table_have_the_names_of_layers(tmp_path: Path) -> None:
    form = format_named("keras-weights")
    names = {CONV: "first", NORM: "norm", DENSE: "last"}
    path = written(tmp_path / "net.weights.h5", drawn(), names)
    assert set(form.read(path).weights) == set(ROLES)
    plain = written(tmp_path / "plain.weights.h5", drawn())
    assert {"conv2d/kernel", "dense/bias", "batch_normalization/gamma"} <= set(
        form.read(plain).weights
    )
    twice = written(tmp_path / "twice.weights.h5", drawn(), {CONV: "same", DENSE: "same"})
    assert {"layers/conv2d/kernel", "layers/dense/kernel"} <= set(form.read(twice).weights)
    norm = {f"{NORM}/{i}": np.zeros(2, np.float32) for i in range(2)}
    path = written(tmp_path / "norm.weights.h5", norm)
    assert set(form.read(path).weights) == {"batch_normalization/0", "batch_normalization/1"}


def changed(change: Callable[[dict[str, Array]], object]) -> dict[str, Array]:
    arrays = drawn()
    change(arrays)
    return arrays


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a.pop(f"{CONV}/1"), "there is nothing for 'first/bias'"),
        (lambda a: [a.pop(name) for name in list(a)[:6]],
         "'first/bias', 'norm/gamma' and 3 more"),
        (lambda a: a.update({f"{DENSE}/2": np.zeros(3)}), "'layers/dense/vars/2' fits no layer"),
        (lambda a: a.update({f"{DENSE}/0": np.zeros((3, 8), np.float32)}),
         "'last/kernel': expected [8,3], got [3,8]"),
        (lambda a: a.update({f"{DENSE}/0": np.zeros((8, 3), np.int8)}),
         "'last/kernel': expected float32, got int8"),
    ],
)  # fmt: skip
def test_weights_that_do_not_fit_are_refused(
    change: Callable[[dict[str, Array]], object], message: str, tmp_path: Path
) -> None:
    path = written(tmp_path / "net.weights.h5", changed(change))
    with pytest.raises(CheckpointError) as caught:
        load_weights(path, network())
    assert message in str(caught.value)


@pytest.mark.parametrize("dtype", [">f8", "<f8", ">f4", "<f2"])
def test_every_kind_of_fraction_is_read(dtype: str, tmp_path: Path) -> None:
    values = np.arange(24, dtype=dtype).reshape(8, 3)
    path = written(tmp_path / "net.weights.h5", {**drawn(), f"{DENSE}/0": values})
    weights = load_weights(path, network())
    assert weights["last/kernel"].dtype == np.float32
    np.testing.assert_array_equal(weights["last/kernel"].T, values)


def test_names_that_are_no_list_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "net.weights.h5", drawn())
    with h5py.File(path, "r+") as file:
        file.attrs["layer_names"] = 3
    with pytest.raises(FormatError, match="'layer_names' of the file is no list of names"):
        load_weights(path, network())
