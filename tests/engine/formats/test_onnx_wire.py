"""The bytes of ONNX files, judged by a decoder of their own, and the reader of previews."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from studio.engine.core.errors import FormatError
from studio.engine.formats import onnx_wire
from studio.engine.formats.limits import Limits
from studio.engine.formats.onnx_wire import (
    OPSETS,
    Graph,
    Model,
    Node,
    Port,
    load_model,
    model_bytes,
    save_model,
)
from tests.engine.formats.test_loader_fuzz import LIMITS, mutant, refusal

KERNEL = np.arange(12, dtype=np.float32).reshape(4, 3) / 8
GRAPH = Graph(
    "small",
    (
        Node("Gemm", ("x", "kernel", ""), ("h",), "a/Gemm", {"transB": 1, "alpha": 0.5}, "LINEAR"),
        Node("Pad", ("h", "pads"), ("y",), "b/Pad", {"mode": "constant", "axes": (0, -1)}),
    ),
    (Port("x", "float32", ("batch", 3)),),
    (Port("y", "float32", ("batch", 4)),),
    {
        "kernel": KERNEL,
        "pads": np.array([0, -1, 0, 1], np.int64),
        "none": np.zeros((0, 2), np.int8),
    },
)
MODEL = Model(GRAPH, 17, {"class_names": '["a","ß"]', "empty": ""}, "Glassbox", "1")


# -- a decoder of its own, after the description of the wire format alone --


def number(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    at = 0
    while at < len(data):
        key, at = number(data, at)
        if key % 8 == 0:
            value, at = number(data, at)
            yield key >> 3, value
        elif key % 8 == 2:
            size, at = number(data, at)
            yield key >> 3, data[at : at + size]
            at += size
        else:
            assert key % 8 == 5, key
            yield key >> 3, struct.unpack_from("<f", data, at)[0]
            at += 4


def every(data: bytes, wanted: int) -> list[Any]:
    return [value for found, value in fields(data) if found == wanted]


def only(data: bytes, wanted: int) -> Any:
    (value,) = every(data, wanted)
    return value


# -- what is written --


def test_the_bytes_say_what_the_model_is() -> None:
    data = model_bytes(MODEL)
    assert [key for key, _ in fields(data)] == [1, 2, 3, 7, 8, 14, 14]
    assert (only(data, 1), only(data, 2), only(data, 3)) == (8, b"Glassbox", b"1")
    assert dict(fields(only(data, 8))) == {1: b"", 2: 17}
    metadata = [dict(fields(entry)) for entry in every(data, 14)]
    assert metadata == [{1: b"class_names", 2: '["a","ß"]'.encode()}, {1: b"empty"}]
    graph = only(data, 7)
    assert [key for key, _ in fields(graph)] == [1, 1, 2, 5, 5, 5, 11, 12]
    gemm, pad = every(graph, 1)
    assert every(gemm, 1) == [b"x", b"kernel", b""]
    assert (only(gemm, 2), only(gemm, 3), only(gemm, 4)) == (b"h", b"a/Gemm", b"Gemm")
    assert only(gemm, 6) == b"LINEAR"
    assert [dict(fields(each)) for each in every(gemm, 5)] == [
        {1: b"transB", 3: 1, 20: 2}, {1: b"alpha", 2: 0.5, 20: 1}
    ]  # fmt: skip
    mode, axes = every(pad, 5)
    assert dict(fields(mode)) == {1: b"mode", 4: b"constant", 20: 3}
    assert every(axes, 8) == [0, (1 << 64) - 1]
    assert only(axes, 20) == 7


def test_the_bytes_hold_constants_and_ports() -> None:
    graph = only(model_bytes(MODEL), 7)
    kernel, pads, none = every(graph, 5)
    assert (every(kernel, 1), only(kernel, 2), only(kernel, 8)) == ([4, 3], 1, b"kernel")
    assert only(kernel, 9) == KERNEL.tobytes()
    assert (every(pads, 1), only(pads, 2)) == ([4], 7)
    assert struct.unpack("<4q", only(pads, 9)) == (0, -1, 0, 1)
    assert (every(none, 1), only(none, 2), only(none, 9)) == ([0, 2], 3, b"")
    for place, length in ((11, 3), (12, 4)):
        tensor = only(only(only(graph, place), 2), 1)
        assert only(tensor, 1) == 1
        dims = every(only(tensor, 2), 1)
        assert [dict(fields(dim)) for dim in dims] == [{2: b"batch"}, {1: length}]


@pytest.mark.parametrize("dtype", onnx_wire.ELEMENT_TYPES)
def test_every_element_type_comes_back_from_any_byte_order(dtype: str) -> None:
    values = np.array([[0, 1, 1], [1, 0, 1]], dtype)
    turned = values.astype(values.dtype.newbyteorder(">")).T
    model = Model(Graph("g", (), (), (), {"v": turned}), 13)
    found = load_model(model_bytes(model)).graph.initializers["v"]
    assert found.dtype.name == dtype
    np.testing.assert_array_equal(found, values.T)


def test_the_file_form_follows_the_operator_set() -> None:
    versions = {o: only(model_bytes(Model(GRAPH, o)), 1) for o in OPSETS}
    assert versions == {13: 7, 14: 7, 15: 8, 16: 8, 17: 8, 18: 8, 19: 9, 20: 9, 21: 10}


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    save_model(tmp_path / "m.onnx", MODEL)
    content = (tmp_path / "m.onnx").read_bytes()
    assert content == model_bytes(MODEL)
    found = load_model(content)
    assert model_bytes(found) == content
    assert (found.opset, found.producer, found.metadata) == (17, "Glassbox", MODEL.metadata)
    assert found.graph.nodes == GRAPH.nodes
    assert (found.graph.inputs, found.graph.outputs) == (GRAPH.inputs, GRAPH.outputs)
    assert list(found.graph.initializers) == list(GRAPH.initializers)


def test_names_of_any_characters_are_written() -> None:
    odd = 'a "\\\n\u202e\u4e2d/\x00'
    model = Model(Graph(odd, (Node("Relu", (odd,), ("\ud800",), odd),), (), ()))
    graph = load_model(model_bytes(model)).graph
    assert (graph.name, graph.nodes[0].inputs, graph.nodes[0].name) == (odd, (odd,), odd)
    assert graph.nodes[0].outputs == ("\\ud800",)


def test_a_model_beyond_the_longest_message_is_refused_before_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert onnx_wire.MOST_BYTES == 2**31 - 1
    monkeypatch.setattr(onnx_wire, "MOST_BYTES", 300)
    with pytest.raises(FormatError, match=r"at most 300 bytes, this model takes \d{3}"):
        save_model(tmp_path / "m.onnx", MODEL)
    assert list(tmp_path.iterdir()) == []


def test_elements_that_onnx_does_not_know_are_refused() -> None:
    model = Model(Graph("g", (), (), (), {"c": np.zeros(2, np.complex64)}))
    with pytest.raises(FormatError, match=r"\[c\] expected elements of float32, .* got complex64"):
        model_bytes(model)


# -- what is refused --


def tensor(*parts: bytes) -> bytes:
    """A model whose graph is one constant of these fields."""
    made = b"".join(parts)
    graph = b"\x2a" + bytes([len(made)]) + made
    return b"\x08\x08\x3a" + bytes([len(graph)]) + graph + b"\x42\x02\x10\x11"


ATTRIBUTE = b"\x2a\x08\x0a\x01a\x18\x01\xa0\x01\x02"
SHAPE_BOMB = tensor(b"\x08" + b"\xff" * 8 + b"\x7f", b"\x10\x01", b"\x4a\0")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it has no graph"),
        (b"\x08\x08", "it has no graph"),
        (b"\x3a\0\x3a\0", "it has two graphs"),
        (b"\x3a\0", "expected operator set 13 to 21, got 0"),
        (b"\x3a\0\x42\x02\x10\x63", "expected operator set 13 to 21, got 99"),
        (b"\x3a\x05\0", "a field takes 5 bytes, and 1 are left"),
        (b"\x3a" + b"\xff" * 9 + b"\x01", "are left"),
        (b"\x08" + b"\x80" * 11, "a number takes more than 10 bytes"),
        (b"\x08\x80", "it ends inside a number"),
        (b"\x0b\0", "unknown wire type 3"),
        (b"\0\0", "a field has the number 0"),
        (b"\x38\x05", "a number stands where a message is expected"),
        (b"\x12\x01\xff", "a text is not UTF-8"),
        (b"\x72\x03\x0a\x01k" * 2, "the metadata 'k' is given twice"),
        (b"\x3a\x16\x0a\x14" + ATTRIBUTE * 2, "the attribute 'a' is given twice"),
        (SHAPE_BOMB, "the impossible shape"),
        (tensor(b"\x08\x02", b"\x10\x63", b"\x4a\0"), "elements of the unknown type 99"),
        (tensor(b"\x08\x02", b"\x10\x01", b"\x4a\x04abcd"), "takes 8 bytes, got 4"),
        (tensor(b"\x08\x02", b"\x10\x01"), "are not in its raw data"),
    ],
)
def test_damaged_files_are_refused_in_one_sentence(content: bytes, said: str) -> None:
    with pytest.raises(FormatError, match=said) as refused:
        load_model(content, who="bad.onnx")
    assert str(refused.value).startswith("[bad.onnx] not a readable ONNX model: ")


def test_caps_are_kept() -> None:
    content = model_bytes(MODEL)
    with pytest.raises(FormatError, match="more than 2 constants"):
        load_model(content, Limits(tensors=2))
    with pytest.raises(FormatError, match="more than 30 fields"):
        load_model(content, Limits(json_values=30))
    with pytest.raises(FormatError, match="impossible shape"):
        load_model(content, Limits(rank=1))
    with pytest.raises(FormatError, match="a text takes 8 bytes, at most 4 are read"):
        load_model(content, Limits(json_bytes=4))


def survive(count: int, seed: int) -> tuple[int, int]:
    """Mutants that are read, and those refused."""
    content = model_bytes(MODEL)
    rng = np.random.default_rng(seed)
    said = [
        refusal(lambda data: load_model(data, LIMITS), mutant(content, rng)) for _ in range(count)
    ]
    for text in said:
        assert text is None or 10 < len(text) < 500, text
    return said.count(None), len(said) - said.count(None)


def test_mutants_load_or_are_refused() -> None:
    loaded, refused = survive(300, 1)
    assert loaded > 20
    assert refused > 100


@pytest.mark.peers
def test_more_mutants_load_or_are_refused() -> None:
    assert survive(4000, 2)[1] > 1500


@pytest.mark.full
def test_mutants_at_full_size() -> None:
    assert survive(100_000, 3)[1] > 40_000


# -- the library's own reader --


@pytest.mark.peers
def test_the_library_reads_the_same_and_would_write_the_same_bytes() -> None:
    onnx = pytest.importorskip("onnx")
    content = model_bytes(MODEL)
    found = onnx.load_model_from_string(content)
    assert found.SerializeToString(deterministic=True) == content
    assert found.graph.node[0].attribute[1].f == 0.5
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(found.graph.initializer[0]), KERNEL)
