"""Named NumPy arrays in a zip archive, one ``.npy`` member each."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING, BinaryIO

from studio.engine.core.errors import FormatError, quoted
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.byte_source import Array, ByteSource, FileOrBytes, open_source
from studio.engine.formats.limits import DEFAULT_LIMITS, Limits
from studio.engine.formats.npy import NpyHeader, npy_bytes, read_header, read_npy
from studio.engine.formats.safe_zip import (
    Member,
    MemberReader,
    list_members,
    safe_name,
    stored_place,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_EPOCH = (1980, 1, 1, 0, 0, 0)


class ArrayArchive:
    """An open ``.npz`` file: the names of its arrays, each read when asked for.

    All members are checked before the first is unpacked, and each array is allocated only when its
    header and its member agree about its size.

    Args:
        opened: the file, open for as long as arrays are read.
        limits: caps on the archive and on each array.

    Raises:
        FormatError: a damaged or ambiguous archive, one beyond the limits, or one with members that
            are not called ``.npy``.
    """

    def __init__(self, opened: ByteSource, limits: Limits = DEFAULT_LIMITS) -> None:
        self._opened = opened
        self._limits = limits
        self._members: dict[str, Member] = {}
        for member in list_members(opened, limits):
            if not member.name.endswith(".npy"):
                raise FormatError(
                    f"an npz file holds .npy members only, got {quoted(member.name)}",
                    who=opened.who,
                )
            self._members[member.name.removesuffix(".npy")] = member

    @property
    def keys(self) -> tuple[str, ...]:
        """Names of the arrays, in the order of the archive."""
        return tuple(self._members)

    def read(self, key: str) -> Array:
        """The array called ``key`` in native byte order; FormatError if missing or damaged."""
        reader = self._reader(key)
        array = read_npy(reader, self._limits)
        reader.finish()
        return array

    def header(self, key: str) -> NpyHeader:
        """Shape and type of the array called ``key``, without its elements; errors as `read`."""
        return read_header(self._reader(key), self._limits)

    def stored_at(self, key: str) -> int | None:
        """Byte of the archive at which the elements of ``key`` begin; None where they are packed.

        Reads them all once, so that they are known to be whole; errors as `read`.
        """
        header = self.header(key)
        member = self._members[key]
        if not member.is_stored:
            return None
        return stored_place(member, self._opened) + member.size - header.data_bytes

    def _reader(self, key: str) -> MemberReader:
        if key not in self._members:
            shown = ", ".join(quoted(name) for name in self.keys[:12])
            raise FormatError(
                f"there is no array {quoted(key)}: it holds {shown}", who=self._opened.who
            )
        return MemberReader(self._opened, self._members[key])


def load_npz(source: FileOrBytes, limits: Limits = DEFAULT_LIMITS) -> dict[str, Array]:
    """The arrays of an ``.npz`` file by name, in native byte order.

    Raises FormatError as `ArrayArchive` and for members that are not plain arrays.
    """
    with open_source(source, limits, "npz") as opened:
        archive = ArrayArchive(opened, limits)
        return {key: archive.read(key) for key in archive.keys}


def save_npz(path: Path | str, arrays: Mapping[str, Array], *, compress: bool = False) -> None:
    """Write the arrays in one atomic step; the same arrays always give the same bytes.

    Raises FormatError for names that `load_npz` would refuse, for unsupported dtypes, and where the
    file cannot be written.
    """
    for name in arrays:
        if not safe_name(f"{name}.npy", DEFAULT_LIMITS):
            raise FormatError(
                f"array name {quoted(name)} cannot be written: expected a plain relative name "
                f"of at most {DEFAULT_LIMITS.name_chars - 4} characters",
                who=str(path),
            )
    write_atomic(path, lambda file: _write(file, arrays, compress, str(path)))


def _write(file: BinaryIO, arrays: Mapping[str, Array], compress: bool, who: str) -> None:
    method = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, array in arrays.items():
            info = zipfile.ZipInfo(f"{name}.npy", _EPOCH)
            info.compress_type = method
            archive.writestr(info, npy_bytes(array, f"{who}: {name}"))
