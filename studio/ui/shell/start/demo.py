"""The main job in the window: train the digits project live, test it, write it out."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TextIO

from studio.engine.core.errors import StudioError
from studio.engine.train.export.exporting import Export, export_all
from studio.engine.train.network.trained import Trained
from studio.engine.train.project.project import Project
from studio.engine.train.runs.weights_origin import WeightsOrigin
from studio.samples import open_copy
from studio.session.core.tasks import TaskHandle
from studio.session.document.document import Document
from studio.session.studio import Studio
from studio.session.training.state import TrainingOutcome
from studio.ui.shell.start.launch import DemoOptions

if TYPE_CHECKING:
    from studio.ui.shell.window import MainWindow

PROJECT = "digits-cnn"
FAILED = 1


class _Made(NamedTuple):
    """What the demo has to show for itself."""

    test: dict[str, float]
    exports: list[Export]
    origin: WeightsOrigin | None


class Demo:
    """Does the main job before the user's eyes.

    Args:
        studio: the models.
        window: where it is shown.
        options: what was asked for.
        leave: ends the application with a code.
    """

    def __init__(
        self,
        studio: Studio,
        window: MainWindow,
        options: DemoOptions,
        leave: Callable[[int], object],
    ) -> None:
        self._studio = studio
        self._window = window
        self._options = options
        self._leave = leave
        self._refused: StudioError | None = None

    def open(self) -> None:
        """Open the project; where it cannot be copied, `begin` says so."""
        options = self._options
        try:
            path = open_copy(PROJECT, options.out)
            document = Document.of_project(Project.load(path).with_training(seed=options.seed))
        except StudioError as error:
            self._refused = error
            return
        self._studio.replace(document)
        self._window.show_canvas()
        self._window.docks.switch("train")

    def begin(self) -> None:
        """Train; the rest follows by itself."""
        if self._refused is not None:
            self._failed(self._refused)
            return
        self._studio.preferences.override("backend", self._options.backend)
        self._studio.training.ended.connect(self._ended)
        self._studio.training.start()

    def _ended(self, ending: TrainingOutcome) -> None:
        self._studio.training.ended.disconnect(self._ended)
        network = self._studio.training.network
        if ending.state != "finished" or network is None:
            if ending.error is not None:
                _tell(f"glassbox: {ending.error}", sys.stderr)
            if ending.state == "failed" and self._options.close:
                self._leave(FAILED)
            return
        out = self._options.out

        def work(handle: TaskHandle) -> _Made:
            def make(trained: Trained) -> _Made:
                handle.progress(0.1, "Testing")
                test = trained.evaluate()
                handle.progress(0.4, f"Writing to {out}")
                return _Made(test, export_all(trained, out), trained.origin)

            return network.use(make)

        self._studio.tasks.start(
            "Export the model", work, self._done, self._failed, if_left="answer"
        )

    def _done(self, made: _Made) -> None:
        accuracy = made.test["accuracy"]
        lines = [f"test accuracy: {accuracy:.4f}"]
        lines += [export.sentence for export in made.exports if export.problem is None]
        if made.origin is not None:
            lines.append(f"weights: {made.origin.text}")
        _tell("\n".join(lines))
        self._studio.notify(
            f"Training finished: {accuracy:.1%} test accuracy", "ok",
            details=f"The model and its instruction file are in {self._options.out.resolve()}",
        )  # fmt: skip
        problems = [export.problem for export in made.exports if export.problem is not None]
        for problem in problems:
            self._studio.fail(problem)
            _tell(f"glassbox: {problem}", sys.stderr)
        if self._options.close:
            self._leave(FAILED if problems else 0)

    def _failed(self, error: StudioError) -> None:
        self._studio.fail(error)
        _tell(f"glassbox: {error}", sys.stderr)
        if self._options.close:
            self._leave(FAILED)


def _tell(text: str, stream: TextIO | None = None) -> None:
    """Write to the terminal the demo was started from, if it is still there."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        to = stream or sys.stdout
        to.write(text + "\n")
        to.flush()
