"""The list of recent projects: order, length, thumbnails, missing files, damaged memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from studio.session.core.recent import MOST, RecentFiles


@pytest.fixture
def recent(tmp_path: Path) -> RecentFiles:
    return RecentFiles(tmp_path / "state" / "recent.json", tmp_path / "cache")


def project(tmp_path: Path, name: str) -> Path:
    path = tmp_path / f"{name}.glassbox"
    path.write_text("{}")
    return path


def again(recent: RecentFiles, tmp_path: Path) -> RecentFiles:
    return RecentFiles(tmp_path / "state" / "recent.json", tmp_path / "cache")


def test_the_last_one_is_first_and_each_is_there_once(recent: RecentFiles, tmp_path: Path) -> None:
    for name in ("a", "b", "a"):
        recent.add(project(tmp_path, name), name.upper())
    assert [file.title for file in recent.files] == ["A", "B"]
    assert again(recent, tmp_path).files == recent.files


def test_fifteen_are_kept_and_thumbnails_go_with_them(recent: RecentFiles, tmp_path: Path) -> None:
    for number in range(MOST + 3):
        recent.add(project(tmp_path, f"p{number}"), f"p{number}", f"png {number}".encode())
    assert len(recent.files) == MOST == 15
    assert recent.thumbnail(recent.files[0]) == b"png 17"
    assert len(list((tmp_path / "cache").iterdir())) == MOST


def test_a_missing_file_is_flagged_and_can_be_located(recent: RecentFiles, tmp_path: Path) -> None:
    path = project(tmp_path, "a")
    recent.add(path, "A", b"picture")
    recent.add(project(tmp_path, "b"), "B")
    moved = tmp_path / "elsewhere.glassbox"
    path.rename(moved)
    assert [file.is_missing for file in recent.files] == [False, True]
    recent.locate(recent.files[1], moved)
    assert [file.path for file in recent.files][1] == moved.resolve()
    assert recent.thumbnail(recent.files[1]) == b"picture"
    recent.forget(recent.files[0])
    assert [file.title for file in again(recent, tmp_path).files] == ["A"]


@pytest.mark.parametrize("text", ["", "{}", "[3]", '[{"path": 3}]', "\x00"])
def test_a_damaged_list_is_empty(tmp_path: Path, text: str) -> None:
    (tmp_path / "recent.json").write_text(text)
    assert RecentFiles(tmp_path / "recent.json", tmp_path).files == ()


def test_a_folder_that_cannot_be_written_disturbs_nobody(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("")
    recent = RecentFiles(blocker / "recent.json", blocker / "cache")
    recent.add(project(tmp_path, "a"), "A", b"picture")
    assert [file.title for file in recent.files] == ["A"]
    assert recent.thumbnail(recent.files[0]) is None
