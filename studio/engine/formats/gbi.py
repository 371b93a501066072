"""``.gbi``: a program in binary form, with weights if wanted, sealed by a checksum.

Layout, little-endian: magic ``\\x89GBI\\r\\n\\x1a\\n`` (8 bytes), u32 version (see
``isa.versions``), u32 byte order 0x01020304, u64 length of the whole file, SHA-256 of everything
behind the first 56 bytes (32); then chunks of 4-byte tag, u64 length and content: ``PROG``
(``isa.binary``) and optionally ``WGHT`` (a safetensors file keyed by tensor name). An unknown chunk
is stepped over when its tag begins with a lower-case letter and refused otherwise.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import FormatError, quoted
from studio.engine.core.tensor import Role, Tensor
from studio.engine.formats import safetensors
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.byte_source import FileOrBytes, open_source
from studio.engine.formats.limits import DEFAULT_LIMITS, Limits
from studio.engine.isa.binary import decode_program, encode_program
from studio.engine.isa.program import Program
from studio.engine.isa.versions import check_version, program_version

MAGIC = b"\x89GBI\r\n\x1a\n"
_BYTE_ORDER = 0x01020304
_HEAD = struct.Struct("<8sIIQ32s")
_CHUNK = struct.Struct("<4sQ")
Array = npt.NDArray[np.generic]
_WEIGHT_ROLES = (Role.PARAM, Role.STATE)


@dataclass(frozen=True)
class ProgramFile:
    """A program read from a file, and the weights that came with it (empty when none did)."""

    program: Program
    weights: Mapping[str, Array]


def gbi_bytes(program: Program, weights: Mapping[str, Array] | None = None) -> bytes:
    """The content of a ``.gbi`` file; equal programs and weights give equal bytes.

    With ``weights``, every parameter and statistic of the program must be there in its own shape;
    FormatError names the first that is not.
    """
    chunks = [(b"PROG", encode_program(program))]
    if weights is not None:
        chosen = {t.name: weights.get(t.name) for t in program.of_role(*_WEIGHT_ROLES)}
        missing = next((name for name, found in chosen.items() if found is None), None)
        if missing is not None:
            raise FormatError(f"no weights were given for {quoted(missing)}", who=program.name)
        arrays = {name: np.asarray(found) for name, found in chosen.items()}
        check_weights(program, arrays, program.name)
        chunks.append((b"WGHT", safetensors.to_bytes(arrays)))
    body = b"".join(_CHUNK.pack(tag, len(content)) + content for tag, content in chunks)
    seal = hashlib.sha256(body).digest()
    version = program_version(program)
    return _HEAD.pack(MAGIC, version, _BYTE_ORDER, _HEAD.size + len(body), seal) + body


def save_gbi(
    path: Path | str, program: Program, weights: Mapping[str, Array] | None = None
) -> None:
    """Write a ``.gbi`` file atomically; FormatError when it cannot be written."""
    write_atomic(path, gbi_bytes(program, weights))


def load_gbi(
    source: FileOrBytes, limits: Limits = DEFAULT_LIMITS, *, skip_unknown: bool = False
) -> ProgramFile:
    """Read a ``.gbi`` file.

    Raises FormatError for a file that is damaged, too new, or breaks a limit. ``skip_unknown``
    leaves instructions of unknown opcode out instead of refusing them.
    """
    with open_source(source, limits, ".gbi") as opened:
        data = opened.read(opened.size)
        who = opened.who
    version, chunks = _read_chunks(data, who)
    try:
        program = decode_program(chunks[b"PROG"], version, skip_unknown=skip_unknown)
    except FormatError as error:
        raise FormatError(error.message, who=error.who, hint=error.hint, origin=who) from None
    if b"WGHT" not in chunks:
        return ProgramFile(program, {})
    weights, _ = safetensors.load(chunks[b"WGHT"], limits)
    check_weights(program, weights, who)
    return ProgramFile(program, weights)


def check_weights(program: Program, weights: Mapping[str, Array], who: str) -> None:
    """FormatError unless weights and the program's parameters match in name, shape and dtype."""
    wanted = {t.name: t for t in program.of_role(*_WEIGHT_ROLES)}
    for name, tensor in wanted.items():
        if name not in weights:
            raise FormatError(f"weights for {quoted(name)} are missing", who=who)
        _check_one(tensor, weights[name], who)
    extra = sorted(set(weights) - set(wanted))
    if extra:
        raise FormatError(
            f"weights for {quoted(extra[0])} belong to no tensor of the program", who=who
        )


def _check_one(tensor: Tensor, found: Array, who: str) -> None:
    if found.shape != tensor.shape or found.dtype != tensor.dtype.np:
        raise FormatError(
            f"weights of {quoted(tensor.name)} must be {tensor.type}: "
            f"got {found.dtype}{list(found.shape)}",
            who=who,
        )
    if prod(found.shape) and not np.isfinite(found).all():
        raise FormatError(
            f"weights of {quoted(tensor.name)} hold NaN or infinity",
            who=who,
            hint="the training diverged; export an earlier checkpoint",
        )


def _read_chunks(data: bytes, who: str) -> tuple[int, dict[bytes, bytes]]:
    """The version of the forms and the chunks by tag."""
    if len(data) < _HEAD.size or data[:8] != MAGIC:
        is_listing = data[:512].lstrip().startswith(b".glassbox")
        raise FormatError(
            "not a Glassbox instruction file (.gbi)",
            who=who,
            hint="it is a listing: glassbox asm makes an instruction file of it"
            if is_listing
            else "",
        )
    _, version, order, length, seal = _HEAD.unpack_from(data)
    if order != _BYTE_ORDER:
        raise FormatError("the byte-order mark is wrong; the file is damaged", who=who)
    check_version(version, who)
    if length != len(data):
        raise FormatError(f"expected {length} bytes, got {len(data)}: the file is cut", who=who)
    if hashlib.sha256(data[_HEAD.size :]).digest() != seal:
        raise FormatError("the checksum does not fit: the file is damaged", who=who)
    chunks: dict[bytes, bytes] = {}
    at = _HEAD.size
    while at < len(data):
        if len(data) - at < _CHUNK.size:
            raise FormatError(f"a chunk is cut at byte {at}", who=who)
        tag, size = _CHUNK.unpack_from(data, at)
        at += _CHUNK.size
        if size > len(data) - at:
            raise FormatError(f"chunk {quoted(tag)} reaches past the end of the file", who=who)
        if tag in chunks:
            raise FormatError(f"chunk {quoted(tag)} is given twice", who=who)
        if tag in (b"PROG", b"WGHT"):
            chunks[tag] = data[at : at + size]
        elif not tag[:1].islower():
            raise FormatError(f"chunk {quoted(tag)} is not known", who=who, hint="update Glassbox")
        at += size
    if b"PROG" not in chunks:
        raise FormatError("the file holds no program", who=who)
    return version, chunks
