"""TensorFlow.js layers models as plain data: shards, quantisation, hostile files."""

from __future__ import annotations

import json
import os
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from studio.engine.core.errors import FormatError
from studio.engine.formats import tfjs
from studio.engine.formats.limits import MIB, Limits
from studio.engine.formats.tfjs import LayersModel, quantized
from tests import hostile
from tests.engine.formats.test_loader_fuzz import mutant, refusal

if TYPE_CHECKING:
    from collections.abc import Callable

LIMITS = Limits(total_bytes=2 * MIB, json_bytes=MIB)
RNG = np.random.default_rng(5)
WEIGHTS = {
    "c1/kernel": RNG.normal(size=(3, 3, 2, 4)).astype(np.float32),
    "c1/bias": RNG.normal(size=4).astype(np.float32),
    "table/embeddings": RNG.normal(size=(7, 5)).astype(np.float32),
    "count": np.array(7, np.int32),
    "mask": np.array([[True, False], [False, True]]),
    "none": np.zeros((0, 3), np.float32),
}
OPTIMIZER = {"iter": np.array(3, np.int32), "c1/bias/m": np.ones(4, np.float32)}
MODEL = LayersModel(
    {"class_name": "Sequential", "config": {"name": "s", "layers": []}},
    WEIGHTS,
    OPTIMIZER,
    {"loss": "mse"},
    {"classes": "a, b"},
    "a test",
)


def saved(folder: Path, model: LayersModel = MODEL, kind: Any = "") -> Path:
    """The model's file, matrices and kernels stored in fewer bits."""
    folder.mkdir(exist_ok=True)
    small = {
        name: quantized(values, kind)
        for name, values in model.weights.items()
        if kind and values.ndim > 1 and values.dtype == np.float32
    }
    tfjs.save(folder, model, small)
    return folder / "model.json"


def made(folder: Path, document: object, shards: dict[str, bytes] | None = None) -> Path:
    """A model of a document and the bytes of its shards."""
    folder.mkdir(exist_ok=True)
    text = document if isinstance(document, bytes) else json.dumps(document).encode()
    (folder / "model.json").write_bytes(text)
    for name, data in (shards or {}).items():
        (folder / name).write_bytes(data)
    return folder / "model.json"


def manifest(*weights: dict[str, Any], paths: tuple[Any, ...] = ("a.bin",)) -> dict[str, Any]:
    return {
        "format": "layers-model",
        "modelTopology": {"class_name": "Sequential", "config": {}},
        "weightsManifest": [{"paths": [*paths], "weights": [*weights]}],
    }


W = {"name": "w", "shape": [2], "dtype": "float32"}
Q = {"dtype": "uint8", "scale": 0.5, "min": -1.0}


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    found = tfjs.load(saved(tmp_path))
    assert list(found.weights) == list(WEIGHTS)
    for name, values in (WEIGHTS | OPTIMIZER).items():
        other = (found.optimizer if name in OPTIMIZER else found.weights)[name]
        assert other.dtype == values.dtype
        np.testing.assert_array_equal(other, values)
    assert list(found.optimizer) == list(OPTIMIZER)
    assert (found.topology, found.training) == (MODEL.topology, MODEL.training)
    assert (found.metadata, found.written_by) == (MODEL.metadata, "a test")
    assert found.quantized == ()


def test_the_same_model_gives_the_same_bytes(tmp_path: Path) -> None:
    for kind in ("", "float16", "uint8", "uint16"):
        one, two = tmp_path / f"1{kind}", tmp_path / f"2{kind}"
        saved(one, kind=kind)
        saved(two, kind=kind)
        for file in one.iterdir():
            assert file.read_bytes() == (two / file.name).read_bytes()


