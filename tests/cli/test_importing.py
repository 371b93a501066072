"""``glassbox import``: a model becomes a project, weights become a run, the rest is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from studio.engine.interop.file_format import file_formats
from studio.engine.train.project.project import Project
from studio.engine.train.runs.run_folder import latest_run
from tests.engine.train.importing.model_format import seeded_format, write_seeded
from tests.engine.train.small_tasks import mlp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cli.conftest import Answer


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A model in the current folder."""
    file_formats()
    monkeypatch.chdir(tmp_path)
    with seeded_format():
        write_seeded(tmp_path / "net.seeded", mlp(), left_out=["noise: only for training"])
        yield Path("net.seeded")


@pytest.mark.slow
def test_a_model_becomes_a_project_in_the_current_folder(
    glassbox: Callable[..., Answer], source: Path
) -> None:
    lines = glassbox("import", source).out.splitlines()
    run = latest_run(Project.load("net.glassbox"))
    assert run is not None
    assert lines == [
        "net.seeded: seeds, version 1, 3 layers",
        "left out: noise: only for training",
        f"net.glassbox: a new project, its weights are the run {run.path}",
    ]


def test_a_model_becomes_the_project_that_is_named(
    glassbox: Callable[..., Answer], source: Path
) -> None:
    found = glassbox("import", source, "-o", "mine", "--json").json
    assert found["project"] == "mine.glassbox"
    assert Path(found["run"]).is_dir()
    assert found["report"]["left_out"] == ["noise: only for training"]
    assert [each["class"] for each in found["report"]["layers"]] == ["Input", "Dense", "Dense"]


@pytest.mark.slow
def test_it_can_be_compiled_used_and_trained(glassbox: Callable[..., Answer], source: Path) -> None:
    glassbox("import", source)
    assert "DENSE" in glassbox("compile", "net.glassbox", "--mode", "infer").out.upper()
    document = json.loads(Path("net.glassbox").read_text())
    document["data"] = {"source": "spirals", "n": 60}
    Path("net.glassbox").write_text(json.dumps(document))
    said = glassbox("train", "net.glassbox", "--epochs", "1", "--backend", "cpu").err
    assert "beginning with the weights of net.seeded" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("net.seeded", "-o", "there"), "there is a project of that name"),
        (("none.seeded",), "none.seeded"),
        (("text.txt",), "expected a model as"),
        (("text.txt", "-o", "there.glassbox"), "expected weights as"),
        (("broken.seeded", "-o", "there.glassbox"), "there is a project of that name"),
        (("w.npz",), "name the project they are for"),
        (("w.npz", "-o", "nowhere"), "no such project"),
        (("net.seeded", "-o", "no/such/folder"), "there is no such folder"),
        (("broken.seeded",), "the network cannot be read"),
    ],
)
def test_what_cannot_be_imported_is_said_in_a_sentence(
    refused: Callable[..., str], source: Path, words: tuple[str, ...], said: str
) -> None:
    Project("there", mlp()).save("there.glassbox")
    Path("text.txt").write_text("words")
    Path("w.npz").write_bytes(b"PK\x05\x06" + bytes(18))
    Path("broken.seeded").write_bytes(b"SEEDED{")
    before = sorted(Path().iterdir())
    assert said in refused("import", *words)
    assert sorted(Path().iterdir()) == before


@pytest.mark.slow
def test_a_project_without_its_imported_weights_is_refused_and_its_run_says_why(
    refused: Callable[..., str], source: Path
) -> None:
    made = Project.new("net", mlp(), {"source": "spirals"}, {"begin_with": "imported"})
    made.save("other.glassbox")
    assert "none were imported" in refused("train", "other.glassbox", "--backend", "cpu")
    summary = next(Path("other.runs").glob("*/summary.json")).read_text()
    assert json.loads(summary)["state"] == "failed"
