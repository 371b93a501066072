"""Named NumPy arrays in a zip archive, one ``.npy`` member each."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING, BinaryIO

from studio.engine.core.errors import FormatError
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.byte_source import Array, FileOrBytes, open_source
from studio.engine.formats.limits import DEFAULT_LIMITS, Limits
from studio.engine.formats.npy import npy_bytes, read_npy
from studio.engine.formats.safe_zip import MemberReader, list_members, safe_name

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_EPOCH = (1980, 1, 1, 0, 0, 0)


def load_npz(source: FileOrBytes, limits: Limits = DEFAULT_LIMITS) -> dict[str, Array]:
    """The arrays of an ``.npz`` file by name, in native byte order.

    All members are checked before the first is unpacked, and each array is allocated only when its
    header and its member agree about its size. Raises FormatError for a damaged or ambiguous
    archive, for members that are not plain arrays, and beyond the limits.
    """
    with open_source(source, limits, "npz") as opened:
        members = list_members(opened, limits)
        arrays: dict[str, Array] = {}
        for member in members:
            if not member.name.endswith(".npy"):
                raise FormatError(
                    f"an npz file holds .npy members only, got {member.name[:80]!a}",
                    who=opened.who,
                )
            reader = MemberReader(opened, member)
            array = read_npy(reader, limits)
            reader.finish()
            arrays[member.name.removesuffix(".npy")] = array
        return arrays


def save_npz(path: Path | str, arrays: Mapping[str, Array], *, compress: bool = False) -> None:
    """Write the arrays in one atomic step; the same arrays always give the same bytes.

    Raises FormatError for names that `load_npz` would refuse, for unsupported dtypes, and where the
    file cannot be written.
    """
    for name in arrays:
        if not safe_name(f"{name}.npy", DEFAULT_LIMITS):
            raise FormatError(
                f"array name {name[:80]!a} cannot be written: expected a plain relative name "
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