def test_shards_are_cut_wherever_4_mib_end(tmp_path: Path) -> None:
    big = np.arange(3 * MIB // 2 + 3, dtype=np.float32)
    model = LayersModel({}, {"odd": np.ones(3, np.bool_), "a": big, "b": big[::-1]})
    path = saved(tmp_path, model)
    shards = sorted(tmp_path.glob("*.bin"))
    lengths = [shard.stat().st_size for shard in shards]
    assert lengths == [4 * MIB, 4 * MIB, 4 * MIB, 27]
    assert [s.name for s in shards] == [f"group1-shard{i}of4.bin" for i in range(1, 5)]
    whole = b"".join(shard.read_bytes() for shard in shards)
    assert whole == b"\1\1\1" + big.tobytes() + big[::-1].tobytes()
    assert tfjs.shard_names(path) == tuple(shard.name for shard in shards)
    found = tfjs.load(path)
    np.testing.assert_array_equal(found.weights["a"], big)
    np.testing.assert_array_equal(found.weights["b"], big[::-1])


def test_groups_and_shards_of_others_are_read(tmp_path: Path) -> None:
    """Several groups, shards cut inside an element, an empty shard, a group of no weights."""
    document = manifest(W, {"name": "v", "shape": [], "dtype": "int32"}, paths=("1", "2", "3"))
    document["weightsManifest"] += [
        {"paths": ["4"], "weights": [{"name": "z", "shape": [1, 2], "dtype": "bool"}]},
        {"paths": [], "weights": []},
    ]
    data = np.array([1.5, -2.0], "<f4").tobytes() + np.array(9, "<i4").tobytes()
    path = made(tmp_path, document, {"1": data[:3], "2": b"", "3": data[3:], "4": b"\0\1"})
    found = tfjs.load(path).weights
    assert found["w"].tolist() == [1.5, -2.0]
    assert found["v"].tolist() == 9
    assert found["z"].tolist() == [[False, True]]


@pytest.mark.parametrize(("kind", "steps"), [("uint8", 255), ("uint16", 65535)])
def test_quantised_weights_are_off_by_half_a_step_and_keep_zero(
    tmp_path: Path, kind: Any, steps: int
) -> None:
    kernel = RNG.normal(size=(40, 50)).astype(np.float32)
    kernel[::3] = 0.0
    positive = np.abs(kernel) + 3.0
    level = np.full((2, 3), -0.7, np.float32)
    weights = {"k": kernel, "p": positive, "l": level, "bias": kernel[1]}
    found = tfjs.load(saved(tmp_path, LayersModel({}, weights), kind))
    assert found.quantized == ("k", "p", "l")
    np.testing.assert_array_equal(found.weights["bias"], kernel[1])
    np.testing.assert_array_equal(found.weights["l"], level)
    assert (found.weights["k"][::3] == 0.0).all()
    for name in ("k", "p"):
        span = float(weights[name].max()) - float(weights[name].min())
        error = np.abs(found.weights[name].astype(np.float64) - weights[name]).max()
        assert 0.1 * span / steps < error < 0.51 * span / steps + 1e-6


def test_float16_is_the_nearest_half(tmp_path: Path) -> None:
    kernel = RNG.normal(size=(4, 5)).astype(np.float32)
    found = tfjs.load(saved(tmp_path, LayersModel({}, {"k": kernel}), "float16"))
    assert found.quantized == ("k",)
    np.testing.assert_array_equal(found.weights["k"], kernel.astype(np.float16).astype(np.float32))


def test_what_is_read_is_what_a_quantised_weight_says_it_is(tmp_path: Path) -> None:
    for kind in ("float16", "uint8", "uint16"):
        kernel = RNG.normal(size=(3, 700)).astype(np.float32)
        path = saved(tmp_path / kind, LayersModel({}, {"k": kernel}), kind)
        expected = quantized(kernel, kind).widened()
        np.testing.assert_array_equal(tfjs.load(path).weights["k"], expected)
    assert quantized(np.zeros((0, 2), np.float32), "uint8").widened().shape == (0, 2)


def test_quantised_weights_of_others_are_what_tensorflow_js_makes_of_them(tmp_path: Path) -> None:
    """The value is q * scale + min in double precision, rounded once; of int32 to the nearest."""
    whole = {"dtype": "uint8", "scale": 0.5, "min": -1, "original_dtype": "int32"}
    document = manifest(
        {**W, "quantization": {"dtype": "uint16", "scale": 0.1, "min": -0.3}},
        {"name": "i", "shape": [3], "dtype": "int32", "quantization": whole},
        {**W, "name": "h", "quantization": {"dtype": "float16", "original_dtype": "float32"}},
    )
    data = np.array([0, 40000], "<u2").tobytes() + b"\0\1\3" + np.array([0.1, 2], "<f2").tobytes()
    found = tfjs.load(made(tmp_path, document, {"a.bin": data})).weights
    expected = np.array([-0.3, 40000 * 0.1 + -0.3]).astype(np.float32)
    np.testing.assert_array_equal(found["w"], expected)
    assert found["i"].tolist() == [-1, 0, 1]
    assert found["h"].tolist() == [np.float32(np.float16(0.1)), 2.0]


def link(folder: Path, how: Callable[[Path, Path], None]) -> None:
    secret = folder.parent / "secret.bin"
    secret.write_bytes(bytes(8))
    (folder / "a.bin").unlink()
    how(secret, folder / "a.bin")


HOSTILE: dict[str, tuple[object, str]] = {
    "graph model": ({"format": "graph-model", "modelTopology": {}}, "graph model"),
    "graph model without its format": ({"modelTopology": {"node": []}}, "graph model"),
    "another format": ({"format": "x", "modelTopology": {}}, "'layers-model'"),
    "no model": ({"weightsManifest": []}, "not a TensorFlow.js model"),
    "a list": ([1, 2], "not a TensorFlow.js model"),
    "a topology that is text": ({"modelTopology": "x", "weightsManifest": []}, "object"),
    "no manifest": ({"modelTopology": {}}, "weightsManifest"),
    "a manifest of numbers": ({"modelTopology": {}, "weightsManifest": [1]}, "state paths"),
    "weights that are text": (manifest(W) | {"weightsManifest": [{"paths": []}]}, "paths and"),
    "shard above the folder": (manifest(W, paths=("../a.bin",)), "beside model.json"),
    "shard that is the folder above": (manifest(W, paths=("..",)), "beside model.json"),
    "absolute shard": (manifest(W, paths=("/etc/passwd",)), "beside model.json"),
    "shard of Windows": (manifest(W, paths=("..\\a.bin",)), "beside model.json"),
    "shard on a drive": (manifest(W, paths=("C:a.bin",)), "beside model.json"),
    "shard from the network": (manifest(W, paths=("https://x.org/a.bin",)), "beside model.json"),
    "shard in a folder": (manifest(W, paths=("b/a.bin",)), "beside model.json"),
    "shard with NUL": (manifest(W, paths=("a.bin\0",)), "beside model.json"),
    "shard written backwards": (manifest(W, paths=("a\u202enib",)), "beside model.json"),
    "shard without a name": (manifest(W, paths=("",)), "beside model.json"),
    "shard that is a number": (manifest(W, paths=(7,)), "beside model.json"),
    "shard of a long name": (manifest(W, paths=("a" * 4000,)), "beside model.json"),
    "shard that is missing": (manifest(W, paths=("b.bin",)), "missing"),
    "shard that is listed twice": (manifest(W, paths=("a.bin", "a.bin")), "listed twice"),
    "shards that are too short": (manifest({**W, "shape": [3]}), "expected 12 bytes"),
    "shards that are too long": (manifest({**W, "shape": [1]}), "expected 4 bytes"),
    "no shards": (manifest(W, paths=()), "no shards"),
    "weight that is listed twice": (manifest(W, W), "listed twice"),
    "weight without a name": (manifest({**W, "name": ""}), "must have a name"),
    "weight that is a number": ({"modelTopology": {}, "weightsManifest": [
        {"paths": [], "weights": [3]}]}, "must have a name"),
    "weight of a long name": (manifest({**W, "name": "w" * 2000}), "too long"),
    "weight of text": (manifest({**W, "dtype": "string"}), "'string'"),
    "weight of complex numbers": (manifest({**W, "dtype": "complex64"}), "'complex64'"),
    "weight of no dtype": (manifest({**W, "dtype": ["float32"]}), "not supported"),
    "weight of an unknown group": (manifest({**W, "group": "x"}), "unknown group"),
    "negative axis": (manifest({**W, "shape": [-2]}), "whole numbers"),
    "axis that is true": (manifest({**W, "shape": [True, 2]}), "whole numbers"),
    "axis that is a fraction": (manifest({**W, "shape": [2.0]}), "whole numbers"),
    "unknown axis": (manifest({**W, "shape": [None]}), "whole numbers"),
    "shape that is a number": (manifest({**W, "shape": 2}), "shape"),
    "too many axes": (manifest({**W, "shape": [1] * 40}), "at most 32"),
    "huge shape": (manifest({**W, "shape": [1 << 40, 1 << 40]}), "too many bytes"),
    "no elements and a huge axis": (manifest({**W, "shape": [0, 1 << 60]}), "impossible shape"),
    "unknown quantisation": (
        manifest({**W, "quantization": {**Q, "dtype": "int4"}}), "unknown way"),
    "quantisation that is text": (manifest({**W, "quantization": "uint8"}), "unknown way"),
    "quantised flags": (manifest({**W, "dtype": "bool", "quantization": Q}), "cannot be stored"),
    "whole numbers as float16": (
        manifest({**W, "dtype": "int32", "quantization": {"dtype": "float16"}}), "cannot be"),
    "scale that is missing": (
        manifest({**W, "quantization": {"dtype": "uint8", "min": 0}}), "scale of"),
    "scale that is text": (manifest({**W, "quantization": {**Q, "scale": "1"}}), "scale of"),
    "scale that is true": (manifest({**W, "quantization": {**Q, "scale": True}}), "scale of"),
    "scale that is NaN": (manifest({**W, "quantization": {**Q, "scale": np.nan}}), "number NaN"),
    "min that is infinite": (
        manifest({**W, "quantization": {**Q, "min": -np.inf}}), "number -Infinity"),
    "scale beyond float32": (manifest({**W, "quantization": {**Q, "scale": 1e37}}), "beyond"),
    "scale beyond int32": (
        manifest({**W, "dtype": "int32", "quantization": {**Q, "scale": 1e8}}), "beyond"),
    "training that is a list": (manifest(W) | {"trainingConfig": []}, "trainingConfig"),
    "metadata that is text": (manifest(W) | {"userDefinedMetadata": "x"}, "userDefinedMetadata"),
    "a key twice": (b'{"modelTopology":{},"modelTopology":{}}', "repeat a key"),
    "an empty file": (b"", "empty"),
    "no JSON": (b"PK\3\4", "broken JSON"),
    "UTF-16": ('{"modelTopology":{}}'.encode("utf-16"), "UTF-8"),
    "deep JSON": (b'{"modelTopology":' + b"[" * 100_000, "nested too deeply"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_models_are_refused_in_a_sentence(tmp_path: Path, name: str) -> None:
    document, words = HOSTILE[name]
    tracemalloc.start()
    try:
        with pytest.raises(FormatError) as caught:
            tfjs.load(made(tmp_path / "m", document, {"a.bin": bytes(8)}))
        assert tracemalloc.get_traced_memory()[1] < 32 * MIB
    finally:
        tracemalloc.stop()
    assert words in caught.value.message
    assert len(str(caught.value)) < 600


@pytest.mark.skipif(os.name != "posix", reason="links and pipes of POSIX systems")
@pytest.mark.parametrize(
    ("how", "words"),
    [
        (lambda secret, shard: shard.symlink_to(secret), "a link"),
        (lambda secret, shard: shard.symlink_to("nowhere"), "a link"),
        (lambda secret, shard: shard.hardlink_to(secret), "one name only"),
        (lambda secret, shard: shard.mkdir(), "regular file"),
        (lambda secret, shard: os.mkfifo(shard), "regular file"),
    ],
)
def test_shards_that_are_no_plain_files_are_refused(
    tmp_path: Path, how: Callable[[Path, Path], None], words: str
) -> None:
    path = made(tmp_path / "m", manifest(W), {"a.bin": bytes(8)})
    assert tfjs.load(path).weights["w"].tolist() == [0.0, 0.0]
    link(path.parent, how)
    with pytest.raises(FormatError, match=words):
        tfjs.load(path)


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (Limits(total_bytes=15), "too many bytes of weights: expected at most 15, got 16"),
        (Limits(tensors=1), "too many weights: expected at most 1, got 2"),
        (Limits(members=1), "too many shards: expected at most 1, got 2"),
        (Limits(file_bytes=600), "a shard is too large: expected at most 600 bytes, got 900"),
    ],
)
def test_more_than_the_caps_is_refused(tmp_path: Path, limits: Limits, words: str) -> None:
    document = manifest(W, {**W, "name": "v"}, paths=("a.bin", "b.bin"))
    path = made(tmp_path, document, {"a.bin": bytes(8), "b.bin": bytes(900)})
    with pytest.raises(FormatError, match=words):
        tfjs.load(path, limits)


def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="expected one of float32, int32, bool, got float64"):
        saved(tmp_path / "a", LayersModel({}, {"w": np.ones(3)}))
    bad = LayersModel({}, {"w": np.full((2, 2), np.nan, np.float32)})
    assert np.isnan(tfjs.load(saved(tmp_path / "b", bad)).weights["w"]).all()
    with pytest.raises(FormatError, match="cannot write the file"):
        tfjs.save(tmp_path / "nowhere", MODEL)


