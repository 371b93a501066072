"""The caps every loader keeps: what a file may declare before anything is allocated for it."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1 << 20
GIB = 1 << 30


@dataclass(frozen=True)
class Limits:
    """Caps of the loaders; a caller with more memory or less trust passes its own.

    Fields:
        file_bytes: size of the file itself.
        total_bytes: all that the file unpacks to, as declared, in host bytes.
        members: entries of an archive.
        ratio: unpacked over packed size of a member above ``ratio_floor`` bytes.
        ratio_floor: members that unpack to no more than this may have any ratio.
        json_bytes: one JSON text.
        json_depth: nesting of JSON lists and objects.
        json_values: values in one JSON text.
        int_digits: digits of a JSON integer.
        header_bytes: the header in front of tensor data.
        tensors: tensors in one file.
        rank: axes of one tensor.
        name_chars: characters of one name.
        text_chars: characters of one element of a text array; 0 takes no text arrays.
    """

    file_bytes: int = 2 * GIB
    total_bytes: int = 4 * GIB
    members: int = 20_000
    ratio: int = 200
    ratio_floor: int = 64 * MIB
    json_bytes: int = 64 * MIB
    json_depth: int = 64
    json_values: int = 2_000_000
    int_digits: int = 19
    header_bytes: int = 16 * MIB
    tensors: int = 20_000
    rank: int = 32
    name_chars: int = 512
    text_chars: int = 0


DEFAULT_LIMITS = Limits()
