"""Measures a network on samples: loss and metrics over all rows."""

from __future__ import annotations

from studio.engine.train.feed import Feed
from studio.engine.train.meter import Meter
from studio.engine.train.network import Network
from studio.engine.train.samples import Samples

_CHUNK = 256
_MIB = 1 << 20


class Evaluator:
    """Evaluates a network; samples stay on the device until others are given."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._samples: Samples | None = None
        self._feed: Feed | None = None

    def evaluate(self, samples: Samples, batch_size: int | None = None) -> dict[str, float]:
        """Means over all rows, each batch weighted by its length, in float64."""
        settings = self._network.task.settings
        size = min(batch_size or settings.batch_size, len(samples))
        feed = self._feed
        if feed is None or samples is not self._samples or feed.batch_size != size:
            budget = settings.data_budget * _MIB
            feed = Feed(self._network, "evaluate", samples, size, settings.seed, budget)
            self._feed, self._samples = feed, samples
        meter = Meter(self._network.session, self._network.program("evaluate"), "eval")
        done = 0
        for stretch in feed.stretches(0, shuffle=False):
            executable = self._network.executable("evaluate", stretch.batch)
            feed.position(stretch, step=done, epoch=0, record=done)
            left = stretch.steps
            while left:
                steps = min(left, _CHUNK, meter.room)
                executable.run(steps)
                meter.note(stretch.batch, steps)
                left -= steps
                done += steps
                if not meter.room:
                    meter.ask()
        meter.finish()
        return meter.means()
