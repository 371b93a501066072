"""One clock for all places that say in words how a training stands, so that they say the same."""

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
    """Tells when how the training stands is to be shown anew, on the window's thread.

    Attributes:
        ticked: show it now; everybody hears it before the window goes on.
        standing: how it stood at this tick; the model's may be another for everybody who asks.
    """

    def __init__(self, training: TrainingModel) -> None:
        super().__init__(QCoreApplication.instance())
        self.ticked: Signal[[]] = Signal()
        self._training = training
        self.standing = training.standing
        binding.refresh(
            self, self._tick, training.changed, training.staleness_changed, rate=RATE, live="fact"
        )
        binding.connect(self, training.state_changed, self._state_changed)

    def _tick(self) -> None:
        self.standing = self._training.standing
        self.ticked.emit()

    def _state_changed(self, _state: str) -> None:
        self._tick()


_ticks: WeakKeyDictionary[TrainingModel, TrainingTick] = WeakKeyDictionary()


def tick_of(training: TrainingModel) -> TrainingTick:
    """The clock of a training, the same for everybody who asks."""
    found = _ticks.get(training)
    if found is None or not shiboken6.isValid(found):
        found = _ticks[training] = TrainingTick(training)
    return found
