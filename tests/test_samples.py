"""Sample projects: found in a checkout and in an installed package, opened as copies."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import studio.samples
from studio.engine.core.errors import DataError
from studio.samples import (
    changed_copies,
    open_copy,
    pristine_copy,
    sample_names,
    sample_of,
    sample_root,
)

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package folder as an installation has it, with one read-only sample."""
    package = tmp_path / "site-packages" / "studio"
    sample = package / "projects" / "tiny"
    (sample / "tiny.runs").mkdir(parents=True)
    (sample / "tiny.glassbox").write_text("{}", encoding="utf-8")
    (sample / "README.md").write_text("A tiny network.\n", encoding="utf-8")
    (package / "projects" / "data").mkdir()
    for path in sample.iterdir():
        if path.is_file():
            path.chmod(0o444)
    monkeypatch.setattr(studio.samples, "__file__", str(package / "samples.py"))
    return package


def test_checkout_uses_its_own_projects_folder() -> None:
    assert sample_root() == ROOT / "projects"


def test_installed_package_uses_the_packed_ones(installed: Path) -> None:
    assert sample_root() == installed / "projects"
    assert sample_names() == ["tiny"]


def test_copy_is_writable_and_leaves_runs_behind(installed: Path, tmp_path: Path) -> None:
    project = open_copy("tiny", tmp_path / "mine")
    assert project == tmp_path / "mine" / "tiny" / "tiny.glassbox"
    assert project.stat().st_mode & 0o200
    assert sorted(path.name for path in project.parent.iterdir()) == ["README.md", "tiny.glassbox"]


def test_users_own_copy_is_kept(installed: Path, tmp_path: Path) -> None:
    project = open_copy("tiny", tmp_path)
    project.write_text('{"changed": true}', encoding="utf-8")
    assert open_copy("tiny", tmp_path).read_text(encoding="utf-8") == '{"changed": true}'


def test_unknown_sample_lists_those_there_are(installed: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"expected one of tiny, got '\.\./tiny'"):
        open_copy("../tiny", tmp_path)


def test_folder_that_cannot_hold_the_copy_is_named(installed: Path, tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.touch()
    with pytest.raises(DataError, match="cannot be copied there"):
        open_copy("tiny", in_the_way)
    with pytest.raises(DataError, match="cannot be copied there"):
        pristine_copy("tiny", in_the_way)


def test_a_changed_copy_is_left_alone_and_the_sample_is_at_hand(
    installed: Path, tmp_path: Path
) -> None:
    mine = tmp_path / "mine"
    first = pristine_copy("tiny", mine)
    assert first == mine / "tiny" / "tiny.glassbox"
    assert pristine_copy("tiny", mine) == first, "as it came: it is used again"
    (first.parent / "tiny.runs").mkdir()
    assert pristine_copy("tiny", mine) == first, "training it does not change it"
    assert changed_copies("tiny", mine) == []
    first.write_text('{"changed": true}', encoding="utf-8")
    second = pristine_copy("tiny", mine)
    assert second == mine / "tiny-2" / "tiny-2.glassbox"
    assert second.read_text(encoding="utf-8") == "{}"
    assert first.read_text(encoding="utf-8") == '{"changed": true}'
    assert not (second.parent / "tiny.runs").exists()
    assert changed_copies("tiny", mine) == [first]
    # A file that came with it is part of it, and so is one that is gone.
    (second.parent / "README.md").unlink()
    assert pristine_copy("tiny", mine) == mine / "tiny-3" / "tiny-3.glassbox"
    assert sorted(path.name for path in mine.iterdir()) == ["tiny", "tiny-2", "tiny-3"]


def test_a_folder_of_ones_own_is_never_copied_into(installed: Path, tmp_path: Path) -> None:
    runs = tmp_path / "tiny" / "tiny.runs"
    runs.mkdir(parents=True)
    assert pristine_copy("tiny", tmp_path) == tmp_path / "tiny-2" / "tiny-2.glassbox"
    assert sorted(path.name for path in runs.parent.iterdir()) == ["tiny.runs"]


def test_a_copy_is_told_from_a_project_of_ones_own(installed: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    first = pristine_copy("tiny", mine)
    first.write_text('{"changed": true}', encoding="utf-8")
    second = pristine_copy("tiny", mine)
    other = mine / "other" / "other.glassbox"
    other.parent.mkdir()
    other.touch()
    own = open_copy("tiny", tmp_path)
    found = [sample_of(path, mine) for path in (first, second, other, own, None)]
    assert found == ["tiny", "tiny", "", "", ""]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of Glassbox, built from a copy of what a clone holds, next to that copy."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    ignored = shutil.ignore_patterns("__pycache__", ".*", "build", "*.runs", "*.egg-info")
    for name in ("studio", "projects"):
        shutil.copytree(ROOT / name, source / name, ignore=ignored)
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    (source / "projects" / "iris" / "iris.runs").mkdir()
    (source / "projects" / "iris" / "iris.runs" / "metrics.jsonl").touch()
    code = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"
    subprocess.run(
        [sys.executable, "-c", code, str(folder)], cwd=source, check=True, capture_output=True
    )
    (built,) = folder.glob("*.whl")
    return built


@pytest.mark.slow
def test_wheel_holds_samples_kernels_and_the_command(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())
        (entry,) = [name for name in packed if name.endswith("entry_points.txt")]
        assert "glassbox = studio.__main__:main" in archive.read(entry).decode()
    source = wheel.parent / "source"
    below = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    wanted = {name for name in below if name.startswith("studio/")}
    wanted |= {f"studio/{name}" for name in below if name.startswith("projects/")}
    wanted = {name for name in wanted if ".runs" not in name}
    # Each kind once by name, so that an empty tree could not pass.
    assert {"studio/py.typed", "studio/engine/gl/glsl/kernels/moves/fill.glsl"} <= wanted
    assert {Path(name).suffix for name in wanted} >= {".py", ".glsl", ".glassbox", ".csv", ".md"}
    assert wanted - packed == set()
    assert not [name for name in packed if not name.startswith("studio/") and "-info" not in name]
    assert not [name for name in packed if ".runs" in name]


@pytest.mark.slow
def test_wheel_holds_every_file_of_the_repository(wheel: Path) -> None:
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "studio", "projects"],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a clone: there is no git, or no repository here")
    tracked = [name for name in listed.split("\0") if (ROOT / name).is_file()]
    assert [name for name in tracked if name.endswith(".glsl")]
    wanted = {name if name.startswith("studio/") else f"studio/{name}" for name in tracked}
    with zipfile.ZipFile(wheel) as archive:
        assert wanted - set(archive.namelist()) == set()


@pytest.mark.slow
def test_installed_command_writes_only_into_the_current_folder(wheel: Path) -> None:
    installed = wheel.parent / "site-packages"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
    before = {path: path.stat().st_mtime_ns for path in installed.rglob("*") if path.is_file()}
    mine = wheel.parent / "mine"
    mine.mkdir()
    words = ["train", "iris", "--epochs", "1", "--backend", "cpu"]
    answer = subprocess.run(
        [sys.executable, "-P", "-m", "studio", *words],
        cwd=mine,
        env=os.environ | {"PYTHONPATH": str(installed), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    assert len([*mine.glob("iris/iris.runs/*/checkpoints/final.safetensors")]) == 1
    after = {path: path.stat().st_mtime_ns for path in installed.rglob("*") if path.is_file()}
    assert after == before
