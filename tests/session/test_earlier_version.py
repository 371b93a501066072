"""What a user of an earlier version kept opens unchanged: every value, run, weight and export."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from studio.cli.app import main
from studio.engine.core.app_dirs import AppDirs
from studio.engine.formats.checkpoint import Checkpoint
from studio.engine.train.devices import open_backend
from studio.engine.train.importing.weights import import_weights
from studio.engine.train.network.trained import Trained
from studio.engine.train.runs.run_folder import RunFolder
from studio.session.core.scheduling import ManualScheduler
from studio.session.studio import Studio
from tests.recorded.user.record import PREFERENCES
from tests.recorded.user.unpack import RECORDED, unpack
from tests.session.desk import Desk

NEWER, OLDER = "2026-11-23_08-16-05", "2026-11-23_08-16-02"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return unpack(tmp_path / "user")


@pytest.fixture
def clock() -> ManualScheduler:
    return ManualScheduler()


@pytest.fixture
def studio(project: Path, clock: ManualScheduler) -> Iterator[Studio]:
    made = Studio(clock, AppDirs.below(project.parents[2]))
    yield made
    made.close()


@pytest.fixture
def until(clock: ManualScheduler, studio: Studio) -> Callable[[Callable[[], object]], None]:
    desk = Desk()
    desk.scheduler, desk.tasks = clock, studio.tasks
    return lambda wanted: desk.settle(lambda: bool(wanted()))


def test_settings_and_what_was_used_last_are_the_same(studio: Studio, project: Path) -> None:
    assert {name: studio.preferences[name] for name in PREFERENCES} == PREFERENCES
    assert studio.palette.favourites == ("Dense", "Conv2D")
    assert studio.palette.recent == ("Dropout",)
    assert studio.quick_add.history.weight("Conv2D", "MaxPooling2D") > 0
    (recent,) = studio.recent.files
    assert (recent.path, recent.title) == (project.resolve(), "iris")
    studio.open(project)
    last = studio.exporting.last
    assert last is not None
    assert (last[0].ending, last[1]) == (".png", project.resolve().with_name("iris.png"))


def test_a_project_opens_and_saves_to_the_same_bytes(studio: Studio, project: Path) -> None:
    before = project.read_bytes()
    document = studio.open(project)
    assert (document.warnings, document.read_only) == ((), "")
    nodes = document.state.nodes.values()
    layer = next(node for node in nodes if node.type_name == "Dense")
    assert layer.pinned
    assert layer.collapsed
    texts = {node.text for node in nodes if not node.is_layer}
    assert texts == {"a note of the old version", "Frame"}
    annotations = document.state.annotations.plain()
    assert annotations["aliases"] == {f"{layer.name}/kernel": "my_kernel"}
    assert annotations["comments"] == {f"{layer.name}/kernel": "first comment"}
    document.save()
    assert project.read_bytes() == before


def test_runs_are_listed_with_their_numbers_notes_and_curves(
    studio: Studio, project: Path, until: Callable[[Callable[[], object]], None]
) -> None:
    studio.open(project)
    until(lambda: studio.runs.runs)
    newer, older = studio.runs.runs
    assert (newer.name, older.name) == (NEWER, OLDER)
    assert (newer.title, newer.notes.star, newer.notes.tags) == ("best iris", True, ("a", "b"))
    assert newer.notes.text == "some\ntext"
    assert older.notes.archived
    assert (newer.state, newer.epochs, newer.steps, newer.version) == ("finished", 2, 16, "0.1.0")
    assert newer.metrics["loss"] == pytest.approx(0.7172874331474304)
    assert newer.test == pytest.approx({"accuracy": 0.8333333, "loss": 0.57827439})
    assert newer.can_go_on
    until(lambda: studio.runs.curves(NEWER))


def test_unsaved_work_is_recovered(
    studio: Studio, until: Callable[[Callable[[], object]], None]
) -> None:
    studio.recovery.look()
    until(lambda: studio.recovery.sessions)
    (found,) = studio.recovery.sessions
    assert (found.title, found.path) == ("iris", RECORDED / "projects/iris/iris.glassbox")
    layer = next(node for node in found.state.nodes.values() if node.type_name == "Dense")
    assert layer.config["units"] == 77


@pytest.mark.slow
def test_an_interrupted_training_goes_on_to_the_same_weights(project: Path) -> None:
    words = ["train", str(project), "--epochs", "4", "--resume", "--backend", "cpu"]
    assert main(words) == 0
    runs = project.parent / "iris.runs"
    assert sorted(path.name for path in runs.iterdir()) == [OLDER, NEWER]
    found = Checkpoint.load(runs / NEWER / "checkpoints/final.safetensors")
    wanted = Checkpoint.load(project.parents[2] / "continued.safetensors")
    assert found.position == wanted.position
    assert found.tensors.keys() == wanted.tensors.keys()
    for name, values in wanted.tensors.items():
        np.testing.assert_allclose(found.tensors[name], values, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("ending", [".safetensors", ".npz", ".checkpoint.safetensors"])
def test_exported_weights_are_those_of_the_run(project: Path, ending: str) -> None:
    trained = Checkpoint.load(project.parent / f"iris.runs/{NEWER}/checkpoints/final.safetensors")
    run = import_weights(project.with_name(f"iris{ending}"), project)
    found = Checkpoint.load(run.checkpoint_path("final"))
    assert found.tensors
    for name, values in found.tensors.items():
        np.testing.assert_array_equal(values, trained.tensors[name])


@pytest.mark.slow
def test_an_exported_program_answers_like_the_run(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = np.array([[5.1, 3.5, 1.4, 0.2], [6.7, 3.0, 5.2, 2.3]], np.float32)
    given, answers = tmp_path / "rows.npy", tmp_path / "answers.npy"
    np.save(given, rows)
    exported = project.with_name("iris.gbi")
    assert main(["exec", str(exported), "--input", str(given), "--output", str(answers)]) == 0
    run = RunFolder(project.parent / f"iris.runs/{NEWER}")
    with open_backend("cpu") as opened, Trained.of_run(run, opened.backend) as trained:
        wanted = trained.predict(rows)
    np.testing.assert_allclose(np.load(answers), wanted, rtol=1e-6)
    report = json.loads(exported.with_name("iris.gbi.proof.json").read_text("utf-8"))
    assert report["sha256"] == sha256(exported.read_bytes()).hexdigest()
    capsys.readouterr()
    assert main(["dis", str(exported)]) == 0
    listing = project.with_name("iris.gbasm").read_text("utf-8")
    assert capsys.readouterr().out.split(".section")[1:] == listing.split(".section")[1:]
