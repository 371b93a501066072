"""The step at which a training met NaN or infinity: its tensors, and the layer they are of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from studio.engine.core.errors import NumericError
from studio.engine.core.signal import Signal
from studio.engine.isa.program import Program
from studio.engine.train.network.network import Network
from studio.session.core import entities
from studio.session.core.entities import Entity
from studio.session.document.document import Document
from studio.session.document.report import NodeStatus, Report
from studio.session.live.sources import Array, NetworkAtRest, Resting
from studio.session.training.training import TrainingModel


class FailedStep(Resting):
    """The tensors of a step that broke, for whatever shows tensors.

    What the instruction at fault wrote and read is as check mode found it; weights are those after
    the step. Other tensors of the step are not kept.

    Args:
        error: what check mode found, with copies of tensors.
        network: what was trained; open until the next training begins.
        node_id: the layer the instruction works for, empty where there is none.
    """

    def __init__(self, error: NumericError, network: Network, node_id: str) -> None:
        number = f"{error.step:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")
        # No layer is replaced: it is shown only while the network is the one that was trained.
        super().__init__(f"step {number}, where NaN or infinity appeared", error.step)
        self.node_id = node_id
        self.program: Program = network.program("train")
        result = error.tensors[0]
        self.entity: Entity = entities.tensor(result.name, grad=result.grad)
        self._copies = {(copy.name, copy.grad): copy.values for copy in error.tensors}
        self._weights = NetworkAtRest(network, self.label, self.step)

    @property
    def text(self) -> str:
        """What to say of the layer."""
        return f"NaN or infinity in {self.entity.key} at step {self.step}"

    def read(self, name: str, *, grad: bool = False) -> Array | None:
        """A tensor as it was in that step."""
        found = self._copies.get((name, grad))
        return self._weights.read(name, grad=grad) if found is None else found


class Culprit:
    """Keeps the step a training broke at until the next begins, unless the network differs."""

    def __init__(self, document: Callable[[], Document], training: TrainingModel) -> None:
        self.changed: Signal[[]] = Signal()
        self._document = document
        self._training = training
        self._step: FailedStep | None = None
        training.staleness_changed.connect(self._staleness_changed)

    @property
    def kept(self) -> FailedStep | None:
        """The step, also where the network on the canvas is another now."""
        return self._step

    @property
    def shown(self) -> FailedStep | None:
        """The step, while the network on the canvas is the one that was trained."""
        return None if self._training.is_stale else self._step

    @property
    def report(self) -> Report:
        """The checks of the document, with an error added to the layer at fault."""
        report, step = self._document().report, self.shown
        if step is None or step.node_id not in report.nodes:
            return report
        before = report.nodes[step.node_id]
        status: NodeStatus = replace(before, state="error", message=step.text)
        return replace(report, nodes={**report.nodes, step.node_id: status})

    def keep(self, step: FailedStep | None) -> None:
        """Keep the step a training broke at, or forget it."""
        if step is not self._step:
            self._step = step
            self.changed.emit()

    def _staleness_changed(self) -> None:
        if self._step is not None:
            self.changed.emit()
