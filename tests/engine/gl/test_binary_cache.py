from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from studio.engine.gl.device.binary_cache import BinaryCache, default_folder

if TYPE_CHECKING:
    from pathlib import Path

KEY = "ab" * 32


def entry_of(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


def test_entry_comes_back_with_its_format(tmp_path: Path) -> None:
    cache = BinaryCache(tmp_path / "new", "driver 1")
    assert cache.load(KEY) is None
    assert cache.store(KEY, 0x8741, b"\x00binary\xff")
    assert cache.load(KEY) == (0x8741, b"\x00binary\xff")
    assert [path.suffix for path in (tmp_path / "new").iterdir()] == [".program"]


def test_another_driver_sees_nothing(tmp_path: Path) -> None:
    assert BinaryCache(tmp_path, "driver 1").store(KEY, 1, b"x")
    assert BinaryCache(tmp_path, "driver 2").load(KEY) is None


@pytest.mark.parametrize("cut", [0, 3, 40, 52, 60])
def test_truncated_entry_counts_as_absent(tmp_path: Path, cut: int) -> None:
    cache = BinaryCache(tmp_path, "d")
    cache.store(KEY, 1, b"a program binary")
    path = entry_of(tmp_path)
    path.write_bytes(path.read_bytes()[:cut])
    assert cache.load(KEY) is None


def test_any_flipped_byte_that_matters_counts_as_absent(tmp_path: Path) -> None:
    cache = BinaryCache(tmp_path, "d")
    cache.store(KEY, 1, b"a program binary")
    path = entry_of(tmp_path)
    whole = path.read_bytes()
    # Bytes 8 to 11 hold the format number, which the driver itself judges.
    for index in [*range(8), *range(12, len(whole))]:
        path.write_bytes(whole[:index] + bytes([whole[index] ^ 1]) + whole[index + 1 :])
        assert cache.load(KEY) is None, index
    path.write_bytes(whole)
    assert cache.load(KEY) == (1, b"a program binary")


def test_folder_that_cannot_be_made_is_no_error(tmp_path: Path) -> None:
    blocker = tmp_path / "programs"
    blocker.write_text("")
    cache = BinaryCache(blocker, "d")
    assert not cache.store(KEY, 1, b"x")
    assert cache.load(KEY) is None
    assert cache.prune() == 0


def test_prune_deletes_what_was_used_longest_ago(tmp_path: Path) -> None:
    cache = BinaryCache(tmp_path, "d", max_bytes=400)
    for age, key in enumerate(["a" * 64, "b" * 64, "c" * 64]):
        cache.store(key, 1, bytes(100))
        os.utime(tmp_path / entry_name(tmp_path, key), (1000 + age, 1000 + age))
    assert cache.load("a" * 64) is not None
    assert cache.prune() == 1
    assert cache.load("b" * 64) is None
    assert cache.load("a" * 64) is not None
    assert cache.load("c" * 64) is not None


def entry_name(folder: Path, key: str) -> str:
    return next(path.name for path in folder.iterdir() if key in path.name)


def test_folder_follows_the_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GLASSBOX_CACHE_DIR", str(tmp_path))
    assert default_folder() == tmp_path / "programs"
    monkeypatch.setenv("GLASSBOX_CACHE_DIR", "")
    assert default_folder() is None
    monkeypatch.delenv("GLASSBOX_CACHE_DIR")
    found = default_folder()
    assert found is None or "lassbox" in str(found)
