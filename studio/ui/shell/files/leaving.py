"""The questions before a project is closed while a training, sweep or export runs."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QMessageBox, QPushButton, QWidget

from studio.engine.core.errors import StudioError
from studio.session.studio import Studio
from studio.session.training.state import BUSY, State
from studio.ui.shell.dialogs.questions import Answer, ask
from studio.widgets import binding, numbers
from studio.widgets.training_tick import tick_of

Then = Callable[[], object]


class Leaving:
    """Asks once whether a training or a sweep that is under way may be ended.

    Args:
        studio: the models.
        window: where it is asked.
        save: saves the document, asking where if need be, and calls back when it is done.
    """

    def __init__(self, studio: Studio, window: QWidget, save: Callable[[Then], object]) -> None:
        self._studio = studio
        self._window = window
        self._save = save
        self._asking = False
        self._waiting: Then | None = None
        self._after_export: Then | None = None
        self._after_sweep: Then | None = None
        self._question: QMessageBox | None = None
        self._tick = tick_of(studio.training)
        binding.connect(window, self._tick.ticked, self._show_progress)
        studio.exporting.changed.connect(self._export_changed)
        studio.training.state_changed.connect(self._state_changed)
        studio.sweeps.changed.connect(self._sweep_changed)

    def ask(self, then: Then) -> None:
        """Call back when no training or sweep stands in the way, now or after it has ended."""
        self._ask_about_sweep(lambda: self._ask_about_training(then))

    def _ask_about_sweep(self, then: Then) -> None:
        if self._asking or self._after_sweep is not None:
            return
        if not self._studio.sweeps.is_busy:
            then()
            return
        self._asking = True
        answers = (
            Answer("keep", "Keep running", "cancel"),
            Answer("stop", "Stop the sweep", "destroy"),
        )

        def answered(name: str) -> None:
            self._asking = False
            if name == "stop":
                self._after_sweep = then
                self._studio.sweeps.stop()
                self._sweep_changed()

        ask(
            self._window,
            "A sweep is running",
            "Trials that have ended are kept. Those under way are trained again when you resume "
            "the sweep.",
            answers,
            answered,
        )

    def _sweep_changed(self) -> None:
        if self._after_sweep is not None and not self._studio.sweeps.is_busy:
            then, self._after_sweep = self._after_sweep, None
            self._studio.scheduler.post(then)

    def _ask_about_training(self, then: Then) -> None:
        if self._asking:
            return
        if not self._studio.training.is_busy or self._studio.training.is_sent:
            # A training on a cluster goes on there, and is offered when the project is opened.
            self._ask_unsaved(then)
            return
        self._asking = True
        answers = (
            Answer("keep", "Keep training", "cancel"),
            Answer("pause", "Pause and save"),
            Answer("stop", "Stop training", "destroy"),
        )

        def answered(name: str) -> None:
            self._asking, self._question = False, None
            if name == "pause":
                self._pause_and_save(then)
            elif name == "stop":
                self._end(then)

        self._question = ask(
            self._window, "Training is running", self._where_it_is(), answers, answered
        )

    def _where_it_is(self) -> str:
        status = self._tick.status
        epoch, epochs = numbers.count(status.epoch), numbers.count(status.epochs)
        where = f"Epoch {epoch} of {epochs}. " if status.epoch else ""
        return (
            f"{where}Pause and save stops after the current step, writes a checkpoint "
            "to continue from, and saves the project. Trained weights are kept in "
            "either case."
        )

    def _show_progress(self) -> None:
        """The question says how the training stands now; once it has ended, that it has."""
        box = self._question
        if box is None:
            return
        if self._studio.training.is_busy:
            if box.informativeText() != self._where_it_is():
                box.setInformativeText(self._where_it_is())
            return
        self._question = None
        word = self._studio.training.word.lower()
        box.setText(f"Training {word}")
        box.setWindowTitle(box.text())
        box.setInformativeText("The trained weights are kept.")
        for name, text in (("pause", ""), ("stop", "Continue"), ("keep", "Cancel")):
            button = box.findChild(QPushButton, f"answer.{name}")
            if button is not None:
                button.setText(text)
                button.setVisible(bool(text))

    def ask_about_export(self, then: Then) -> None:
        """Call back when no export stands in the way of the end, now or after it was written."""
        task = self._studio.exporting.task
        if task is None:
            then()
            return
        if self._asking:
            return
        self._asking = True
        answers = (
            Answer("wait", "Wait"),
            Answer("stop", "Cancel export", "destroy"),
            Answer("cancel", "Cancel", "cancel"),
        )

        def answered(name: str) -> None:
            self._asking = False
            if name == "wait":
                self._after_export = then
                self._export_changed()
            elif name == "stop":
                then()

        ask(
            self._window,
            "An export is running",
            "If you cancel it, no file is written and an existing file is kept. If "
            "you wait, the window closes when the file is written and verified.",
            answers,
            answered,
        )

    def _export_changed(self) -> None:
        exports = self._studio.exporting
        if exports.task is not None or self._after_export is None:
            return
        then, self._after_export = self._after_export, None
        # What went otherwise is to be read before the window goes.
        if exports.result is not None and exports.result.is_proven:
            self._studio.scheduler.post(then)

    def _ask_unsaved(self, then: Then) -> None:
        """Call back unless weights are nowhere but in this window: then ask first."""
        outcome = self._studio.training.outcome
        if outcome is None or outcome.unsaved is None:
            then()
            return
        self._asking = True
        answers = (
            Answer("write", "Save again"),
            Answer("lose", "Discard", "destroy"),
            Answer("keep", "Cancel", "cancel"),
        )

        def written() -> None:
            self._asking = False
            then()

        def failed(error: StudioError) -> None:
            self._asking = False
            self._studio.fail(error)

        def answered(name: str) -> None:
            self._asking = name == "write"
            if name == "write":
                self._studio.training.save_again(written, failed)
            elif name == "lose":
                then()

        ask(
            self._window,
            "The trained weights are not saved",
            f"They could not be written to the run's folder: {outcome.unsaved.message}.",
            answers,
            answered,
        )

    def _pause_and_save(self, then: Then) -> None:
        def saved() -> None:
            self._end(then)

        if self._studio.document.dirty:
            # Where to save may be asked, and thought about: it stands still meanwhile.
            self._studio.training.pause()
            self._save(saved)
        else:
            saved()

    def _end(self, then: Then) -> None:
        training = self._studio.training
        if not training.is_busy:
            self._ask_unsaved(then)
            return
        self._waiting = then
        training.stop()

    def _state_changed(self, state: State) -> None:
        if state not in BUSY and self._waiting is not None:
            then, self._waiting = self._waiting, None
            # After everyone else has heard that the training ended.
            self._studio.scheduler.post(lambda: self._ask_unsaved(then))
