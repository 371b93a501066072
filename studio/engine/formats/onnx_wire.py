"""ONNX model files: plain data to bytes, and back as far as a preview and a check need it.

An ONNX file is one protocol buffer (``ModelProto`` of ``onnx.proto``): fields of a number and a
wire type, one behind the other, messages as lengths with content. Written are the fields a graph
of built-in operators needs, in the order of their numbers, so that equal models give equal bytes
and the same as the reference library's. Read is what is written here, all else is stepped over or
refused; nothing is allocated for what a file only declares, and no content is a path.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import BinaryIO, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import FormatError, quoted
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.limits import DEFAULT_LIMITS, Limits

Array: TypeAlias = npt.NDArray[np.generic]
Attribute: TypeAlias = "int | float | str | tuple[int, ...]"
Piece: TypeAlias = "bytes | memoryview"

OPSETS = range(13, 22)
"""Versions of the operator set that can be written."""

MOST_BYTES = (1 << 31) - 1
"""The longest message that readers of protocol buffers take."""

ELEMENT_TYPES: Mapping[str, int] = {
    "float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7, "bool": 9, "float16": 10,
    "float64": 11,
}  # fmt: skip
"""Numbers of ``TensorProto.DataType`` by NumPy's name."""

_NAMES = {number: name for name, number in ELEMENT_TYPES.items()}
_FLOAT, _INT, _STRING, _INTS = 1, 2, 3, 7
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_IR_VERSIONS = {13: 7, 14: 7, 15: 8, 16: 8, 17: 8, 18: 8, 19: 9, 20: 9, 21: 10}
_LONGEST_VARINT = 10
_MOST_INTEGERS = 4096
_MOST_NODES = 200_000


@dataclass(frozen=True)
class Node:
    """One operation.

    Attributes:
        op: its operator, such as ``Conv``.
        inputs: names of values; empty for one that is left out.
        outputs: names of what it makes.
        name: its own name.
        attributes: by name; None of a value is written as nothing.
        note: shown by viewers beside it.
    """

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    name: str = ""
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True)
class Port:
    """An input or output of a graph.

    Attributes:
        name: of its value.
        dtype: NumPy's name of the element type.
        shape: lengths; a word for one that is known only when it runs.
    """

    name: str
    dtype: str
    shape: tuple[int | str, ...]


@dataclass(frozen=True)
class Graph:
    """Operations in running order.

    Attributes:
        name: of the model.
        nodes: the operations.
        inputs: what is fed.
        outputs: what is fetched.
        initializers: constants by name.
    """

    name: str
    nodes: tuple[Node, ...]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    initializers: Mapping[str, Array] = field(default_factory=dict)


@dataclass(frozen=True)
class Model:
    """The content of a file.

    Attributes:
        graph: what it computes.
        opset: version of the operator set.
        metadata: text by key.
        producer: name of the program that wrote it.
        producer_version: its version.
    """

    graph: Graph
    opset: int = 17
    metadata: Mapping[str, str] = field(default_factory=dict)
    producer: str = ""
    producer_version: str = ""

    @property
    def ir_version(self) -> int:
        """The version of the file form that came with the operator set."""
        return _IR_VERSIONS[self.opset]


# -- writing ------------------------------------------------------------------------------------


def model_bytes(model: Model) -> bytes:
    """The content of a file; equal models give equal bytes.

    Raises:
        FormatError: it is longer than readers take, or an array has elements ONNX does not know.
    """
    return b"".join(_checked_pieces(model))


def save_model(path: Path | str, model: Model) -> None:
    """Write a file atomically, without holding its bytes a second time.

    Raises:
        FormatError: as `model_bytes`, or the file cannot be written.
    """
    pieces = _checked_pieces(model)

    def write(file: BinaryIO) -> None:
        for piece in pieces:
            file.write(piece)

    write_atomic(path, write)


def _checked_pieces(model: Model) -> list[Piece]:
    pieces = list(_model(model))
    size = sum(len(piece) for piece in pieces)
    if size > MOST_BYTES:
        raise too_long(size, model.graph.name)
    return pieces


def too_long(size: int, who: str) -> FormatError:
    """The error for a model of ``size`` bytes."""
    return FormatError(
        f"an ONNX file holds at most {MOST_BYTES:,} bytes, this model takes {size:,}",
        who=who,
        hint="write float16 or int8 weights, or another format",
    )


