"""Atomic writing: all or nothing, clear reasons, no litter."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

from studio.engine.core.errors import FormatError
from studio.engine.formats import atomic
from studio.engine.formats.atomic import StagedFolder, write_atomic, write_new


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def test_bytes_and_writers_replace_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    write_atomic(path, b"old")
    write_atomic(str(path), lambda file: file.write(b"new"))
    assert path.read_bytes() == b"new"
    assert names(tmp_path) == ["a.bin"]


def test_a_writer_may_seek_and_read_what_it_wrote(tmp_path: Path) -> None:
    def content(file) -> None:
        file.write(b"abcd")
        file.seek(1)
        assert file.read(1) == b"b"
        file.seek(0)
        file.write(b"A")

    write_atomic(tmp_path / "a.bin", content)
    assert (tmp_path / "a.bin").read_bytes() == b"Abcd"


def test_a_failing_writer_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")

    def fails(file) -> None:
        file.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomic(path, fails)
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a.bin"]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (errno.ENOSPC, "disk is full"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "permission denied"),
        (errno.EIO, "rror"),
    ],
)
def test_failures_of_the_disk_are_named(tmp_path: Path, code: int, words: str) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")

    def fails(file) -> None:
        raise OSError(code, os.strerror(code))

    with pytest.raises(FormatError, match=words) as caught:
        write_atomic(path, fails)
    assert caught.value.who == str(path)
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a.bin"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_disk_that_is_really_full_is_named(tmp_path: Path, monkeypatch) -> None:
    real = os.open

    def full(path, flags, mode=0o777):
        return (
            real("/dev/full", os.O_RDWR) if str(path).endswith(".tmp") else real(path, flags, mode)
        )

    monkeypatch.setattr(atomic.os, "open", full)
    with pytest.raises(FormatError, match="disk is full"):
        write_atomic(tmp_path / "a.bin", b"x" * 100)


def test_wrong_targets_are_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    for path, words in [
        (tmp_path / "missing" / "a", "folder does not exist"),
        (tmp_path / "file" / "a", "not a folder"),
        (tmp_path / "folder", "there is a folder"),
        (tmp_path / ("n" * 300), "name is too long"),
    ]:
        with pytest.raises(FormatError, match=words):
            write_atomic(path, b"x")
    assert names(tmp_path) == ["file", "folder"]
    assert names(tmp_path / "folder") == []


@pytest.mark.skipif(os.name != "posix", reason="pipes as on POSIX")
def test_what_is_no_file_is_not_replaced_by_one(tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for path in (pipe, link):
        with pytest.raises(FormatError, match="there is a device or a pipe of that name"):
            write_atomic(path, b"x")
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert names(tmp_path) == ["link", "pipe"]


@pytest.mark.skipif(os.name != "posix", reason="modes and links as on POSIX")
def test_a_name_as_long_as_the_system_allows_can_be_written(tmp_path: Path) -> None:
    # 255 bytes is the limit of most file systems; these letters take three each.
    path = tmp_path / ("網" * 82 + ".glassbox")
    path.write_bytes(b"old")
    write_atomic(path, b"new")
    assert path.read_bytes() == b"new"
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_modes_are_kept_and_links_followed(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to(path)
    write_atomic(link, b"new")
    assert link.is_symlink()
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    write_atomic(tmp_path / "b.bin", b"")
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((tmp_path / "b.bin").stat().st_mode) == 0o666 & ~mask


@pytest.mark.skipif(os.name != "posix", reason="kills with SIGKILL")
@pytest.mark.parametrize("kills", [3, pytest.param(100, marks=pytest.mark.full)])
def test_a_process_killed_while_writing_leaves_a_whole_file(tmp_path: Path, kills: int) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"\0" * (1 << 20))
    script = textwrap.dedent("""
        import sys
        from studio.engine.formats.atomic import write_atomic
        print("ready", flush=True)
        for number in range(1_000_000):
            write_atomic(sys.argv[1], bytes([number % 256]) * (1 << 20))
    """)
    for delay in np.linspace(0.005, 0.05, kills):
        child = subprocess.Popen(
            [sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, cwd=Path.cwd()
        )
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        time.sleep(float(delay))
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        content = path.read_bytes()
        assert len(content) == 1 << 20
        assert len(set(content)) == 1


FILES = ("m.json", "part*.bin")


def fill(folder: Path, **content: str) -> None:
    folder.mkdir()
    for name, text in content.items():
        write_new(folder / name.replace("_", "."), [text.encode()])


def test_a_folder_takes_its_place_as_a_whole(tmp_path: Path) -> None:
    place = tmp_path / "x.tfjs"
    with StagedFolder(place, FILES) as staged:
        fill(staged.path, m_json="1", part1_bin="a", part2_bin="b")
        assert not place.exists()
        staged.place()
    assert names(place) == ["m.json", "part1.bin", "part2.bin"]
    with StagedFolder(place, FILES) as staged:
        fill(staged.path, m_json="2", part1_bin="c")
        staged.place()
    assert names(place) == ["m.json", "part1.bin"]
    assert (place / "m.json").read_text() == "2"
    assert names(tmp_path) == ["x.tfjs"]


def test_a_folder_that_is_not_placed_changes_nothing(tmp_path: Path) -> None:
    place = tmp_path / "x.tfjs"
    fill(place, m_json="old")
    with StagedFolder(place, FILES) as staged:
        fill(staged.path, m_json="new")
    assert (place / "m.json").read_text() == "old"
    assert names(tmp_path) == ["x.tfjs"]


def test_a_folder_with_anything_else_is_not_replaced(tmp_path: Path) -> None:
    place = tmp_path / "x.tfjs"
    fill(place, m_json="old", letter_txt="dear")
    with pytest.raises(FormatError, match=r"holds something else, 'letter.txt', and is not"):
        StagedFolder(place, FILES)
    (place / "letter.txt").unlink()
    (place / "part1.bin").mkdir()
    with pytest.raises(FormatError, match=r"'part1.bin'"):
        StagedFolder(place, FILES)
    (place / "part1.bin").rmdir()
    with StagedFolder(place, FILES) as staged:
        fill(staged.path, m_json="new")
        (place / "late.txt").write_text("just now")
        with pytest.raises(FormatError, match=r"'late.txt'"):
            staged.place()
    assert names(place) == ["late.txt", "m.json"]
    (tmp_path / "file").write_text("")
    with pytest.raises(FormatError, match="there is a file of that name"):
        StagedFolder(tmp_path / "file", FILES)
    assert names(tmp_path) == ["file", "x.tfjs"]


def test_what_a_folder_keeps_stays_in_it(tmp_path: Path) -> None:
    place = tmp_path / "x.tfjs"
    fill(place, m_json="old", library_js="theirs")
    with StagedFolder(place, FILES, ["library.js"]) as staged:
        fill(staged.path, m_json="new")
        staged.place()
    assert (place / "library.js").read_text() == "theirs"
    assert (place / "m.json").read_text() == "new"


def test_the_earlier_folder_comes_back_where_the_new_one_cannot_be_placed(
    tmp_path: Path, monkeypatch
) -> None:
    place = tmp_path / "x.tfjs"
    fill(place, m_json="old")
    rename = Path.rename

    def refuses(self: Path, target: Path) -> Path:
        if self.name.endswith(".tmp"):
            raise PermissionError(errno.EACCES, "no")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refuses)
    with StagedFolder(place, FILES) as staged:
        fill(staged.path, m_json="new")
        with pytest.raises(FormatError, match="permission denied"):
            staged.place()
    assert (place / "m.json").read_text() == "old"
    assert names(tmp_path) == ["x.tfjs"]


def test_new_files_replace_none(tmp_path: Path) -> None:
    write_new(tmp_path / "a", [b"x", memoryview(b"y")])
    assert (tmp_path / "a").read_bytes() == b"xy"
    with pytest.raises(FormatError, match="cannot write the file"):
        write_new(tmp_path / "a", [b"z"])
