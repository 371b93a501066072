"""The network of a training, during it and after; one user at a time."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import TypeVar

from studio.engine.core.errors import DataError
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.network.trained import Trained

T = TypeVar("T")


class SharedNetwork:
    """A trainer's network, shared between the training and what is asked of it."""

    def __init__(self, trainer: Trainer) -> None:
        self.trainer = trainer
        self._lock = RLock()
        self._trained: Trained | None = None
        self._closed = False

    @property
    def is_training(self) -> bool:
        """Whether steps are run on it now."""
        return self.trainer.control.state not in ("idle", "finished")

    def use(self, work: Callable[[Trained], T]) -> T:
        """What ``work`` makes of the network as it is now; waits, so not on the window's thread.

        While it trains, this happens between two steps and the training waits for it.

        Raises:
            DataError: it has been closed.
        """
        if self.is_training:
            return self.trainer.control.call(lambda: self._use_once(work)).result()
        with self._lock:
            if self._closed:
                raise DataError("another training has started", who=self.trainer.task.name)
            if self._trained is None:
                self._trained = self.trainer.trained()
            return work(self._trained)

    def close(self) -> None:
        """End a training under way and give the network back; waits for its user."""
        self.trainer.control.stop()
        with self._lock:
            self._closed = True
            if self._trained is not None:
                self._trained.close()
                self._trained = None
            self.trainer.close()

    def _use_once(self, work: Callable[[Trained], T]) -> T:
        # Its weights change with the next step, so nothing of it is kept.
        trained = self.trainer.trained()
        try:
            return work(trained)
        finally:
            trained.close()
