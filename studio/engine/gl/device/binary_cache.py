"""Keeps linked programs on disk, so that a second start compiles nothing.

An entry is what the driver gave for one source on one driver version; whatever is damaged, foreign
or no longer accepted counts as absent and is made again.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import struct
import sys
from contextlib import suppress
from pathlib import Path

_MAGIC = b"GBPB"
_VERSION = 1
_HEADER = struct.Struct("<4sIIQ32s")
_MAX_ENTRY_BYTES = 64 << 20
_MAX_CACHE_BYTES = 256 << 20
_SUFFIX = ".program"


def default_folder() -> Path | None:
    """The user's cache folder for programs; None where there is no home to put it in.

    GLASSBOX_CACHE_DIR outranks the system's own place; empty, it switches the cache off.
    """
    chosen = os.environ.get("GLASSBOX_CACHE_DIR")
    if chosen is not None:
        return Path(chosen) / "programs" if chosen else None
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return base / "glassbox" / "programs"


class BinaryCache:
    """Program binaries by the hash of their source, for one driver.

    Args:
        folder: where the entries lie; made when the first is written.
        fingerprint: text that changes with device and driver.
        max_bytes: the most all entries together may take; those used longest ago leave first.
    """

    def __init__(self, folder: Path, fingerprint: str, max_bytes: int = _MAX_CACHE_BYTES) -> None:
        self._folder = folder
        self._driver = hashlib.sha256(fingerprint.encode()).hexdigest()[:16]
        self._max_bytes = max_bytes

    def load(self, key: str) -> tuple[int, bytes] | None:
        """The driver's format number and the binary; None when there is no sound entry.

        Args:
            key: hash of the source, hexadecimal.
        """
        path = self._path(key)
        try:
            if path.stat().st_size > _MAX_ENTRY_BYTES:
                return None
            content = path.read_bytes()
        except OSError:
            return None
        if len(content) < _HEADER.size:
            return None
        magic, version, form, length, digest = _HEADER.unpack_from(content)
        payload = content[_HEADER.size :]
        sound = magic == _MAGIC and version == _VERSION and length == len(payload)
        if not sound or hashlib.sha256(payload).digest() != digest:
            return None
        with suppress(OSError):
            os.utime(path)
        return form, payload

    def store(self, key: str, form: int, payload: bytes) -> bool:
        """Keep a binary; False when it is too large or cannot be written, which is no error."""
        if len(payload) + _HEADER.size > _MAX_ENTRY_BYTES:
            return False
        digest = hashlib.sha256(payload).digest()
        header = _HEADER.pack(_MAGIC, _VERSION, form, len(payload), digest)
        path = self._path(key)
        part = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            part.write_bytes(header + payload)
            # The entry appears whole or not at all, even if another process writes it too.
            part.replace(path)
        except OSError:
            with suppress(OSError):
                part.unlink()
            return False
        return True

    def drop(self, key: str) -> None:
        """Forget an entry the driver no longer takes."""
        with suppress(OSError):
            self._path(key).unlink()

    def prune(self) -> int:
        """Delete entries used longest ago until the rest fits; returns how many were deleted."""
        entries = []
        with suppress(OSError):
            for path in self._folder.glob(f"*{_SUFFIX}"):
                with suppress(OSError):
                    found = path.stat()
                    entries.append((found.st_mtime, found.st_size, path))
        total = sum(size for _, size, _ in entries)
        deleted = 0
        for _, size, path in sorted(entries):
            if total <= self._max_bytes:
                break
            with suppress(OSError):
                path.unlink()
                deleted += 1
                total -= size
        return deleted

    def _path(self, key: str) -> Path:
        return self._folder / f"{self._driver}-{key}{_SUFFIX}"