@pytest.mark.slow
def test_values_of_a_manifest(tmp_path: Path) -> None:
    document = manifest(W, {**W, "name": "q", "quantization": Q})
    path = made(tmp_path, document, {"a.bin": bytes(10)})

    def load(text: bytes) -> object:
        path.write_bytes(text)
        return tfjs.load(path, LIMITS)

    assert hostile.refusals(load, hostile.texts(document)) > 200


@pytest.mark.parametrize(
    "count",
    [
        pytest.param(300, marks=pytest.mark.slow),
        pytest.param(4_000, marks=pytest.mark.peers),
        pytest.param(100_000, marks=pytest.mark.full),
    ],
)
def test_mutants_load_or_are_refused_in_bounded_memory(tmp_path: Path, count: int) -> None:
    """Bytes of model.json are changed, of the shards cut, flipped and added to."""
    model = saved(tmp_path, kind="uint8")
    shard = tmp_path / "group1-shard1of1.bin"
    whole = {model: model.read_bytes(), shard: shard.read_bytes()}
    rng = np.random.default_rng(count)
    refused = 0
    tracemalloc.start()
    try:
        for number in range(count):
            path = shard if rng.integers(4) == 0 else model
            bad = mutant(whole[path], rng)
            path.write_bytes(bad)
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            said = refusal(lambda _: tfjs.load(model, LIMITS), bad)
            refused += said is not None
            assert said is None or 10 < len(said) < 800, f"mutant {number}: {said}"
            peak = tracemalloc.get_traced_memory()[1] - before
            assert peak < LIMITS.total_bytes + 2 * len(bad) + MIB, f"mutant {number}: {peak}"
            path.write_bytes(whole[path])
    finally:
        tracemalloc.stop()
    assert refused > count // 3
