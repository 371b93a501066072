"""What flows through the wires: running order, shapes and parameter counts of one state.

A layer's rule is asked once for each configuration and input shapes; after an edit only the layers
it reaches have new ones, so that following an edit costs a walk along the wires and a few rules.
"""

from __future__ import annotations

import heapq
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias

from studio.engine.core.errors import GraphError, InternalError, StudioError, quoted
from studio.engine.core.tensor import Shape, TensorType
from studio.engine.layers.graph import Port, checked_masks, checked_types
from studio.session.document.errors import AbsentOutput
from studio.session.document.frozen_config import FrozenConfig
from studio.session.document.layer_types import absent_plugin, arity, is_known, layer_of
from studio.session.document.state import CanvasNode, DocumentState, as_port

Masks: TypeAlias = tuple[TensorType | None, ...]
"""Types of the masks of some values, None for one without; empty where none has one."""

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Outcome:
    """What a layer makes of its inputs.

    Attributes:
        types: of its outputs; empty when its rule fails.
        parameters: numbers it owns; None when its rule fails.
        error: why its rule fails; with types, why it refuses the masks of its inputs.
        masks: types of the masks of its outputs; None, or nothing at the end, where there is none.
        passes: it hands its first input on, whichever output is asked for.
    """

    types: tuple[TensorType, ...] = ()
    parameters: int | None = None
    error: StudioError | None = None
    passes: bool = False
    masks: Masks = ()

    @property
    def shape(self) -> Shape | None:
        """Shape of the first output without the batch; None when its rule fails."""
        return self.types[0].sample if self.types else None

    def type_at(self, output: int) -> TensorType | None:
        """Type of an output; None when the rule fails, or there is no such output."""
        at = 0 if self.passes else output
        return self.types[at] if 0 <= at < len(self.types) else None

    def mask_at(self, output: int) -> TensorType | None:
        """Type of the mask of an output; None where it has none, or it is not known."""
        at = 0 if self.passes else output
        return self.masks[at] if 0 <= at < len(self.masks) else None


@dataclass(frozen=True)
class Flow:
    """Running order and outcomes of one state.

    Attributes:
        order: layers and dots, each behind those that feed it.
        outcomes: of those whose inputs are all known.
        waiting: of each layer that waits, the first layers upstream that hold it up.
    """

    order: tuple[str, ...]
    outcomes: Mapping[str, Outcome]
    waiting: Mapping[str, tuple[str, ...]]

    def type_at(self, source: Port | str) -> TensorType | None:
        """Type of an output of a layer or dot, if it is known; of an id the first output's."""
        node_id, output = as_port(source)
        found = self.outcomes.get(node_id)
        return None if found is None else found.type_at(output)

    def shape(self, source: Port | str) -> Shape | None:
        """Shape of an output of a layer or dot without the batch, if it is known."""
        found = self.type_at(source)
        return None if found is None else found.sample

    def types(self, sources: Iterable[Port | str]) -> tuple[TensorType, ...]:
        """Types of outputs of layers or dots, as far as they are known."""
        known = (self.type_at(source) for source in sources)
        return tuple(found for found in known if found is not None)

    def masks(self, sources: Iterable[Port]) -> Masks:
        """Types of the masks of outputs of layers or dots; empty where none has one."""
        return _masks(self.outcomes, sources)


def flow_of(state: DocumentState) -> Flow:
    """Running order and outcomes; worked out once for each state."""
    found = state.__dict__.get("_flow")
    if isinstance(found, Flow):
        return found
    made = _flow(state)
    state.__dict__["_flow"] = made
    return made


@lru_cache(maxsize=50_000)
def outcome(
    type_name: str, config: FrozenConfig, given: tuple[TensorType, ...], masks: Masks = ()
) -> Outcome:
    """What a layer makes of inputs of these types, with masks of these; empty for none."""
    layer = layer_of(type_name, config)
    found = Outcome()
    try:
        types = checked_types(layer, *given)
        parameters = layer.parameters(*(each.sample for each in given))
        found = Outcome(types, sum(p.size for p in parameters))
        made = checked_masks(layer, given, masks or (None,) * len(given))
        return replace(found, masks=made if any(made) else ())
    except StudioError as error:
        return replace(found, error=error)
    except Exception as error:
        # A layer of a plugin may raise anything; the drawing must stay editable.
        failure = InternalError(f"the code of {type_name} failed", error, who=layer.name)
        _LOG.warning("%s", failure.message, exc_info=error)
        return replace(found, error=failure)


def refusal(
    node: CanvasNode, given: tuple[TensorType, ...], masks: Masks = ()
) -> StudioError | None:
    """Why a node refuses inputs of these types with these masks; None where it takes them.

    A layer whose plugin is absent takes any: its rule is not known.
    """
    if not node.is_layer or node.bypassed or absent_plugin(node.type_name):
        return None
    return outcome(node.type_name, node.config, given, masks).error


