"""What tensors hold while nothing trains: the initial weights, or those of a trained network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import BackendError
from studio.engine.train.network import Network
from studio.engine.train.task import Task
from studio.engine.train.weights import initial_weights

Array: TypeAlias = npt.NDArray[np.generic]


class Resting(Protocol):
    """Weights by name; read in the background."""

    @property
    def label(self) -> str:
        """Whose they are, as the corner of a picture says it."""
        ...

    @property
    def step(self) -> int:
        """Steps they were trained for."""
        ...

    @property
    def replaced(self) -> frozenset[str]:
        """Names of layers that are others now than those these weights belong to."""
        ...

    def read(self, name: str, *, grad: bool = False) -> Array | None:
        """A tensor, or its gradient, as stored; None where it is not known."""
        ...


def is_replaced(resting: Resting | None, tensor: str) -> bool:
    """Whether a tensor's layer is another now than the one that weights at rest belong to."""
    return resting is not None and tensor.partition("/")[0] in resting.replaced


@dataclass
class HeldWeights:
    """Weights made when they are first asked for.

    Attributes:
        label: whose they are.
        make: gives them by name.
        step: steps they were trained for.
    """

    label: str
    make: Callable[[], Mapping[str, Array]]
    step: int = 0
    replaced: frozenset[str] = frozenset()
    _found: Mapping[str, Array] | None = None

    def read(self, name: str, *, grad: bool = False) -> Array | None:
        """A tensor as stored; None for gradients, which weights have none of."""
        if grad:
            return None
        if self._found is None:
            self._found = self.make()
        return self._found.get(name)


def initial(task: Task) -> HeldWeights:
    """What the parameters of a task hold before it is trained."""
    return HeldWeights(
        "initial weights", lambda: initial_weights(task.graph, task.settings.seed)
    )  # fmt: skip


class NetworkAtRest:
    """The tensors a network still holds after its training.

    Args:
        network: open as long as this is used.
        label: whose they are.
        step: steps it was trained for.
        replaced: names of layers that are others now than the trained ones.
    """

    def __init__(
        self,
        network: Network,
        label: str,
        step: int,
        replaced: Callable[[], frozenset[str]] = frozenset,
    ) -> None:
        self.label = label
        self.step = step
        self._network = network
        self._replaced = replaced

    @property
    def replaced(self) -> frozenset[str]:
        """Names of layers that are others now than the trained ones."""
        return self._replaced()

    def read(self, name: str, *, grad: bool = False) -> Array | None:
        """A tensor of the session; None for any other, and when the network has been closed."""
        session = self._network.session
        try:
            has = not grad and session.has(name)
            return np.array(session.read(name).result()) if has else None
        except BackendError:
            return None
