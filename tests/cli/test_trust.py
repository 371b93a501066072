"""A project that names data outside its folder is read on the command line only when agreed to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from studio.engine.train.project.project import Project
from studio.engine.train.runs.run_folder import latest_run
from studio.samples import open_copy

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Answer

CPU = ("--backend", "cpu")


@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in the current folder whose data lies elsewhere; nothing was agreed to yet."""
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / "user" / name.lower()))
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    private = np.load(_arrays(tmp_path / "private.npz"))
    assert private["x"].shape == (60, 4)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    opened = Project.load(open_copy("iris", tmp_path))
    data = {"source": "npz", "path": str(tmp_path / "private.npz")}
    made = Project.new("theirs", opened.graph, data, {"epochs": 1})
    made.save(tmp_path / "here" / "theirs.glassbox")
    return tmp_path / "private.npz"


def _arrays(path: Path) -> Path:
    rng = np.random.default_rng(1)
    np.savez(path, x=rng.normal(size=(60, 4)).astype(np.float32), y=np.arange(60) % 3)
    return path


@pytest.mark.parametrize(
    "words",
    [
        ("train",),
        ("compile",),
        ("profile", *CPU),
        ("evaluate",),
        ("export", "--format", "gbi", "-o", "x.gbi"),
    ],
)
def test_it_is_refused_in_one_sentence_that_says_what_to_type(
    refused: Callable[..., str], glassbox: Callable[..., Answer], foreign: Path,
    words: tuple[str, ...],
) -> None:  # fmt: skip
    said = refused(words[0], "theirs.glassbox", *words[1:])
    assert "[theirs.glassbox] the project uses data outside its folder" in said
    assert str(foreign) in said
    assert "hint: glassbox trust theirs.glassbox allows it" in said


def test_what_was_agreed_to_once_is_read_from_then_on(
    refused: Callable[..., str], glassbox: Callable[..., Answer], foreign: Path
) -> None:
    refused("train", "theirs.glassbox", *CPU)
    assert glassbox("trust", "theirs.glassbox").out == f"theirs.glassbox may read {foreign}\n"
    glassbox("train", "theirs.glassbox", *CPU)
    glassbox("evaluate", "theirs.glassbox", *CPU)
    assert "nothing to agree to" in glassbox("trust", "theirs.glassbox").out


def test_a_run_that_names_other_data_than_the_project_is_refused_too(
    refused: Callable[..., str], glassbox: Callable[..., Answer], foreign: Path
) -> None:
    glassbox("trust", "theirs.glassbox")
    glassbox("train", "theirs.glassbox", *CPU)
    other = _arrays(foreign.with_name("other.npz"))
    run = latest_run(Project.load(foreign.parent / "here" / "theirs.glassbox"))
    assert run is not None
    settings = run.path / "settings.json"
    settings.write_text(settings.read_text().replace("private.npz", "other.npz"))
    assert str(other) in refused("evaluate", "theirs.glassbox", *CPU)
    assert f"may read {other}" in glassbox("trust", "theirs.glassbox").out
    glassbox("evaluate", "theirs.glassbox", *CPU)


def test_samples_and_data_beside_the_project_need_no_word(
    glassbox: Callable[..., Answer], foreign: Path
) -> None:
    glassbox("train", "iris", "--epochs", 1, *CPU)
    project = Project.load(foreign.parent / "here" / "theirs.glassbox")
    _arrays(foreign.parent / "here" / "beside.npz")
    Project.new("own", project.graph, {"source": "npz", "path": "beside.npz"}, {"epochs": 1}).save(
        foreign.parent / "here" / "own.glassbox"
    )
    glassbox("train", "own.glassbox", *CPU)
    assert "nothing to agree to" in glassbox("trust", "own.glassbox").out


def test_a_relative_path_that_leaves_the_folder_is_refused_agreed_to_or_not(
    refused: Callable[..., str], glassbox: Callable[..., Answer], foreign: Path
) -> None:
    project = Project.load(foreign.parent / "here" / "theirs.glassbox")
    made = Project.new("up", project.graph, {"source": "npz", "path": "../private.npz"})
    made.save(foreign.parent / "here" / "up.glassbox")
    glassbox("trust", "up.glassbox")
    assert "must stay inside the project's folder" in refused("train", "up.glassbox", *CPU)
