"""Looks at many tensors in turn, for their range; one at a time, so that it costs little."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from studio.engine.core.signal import Signal
from studio.engine.runtime.live_statistics import Statistics
from studio.engine.train.trainer import Trainer
from studio.ui.models import entities
from studio.ui.models.entities import Entity
from studio.ui.models.live import LiveTensors, LiveView
from studio.ui.models.live_frames import SHARE
from studio.ui.models.live_resting import Resting, is_replaced
from studio.ui.models.scheduling import Handle, Scheduler

PAUSE = 0.25
"""Seconds between two looks."""
PATIENCE = 1.0
"""Seconds after which a tensor that does not come is passed over."""


class Look(NamedTuple):
    """What was seen of a tensor at one look.

    Attributes:
        statistics: of its numbers.
        step: the training step at which they were so; 0 for before the first.
    """

    statistics: Statistics
    step: int


class TensorSurvey:
    """What was last seen of the tensors that somebody wants to know about.

    Args:
        live: where pictures come from.
        scheduler: the window's thread.
    """

    def __init__(self, live: LiveTensors, scheduler: Scheduler) -> None:
        self.changed: Signal[[]] = Signal()
        self._live = live
        self._scheduler = scheduler
        self._seen: dict[str, Look] = {}
        self._wanted: tuple[str, ...] = ()
        self._looked: dict[str, int] = {}
        self._round = 0
        self._view: LiveView | None = None
        self._timer: Handle | None = None
        self._source: Trainer | Resting | None = None
        live.changed.connect(self._source_changed)

    @property
    def seen(self) -> Mapping[str, Look]:
        """The last looks, by the key of the tensor."""
        return self._seen

    def want(self, keys: Sequence[str]) -> None:
        """Look at these in turn; at nothing, with none."""
        self._wanted = tuple(keys)
        if not self._wanted:
            self._rest()
        elif self._timer is None and self._view is None:
            self._next()

    def forget(self) -> None:
        """What was seen says nothing any more."""
        self._seen, self._looked = {}, {}
        self._rest()
        self.changed.emit()

    def _source_changed(self) -> None:
        source = self._live.trainer or self._live.resting
        if source is not self._source:
            self._source = source
            # What another training or other weights hold says nothing of these, the look that is
            # on its way included.
            self._seen, self._looked = {}, {}
            if self._view is not None:
                self._leave()

    def _next(self) -> None:
        self._timer = None
        if not self._wanted:
            return
        if self._live.quiet or self._live.share > SHARE:
            self._later()
            return
        key = min(self._wanted, key=lambda each: self._looked.get(each, -1))
        self._round += 1
        self._looked[key] = self._round
        view = self._view = self._live.open(Entity("tensor", key))
        view.changed.connect(self._news)
        view.want(active=True, keep=False)
        self._timer = self._scheduler.call_later(PATIENCE, self._leave)

    def _news(self) -> None:
        view = self._view
        if view is None:
            return
        frame = view.frame
        name = entities.tensor_name(view.entity)[0]
        if self._live.trainer is None and is_replaced(self._live.resting, name):
            self._seen.pop(view.entity.key, None)
            self._leave()
            self.changed.emit()
        elif frame is not None and frame.statistics is not None:
            self._seen[view.entity.key] = Look(frame.statistics, frame.snapshot.moment.step)
            self._leave()
            self.changed.emit()
        elif view.status.state == "missing" or self._live.trainer is None:
            self._seen.pop(view.entity.key, None)
            self._leave()

    def _leave(self) -> None:
        """Look at the next one after a while."""
        self._rest()
        self._later()

    def _later(self) -> None:
        if self._wanted:
            self._timer = self._scheduler.call_later(PAUSE, self._next)

    def _rest(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
        view, self._view = self._view, None
        if view is not None:
            view.close()