def _model(model: Model) -> Iterator[Piece]:
    yield _integer(1, model.ir_version)
    yield from _text(2, model.producer)
    yield from _text(3, model.producer_version)
    yield from _message(7, _graph(model.graph))
    # The domain of built-in operators is the empty word, which is written.
    yield from _message(8, [_key(1, _BYTES), b"\0", _integer(2, model.opset)])
    for key, value in model.metadata.items():
        yield from _message(14, [*_text(1, key), *_text(2, value)])


def _graph(graph: Graph) -> Iterator[Piece]:
    for node in graph.nodes:
        yield from _message(1, _node(node))
    yield from _text(2, graph.name)
    for name, array in graph.initializers.items():
        yield from _message(5, _tensor(name, array))
    for number, ports in ((11, graph.inputs), (12, graph.outputs)):
        for port in ports:
            yield from _message(number, _port(port))


def _node(node: Node) -> Iterator[Piece]:
    for name in node.inputs:
        yield from _text(1, name, empty=True)
    for name in node.outputs:
        yield from _text(2, name, empty=True)
    yield from _text(3, node.name)
    yield from _text(4, node.op)
    for name, value in node.attributes.items():
        yield from _message(5, _attribute(name, value))
    yield from _text(6, node.note)


def _attribute(name: str, value: Attribute) -> Iterator[Piece]:
    yield from _text(1, name)
    if isinstance(value, float):
        yield _key(2, _FIXED32) + struct.pack("<f", value)
        kind = _FLOAT
    elif isinstance(value, int):
        yield _integer(3, value)
        kind = _INT
    elif isinstance(value, str):
        yield from _text(4, value, empty=True)
        kind = _STRING
    else:
        for number in value:
            yield _integer(8, number)
        kind = _INTS
    yield _integer(20, kind)


def _tensor(name: str, array: Array) -> Iterator[Piece]:
    if array.dtype.name not in ELEMENT_TYPES:
        raise FormatError(
            f"expected elements of {', '.join(ELEMENT_TYPES)}, got {array.dtype.name}", who=name
        )
    for length in array.shape:
        yield _integer(1, length)
    yield _integer(2, ELEMENT_TYPES[array.dtype.name])
    yield from _text(8, name)
    little = array.dtype.newbyteorder("<")
    flat = np.ascontiguousarray(array, little).reshape(-1)
    yield _key(9, _BYTES) + _varint(flat.nbytes)
    yield flat.view(np.uint8).data if flat.size else b""


def _port(port: Port) -> Iterator[Piece]:
    dims: list[Piece] = []
    for length in port.shape:
        dim = _text(2, length) if isinstance(length, str) else [_integer(1, length)]
        dims += _message(1, dim)
    tensor = [_integer(1, ELEMENT_TYPES[port.dtype]), *_message(2, dims)]
    yield from _text(1, port.name)
    yield from _message(2, _message(1, tensor))


def _message(number: int, content: Iterable[Piece]) -> Iterator[Piece]:
    pieces = list(content)
    yield _key(number, _BYTES) + _varint(sum(len(piece) for piece in pieces))
    yield from pieces


def _text(number: int, value: str, *, empty: bool = False) -> Iterator[Piece]:
    """A field of text; one without text is left out unless its place counts."""
    # Half of a surrogate pair, as names of files may hold, has no UTF-8.
    data = value.encode("utf-8", "backslashreplace")
    if data or empty:
        yield _key(number, _BYTES) + _varint(len(data)) + data


def _integer(number: int, value: int) -> bytes:
    return _key(number, _VARINT) + _varint(value)


def _key(number: int, wire: int) -> bytes:
    return _varint(number << 3 | wire)


