"""Arrays from .npy files and .npz archives, checked against what they declare before allocation."""

import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np

from studio.engine.core.errors import FormatError
from studio.engine.train.data.array_header import ArrayHeader, read_array_header
from studio.engine.train.data.normalization import Array
from studio.engine.train.data.source_files import (
    DEFAULT_LIMITS,
    DataLimits,
    ReadsInto,
    fill,
    open_regular,
    quoted,
    reason_of,
    size_text,
)

_END_RECORD = b"PK\x05\x06"
_DIRECTORY_BYTES = 1 << 20
_DEFLATED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def read_npy(path: Path, limits: DataLimits = DEFAULT_LIMITS) -> Array:
    """The array of a ``.npy`` file in native byte order.

    Raises:
        DataError: the file cannot be opened.
        FormatError: it is damaged, hostile, or shorter or longer than its header declares.
    """
    stream, size = open_regular(path, limits.file_bytes)
    with stream:
        header = _checked_header(stream, size, path.name, limits)
        return _read_data(stream, header, path.name)


def map_npy(path: Path, limits: DataLimits = DEFAULT_LIMITS) -> Array:
    """The array of a ``.npy`` file mapped read-only, for data larger than memory.

    Raises:
        DataError, FormatError: as `read_npy`; also for Fortran order, whose samples are scattered.
    """
    stream, size = open_regular(path, limits.file_bytes)
    with stream:
        header = _checked_header(stream, size, path.name, limits)
    if header.fortran_order or not header.shape:
        raise FormatError("a streamed array must be in C order with samples first", who=path.name)
    return np.memmap(
        path, dtype=header.dtype, mode="r", offset=header.header_bytes, shape=header.shape
    )


def _checked_header(stream: BinaryIO, size: int, who: str, limits: DataLimits) -> ArrayHeader:
    header = read_array_header(stream, who, limits)
    held = size - header.header_bytes
    if held != header.data_bytes:
        kind = "short" if held < header.data_bytes else "long"
        raise FormatError(
            f"the file is too {kind}: its header declares {size_text(header.data_bytes)} of data, "
            f"it holds {size_text(held)}",
            who=who,
        )
    return header


def _read_data(stream: ReadsInto, header: ArrayHeader, who: str) -> Array:
    shape = header.shape[::-1] if header.fortran_order else header.shape
    values = np.empty(shape, header.dtype)

    def short(got: int) -> FormatError:
        return FormatError(
            f"the data end early: expected {header.data_bytes} bytes, got {got}", who=who
        )

    fill(values, stream, short)
    native = values.astype(header.dtype.newbyteorder("="), copy=False)
    return np.ascontiguousarray(native.T) if header.fortran_order else native


class ArrayArchive:
    """An open ``.npz`` archive: its keys, and arrays read one by one.

    Every member is checked when the archive is opened; only the members asked for are read.
    """

    def __init__(self, archive: zipfile.ZipFile, who: str, limits: DataLimits) -> None:
        self._archive = archive
        self._who = who
        self._limits = limits
        self._members: dict[str, zipfile.ZipInfo] = {}
        for info in archive.infolist():
            key = info.filename.removesuffix(".npy")
            if key in self._members:
                raise FormatError(f"the archive holds {quoted(key)} twice", who=who)
            _check_member(info, who, limits)
            self._members[key] = info

    @property
    def keys(self) -> tuple[str, ...]:
        """Names of the arrays, in the order of the archive."""
        return tuple(self._members)

    def read(self, key: str) -> Array:
        """The array called ``key``; FormatError where it is missing or damaged."""
        info = self._members.get(key)
        who = f"{self._who}/{key}"
        if info is None:
            shown = ", ".join(quoted(name) for name in self.keys[:12])
            raise FormatError(f"there is no array {quoted(key)}: it holds {shown}", who=self._who)
        try:
            with self._archive.open(info) as stream:
                header = read_array_header(stream, who, self._limits)
                if header.header_bytes + header.data_bytes != info.file_size:
                    raise FormatError(
                        f"the member declares {info.file_size} bytes, its header "
                        f"{header.header_bytes + header.data_bytes}",
                        who=who,
                    )
                values = _read_data(stream, header, who)
                # Reading on to the end makes the archive compare the checksum.
                stream.read(1)
                return values
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError) as error:
            raise FormatError(f"the member is damaged: {reason_of(error)}", who=who) from None
        except (struct.error, ValueError, RuntimeError) as error:
            raise FormatError(f"the member cannot be read: {reason_of(error)}", who=who) from None


def _check_member(info: zipfile.ZipInfo, who: str, limits: DataLimits) -> None:
    name = quoted(info.filename)
    if info.flag_bits & 1:
        raise FormatError(f"member {name} is encrypted", who=who)
    if info.compress_type not in _DEFLATED:
        raise FormatError(f"member {name} is compressed in a way that is not supported", who=who)
    if info.file_size > limits.file_bytes:
        raise FormatError(
            f"member {name} is too large: at most {size_text(limits.file_bytes)}, it declares "
            f"{size_text(info.file_size)}",
            who=who,
        )
    expanded = info.file_size > limits.ratio * max(1, info.compress_size)
    if info.file_size > limits.free_bytes and expanded:
        raise FormatError(
            f"member {name} expands more than {limits.ratio} times, to "
            f"{size_text(info.file_size)}: it looks like a bomb",
            who=who,
            hint="save the array uncompressed (numpy.savez) if it really is that uniform",
        )


@contextmanager
def open_npz(path: Path, limits: DataLimits = DEFAULT_LIMITS) -> Iterator[ArrayArchive]:
    """Open a ``.npz`` archive for as long as the context lasts.

    Raises:
        DataError: the file cannot be opened.
        FormatError: it is no archive, or is damaged or hostile.
    """
    stream, size = open_regular(path, limits.file_bytes)
    with stream:
        _check_directory(stream, size, path.name, limits)
        try:
            archive = zipfile.ZipFile(stream)
        except (
            zipfile.BadZipFile,
            ValueError,
            OSError,
            struct.error,
            NotImplementedError,
        ) as error:
            raise FormatError(
                f"the archive is damaged: {reason_of(error)}", who=path.name
            ) from None
        with archive:
            yield ArrayArchive(archive, path.name, limits)


def _check_directory(stream: BinaryIO, size: int, who: str, limits: DataLimits) -> None:
    """Look at the archive's end record, so that its directory is not read before it is bounded."""
    if stream.read(2) != b"PK":
        raise FormatError("this is not an .npz archive", who=who)
    stream.seek(max(0, size - 65_557))
    tail = stream.read(65_557)
    at = tail.rfind(_END_RECORD)
    if at < 0 or len(tail) - at < 22:
        raise FormatError("the archive is cut short: it has no end record", who=who)
    members, directory = struct.unpack("<HI", tail[at + 10 : at + 16])
    if members > limits.members or directory > _DIRECTORY_BYTES:
        raise FormatError(
            f"the archive has too many members: at most {limits.members}, got {members}", who=who
        )
    stream.seek(0)
