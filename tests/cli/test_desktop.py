"""``glassbox desktop``: what it writes holds by the rules of the freedesktop specifications."""

from __future__ import annotations

import configparser
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from PIL import Image

from studio.cli.desktop_entry import MIME_TYPE, DesktopEntry, own_command
from studio.engine.core.errors import FormatError, ParameterError

if TYPE_CHECKING:
    from tests.cli.conftest import Answer

# Keys and main categories of the desktop entry and menu specifications that an entry may have.
KEYS = {
    "Type", "Version", "Name", "GenericName", "Comment", "Exec", "TryExec", "Icon", "Terminal",
    "StartupNotify", "StartupWMClass", "Categories", "Keywords", "MimeType",
}  # fmt: skip
MAIN_CATEGORIES = {
    "AudioVideo", "Development", "Education", "Game", "Graphics", "Network", "Office", "Science",
    "Settings", "System", "Utility",
}  # fmt: skip


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder for data, not made yet."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "user" / "share"))
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.delenv("SUDO_USER", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    return tmp_path / "user" / "share"


def files_below(folder: Path) -> dict[str, bytes]:
    """Files by their place, without the caches that the desktop's own programs make."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    made = {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}
    own = re.compile(r"applications/.*\.desktop|icons/.*|mime/packages/.*")
    return {name: content for name, content in made.items() if own.fullmatch(name)}


def entry_of(path: Path) -> dict[str, str]:
    """The keys of a desktop entry, whose values no rule of INI files may change."""
    parser = configparser.RawConfigParser(
        delimiters=("=",), comment_prefixes=("#",), strict=True, interpolation=None,
        empty_lines_in_values=False,
    )  # fmt: skip
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(path.read_text(encoding="utf-8"))
    assert parser.sections() == ["Desktop Entry"]
    return dict(parser["Desktop Entry"])


def words_of(value: str) -> list[str]:
    """The words of ``Exec``: first the escapes of values, then quotes, then ``%``."""
    unescaped = re.sub(r"\\(.)", lambda m: {"s": " ", "n": "\n", "\\": "\\"}[m[1]], value)
    found = re.findall(r'"((?:[^"`$\\]|\\["`$\\])*)"|([^\s"]+)', unescaped)
    assert " ".join(f'"{quoted}"' if quoted else plain for quoted, plain in found) == unescaped
    words = [re.sub(r'\\(["`$\\])', r"\1", quoted) or plain for quoted, plain in found]
    return [word if word == "%f" else word.replace("%%", "%") for word in words]


def test_the_entry_keeps_the_rules_of_its_specification(
    glassbox: Callable[..., Answer], data: Path
) -> None:
    said = glassbox("desktop", "install").out
    path = data / "applications" / "glassbox.desktop"
    assert str(path) in said
    entry = entry_of(path)
    assert set(entry) <= KEYS
    assert entry["Type"] == "Application"
    assert entry["Name"] == "Glassbox"
    assert entry["Version"] in ("1.0", "1.1", "1.2", "1.3", "1.4")
    assert {entry["Terminal"], entry["StartupNotify"]} <= {"true", "false"}
    for key in ("Categories", "Keywords", "MimeType"):
        assert entry[key].endswith(";")
    assert len(set(entry["Categories"].split(";")) & MAIN_CATEGORIES) == 1
    assert words_of(entry["Exec"]) == [*own_command(), "%f"]
    assert Path(entry["TryExec"]).is_absolute()
    assert os.access(entry["TryExec"], os.X_OK)
    assert entry["MimeType"].split(";")[0] == MIME_TYPE
    tool = shutil.which("desktop-file-validate")
    if tool:
        subprocess.run([tool, str(path)], check=True, timeout=60)


@pytest.mark.slow
def test_the_command_of_the_entry_starts_glassbox(
    glassbox: Callable[..., Answer], data: Path, tmp_path: Path
) -> None:
    glassbox("desktop", "install")
    entry = entry_of(data / "applications" / "glassbox.desktop")
    words = words_of(entry["Exec"])[:-1]
    found = subprocess.run(
        [*words, "--version"], cwd=Path(__file__).parents[2], check=True, capture_output=True,
        text=True, timeout=300,
    )  # fmt: skip
    assert found.stdout.startswith("glassbox ")


def test_projects_have_a_type_and_an_icon(glassbox: Callable[..., Answer], data: Path) -> None:
    glassbox("desktop", "install")
    root = ET.parse(data / "mime" / "packages" / "glassbox.xml").getroot()
    space = "{http://www.freedesktop.org/standards/shared-mime-info}"
    (kind,) = root.findall(f"{space}mime-type")
    assert kind.get("type") == MIME_TYPE
    (glob,) = kind.findall(f"{space}glob")
    assert glob.get("pattern") == "*.glassbox"
    theme = data / "icons" / "hicolor"
    for size in (48, 128, 256):
        with Image.open(theme / f"{size}x{size}" / "apps" / "glassbox.png") as picture:
            assert picture.size == (size, size)
            assert picture.mode == "RGBA"
    icon = kind.find(f"{space}icon")
    assert icon is not None
    for place in ("apps/glassbox", f"mimetypes/{icon.get('name')}"):
        drawing = ET.parse(theme / "scalable" / f"{place}.svg").getroot()
        assert drawing.tag == "{http://www.w3.org/2000/svg}svg"


@pytest.mark.slow
@pytest.mark.skipif(
    not (shutil.which("update-mime-database") and shutil.which("gio")),
    reason="needs the desktop's own programs",
)
def test_the_desktop_knows_a_project_by_its_name(
    glassbox: Callable[..., Answer], data: Path, tmp_path: Path
) -> None:
    glassbox("desktop", "install")
    project = tmp_path / "mine.glassbox"
    project.write_text("{}", encoding="utf-8")

    def told() -> str:
        return subprocess.run(
            ["gio", "info", "-a", "standard::content-type", str(project)], check=True,
            capture_output=True, text=True, timeout=120,
        ).stdout  # fmt: skip

    assert MIME_TYPE in told()
    glassbox("desktop", "remove")
    assert MIME_TYPE not in told()


def test_installing_twice_is_installing_once_and_removing_leaves_nothing(
    glassbox: Callable[..., Answer], data: Path
) -> None:
    data.mkdir(parents=True)
    others = data / "applications" / "other.desktop"
    others.parent.mkdir()
    others.write_text("[Desktop Entry]\nName=Other\n", encoding="utf-8")
    before = files_below(data)
    assert "0 of 7 files" in glassbox("desktop").out
    glassbox("desktop", "install")
    once = files_below(data)
    assert len(once) == len(before) + 7
    glassbox("desktop", "install")
    assert files_below(data) == once
    assert glassbox("desktop", "--json").json["installed"] is True
    (data / "mime" / "packages" / "glassbox.xml").unlink()
    assert "6 of 7 files" in glassbox("desktop").out
    assert "removed 6 files" in glassbox("desktop", "remove").out
    assert files_below(data) == before
    assert "nothing to remove" in glassbox("desktop", "remove").out


def test_an_entry_of_the_users_own_stays(
    glassbox: Callable[..., Answer], refused: Callable[..., str], data: Path
) -> None:
    own = data / "applications" / "glassbox.desktop"
    own.parent.mkdir(parents=True)
    own.write_text("[Desktop Entry]\nName=Mine\n", encoding="utf-8")
    for action in ("install", "remove"):
        assert "was not written by this command" in refused("desktop", action)
    assert list(files_below(data)) == ["applications/glassbox.desktop"]
    own.unlink()
    own.mkdir()
    assert "glassbox.desktop" in refused("desktop", "install")


@pytest.mark.parametrize(
    "word", ["/opt/a b/glassbox", '/opt/"q"/$HOME/`x`', r"/opt/back\slash/100%", "/opt/ünï/g"]
)
def test_any_path_that_can_be_written_is_read_back_as_it_is(data: Path, word: str) -> None:
    entry = DesktopEntry.of_user()
    entry.install((word, "-m", "studio"))
    assert words_of(entry_of(entry.entry)["Exec"]) == [word, "-m", "studio", "%f"]


def test_a_path_with_a_line_break_is_refused_before_anything_is_written(data: Path) -> None:
    with pytest.raises(ParameterError, match="cannot hold the path"):
        DesktopEntry.of_user().install(("/opt/a\nName=Other/glassbox",))
    assert files_below(data.parent) == {}


def test_a_folder_that_cannot_be_written_is_named(data: Path) -> None:
    data.parent.mkdir(parents=True)
    data.write_text("a file where the folder should be", encoding="utf-8")
    with pytest.raises(FormatError, match="applications"):
        DesktopEntry.of_user().install(("/opt/glassbox",))


@pytest.mark.parametrize(("platform", "name"), [("win32", "Windows"), ("darwin", "macOS")])
def test_other_systems_are_told_in_a_sentence(
    refused: Callable[..., str], data: Path, monkeypatch: pytest.MonkeyPatch, platform: str,
    name: str,
) -> None:  # fmt: skip
    monkeypatch.setattr("studio.cli.desktop_entry.sys.platform", platform)
    assert name in refused("desktop", "install")


def test_it_is_never_made_for_root(
    refused: Callable[..., str], data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUDO_USER", "me")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert "without sudo" in refused("desktop", "install")
    assert "expected install or remove" in refused("desktop", "reinstall")


def test_a_packed_program_starts_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "glassbox"))
    assert own_command() == (str(tmp_path / "glassbox"),)
    monkeypatch.setattr(sys, "frozen", False)
    assert own_command() == (str(tmp_path / "glassbox"), "-m", "studio")
    script = tmp_path / "glassbox"
    script.write_text("#!/bin/sh\n", encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert own_command() == (str(script),)
