"""Writes into the log what compiler and training have to tell."""

from __future__ import annotations

from studio.engine.train.trainer import Trainer
from studio.session.compile.compilation import Compilation
from studio.session.notices.logbook import Logbook
from studio.session.training.state import Ending
from studio.session.training.training import TrainingModel


class LogEvents:
    """Listens to the models for the log.

    Args:
        log: where the lines go.
        compilation: says what it made, or why it could not.
        training: says when it begins and how it ends.
    """

    def __init__(self, log: Logbook, compilation: Compilation, training: TrainingModel) -> None:
        self._log = log
        self._compilation = compilation
        self._training = training
        self._told: float | None = None
        self._error = ""
        compilation.changed.connect(self._compiled)
        training.started.connect(self._started)
        training.ended.connect(self._ended)

    def _compiled(self) -> None:
        found, stop = self._compilation.result, self._compilation.stop
        if stop is not None:
            # What the checks of the graph say comes and goes as one draws: it is no event.
            if stop.stage and str(stop.error) != self._error:
                self._error = str(stop.error)
                self._log.add_error(stop.error, "compiler")
            return
        self._error = ""
        # Kernels that a device takes over into a result are no compile.
        if found is None or found.ended == self._told:
            return
        self._told = found.ended
        parts = (
            f"{len(made.provenance)} instructions to {mode}"
            for mode, made in found.programs.items()
        )
        name = found.task.name if found.task is not None else found.state.name
        self._log.add(f"Compiled {name}: {', '.join(parts)}", source="compiler")

    def _started(self, trainer: Trainer) -> None:
        run = "" if trainer.run_folder is None else f" as run {trainer.run_folder.name}"
        device = self._training.device
        self._log.add(f"Training began{run}", source="training", details=device)

    def _ended(self, ending: Ending) -> None:
        if ending.error is not None:
            # The user is told of it, and what the user is told is in the log.
            return
        numbers = ", ".join(f"{name} {value:.4g}" for name, value in ending.metrics.items())
        word = {"stopped": "Training stopped", "finished": "Training finished"}[ending.state]
        # A verdict is a notice, and notices are in the log.
        is_well = ending.state == "finished" and ending.verdict is None
        reason = f": {ending.reason}" if ending.reason else ""
        self._log.add(
            f"{word} after {ending.seconds:.1f} s{reason}",
            "ok" if is_well else "info",
            "training",
            numbers,
        )
