"""TensorFlow.js layers models: a ``model.json`` and its weights in plain files beside it.

``model.json`` holds the network as Keras' JSON (``modelTopology``), how it was compiled
(``trainingConfig``), and a manifest: groups of weights, each with its shards, files beside
``model.json`` whose bytes follow one another as if they were one file. A weight is little-endian
and row-major, may begin in one shard and end in the next, and may be stored in fewer bits: as
float16, or as whole numbers q of 8 or 16 bits of which the value is ``q * scale + min``. The state
of an optimiser is marked by ``"group": "optimizer"``. Source: the TensorFlow.js 4.22 loader.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from math import isfinite, prod
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple, TypeAlias

import numpy as np

from studio.engine.core.errors import FormatError, quoted
from studio.engine.formats.atomic import write_new
from studio.engine.formats.byte_source import Array, Reader, check_axes, read_array
from studio.engine.formats.limits import DEFAULT_LIMITS, MIB, Limits
from studio.engine.formats.safe_json import JsonValue, load_json

Json: TypeAlias = dict[str, JsonValue]
Quantization: TypeAlias = Literal["float16", "uint8", "uint16"]
"""How a weight of float32 may be stored in fewer bits."""

MODEL_FILE = "model.json"
SHARD_BYTES = 4 * MIB
"""Length of every shard but the last, as browsers keep files of that size."""

_DTYPES = {"float32": "<f4", "int32": "<i4", "bool": "?"}
_LINK = "a shard must be a regular file, and this is a link"
_STORED = {"float16": "<f2", "uint8": "u1", "uint16": "<u2"}
_FLOAT32_MAX = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Quantized:
    """A weight of float32 in fewer bits.

    Attributes:
        values: float16, or whole numbers of uint8 or uint16.
        scale: what whole numbers are multiplied with.
        least: what is added then.
    """

    values: Array
    scale: float = 1.0
    least: float = 0.0

    def widened(self) -> Array:
        """The weight as readers get it: in double precision, rounded to float32 once."""
        return _widened(self.values, self.scale, self.least, np.dtype(np.float32))


@dataclass(frozen=True)
class LayersModel:
    """What is in a layers model.

    Attributes:
        topology: ``modelTopology`` as the file has it.
        weights: by name, in the order of the manifest, as float32, int32 or bool; those stored in
            fewer bits are widened.
        optimizer: weights of the optimiser, likewise.
        training: ``trainingConfig``; None where the file has none.
        metadata: ``userDefinedMetadata``; None where the file has none.
        written_by: the programs that wrote it, as it says itself; may be empty.
        quantized: names of the weights that were stored in fewer bits.
    """

    topology: Json
    weights: Mapping[str, Array]
    optimizer: Mapping[str, Array] = field(default_factory=dict)
    training: Json | None = None
    metadata: Json | None = None
    written_by: str = ""
    quantized: tuple[str, ...] = ()


class _Entry(NamedTuple):
    name: str
    shape: tuple[int, ...]
    dtype: str
    stored: str
    """Dtype of the bytes, as NumPy writes it."""
    scale: float
    least: float
    """Value of the whole number 0."""
    is_optimizer: bool

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * np.dtype(self.stored).itemsize


class _Group(NamedTuple):
    paths: list[str]
    entries: list[_Entry]


def load(path: Path | str, limits: Limits = DEFAULT_LIMITS) -> LayersModel:
    """A layers model with its weights.

    Args:
        path: of its ``model.json``; the shards lie beside it.
        limits: caps on what is read.

    Raises:
        FormatError: it is a graph model, it is damaged, a shard is missing, no plain file or of
            another length than the manifest says, or a limit is exceeded.
    """
    document, who = load_json(path, limits), str(path)
    topology = _topology(document, who)
    assert isinstance(document, dict)
    groups = _manifest(document.get("weightsManifest"), who, limits)
    arrays: dict[bool, dict[str, Array]] = {False: {}, True: {}}
    for group in groups:
        with _open_shards(Path(path).parent, group.paths, limits, who) as reader:
            expected = sum(entry.nbytes for entry in group.entries)
            if reader.remaining != expected:
                raise FormatError(
                    f"the weights do not match their list: expected {expected} bytes in "
                    f"{_listed(group.paths)}, got {reader.remaining}",
                    who=who,
                    hint="the shards must be those that were written with this model.json",
                )
            for entry in group.entries:
                arrays[entry.is_optimizer][entry.name] = _read_weight(entry, reader)
    return LayersModel(
        topology,
        arrays[False],
        arrays[True],
        _optional_object(document, "trainingConfig", who),
        _optional_object(document, "userDefinedMetadata", who),
        _written_by(document),
        tuple(e.name for group in groups for e in group.entries if e.stored != _DTYPES[e.dtype]),
    )


def shard_names(path: Path | str, limits: Limits = DEFAULT_LIMITS) -> tuple[str, ...]:
    """Names of the files with the weights that a ``model.json`` asks for, in its order.

    Raises:
        FormatError: it is no layers model, or a name is none of a file beside it.
    """
    document, who = load_json(path, limits), str(path)
    _topology(document, who)
    assert isinstance(document, dict)
    groups = _manifest(document.get("weightsManifest"), who, limits)
    return tuple(name for group in groups for name in group.paths)


def _topology(document: JsonValue, who: str) -> Json:
    if not isinstance(document, dict) or "modelTopology" not in document:
        raise FormatError(
            "not a TensorFlow.js model: expected an object with modelTopology and weightsManifest",
            who=who,
        )
    form, topology = document.get("format", "layers-model"), document["modelTopology"]
    is_graph = isinstance(topology, dict) and "node" in topology
    if form == "graph-model" or is_graph:
        raise FormatError(
            "a TensorFlow.js graph model, which holds operations and no layers; expected a layers "
            "model",
            who=who,
            hint="convert the Keras model again, to a layers model",
        )
    if form != "layers-model":
        raise FormatError(f"expected the format 'layers-model', got {quoted(form)}", who=who)
    if not isinstance(topology, dict):
        raise FormatError("modelTopology must be an object", who=who)
    return topology


def _optional_object(document: Json, key: str, who: str) -> Json | None:
    value = document.get(key)
    if value is not None and not isinstance(value, dict):
        raise FormatError(f"{key} must be an object, got {quoted(value)}", who=who)
    return value


def _written_by(document: Json) -> str:
    said = [document.get("generatedBy"), document.get("convertedBy")]
    return ", ".join(each for each in said if isinstance(each, str) and each)


def _manifest(value: JsonValue, who: str, limits: Limits) -> list[_Group]:
    if not isinstance(value, list):
        raise FormatError("there are no weights: expected weightsManifest to be a list", who=who)
    groups: list[_Group] = []
    names: set[tuple[bool, str]] = set()
    files: set[str] = set()
    total = 0
    for each in value:
        paths = each.get("paths") if isinstance(each, dict) else None
        weights = each.get("weights") if isinstance(each, dict) else None
        if not isinstance(paths, list) or not isinstance(weights, list):
            raise FormatError("each group of the manifest must state paths and weights", who=who)
        if len(names) + len(weights) > limits.tensors:
            raise FormatError(
                f"too many weights: expected at most {limits.tensors}, "
                f"got {len(names) + len(weights)}",
                who=who,
            )
        group = _Group([_shard(path, who) for path in paths], [])
        for weight in weights:
            entry = _entry(weight, who, limits)
            if (entry.is_optimizer, entry.name) in names:
                raise FormatError(f"the weight {quoted(entry.name)} is listed twice", who=who)
            names.add((entry.is_optimizer, entry.name))
            group.entries.append(entry)
            total += prod(entry.shape) * np.dtype(_DTYPES[entry.dtype]).itemsize
        for shard in group.paths:
            if shard in files:
                raise FormatError(f"the shard {quoted(shard)} is listed twice", who=who)
            files.add(shard)
        groups.append(group)
    for count, most, what in (
        (len(files), limits.members, "shards"),
        (total, limits.total_bytes, "bytes of weights"),
    ):
        if count > most:
            raise FormatError(f"too many {what}: expected at most {most}, got {count}", who=who)
    return groups


def _shard(value: JsonValue, who: str) -> str:
    """The name of a file beside ``model.json``; nothing that leads anywhere else."""
    if (
        not isinstance(value, str)
        or value in ("", ".", "..")
        or len(value) > 255
        or any(c in '/\\:*?"<>|' or not c.isprintable() for c in value)
    ):
        raise FormatError(
            f"a shard must be the name of a file beside model.json, got {quoted(value)}",
            who=who,
            hint="put the shards beside model.json, and name them without their folder",
        )
    return value


def _entry(value: JsonValue, who: str, limits: Limits) -> _Entry:
    name = value.get("name") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(name, str) or not name:
        raise FormatError("each weight of the manifest must have a name", who=who)
    if len(name) > limits.name_chars:
        raise FormatError(
            f"the name of a weight is too long: expected at most {limits.name_chars} characters, "
            f"got {len(name)}",
            who=who,
        )
    label, dtype, group = f"the weight {quoted(name)}", value.get("dtype"), value.get("group")
    if not isinstance(dtype, str) or dtype not in _DTYPES:
        raise FormatError(
            f"{label} has a dtype that is not supported: expected one of {', '.join(_DTYPES)}, "
            f"got {quoted(dtype)}",
            who=who,
        )
    if group not in (None, "model", "optimizer"):
        raise FormatError(
            f"{label} is in an unknown group: expected 'model' or 'optimizer', got {quoted(group)}",
            who=who,
        )
    shape = value.get("shape")
    if not isinstance(shape, list) or len(shape) > limits.rank:
        raise FormatError(
            f"{label} must have a shape of at most {limits.rank} whole numbers", who=who
        )
    axes: list[int] = []
    for axis in shape:
        if not isinstance(axis, int) or isinstance(axis, bool) or axis < 0:
            raise FormatError(
                f"the shape of {label} must hold whole numbers from 0 up, got {quoted(axis)}",
                who=who,
            )
        axes.append(axis)
    check_axes(tuple(axes), 4, label, who, limits)
    stored, scale, least = _quantization(value.get("quantization"), dtype, label, who)
    return _Entry(name, tuple(axes), dtype, stored, scale, least, group == "optimizer")


def _quantization(value: JsonValue, dtype: str, label: str, who: str) -> tuple[str, float, float]:
    """Dtype of the bytes, scale and least value."""
    if value is None:
        return _DTYPES[dtype], 1.0, 0.0
    kind = value.get("dtype") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(kind, str) or kind not in _STORED:
        raise FormatError(
            f"{label} is quantised in an unknown way: expected one of {', '.join(_STORED)}, "
            f"got {quoted(kind)}",
            who=who,
        )
    original = value.get("original_dtype", dtype)
    if dtype == "bool" or original != dtype or (kind == "float16" and dtype != "float32"):
        raise FormatError(f"{label} is {dtype}, which cannot be stored as {kind}", who=who)
    if kind == "float16":
        return _STORED[kind], 1.0, 0.0
    scale, least = (_number(value.get(key), key, label, who) for key in ("scale", "min"))
    greatest = max(abs(least), abs(least + scale * float(np.iinfo(_STORED[kind]).max)))
    most = _FLOAT32_MAX if dtype == "float32" else 2.0**31 - 1
    if not greatest <= most:
        raise FormatError(
            f"{label} has a scale and min that lead beyond {dtype}: got {scale:g} and {least:g}",
            who=who,
        )
    return _STORED[kind], scale, least


def _number(value: JsonValue, key: str, label: str, who: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise FormatError(f"{key} of {label} must be a finite number, got {quoted(value)}", who=who)
    return float(value)


def _read_weight(entry: _Entry, reader: Reader) -> Array:
    flat = read_array(
        reader, np.dtype(entry.stored), prod(entry.shape), f"the weight {quoted(entry.name)}"
    )
    dtype = np.dtype(_DTYPES[entry.dtype]).newbyteorder("=")
    return _widened(flat, entry.scale, entry.least, dtype).reshape(entry.shape)


def _widened(values: Array, scale: float, least: float, dtype: np.dtype[np.generic]) -> Array:
    """Stored values in the dtype of the weight."""
    if values.dtype.kind != "u":
        return values.astype(dtype, copy=False)
    # In double precision and then rounded once, as TensorFlow.js does. A look-up table is as
    # exact and takes no float64 copy of the weights.
    table = np.arange(1 << 8 * values.dtype.itemsize) * scale + least
    return np.asarray((np.floor(table + 0.5) if dtype.kind == "i" else table).astype(dtype)[values])


class _Shards(Reader):
    """The bytes of several open files, one after the other."""

    def __init__(self, files: list[tuple[BinaryIO, int]], who: str) -> None:
        self._files = files
        self.who = who
        self.remaining = sum(size for _, size in files)

    def readinto(self, target: memoryview) -> None:
        """Fill ``target``; raises FormatError where the files end before."""
        view = target.cast("B")
        self._expect(len(view))
        done = 0
        while done < len(view):
            file, left = self._files[0]
            count = file.readinto(view[done : done + min(left, MIB)])  # type: ignore[attr-defined]
            if left and not count:
                raise FormatError("a shard shrank while it was read", who=self.who)
            done += count
            self._files[0] = file, left - count
            if left == count:
                self._files.pop(0)
        self.remaining -= done


@contextmanager
def _open_shards(folder: Path, names: list[str], limits: Limits, who: str) -> Iterator[_Shards]:
    with ExitStack() as stack:
        files = []
        for name in names:
            file, size = _open_shard(folder / name, limits)
            files.append((stack.enter_context(file), size))
        try:
            yield _Shards(files, who)
        except OSError as error:
            raise FormatError(f"cannot read the shards: {error.strerror or error}", who=who) from (
                error
            )


def _open_shard(path: Path, limits: Limits) -> tuple[BinaryIO, int]:
    """A plain file in its own folder, opened for reading, and its length.

    A link or a second name of a file would let a downloaded model read any file of the user.
    """
    who = str(path)
    flags = os.O_RDONLY
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY", "O_CLOEXEC"):
        flags |= getattr(os, name, 0)
    # Where a system cannot refuse links while opening, they are refused before.
    if path.is_symlink() or path.resolve().parent != path.parent.resolve():
        raise FormatError(_LINK, who=who)
    try:
        handle = os.open(path, flags)
    except FileNotFoundError:
        raise FormatError(
            "this shard of the weights is missing",
            who=who,
            hint="put all files of the model into one folder",
        ) from None
    except OSError as error:
        is_link = error.errno == errno.ELOOP
        text = f"cannot read this shard of the weights: {error.strerror or error}"
        raise FormatError(_LINK if is_link else text, who=who) from error
    found, fault = os.fstat(handle), ""
    if not stat.S_ISREG(found.st_mode):
        fault = "a shard must be a regular file"
    elif found.st_nlink > 1:
        fault = f"a shard must have one name only, and this file has {found.st_nlink} (hard links)"
    elif found.st_size > limits.file_bytes:
        most = limits.file_bytes
        fault = f"a shard is too large: expected at most {most} bytes, got {found.st_size}"
    if fault:
        os.close(handle)
        raise FormatError(fault, who=who)
    return os.fdopen(handle, "rb"), found.st_size


def _listed(names: list[str]) -> str:
    if not names:
        return "no shards"
    return quoted(names[0]) if len(names) == 1 else f"{quoted(names[0])} to {quoted(names[-1])}"


def save(folder: Path, model: LayersModel, small: Mapping[str, Quantized] | None = None) -> None:
    """Write ``model.json`` and shards of 4 MiB into a folder; the same model, the same bytes.

    Args:
        folder: to write into; it holds no files of these names yet.
        model: what to write; ``quantized`` is not looked at.
        small: what to store in the place of weights, by their names.

    Raises:
        FormatError: a dtype that the format has no name for, or a failed write.
    """
    who = str(folder / MODEL_FILE)
    entries: list[JsonValue] = []
    arrays: list[Array] = []
    for name, array in model.weights.items():
        held = None if small is None else small.get(name)
        entries.append(_described(name, array if held is None else held, who))
        arrays.append(array if held is None else held.values)
    for name, array in model.optimizer.items():
        entries.append({**_described(name, array, who), "group": "optimizer"})
        arrays.append(array)
    count = max(1, -(-sum(array.nbytes for array in arrays) // SHARD_BYTES))
    names = [f"group1-shard{number + 1}of{count}.bin" for number in range(count)]
    pieces = _pieces(arrays, SHARD_BYTES)
    for name in names:
        write_new(folder / name, next(pieces, ()))
    document: Json = {
        "format": "layers-model",
        "generatedBy": model.written_by,
        "convertedBy": None,
        "modelTopology": model.topology,
    }
    if model.training is not None:
        document["trainingConfig"] = model.training
    if model.metadata is not None:
        document["userDefinedMetadata"] = model.metadata
    document["weightsManifest"] = [{"paths": [*names], "weights": entries}]
    text = json.dumps(document, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    write_new(folder / MODEL_FILE, [text.encode()])


def _described(name: str, weight: Array | Quantized, who: str) -> Json:
    """A weight's entry in the manifest."""
    if isinstance(weight, Quantized):
        entry: Json = {"name": name, "shape": [*weight.values.shape], "dtype": "float32"}
        kind = weight.values.dtype.name
        note: Json = {"dtype": kind}
        if kind != "float16":
            note |= {"min": weight.least, "scale": weight.scale}
        return {**entry, "quantization": note}
    dtype = next((n for n, code in _DTYPES.items() if np.dtype(code) == weight.dtype), None)
    if dtype is None:
        raise FormatError(
            f"the weight {quoted(name)} cannot be written: expected one of {', '.join(_DTYPES)}, "
            f"got {weight.dtype}",
            who=who,
        )
    return {"name": name, "shape": [*weight.shape], "dtype": dtype}


