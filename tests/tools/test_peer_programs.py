"""Peers that are no packages: fetched once, checked against what is pinned, never half there."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from tools import peer_programs
from tools.peer_programs import PeerError, integrity_of, set_up_browser, set_up_tfjs


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """A registry that gives an archive with one small file; counts how often it is asked."""
    asked = {"count": 0}
    archive = tmp_path / "given.tgz"
    with tarfile.open(archive, "w:gz") as file:
        entry = tarfile.TarInfo(peer_programs.MEMBER)
        entry.size = 5
        file.addfile(entry, io.BytesIO(b"tf={}"))

    def download(folder: Path) -> Path:
        asked["count"] += 1
        package = folder / "tfjs.tgz"
        package.write_bytes(archive.read_bytes())
        return package

    monkeypatch.setattr(peer_programs, "download", download)
    monkeypatch.setattr(peer_programs, "INTEGRITY", integrity_of(archive))
    return asked


def test_the_file_is_fetched_once(registry: dict[str, int], tmp_path: Path) -> None:
    place = tmp_path / "env" / "tfjs" / "tf.min.js"
    set_up_tfjs(place)
    set_up_tfjs(place)
    assert place.read_bytes() == b"tf={}"
    assert registry["count"] == 1
    assert sorted(each.name for each in place.parent.iterdir()) == ["integrity.txt", "tf.min.js"]
    place.with_name("integrity.txt").write_text("sha512-older")
    set_up_tfjs(place)
    assert registry["count"] == 2


def test_another_package_than_the_one_pinned_is_refused(
    registry: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peer_programs, "INTEGRITY", "sha512-else")
    with pytest.raises(PeerError, match=r"another @tensorflow/tfjs@\S+ than the one pinned"):
        set_up_tfjs(tmp_path / "tfjs" / "tf.min.js")
    assert list((tmp_path / "tfjs").iterdir()) == []
    assert registry["count"] == 1


def test_a_package_without_the_file_is_refused(
    registry: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peer_programs, "MEMBER", "package/other.js")
    with pytest.raises(PeerError, match=r"holds no package/other\.js"):
        set_up_tfjs(tmp_path / "tf.min.js")
    assert not (tmp_path / "tf.min.js").exists()


def test_a_failure_is_one_line_and_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails() -> None:
        raise PeerError("npm could not fetch it: ENOTFOUND")

    monkeypatch.setattr(peer_programs, "set_up_tfjs", fails)
    assert peer_programs.main() == 1
    assert capsys.readouterr().out == "npm could not fetch it: ENOTFOUND\n"


def test_no_browser_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer_programs.shutil, "which", lambda name: None)
    assert "no browser (chromium, chromium-browser" in set_up_browser()
    assert "tests of pages are skipped" in set_up_browser()


@pytest.mark.peers
def test_what_is_installed_is_what_is_pinned() -> None:
    vouched = peer_programs.PLACE.with_name("integrity.txt")
    assert vouched.read_text(encoding="utf-8") == peer_programs.INTEGRITY
