"""Which tensors can be shown, and which one is when a layer is selected."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from studio.engine.core.tensor import Role, Tensor
from studio.session.core import entities
from studio.session.core.entities import Entity


class TensorChoice:
    """Remembers which tensor of a layer the user looks at: a kernel here, then a kernel there.

    Until the user has chosen, the weights of a layer come before its output.
    """

    def __init__(self) -> None:
        self._port = ""
        self._grad = False

    def chosen(self, entity: Entity, tensor: Tensor | None) -> None:
        """The user chose a tensor."""
        _, self._grad = entities.tensor_name(entity)
        self._port = "" if tensor is None else port_of(tensor)

    def of_layer(
        self, own: Sequence[Tensor], offered: Container[Entity], now: Entity | None = None
    ) -> Entity | None:
        """The tensor to show.

        Args:
            own: the tensors of the layer, its output first.
            offered: everything there is to look at, gradients too.
            now: what is shown; it stays where it is one of the layer's.
        """
        if now is not None and entities.tensor_name(now)[0] in {tensor.name for tensor in own}:
            return now
        same = next(
            (tensor for tensor in own if self._port and port_of(tensor) == self._port), None
        )
        if same is not None:
            found = entities.tensor(same.name, grad=self._grad)
            return found if found in offered else entities.tensor(same.name)
        weights = [tensor for tensor in own if tensor.role is Role.PARAM]
        # A matrix or a bank of filters says more than the offsets beside it.
        weights.sort(key=lambda tensor: len(tensor.shape) < 2)
        first = next(iter((*weights, *own)), None)
        return None if first is None else entities.tensor(first.name)


def renamed(before: Tensor, entity: Entity, tensors: Iterable[Tensor]) -> Entity | None:
    """What a tensor is called in another program, where its layer has another name there."""
    if not before.layer:
        return None
    own = (tensor for tensor in tensors if tensor.layer == before.layer)
    found = next((tensor for tensor in own if port_of(tensor) == port_of(before)), None)
    grad = entities.tensor_name(entity)[1]
    return None if found is None else entities.tensor(found.name, grad=grad)


def port_of(tensor: Tensor) -> str:
    """What a tensor is to its layer: ``kernel``, ``bias``, ``output``."""
    return tensor.port or tensor.name.rpartition("/")[2]


def tensor_choices(tensors: Sequence[Tensor], gradients: frozenset[int]) -> list[Entity]:
    """What can be chosen: every tensor, and its gradient where there is one."""
    found: list[Entity] = []
    for tensor in tensors:
        found.append(entities.tensor(tensor.name))
        if tensor.id in gradients:
            found.append(entities.tensor(tensor.name, grad=True))
    return found
