"""Measures a network on samples: loss and metrics over all rows."""

from __future__ import annotations

from studio.engine.train.data.samples import Samples
from studio.engine.train.network.data_feeder import DataFeeder
from studio.engine.train.network.metrics_reader import MetricsReader
from studio.engine.train.network.mixed_feeder import feeder_for
from studio.engine.train.network.network import Network

_CHUNK = 256
_MIB = 1 << 20


class Evaluator:
    """Evaluates a network; samples stay on the device until others are given."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._samples: Samples | None = None
        self._feeder: DataFeeder | None = None

    def evaluate(self, samples: Samples, batch_size: int | None = None) -> dict[str, float]:
        """Means over all rows, each batch weighted by its length, in float64."""
        settings = self._network.task.settings
        size = min(batch_size or settings.batch_size, len(samples))
        feeder = self._feeder
        if feeder is None or samples is not self._samples or feeder.batch_size != size:
            budget = settings.data_budget * _MIB
            feeder = feeder_for(self._network, "evaluate", samples, size, settings.seed, budget)
            self._feeder, self._samples = feeder, samples
        program = self._network.program("evaluate", feeder.lengths)
        metrics_reader = MetricsReader(self._network.session, program, "eval")
        done = 0
        for step_range in feeder.step_ranges(0, shuffle=False):
            executable = self._network.executable("evaluate", step_range.batch, step_range.lengths)
            feeder.position(step_range, step=done, epoch=0, record=done)
            left = 0 if step_range.idle else step_range.steps
            while left:
                steps = min(left, _CHUNK, metrics_reader.room)
                executable.run(steps)
                metrics_reader.note(step_range.own, steps)
                left -= steps
                done += steps
                if not metrics_reader.room:
                    metrics_reader.ask()
        metrics_reader.finish()
        if self._network.exchange is not None:
            metrics_reader.gather(self._network.exchange)
        return metrics_reader.means()
