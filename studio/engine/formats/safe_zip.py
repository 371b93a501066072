"""Zip archives from untrusted files: listed, bounded and checked before unpacking.

Only what model files use is read: stored and deflated members, no encryption, no multi-volume or
zip64 archives (those begin above the size cap). The archive must fill the file exactly, members
must not overlap, and the local headers must agree with the directory, so that no other program can
see different content in it.
"""

from __future__ import annotations

import re
import stat
import zlib
from struct import unpack_from
from typing import TYPE_CHECKING, NamedTuple

from studio.engine.core.errors import FormatError, quoted
from studio.engine.formats.byte_source import Reader

if TYPE_CHECKING:
    from studio.engine.formats.byte_source import ByteSource
    from studio.engine.formats.limits import Limits

_END, _DIRECTORY, _LOCAL = b"PK\x05\x06", b"PK\x01\x02", b"PK\x03\x04"
_END_BYTES, _DIRECTORY_BYTES, _LOCAL_BYTES = 22, 46, 30
_STORED, _DEFLATED = 0, 8
_ENCRYPTED, _UTF8 = 0x1 | 0x40 | 0x2000, 0x800
_DESCRIPTOR_BYTES = 24
"""The longest record of sizes that a streaming writer leaves behind a member."""
_CHUNK = 1 << 18
_BAD_NAME = re.compile(
    r"^/|^[A-Za-z]:|\\|(^|/)\.{1,2}(/|$)|//|[\x00-\x1f\x7f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Absolute, drive and parent paths, backslashes, control and direction-changing characters."""


class Member(NamedTuple):
    """One entry of an archive, as its directory states it."""

    name: str
    start: int
    packed: int
    size: int
    crc: int
    method: int
    raw_name: bytes

    @property
    def is_stored(self) -> bool:
        """Whether its bytes lie in the archive as they are."""
        return self.method == _STORED


def safe_name(name: str, limits: Limits) -> bool:
    """Whether a member may be called this: a plain relative name, which is only ever a label."""
    return 0 < len(name) <= limits.name_chars and not _BAD_NAME.search(name)


def list_members(opened: ByteSource, limits: Limits) -> list[Member]:
    """The members in the order of the directory, all of them checked against the limits.

    Raises FormatError for anything that is not a plain, complete, unambiguous archive: cut off,
    prefixed or trailing data, unsafe or repeated names, links, encryption, other methods, overlaps,
    or members that unpack to more than the limits allow.
    """
    count, length, position = _read_end(opened, limits)
    opened.seek(position)
    directory = opened.read(length)
    members: list[Member] = []
    at = 0
    for _ in range(count):
        member, at = _directory_entry(directory, at, opened.who, limits)
        members.append(member)
    if at != length:
        raise FormatError("the zip directory is damaged: surplus entries", who=opened.who)
    _check_names(members, opened.who)
    _check_sizes(members, opened.who, limits)
    _check_places(members, opened, position)
    return members


def _read_end(opened: ByteSource, limits: Limits) -> tuple[int, int, int]:
    """Entry count, length and position of the directory."""
    if not opened.size:
        raise FormatError("the file is empty, expected a zip archive", who=opened.who)
    tail_at = max(0, opened.size - _END_BYTES - 0xFFFF)
    opened.seek(tail_at)
    tail = opened.read(opened.size - tail_at)
    found = tail.rfind(_END)
    if found < 0 or len(tail) - found < _END_BYTES:
        raise FormatError(
            "not a complete zip archive: its directory is missing",
            who=opened.who,
            hint="the file may have been cut off while it was copied or downloaded",
        )
    disk, first_disk, here, count, length, position, comment = unpack_from(
        "<4xHHHHIIH", tail, found
    )
    if disk or first_disk or here != count:
        raise FormatError("multi-volume zip archives are not supported", who=opened.who)
    if found + _END_BYTES + comment != len(tail) or position + length != tail_at + found:
        raise FormatError(
            "the zip archive must fill the file: there is foreign data before, inside or after it",
            who=opened.who,
        )
    if count > limits.members:
        raise FormatError(
            f"too many members: expected at most {limits.members}, got {count}", who=opened.who
        )
    if length > count * (_DIRECTORY_BYTES + 4 * limits.name_chars + 256):
        raise FormatError("the zip directory is too long for its entries", who=opened.who)
    return count, length, position


def _directory_entry(data: bytes, at: int, who: str, limits: Limits) -> tuple[Member, int]:
    if data[at : at + 4] != _DIRECTORY or len(data) - at < _DIRECTORY_BYTES:
        raise FormatError("the zip directory is damaged", who=who)
    flags, method, crc, packed, size, names, extra, comment, attributes, start = unpack_from(
        "<8xHH4xIIIHHH4xII", data, at
    )
    name_at = at + _DIRECTORY_BYTES
    raw = data[name_at : name_at + names]
    end = name_at + names + extra + comment
    if end > len(data):
        raise FormatError("the zip directory is damaged: an entry is cut off", who=who)
    try:
        name = raw.decode("utf-8" if flags & _UTF8 else "cp437")
    except UnicodeDecodeError as error:
        raise FormatError("a zip member's name is not valid UTF-8", who=who) from error
    label = quoted(name)
    if not safe_name(name, limits):
        raise FormatError(
            f"unsafe member name {label}: expected a plain relative name of at most "
            f"{limits.name_chars} characters",
            who=who,
        )
    if stat.S_ISLNK(attributes >> 16):
        raise FormatError(f"member {label} is a link, which is never followed", who=who)
    if flags & _ENCRYPTED or method not in (_STORED, _DEFLATED):
        raise FormatError(
            f"member {label} is encrypted or packed by an unsupported method ({method})", who=who
        )
    if 0xFFFFFFFF in (packed, size, start):
        raise FormatError(
            f"member {label} states sizes beyond 32 bits (zip64), which are not read",
            who=who,
            hint="save an array above 2 GiB in a file of its own (.npy)",
        )
    if method == _STORED and packed != size:
        raise FormatError(f"member {label} states impossible sizes", who=who)
    return Member(name, start, packed, size, crc, method, raw), end


def _check_names(members: list[Member], who: str) -> None:
    seen: set[str] = set()
    for member in members:
        if member.name in seen:
            raise FormatError(f"member {quoted(member.name)} occurs twice", who=who)
        seen.add(member.name)


def _check_sizes(members: list[Member], who: str, limits: Limits) -> None:
    total = sum(member.size for member in members)
    if total > limits.total_bytes:
        raise FormatError(
            f"the archive unpacks to too much: expected at most {limits.total_bytes} bytes, "
            f"got {total}",
            who=who,
        )
    for member in members:
        if member.size > max(limits.ratio_floor, limits.ratio * member.packed):
            raise FormatError(
                f"member {quoted(member.name)} unpacks to {member.size} bytes from "
                f"{member.packed}: expected at most {limits.ratio} times as much",
                who=who,
                hint="if you trust the file, save it again without compression",
            )


def _check_places(members: list[Member], opened: ByteSource, limit: int) -> None:
    """Local headers repeat the directory and members follow one another without overlap."""
    end = 0
    for member in sorted(members, key=lambda each: each.start):
        if not 0 <= member.start - end <= (_DESCRIPTOR_BYTES if end else 0):
            raise FormatError(
                "zip members overlap or foreign data comes before them", who=opened.who
            )
        end = _data_start(member, opened) + member.packed
        if end > limit:
            raise FormatError(
                f"member {quoted(member.name)} reaches into the zip directory", who=opened.who
            )


def _data_start(member: Member, opened: ByteSource) -> int:
    """Where the packed bytes begin; raises FormatError if the local header tells another story."""
    opened.seek(member.start)
    header = opened.read(_LOCAL_BYTES) if opened.remaining >= _LOCAL_BYTES else b""
    if not header.startswith(_LOCAL):
        raise FormatError(f"member {quoted(member.name)} is missing", who=opened.who)
    fields: tuple[int, int, int, int] = unpack_from("<6xHH16xHH", header)
    flags, method, names, extra = fields
    if names != len(member.raw_name) or opened.remaining < names + extra:
        raise FormatError(f"member {quoted(member.name)} is damaged", who=opened.who)
    if opened.read(names) != member.raw_name or method != member.method or flags & _ENCRYPTED:
        raise FormatError(
            f"member {quoted(member.name)} contradicts the zip directory", who=opened.who
        )
    return member.start + _LOCAL_BYTES + names + extra


def stored_place(member: Member, opened: ByteSource) -> int:
    """Where the bytes of a stored member begin, checked to be what the directory states.

    Reads all of them once. Raises FormatError if they are damaged.
    """
    reader = MemberReader(opened, member)
    room = memoryview(bytearray(min(_CHUNK, max(1, member.size))))
    while reader.remaining:
        reader.readinto(room[: min(len(room), reader.remaining)])
    reader.finish()
    return _data_start(member, opened)


class MemberReader(Reader):
    """Reads one member as a stream of exactly its stated size, whatever the packed bytes say."""

    def __init__(self, opened: ByteSource, member: Member) -> None:
        self.who = f"{opened.who}: {member.name}"
        self.remaining = member.size
        self._source = opened
        self._packed = member.packed
        self._crc = member.crc
        self._sum = 0
        self._pending = b""
        self._inflate = zlib.decompressobj(-15) if member.method == _DEFLATED else None
        opened.seek(_data_start(member, opened))

    def readinto(self, target: memoryview) -> None:
        """Fill ``target``; raises FormatError if the member is damaged or shorter than stated."""
        view = target.cast("B")
        self._expect(len(view))
        done = 0
        while done < len(view):
            piece = self._next(min(len(view) - done, _CHUNK))
            if not piece:
                raise FormatError("the packed data is shorter than stated", who=self.who)
            view[done : done + len(piece)] = piece
            self._sum = zlib.crc32(piece, self._sum)
            done += len(piece)
        self.remaining -= done

    def finish(self) -> None:
        """Check that the member ends here and that its checksum holds; raises FormatError."""
        if self.remaining or self._next(1):
            raise FormatError("there is more data than stated", who=self.who)
        if self._sum != self._crc:
            raise FormatError("the checksum is wrong: the data is damaged", who=self.who)

    def _next(self, most: int) -> bytes:
        """Up to ``most`` unpacked bytes, none at the end."""
        if self._inflate is None:
            return self._take(most)
        while not self._inflate.eof:
            self._pending = self._pending or self._take(_CHUNK)
            if not self._pending:
                return b""
            try:
                piece = self._inflate.decompress(self._pending, most)
            except zlib.error as error:
                raise FormatError("the packed data is damaged", who=self.who) from error
            self._pending = self._inflate.unconsumed_tail
            if piece:
                return piece
        return b""

    def _take(self, most: int) -> bytes:
        count = min(most, self._packed)
        self._packed -= count
        return self._source.read(count)
