"""What a training will begin with is shown before its first step: imported or fresh weights."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from studio.engine.core.app_dirs import AppDirs
from studio.engine.interop.file_format import file_formats
from studio.engine.layers.graph import Port
from studio.engine.train.importing.project import import_project
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.engine.train.weights import initial_weights
from studio.session.core import entities
from studio.session.core.scheduling import ManualScheduler
from studio.session.document.document import Document
from studio.session.document.edits.layers import rename, set_option
from studio.session.document.edits.sections import set_data, set_training
from studio.session.live.imported import FRESH, ImportedFiles
from studio.session.live.sources import Resting
from studio.session.live.tensors import LiveView
from studio.session.studio import Studio
from tests.engine.train.importing.model_format import seeded_format, write_seeded
from tests.engine.train.small_tasks import SPIRALS, mlp

SEED = 5
"""The weights in the file are those of this seed; fresh ones are those of 0."""


class Bench:
    """A studio with an imported project, and the clock that drives it."""

    def __init__(self, folder: Path) -> None:
        self.clock = ManualScheduler()
        self.studio = Studio(self.clock, AppDirs.below(folder / "user"))
        self.studio.preferences.set("backend", "cpu")
        source = write_seeded(folder / "net.seeded", mlp())
        self.path = folder / "net.glassbox"
        self.run = import_project(source, self.path).run
        self.studio.open(self.path)
        self.studio.document.apply("Data", set_data(self.studio.document.state, SPIRALS))
        self.compiled()

    def until(self, wanted: Callable[[], object], seconds: float = 120) -> None:
        deadline = time.monotonic() + seconds
        while not wanted():
            assert time.monotonic() < deadline, "it did not come about"
            self.clock.advance(0.02)
            time.sleep(0.002)

    def compiled(self) -> None:
        """Wait until what is shown is of the document as it is now."""
        compilation = self.studio.compilation
        self.until(lambda: compilation.result is not None and not compilation.is_stale)

    def length(self, name: str) -> int:
        """Numbers of a vector as it is shown at rest."""
        resting = self.studio.live.resting
        found = None if resting is None else resting.read(name)
        return 0 if found is None else len(found)

    def view(self, name: str) -> LiveView:
        view = self.studio.live.open(entities.Entity("tensor", name))
        view.want(active=True)
        self.until(lambda: view.frame is not None)
        return view

    def shown(self, name: str) -> tuple[str, np.ndarray]:
        """What the corner of a picture says, and the numbers in it."""
        view = self.view(name)
        frame = view.frame
        assert frame is not None
        found = frame.label, frame.snapshot.array().copy()
        view.close()
        return found


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    file_formats()
    with seeded_format():
        made = Bench(tmp_path)
        yield made
        made.studio.close()


def imported(name: str) -> np.ndarray:
    return np.asarray(initial_weights(mlp(), SEED)[name])


def fresh(name: str, **sizes: int) -> np.ndarray:
    return np.asarray(initial_weights(mlp(**sizes), 0)[name])


@pytest.mark.slow
def test_imported_weights_are_shown_before_the_first_step(bench: Bench) -> None:
    label, values = bench.shown("dense/kernel")
    assert label == "imported from net.seeded"
    np.testing.assert_array_equal(values, imported("dense/kernel"))
    bench.studio.document.apply(
        "Fresh", set_training(bench.studio.document.state, {"begin_with": "fresh"})
    )
    bench.compiled()
    label, values = bench.shown("dense/kernel")
    assert label == "initial weights"
    np.testing.assert_array_equal(values, fresh("dense/kernel"))


@pytest.mark.slow
def test_a_layer_whose_shape_changes_begins_fresh_and_says_so(bench: Bench) -> None:
    document = bench.studio.document
    node = next(n.id for n in document.state.layers() if n.name == "dense_1")
    document.apply("Activation", set_option(document.state, node, "activation", "linear"))
    bench.compiled()
    assert bench.shown("dense_1/kernel")[0] == "imported from net.seeded"
    document.apply("Units", set_option(document.state, node, "units", 3))
    bench.until(lambda: bench.length("dense_1/bias") == 3)
    label, values = bench.shown("dense_1/kernel")
    assert label == FRESH
    assert values.shape == (3, 8)
    np.testing.assert_array_equal(values, fresh("dense_1/kernel", outputs=3))
    label, values = bench.shown("dense/kernel")
    assert label == "imported from net.seeded"
    np.testing.assert_array_equal(values, imported("dense/kernel"))
    document.undo()
    bench.until(lambda: bench.length("dense_1/bias") == 2)
    label, values = bench.shown("dense_1/kernel")
    assert label == "imported from net.seeded"
    np.testing.assert_array_equal(values, imported("dense_1/kernel"))


@pytest.mark.slow
def test_previews_are_of_the_imported_weights_and_change_with_a_name(bench: Bench) -> None:
    studio = bench.studio
    node = next(n.id for n in studio.document.state.layers() if n.name == "dense")
    port = Port(node)
    studio.previews.want([port])
    bench.until(lambda: studio.previews.picture(port))
    first = studio.previews.picture(port)
    assert first is not None
    assert first.text.endswith("imported from net.seeded")
    studio.document.apply("Rename", rename(studio.document.state, node, "hidden"))
    bench.compiled()

    def changed() -> bool:
        found = studio.previews.picture(port)
        return found is not None and not found.stale and found.text != first.text

    bench.until(changed)
    second = studio.previews.picture(port)
    assert second is not None
    assert second.text.endswith("imported weights, some layers fresh")


@pytest.mark.slow
def test_a_file_is_read_once_for_all_edits_and_again_when_it_is_another(bench: Bench) -> None:
    task, files = Task.of_project(Project.load(bench.path)), ImportedFiles(lambda: document)
    document = bench.studio.document

    def begun() -> Resting:
        made = files.beginning(task)
        assert made is not None
        return made

    first = begun()
    found = first.read("dense/kernel")
    assert begun().read("dense/kernel") is found
    path = bench.run.checkpoint_path("final")
    path.touch()
    again = begun().read("dense/kernel")
    assert again is not found
    np.testing.assert_array_equal(again, found)
    assert first.read("dense/kernel", grad=True) is None
    assert first.read("no/such") is None
    path.unlink()
    assert begun().label == "initial weights"
    assert files.beginning(None) is None
    document = Document.new()
    assert begun().label == "initial weights"
