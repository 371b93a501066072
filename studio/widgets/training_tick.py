"""One clock for all texts about the state of a training, so that they agree."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import shiboken6
from PySide6.QtCore import QCoreApplication, QObject

from studio.engine.core.signal import Signal
from studio.session.training.training import TrainingModel
from studio.widgets import binding

RATE = 10.0
"""Times a second that a training under way is looked at."""


class TrainingTick(QObject):
    """Ticks on the main thread when texts about the training are to be updated.

    Attributes:
        ticked: emitted at each tick.
        status: state of the training at this tick; that of the model may differ between reads.
    """

    def __init__(self, training: TrainingModel) -> None:
        super().__init__(QCoreApplication.instance())
        self.ticked: Signal[[]] = Signal()
        self._training = training
        self.status = training.status
        binding.refresh(
            self, self._tick, training.changed, training.staleness_changed, rate=RATE, live="fact"
        )
        binding.connect(self, training.state_changed, self._state_changed)

    def _tick(self) -> None:
        self.status = self._training.status
        self.ticked.emit()

    def _state_changed(self, _state: str) -> None:
        self._tick()


_ticks: WeakKeyDictionary[TrainingModel, TrainingTick] = WeakKeyDictionary()


def tick_of(training: TrainingModel) -> TrainingTick:
    """The clock of a training; there is one for each."""
    found = _ticks.get(training)
    if found is None or not shiboken6.isValid(found):
        found = _ticks[training] = TrainingTick(training)
    return found