def newly_refused(before: DocumentState, after: DocumentState) -> tuple[str, ...]:
    """The layers whose rule fails after an edit and did not before."""
    old = flow_of(before).outcomes
    return tuple(
        node_id
        for node_id, found in flow_of(after).outcomes.items()
        if found.error is not None and (node_id not in old or old[node_id].error is None)
    )


def absent_output(port: Port, count: int, name: str, who: str) -> AbsentOutput:
    """Why ``who`` cannot be fed by an output of the layer ``name``, which has ``count``."""
    has = "one output, number 0" if count == 1 else f"{count} outputs, 0 to {count - 1}"
    return AbsentOutput(
        f"{quoted(name)} has {has}: got {port.output}", who=who,
        hint="connect another output, or delete the wire",
    )  # fmt: skip


def running_order(nodes: Mapping[str, CanvasNode]) -> tuple[str, ...]:
    """Layers and dots so that each stands behind those that feed it, otherwise as added.

    Raises:
        GraphError: wires close a loop.
    """
    ids = [node_id for node_id, node in nodes.items() if node.flows]
    place = {node_id: index for index, node_id in enumerate(ids)}
    waiting: dict[str, int] = {}
    feeds: dict[str, list[str]] = {}
    for node_id in ids:
        sources = {source for source in nodes[node_id].sources if source in place}
        waiting[node_id] = len(sources)
        for source in sources:
            feeds.setdefault(source, []).append(node_id)
    ready = [place[node_id] for node_id in ids if not waiting[node_id]]
    order: list[str] = []
    while ready:
        node_id = ids[heapq.heappop(ready)]
        order.append(node_id)
        for follower in feeds.get(node_id, ()):
            waiting[follower] -= 1
            if not waiting[follower]:
                heapq.heappush(ready, place[follower])
    if len(order) < len(ids):
        stuck = next(node_id for node_id in ids if waiting[node_id])
        raise GraphError("the wires form a loop", who=nodes[stuck].name, hint="remove one of them")
    return tuple(order)


def downstream(state: DocumentState, starts: Iterable[str]) -> set[str]:
    """Everything the wires lead to from ``starts``, those included."""
    found: set[str] = set()
    waiting = list(starts)
    while waiting:
        node_id = waiting.pop()
        if node_id not in found:
            found.add(node_id)
            waiting += [wire.target for wire in state.wires_from(node_id)]
    return found


def upstream(state: DocumentState, starts: Iterable[str]) -> set[str]:
    """Everything that feeds ``starts``, those included."""
    found: set[str] = set()
    waiting = [node_id for node_id in starts if node_id in state.nodes]
    while waiting:
        node_id = waiting.pop()
        if node_id not in found:
            found.add(node_id)
            waiting += [s for s in state.nodes[node_id].sources if s in state.nodes]
    return found


def _flow(state: DocumentState) -> Flow:
    order = running_order(state.nodes)
    outcomes: dict[str, Outcome] = {}
    waiting: dict[str, tuple[str, ...]] = {}
    for node_id in order:
        node = state.nodes[node_id]
        held = tuple(dict.fromkeys(_holders(node, outcomes, waiting)))
        if held:
            waiting[node_id] = held
            continue
        found = _outcome_at(state, node, outcomes)
        if found is not None:
            outcomes[node_id] = found
    return Flow(order, outcomes, waiting)


def _holders(
    node: CanvasNode, outcomes: Mapping[str, Outcome], waiting: Mapping[str, tuple[str, ...]]
) -> Iterable[str]:
    for source in node.sources[:1] if node.bypassed else node.sources:
        known = outcomes.get(source)
        if known is None or known.shape is None:
            yield from waiting.get(source, (source,))


def _outcome_at(
    state: DocumentState, node: CanvasNode, outcomes: Mapping[str, Outcome]
) -> Outcome | None:
    """The outcome of a node whose inputs are known; None where a wire is missing."""
    taken = node.inputs[:1] if node.bypassed else node.inputs
    given = []
    for port in taken:
        found = outcomes[port.node]
        each = found.type_at(port.output)
        if each is None:
            source = state.nodes[port.node].name
            return Outcome(error=absent_output(port, len(found.types), source, node.name))
        given.append(each)
    if node.kind == "dot" or node.bypassed:
        masks = _masks(outcomes, taken)
        return Outcome(tuple(given), 0, passes=node.bypassed, masks=masks) if given else None
    if not is_known(node.type_name) or len(given) < arity(node)[0]:
        return None
    return outcome(node.type_name, node.config, tuple(given), _masks(outcomes, taken))


def _masks(outcomes: Mapping[str, Outcome], sources: Iterable[Port]) -> Masks:
    known = ((outcomes.get(port.node), port.output) for port in sources)
    found = tuple(None if made is None else made.mask_at(output) for made, output in known)
    return found if any(found) else ()