def quantized(values: Array, kind: Quantization) -> Quantized:
    """A weight of finite float32 in fewer bits, each number rounded to the nearest there is.

    As whole numbers it is off by at most half a step, the 255th or 65,535th part of its range;
    numbers beyond the range of float16 become infinite in it.
    """
    if kind == "float16":
        with np.errstate(over="ignore"):
            return Quantized(values.astype(np.float16))
    least, most = (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)
    scale, least = quantization_range(least, most, kind)
    steps = np.rint((values.astype(np.float64) - least) / scale)
    return Quantized(np.clip(steps, 0, np.iinfo(kind).max).astype(kind), scale, least)


def quantization_range(
    least: float, most: float, kind: Literal["uint8", "uint16"]
) -> tuple[float, float]:
    """The scale and min with which values from ``least`` to ``most`` become whole numbers.

    Where the values lie on both sides of zero, min is moved by up to half a step to a multiple of
    the scale, so that zero stays exactly zero: what is padded or pruned must not begin to count.
    """
    if least == most:
        return 1.0, least
    steps = int(np.iinfo(kind).max)
    scale = (most - least) / steps
    if scale == 0.0:
        return 1.0, least
    return scale, (-(round(-least / scale) * scale) if least <= 0.0 <= most else least)


def _pieces(arrays: Iterable[Array], length: int) -> Iterator[list[memoryview]]:
    """The arrays' bytes cut into lengths, wherever a cut falls; nothing is copied for it."""
    piece: list[memoryview] = []
    left = length
    for array in arrays:
        little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        view = little.reshape(-1).view(np.uint8).data
        while len(view):
            piece.append(view[:left])
            view, left = view[left:], left - len(view[:left])
            if not left:
                yield piece
                piece, left = [], length
    if piece:
        yield piece
