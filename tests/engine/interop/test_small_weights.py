"""Small weights: what kernels become, against plain NumPy in float64, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import safetensors.numpy

from studio.engine.core.errors import CheckpointError, DataError, FormatError, ParameterError
from studio.engine.interop.file_format import Exportable, format_named, require_weights
from studio.engine.interop.small_weights import (
    SmallWeight,
    WeightForm,
    narrow,
    narrowed,
    public_small,
    weight_form,
)
from studio.engine.layers.convolution import Conv2D, DepthwiseConv2D
from studio.engine.layers.dense import Dense
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.inputs import Input
from studio.engine.layers.layer import PublicForm
from studio.engine.layers.named_parameters import named_parameters, public_weights
from studio.engine.layers.normalization import BatchNormalization
from studio.engine.layers.shaping import Flatten
from tests.engine.formats.test_loader_fuzz import mutant

Floats = npt.NDArray[np.float32]


def every_kind() -> LayerGraph:
    """A network with every kind of kernel and what is beside them."""
    graph = LayerGraph("kinds")
    x = graph.add(Input((6, 6, 3), name="pixels"))
    x = graph.add(Conv2D(4, 3, name="conv"), x)
    x = graph.add(BatchNormalization(name="norm"), x)
    x = graph.add(DepthwiseConv2D(3, depth_multiplier=2, name="depth"), x)
    x = graph.add(Dense(5, name="dense"), graph.add(Flatten(), x))
    graph.outputs = (graph.add(Dense(1, name="one"), x),)
    return graph


def drawn(graph: LayerGraph, seed: int = 3) -> dict[str, Floats]:
    rng = np.random.default_rng(seed)
    return {
        each.name: rng.normal(size=each.parameter.shape).astype(np.float32)
        for each in named_parameters(graph)
    }


def exportable(weights: WeightForm, seed: int = 3) -> tuple[Exportable, dict[str, Floats]]:
    graph = every_kind()
    stored = drawn(graph, seed)
    small = narrowed(graph, stored, weights)
    wide = {**stored, **{name: each.widened() for name, each in small.items()}}
    return Exportable("kinds", graph, wide, weights=weights, small=small), stored


def reference(values: Floats, kept: tuple[int, ...]) -> npt.NDArray[np.float64]:
    """Weights that went through int8, channel by channel."""
    moved = np.moveaxis(values.astype(np.float64), kept, range(len(kept)))
    flat = moved.reshape(int(np.prod(moved.shape[: len(kept)])), -1).copy()
    for row in flat:
        scale = float(np.float32(np.abs(row).max() / 127)) or 1.0
        row[:] = np.round(row / scale) * scale
    return np.moveaxis(flat.reshape(moved.shape), range(len(kept)), kept)


@pytest.mark.parametrize(
    ("shape", "axes"),
    [((5, 7), (0,)), ((3, 3, 2, 4), (-1,)), ((3, 3, 2, 4), (-2, -1)), ((1, 1), (0,))],
)
def test_int8_has_a_scale_for_each_output_channel(
    shape: tuple[int, ...], axes: tuple[int, ...], rng: np.random.Generator
) -> None:
    values = (rng.normal(size=shape) * rng.uniform(0.01, 30, shape)).astype(np.float32)
    found = narrow("k", values, axes, "int8")
    kept = tuple(axis % len(shape) for axis in axes)
    assert found.values.dtype == np.int8
    assert found.values.shape == shape
    assert found.scale is not None
    assert found.scale.shape == tuple(n if i in kept else 1 for i, n in enumerate(shape))
    np.testing.assert_allclose(found.widened(), reference(values, kept), rtol=1e-6)
    others = tuple(i for i in range(len(shape)) if i not in kept)
    assert (np.abs(found.values.astype(int)).max(axis=others) == 127).all()
    assert (np.abs(found.widened() - values) <= found.scale * 0.500001).all()


def test_float16_is_rounded_to_the_nearest(rng: np.random.Generator) -> None:
    values = rng.normal(size=(40, 40)).astype(np.float32)
    found = narrow("k", values, (0,), "float16")
    assert found.scale is None
    np.testing.assert_array_equal(found.values, values.astype(np.float64).astype(np.float16))
    assert found.widened().dtype == np.float32


def test_a_channel_of_zeros_keeps_the_scale_1() -> None:
    values = np.array([[0, 0], [3, -1.5]], np.float32)
    found = narrow("k", values, (0,), "int8")
    np.testing.assert_array_equal(found.values, [[0, 0], [127, -64]])
    np.testing.assert_array_equal(found.scale, np.array([[1], [3 / 127]], np.float32))


@pytest.mark.parametrize("tiny", [1e-45, 1e-40, 1.4e-36])
def test_channels_whose_scale_would_be_no_normal_number_become_zero(tiny: float) -> None:
    found = narrow("k", np.array([[tiny, -tiny]], np.float32), (0,), "int8")
    np.testing.assert_array_equal(found.widened(), [[0, 0]])
    np.testing.assert_array_equal(found.scale, [[1]])


def test_large_and_small_weights_keep_their_size() -> None:
    most = np.finfo(np.float32).max
    values = np.array([[most, -1.7e38], [1.6e-36, 0.8e-36]], np.float32)
    wide = narrow("k", values, (0,), "int8").widened()
    np.testing.assert_allclose(wide, values, rtol=0.01)


@pytest.mark.parametrize("form", ["float16", "int8"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_refused_by_name(form: WeightForm, bad: float) -> None:
    with pytest.raises(DataError, match="the weights of 'a/kernel' hold NaN or infinity"):
        narrow("a/kernel", np.array([[1, bad]], np.float32), (0,), form)


def test_what_float16_cannot_hold_is_refused_by_name() -> None:
    edge = np.array([[65504, 65519]], np.float32)
    np.testing.assert_array_equal(narrow("k", edge, (0,), "float16").values, [[65504, 65504]])
    with pytest.raises(DataError, match=r"'a/kernel' reach 65520, float16 ends at 65504"):
        narrow("a/kernel", np.array([[1, -65520]], np.float32), (0,), "float16")


def test_only_kernels_become_small() -> None:
    graph = every_kind()
    small = narrowed(graph, drawn(graph), "int8")
    assert set(small) == {"conv/kernel", "depth/kernel", "dense/kernel", "one/kernel"}
    assert {name: each.scale.shape for name, each in small.items() if each.scale is not None} == {
        "conv/kernel": (1, 1, 1, 4),
        "depth/kernel": (1, 1, 4, 2),
        "dense/kernel": (5, 1),
        "one/kernel": (1, 1),
    }


@pytest.mark.parametrize("form", ["float16", "int8"])
def test_in_keras_layout_values_times_scales_are_the_weights(form: WeightForm) -> None:
    model, _ = exportable(form)
    for name, (values, scale) in model.public_small.items():
        wide = values.astype(np.float32) * (1 if scale is None else scale)
        np.testing.assert_array_equal(wide, model.public[name])


def test_scales_follow_into_another_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = every_kind()
    small = narrowed(graph, drawn(graph), "int8")
    form = PublicForm((1, 0), (8, 4, 5))
    monkeypatch.setattr(Dense, "public_form", lambda self, parameter: form)
    only = {"dense/kernel": small["dense/kernel"]}
    ((values, scale),) = public_small(graph, only).values()
    assert scale is not None
    assert values.shape == (8, 4, 5)
    assert scale.shape == (1, 1, 5)
    whole = small["dense/kernel"].widened().T.reshape(8, 4, 5)
    np.testing.assert_array_equal(values * scale, whole)


@pytest.mark.parametrize("form", ["float16", "int8"])
def test_safetensors_are_widened_when_read(form: WeightForm, tmp_path: Path) -> None:
    model, stored = exportable(form)
    path = tmp_path / "small.safetensors"
    format_named("safetensors").write(model, path)
    library = safetensors.numpy.load_file(path)
    assert library["dense/kernel"].dtype == np.dtype(form)
    assert library["dense/bias"].dtype == np.float32
    assert library["norm/gamma"].dtype == np.float32
    assert ("dense/kernel.scale" in library) == (form == "int8")
    if form == "int8":
        whole = library["dense/kernel"] * library["dense/kernel.scale"]
        np.testing.assert_array_equal(whole, model.public["dense/kernel"])
    found = format_named("safetensors").read(path, model.graph)
    assert found.facts["weights"] == form
    for name, values in model.stored.items():
        assert found.weights[name].dtype == np.float32
        np.testing.assert_array_equal(found.weights[name], values)
    np.testing.assert_allclose(found.weights["conv/kernel"], stored["conv/kernel"], atol=0.02)
    assert set(format_named("safetensors").read(path).weights) == set(model.public)


def test_float32_safetensors_say_nothing_of_their_weights(tmp_path: Path) -> None:
    graph = every_kind()
    path = tmp_path / "plain.safetensors"
    stored = drawn(graph)
    format_named("safetensors").write(Exportable("kinds", graph, stored), path)
    found = format_named("safetensors").read(path)
    assert "weights" not in found.facts
    assert set(found.weights) == set(public_weights(graph, stored))


@pytest.mark.parametrize(
    ("scale", "said"),
    [
        (None, "is int8 and has no scales"),
        (np.ones((5, 1, 1), np.float32), r"must be float32 and broadcast to \[32, 5\]"),
        (np.ones((1, 4), np.float32), r"got float32\[1, 4\]"),
        (np.ones((1, 5), np.float64), r"got float64\[1, 5\]"),
        (np.full((1, 5), np.nan, np.float32), "hold NaN or infinity"),
    ],
)
def test_scales_that_do_not_fit_are_refused(
    scale: npt.NDArray[np.generic] | None, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "broken.safetensors"
    arrays = {"dense/kernel": np.ones((32, 5), np.int8)}
    safetensors.numpy.save_file(
        arrays if scale is None else {**arrays, "dense/kernel.scale": scale}, path
    )
    with pytest.raises(CheckpointError, match=said):
        format_named("safetensors").read(path)


def test_a_format_that_cannot_hold_them_names_those_that_can() -> None:
    with pytest.raises(ParameterError, match=r"\(\.npz\) cannot hold int8 weights") as refused:
        require_weights(format_named("npz"), "int8")
    assert "safetensors" in refused.value.hint
    with pytest.raises(ParameterError, match="got 'int4'") as unknown:
        weight_form("int4")
    assert "int8" in unknown.value.hint


def test_widening_is_exact_in_float32() -> None:
    small = SmallWeight(np.array([[-127, 3]], np.int8), np.array([[0.1]], np.float32))
    np.testing.assert_array_equal(
        small.widened(), np.array([[-127, 3]], np.float32) * np.float32(0.1)
    )


@pytest.mark.parametrize(
    "count",
    [
        pytest.param(300, marks=pytest.mark.slow),
        pytest.param(4_000, marks=pytest.mark.peers),
        pytest.param(100_000, marks=pytest.mark.full),
    ],
)
def test_mutants_of_a_file_are_widened_or_refused(tmp_path: Path, count: int) -> None:
    model, _ = exportable("int8")
    form, path = format_named("safetensors"), tmp_path / "mutant.safetensors"
    form.write(model, path)
    data, rng, refused = path.read_bytes(), np.random.default_rng(count), 0
    for _ in range(count):
        path.write_bytes(mutant(data, rng))
        try:
            found = form.read(path)
        except (FormatError, CheckpointError):
            refused += 1
        else:
            assert not any(a.dtype == np.int8 for a in found.weights.values())
    assert count / 4 < refused < count
