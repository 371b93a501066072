"""Where tensors come from: a training, or the weights there are while nothing trains."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import BackendError
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.network.network import Network
from studio.engine.train.project.task import Task
from studio.engine.train.weights import initial_weights

Array: TypeAlias = npt.NDArray[np.generic]

_READ_SECONDS = 10.0


class Resting(ABC):
    """Tensors by name while nothing trains; read in the background.

    Args:
        label: whose they are, as the corner of a picture says it.
        step: steps they were trained for.
        replaced: gives names of layers that are others now than those these belong to.

    Attributes:
        partly: whose they are where some of them are fresh.
    """

    def __init__(
        self, label: str, step: int = 0, replaced: Callable[[], frozenset[str]] = frozenset
    ) -> None:
        self.label = label
        self.partly = "initial weights"
        self.step = step
        self._replaced = replaced

    @property
    def replaced(self) -> frozenset[str]:
        """Names of layers that are others now than those these weights belong to."""
        return self._replaced()

    def label_of(self, name: str) -> str:
        """Whose numbers those of a tensor are; known once it was read."""
        return self.label

    @property
    def key(self) -> str:
        """Tells these weights from others; empty for those a network begins with by itself."""
        return f"{self.label} {self.step}" if self.step else ""

    def taken(self, name: str) -> Array | None:
        """A tensor that belongs to these weights; None for one that is only filled in."""
        return self.read(name)

    @abstractmethod
    def read(self, name: str, *, grad: bool = False) -> Array | None:
        """A tensor, or its gradient, as stored; None where it is not known."""


class Source:
    """Where tensors come from at the moment; a new one whenever that changes.

    Args:
        trainer: the training under way, None without.
        resting: the weights there are without a training.
        expected: a training is being prepared.
        elsewhere: one is under way on another machine, where its tensors stay.
    """

    def __init__(
        self,
        trainer: Trainer | None = None,
        resting: Resting | None = None,
        expected: bool = False,
        elsewhere: bool = False,
    ) -> None:
        self.trainer = trainer
        self.resting = resting
        self.expected = expected
        self.elsewhere = elsewhere

    @property
    def of(self) -> Trainer | Resting | None:
        """Whose tensors they are."""
        return self.trainer or self.resting


def read_between_steps(
    trainer: Trainer, names: Iterable[str], *, grad: bool = False
) -> tuple[int, dict[str, Array]]:
    """Tensors of a training as they are now, all of the same step; waits for the training.

    Args:
        grad: read their gradients.

    Returns:
        Steps finished, and the tensors by name.

    Raises:
        StudioError: one is not there any more, or the training has ended.
        TimeoutError: the training did not answer.
    """

    def begin() -> tuple[int, dict[str, Future[Array]]]:
        loop, live = trainer.loop_or_none(), trainer.network.live
        step = 0 if loop is None else loop.total_step
        return step, {name: live.read(name, grad=grad) for name in names}

    step, begun = trainer.control.call(begin).result(_READ_SECONDS)
    return step, {
        name: np.asarray(future.result(_READ_SECONDS), order="C") for name, future in begun.items()
    }


def is_replaced(resting: Resting | None, tensor: str) -> bool:
    """Whether a tensor's layer is another now than the one that weights at rest belong to."""
    return resting is not None and tensor.partition("/")[0] in resting.replaced


class HeldWeights(Resting):
    """Weights made when they are first asked for.

    Args:
        label: whose they are.
        make: gives them by name.
        step: steps they were trained for.
        replaced: gives names of layers that are others now than those these belong to.
    """

    def __init__(
        self,
        label: str,
        make: Callable[[], Mapping[str, Array]],
        step: int = 0,
        replaced: Callable[[], frozenset[str]] = frozenset,
    ) -> None:
        super().__init__(label, step, replaced)
        self._make = make
        self._found: Mapping[str, Array] | None = None

    def read(self, name: str, *, grad: bool = False) -> Array | None:
        """A tensor as stored; None for gradients, which weights have none of."""
        if grad:
            return None
        if self._found is None:
            self._found = self._make()
        return self._found.get(name)


def initial(task: Task) -> HeldWeights:
    """What the parameters of a task hold before it is trained."""
    return HeldWeights(
        "initial weights", lambda: initial_weights(task.graph, task.settings.seed)
    )  # fmt: skip


class NetworkAtRest(Resting):
    """The tensors a network still holds after its training.

    Args:
        network: open as long as this is used.
        label: whose they are.
        step: steps it was trained for.
        replaced: gives names of layers that are others now than the trained ones.
    """

    def __init__(
        self,
        network: Network,
        label: str,
        step: int,
        replaced: Callable[[], frozenset[str]] = frozenset,
    ) -> None:
        super().__init__(label, step, replaced)
        self._network = network

    def read(self, name: str, *, grad: bool = False) -> Array | None:
        """A tensor of the session; None for any other, and when the network has been closed."""
        session = self._network.session
        try:
            has = not grad and session.has(name)
            return np.array(session.read(name).result()) if has else None
        except BackendError:
            return None
