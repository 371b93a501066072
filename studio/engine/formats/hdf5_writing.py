"""Writes HDF5 files: groups with text attributes, and arrays; the same content, the same bytes.

Files are read elsewhere (`studio.engine.formats.hdf5_reading`), in a process of its own: what is
written here is our own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import FormatError, quoted

if TYPE_CHECKING:
    import h5py

Array: TypeAlias = npt.NDArray[np.generic]
Attribute: TypeAlias = "str | Sequence[str]"

LIST_BYTES = 64_512
"""Most bytes of a list of texts in one attribute: 64 KiB, less what HDF5 keeps beside it."""


def write_hdf5(
    file: BinaryIO,
    groups: Mapping[str, Mapping[str, Attribute]],
    arrays: Mapping[str, Array],
) -> None:
    """Write groups and arrays by path; groups on the way to another are made as needed.

    A list of texts that is too long for one attribute is written as several, their names numbered
    from 0, which is how Keras writes and reads such lists.

    Args:
        file: open for reading and writing.
        groups: attributes of each group by its path; the root is ``/``.
        arrays: by path, such as ``layers/dense/vars/0``.

    Raises:
        FormatError: a name cannot be a path in HDF5, or a text stands for itself and is too long
            for a list.
    """
    import h5py

    with h5py.File(file, "w") as opened:
        for path, attributes in groups.items():
            group = opened.require_group(_checked(path))
            for name, value in attributes.items():
                _set(group, name, value)
        for path, values in arrays.items():
            plain = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
            opened.create_dataset(_checked(path), data=plain.reshape(values.shape))


def _checked(path: str) -> str:
    parts = path.strip("/").split("/") if path != "/" else []
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise FormatError(f"{quoted(path)} cannot be a name in an HDF5 file", who="HDF5")
    return path


def _set(group: h5py.Group, name: str, value: Attribute) -> None:
    if isinstance(value, str):
        # Of any length: HDF5 keeps such texts outside the header.
        group.attrs[name] = value.encode("utf-8")
        return
    texts = [text.encode("utf-8") for text in value]
    pieces = list(_pieces(texts, name))
    for index, piece in enumerate(pieces):
        group.attrs[f"{name}{index}" if len(pieces) > 1 else name] = np.array(piece, dtype="S")


def _pieces(texts: Sequence[bytes], name: str) -> Iterator[Sequence[bytes]]:
    """The texts in as few lists as fit: in an attribute each takes the room of the longest."""
    room = max(map(len, texts), default=1)
    if room > LIST_BYTES:
        raise FormatError(
            f"a text of {name} is too long: expected at most {LIST_BYTES} bytes, got {room}",
            who="HDF5",
        )
    most = LIST_BYTES // max(room, 1)
    for start in range(0, max(len(texts), 1), most):
        yield texts[start : start + most]
