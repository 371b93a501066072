"""Sample projects: found in a checkout and in an installed package, opened as copies."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import studio.samples
from studio.engine.core.errors import DataError
from studio.samples import open_copy, sample_names, sample_root

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


@pytest.mark.slow
def test_wheel_holds_samples_kernels_and_the_command(tmp_path: Path) -> None:
    source = tmp_path / "source"
    ignored = shutil.ignore_patterns("__pycache__", ".*", "build", "*.runs", "*.egg-info")
    for name in ("studio", "projects"):
        shutil.copytree(ROOT / name, source / name, ignore=ignored)
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    code = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"
    subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], cwd=source, check=True, capture_output=True
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())
        (entry,) = [name for name in packed if name.endswith("entry_points.txt")]
        assert "glassbox = studio.cli.app:main" in archive.read(entry).decode()
    below = {p: p.relative_to(source).as_posix() for p in source.rglob("*") if p.is_file()}
    wanted = {name for name in below.values() if name.startswith("studio/")}
    wanted |= {f"studio/{name}" for name in below.values() if name.startswith("projects/")}
    wanted = {name for name in wanted if "egg-info" not in name}
    assert wanted - packed == set()