def _varint(value: int) -> bytes:
    """Seven bits a byte, the lowest first; a negative number as its 64-bit complement."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


# -- reading ------------------------------------------------------------------------------------


def load_model(content: bytes, limits: Limits = DEFAULT_LIMITS, who: str = ".onnx") -> Model:
    """What a file says, of that what this module writes; other fields are stepped over.

    Args:
        content: of the file.
        limits: caps on tensors, names and rank.
        who: the file, for errors.

    Raises:
        FormatError: the file is damaged, breaks a limit, or keeps numbers of a constant elsewhere.
    """
    return _Loader(limits, who).model(memoryview(content))


Field: TypeAlias = "tuple[int, int | memoryview]"


class _Loader:
    """Reads messages; every length is compared with what is there before anything is taken."""

    def __init__(self, limits: Limits, who: str) -> None:
        self._limits = limits
        self._who = who
        self._values = 0

    def model(self, data: memoryview) -> Model:
        """A ``ModelProto``."""
        graph: Graph | None = None
        opset = 0
        texts = {2: "", 3: ""}
        metadata: dict[str, str] = {}
        for number, value in self._fields(data):
            if number in texts:
                texts[number] = self._text(value)
            elif number == 7:
                if graph is not None:
                    raise self._error("it has two graphs")
                graph = self._graph(self._bytes(value))
            elif number == 8:
                opset = self._opset(self._bytes(value), opset)
            elif number == 14:
                entry = dict(self._fields(self._bytes(value)))
                key = self._text(entry.get(1, b""))
                if key in metadata:
                    raise self._error(f"the metadata {quoted(key)} is given twice")
                metadata[key] = self._text(entry.get(2, b""))
        if graph is None:
            raise self._error("it has no graph")
        if opset not in OPSETS:
            raise self._error(
                f"expected operator set {OPSETS.start} to {OPSETS.stop - 1}, got {opset}"
            )
        return Model(graph, opset, metadata, texts[2], texts[3])

    def _opset(self, data: memoryview, known: int) -> int:
        entry = dict(self._fields(data))
        if self._text(entry.get(1, b"")) not in ("", "ai.onnx"):
            return known
        return self._number(entry.get(2, 0))

    def _graph(self, data: memoryview) -> Graph:
        nodes: list[Node] = []
        constants: dict[str, Array] = {}
        ports: dict[int, list[Port]] = {11: [], 12: []}
        name = ""
        for number, value in self._fields(data):
            if number == 1:
                if len(nodes) >= _MOST_NODES:
                    raise self._error(f"it has more than {_MOST_NODES:,} nodes")
                nodes.append(self._node(self._bytes(value)))
            elif number == 2:
                name = self._text(value)
            elif number == 5:
                found, array = self._tensor(self._bytes(value))
                if found in constants:
                    raise self._error(f"the constant {quoted(found)} is given twice")
                if len(constants) >= self._limits.tensors:
                    raise self._error(f"it has more than {self._limits.tensors:,} constants")
                constants[found] = array
            elif number in ports:
                ports[number].append(self._port(self._bytes(value)))
        return Graph(name, tuple(nodes), tuple(ports[11]), tuple(ports[12]), constants)

    def _node(self, data: memoryview) -> Node:
        names: dict[int, list[str]] = {1: [], 2: []}
        texts = {3: "", 4: "", 6: ""}
        attributes: dict[str, Attribute] = {}
        for number, value in self._fields(data):
            if number in names:
                names[number].append(self._text(value))
            elif number in texts:
                texts[number] = self._text(value, most=self._limits.header_bytes)
            elif number == 5:
                self._attribute(self._bytes(value), attributes)
        return Node(
            texts[4], tuple(names[1]), tuple(names[2]), texts[3], attributes, texts[6]
        )  # fmt: skip

    def _attribute(self, data: memoryview, into: dict[str, Attribute]) -> None:
        """Add an attribute of a kind that is written here; others are left out."""
        name, kind = "", 0
        found: dict[int, Attribute] = {}
        integers: list[int] = []
        for number, value in self._fields(data):
            if number == 1:
                name = self._text(value)
            elif number == 2 and isinstance(value, int):
                found[_FLOAT] = float(np.uint32(value & 0xFFFFFFFF).view(np.float32))
            elif number == 3:
                found[_INT] = _signed(self._number(value))
            elif number == 4:
                found[_STRING] = self._text(value)
            elif number == 8:
                integers += self._integers(value)
            elif number == 20:
                kind = self._number(value)
        if name in into:
            raise self._error(f"the attribute {quoted(name)} is given twice")
        if kind == _INTS:
            into[name] = tuple(integers)
        elif kind in found:
            into[name] = found[kind]

    def _tensor(self, data: memoryview) -> tuple[str, Array]:
        shape: list[int] = []
        kind, name = 0, ""
        raw: memoryview | None = None
        for number, value in self._fields(data):
            if number == 1:
                shape += self._integers(value)
            elif number == 2:
                kind = self._number(value)
            elif number == 8:
                name = self._text(value)
            elif number == 9:
                raw = self._bytes(value)
        shown = f"the constant {quoted(name)}"
        if kind not in _NAMES:
            raise self._error(f"{shown} has elements of the unknown type {kind}")
        if len(shape) > self._limits.rank or any(not 0 <= d <= MOST_BYTES for d in shape):
            raise self._error(f"{shown} has the impossible shape {quoted(shape)}")
        dtype = np.dtype(_NAMES[kind]).newbyteorder("<")
        wanted = prod(shape) * dtype.itemsize
        if raw is None and wanted:
            raise self._error(f"the numbers of {shown[4:]} are not in its raw data")
        found = memoryview(b"") if raw is None else raw
        if len(found) != wanted:
            raise self._error(f"{shown} takes {wanted:,} bytes, got {len(found):,}")
        return name, np.frombuffer(found, dtype).reshape(shape)

    def _port(self, data: memoryview) -> Port:
        entry = dict(self._fields(data))
        kind = dict(self._fields(self._bytes(entry.get(2, b""))))
        tensor = dict(self._fields(self._bytes(kind.get(1, b""))))
        dtype = self._number(tensor.get(1, 0))
        name = self._text(entry.get(1, b""))
        if dtype not in _NAMES:
            raise self._error(f"the port {quoted(name)} has elements of the unknown type {dtype}")
        shape: list[int | str] = []
        for number, value in self._fields(self._bytes(tensor.get(2, b""))):
            if number == 1:
                dim = dict(self._fields(self._bytes(value)))
                shape.append(self._text(dim[2]) if 2 in dim else self._number(dim.get(1, 0)))
        if len(shape) > self._limits.rank:
            raise self._error(f"the port {quoted(name)} has {len(shape)} dimensions")
        return Port(name, _NAMES[dtype], tuple(shape))

    # -- fields -------------------------------------------------------------------------------

    def _fields(self, data: memoryview) -> Iterator[Field]:
        """Numbers and values of a message: whole numbers, or the bytes of what has a length."""
        at = 0
        while at < len(data):
            self._values += 1
            if self._values > self._limits.json_values:
                raise self._error(f"it has more than {self._limits.json_values:,} fields")
            key, at = self._read_varint(data, at)
            number, wire = key >> 3, key & 7
            if not number:
                raise self._error("a field has the number 0")
            if wire == _VARINT:
                value, at = self._read_varint(data, at)
                yield number, value
                continue
            if wire == _BYTES:
                size, at = self._read_varint(data, at)
            elif wire in (_FIXED32, _FIXED64):
                size = 4 if wire == _FIXED32 else 8
            else:
                raise self._error(f"a field has the unknown wire type {wire}")
            if size > len(data) - at:
                raise self._error(f"a field takes {size:,} bytes, and {len(data) - at:,} are left")
            content = data[at : at + size]
            at += size
            yield number, content if wire == _BYTES else int.from_bytes(content, "little")

    def _read_varint(self, data: memoryview, at: int) -> tuple[int, int]:
        value = 0
        for place in range(_LONGEST_VARINT):
            if at + place >= len(data):
                raise self._error("it ends inside a number")
            byte = data[at + place]
            value |= (byte & 0x7F) << 7 * place
            if byte < 0x80:
                return value & (1 << 64) - 1, at + place + 1
        raise self._error(f"a number takes more than {_LONGEST_VARINT} bytes")

    def _integers(self, value: int | memoryview) -> list[int]:
        """A number, or several that are packed."""
        if isinstance(value, int):
            return [_signed(value)]
        found: list[int] = []
        at = 0
        while at < len(value):
            number, at = self._read_varint(value, at)
            found.append(_signed(number))
            if len(found) > _MOST_INTEGERS:
                raise self._error(f"a list has more than {_MOST_INTEGERS:,} numbers")
        return found

    def _bytes(self, value: int | bytes | memoryview) -> memoryview:
        if isinstance(value, int):
            raise self._error("a number stands where a message is expected")
        return memoryview(value)

    def _number(self, value: int | bytes | memoryview) -> int:
        if not isinstance(value, int):
            raise self._error("a message stands where a number is expected")
        return value

    def _text(self, value: int | bytes | memoryview, most: int = 0) -> str:
        data = self._bytes(value)
        most = most or self._limits.json_bytes
        if len(data) > most:
            raise self._error(f"a text takes {len(data):,} bytes, at most {most:,} are read")
        try:
            return bytes(data).decode("utf-8")
        except UnicodeDecodeError:
            raise self._error("a text is not UTF-8") from None

    def _error(self, text: str) -> FormatError:
        return FormatError(f"not a readable ONNX model: {text}", who=self._who)


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value
