"""The search for a layer to add: what can be connected here, the likeliest first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from typing import NamedTuple

from studio.engine.core.errors import StudioError
from studio.engine.core.options import Plain
from studio.engine.core.tensor import Shape, TensorType
from studio.engine.layers.activation_catalog import FUNCTIONS
from studio.engine.layers.catalog import all_layers, layer_class
from studio.engine.layers.graph import Port
from studio.engine.layers.lengths import reported
from studio.engine.layers.operator import Operator
from studio.engine.operations import OPERATIONS, Operation
from studio.session.document.adding.connection_history import ConnectionHistory
from studio.session.document.adding.net_text import is_net, parse_net
from studio.session.document.cards.families import Family, family_of
from studio.session.document.checks.lengths import other_flow
from studio.session.document.checks.rule_checks import sizes_message
from studio.session.document.edits.chains import Chained, NewLayer, add_chain
from studio.session.document.edits.link_offers import link_offer, linked
from studio.session.document.edits.sharing import why_not_again
from studio.session.document.edits.wires import connect
from studio.session.document.finding.fuzzy import best_score
from studio.session.document.finding.layer_names import successor_place, words_for
from studio.session.document.flow import flow_of, outcome, refusal
from studio.session.document.frozen_config import FrozenConfig
from studio.session.document.layer_types import (
    arity,
    checked_config,
    inputs_taken,
    starting_config,
)
from studio.session.document.levels import TOP, level_of_input
from studio.session.document.state import DocumentState, Wire, as_port


class Entry(NamedTuple):
    """One thing that can be added.

    Attributes:
        type_name: the layer's class.
        title: what to call it.
        doc: what it does, in one sentence.
        family: what it is coloured by.
        config: options that make it what the title says.
        words: everything it is found by.
        shares: id of the layer of the document that is placed again; empty for a new one.
        block: a published block, as copied text; empty for a layer.
    """

    type_name: str
    title: str
    doc: str
    family: Family
    config: FrozenConfig
    words: tuple[str, ...]
    shares: str = ""
    block: str = ""

    @property
    def key(self) -> str:
        """What favourites and recent entries are kept by; empty where it cannot be one."""
        if self.block or self.shares:
            return ""
        if self.family == "operation":
            return entry_key(self.type_name, self.config)
        return "" if self.config else self.type_name

    def score(self, query: str) -> float | None:
        """How well a query fits; None for not at all.

        Operations are hundreds with many names each: the query must be a part of one.
        """
        if self.family != "operation":
            return best_score(query, self.words)
        part = _joined_up(query)
        return best_score(part, [word for word in self.words if part in _joined_up(word)])


def _joined_up(name: str) -> str:
    """``reduce_mean``, ``reduceMean`` and ``reduce mean`` alike."""
    return name.casefold().replace("_", "").replace(" ", "")


def entry_key(type_name: str, config: Mapping[str, object]) -> str:
    """What the palette keeps a layer by: its type, for an operator with the operation."""
    operation = config.get("operation") if type_name == Operator.__name__ else None
    return f"{type_name}:{operation}" if operation else type_name


@dataclass(frozen=True)
class Place:
    """Where the new layer goes.

    Attributes:
        source: the output that feeds it, or empty; of an id the first output.
        target: what it feeds, or empty.
        slot: the input of ``target`` it feeds.
        wire: the wire it goes on, instead.
        beside: outputs that also feed it where it takes several, in front of ``source``.
    """

    source: Port | str = ""
    target: str = ""
    slot: int | None = None
    wire: Wire | None = None
    beside: tuple[Port, ...] = ()

    @property
    def before(self) -> str:
        """The id of what feeds it, or empty."""
        return self.feed.node

    @property
    def feed(self) -> Port:
        """The output that feeds it; of the id "" for none."""
        return as_port(self.source) if self.wire is None else self.wire.port


class Offer(NamedTuple):
    """An entry that can be added here.

    Attributes:
        entry: what.
        port: how it would be connected: ``in 1`` or ``out``; empty for not at all.
        shape: of what would leave it, where known.
    """

    entry: Entry
    port: str
    shape: Shape | None


NOWHERE = Place()


class QuickAdd:
    """Searches the layers for one to add.

    Args:
        history: what the user connects to what.
    """

    def __init__(self, history: ConnectionHistory | None = None) -> None:
        self.history = history or ConnectionHistory()

    def offers(
        self, state: DocumentState, query: str = "", place: Place = NOWHERE
    ) -> tuple[Offer, ...]:
        """What fits the query and the place, best first.

        By how well it fits the query, then by what the user put here before, then by what usually
        stands here, then by name.
        """
        before = _type_at(state, place.before)
        found: list[tuple[tuple[float, bool, float, int, str], Offer]] = []
        again = again_entries(state) if query else ()
        for entry in (*entries(), *again):
            score = entry.score(query)
            if score is None or (not query and entry.config):
                continue
            offer = _offer(state, entry, place)
            if offer is not None and not _why_not_shared(state, entry, place):
                weight = self._weight(state, entry, place, before)
                rank = _usual(state, entry, place, before)
                key = (-round(score), bool(entry.config), -weight, rank, entry.title)
                found.append((key, offer))
        found.sort(key=lambda item: item[0])
        return tuple(offer for _, offer in found)

    def why_none(self, state: DocumentState, query: str, place: Place = NOWHERE) -> str:
        """What to say when a search has no offers: what was meant may only not fit here."""
        meant = meant_by(query, (*entries(), *again_entries(state)))
        if not query:
            return "Nothing can be connected here."
        if meant is None:
            return no_match_text(query)
        return f"{meant.title} does not fit here: {_refusal(state, meant, place)}."

    def typed(self, query: str) -> tuple[NewLayer, ...]:
        """The layers of a query that is a net; none when it is a word to search for.

        Raises:
            NetError: it is meant as a net and cannot be read.
        """
        if not is_net(query):
            return ()
        return tuple(NewLayer(layer.type_name, layer.config) for layer in parse_net(query))

    def took(self, state: DocumentState, type_name: str, place: Place = NOWHERE) -> None:
        """An offer was taken: it counts for the next search."""
        target = place.wire.target if place.wire is not None else place.target
        self.history.note(_type_at(state, place.before), type_name)
        if target:
            self.history.note(type_name, _type_at(state, target))

    def _weight(self, state: DocumentState, entry: Entry, place: Place, before: str) -> float:
        weight = 0.0
        if place.before or not place.target:
            weight += self.history.weight(before, entry.type_name)
        target = place.wire.target if place.wire is not None else place.target
        if target:
            weight += self.history.weight(entry.type_name, _type_at(state, target))
        return weight


def meant_by(query: str, among: Sequence[Entry] = ()) -> Entry | None:
    """The entry a query finds before all others, wherever it could stand; None for none."""
    scored = [(entry.score(query), entry) for entry in among or entries()]
    found = [(score, entry) for score, entry in scored if score is not None]
    return max(found, key=lambda pair: pair[0])[1] if found else None


def no_match_text(query: str) -> str:
    """What to say when nothing is found."""
    words = sorted({word.casefold() for entry in entries() for word in entry.words})
    near = get_close_matches(query.casefold(), words, 1, 0.4)
    text = f"No layer is called {query}."
    return f"{text} Did you mean {near[0]}?" if near else text


@cache
def entries() -> tuple[Entry, ...]:
    """Everything that can be added: all layers, activations by the names of functions, then
    operations."""
    return (*_layer_entries(), *_function_entries(), *_operation_entries())


def operation_of(entry: Entry) -> Operation:
    """The operation that an entry of the family ``operation`` adds."""
    return OPERATIONS[str(entry.config["operation"])]


def again_entries(state: DocumentState) -> tuple[Entry, ...]:
    """The layers of the document that can be placed again with the same weights."""
    flow, found = flow_of(state), []
    for node in state.layers():
        known = flow.outcomes.get(node.id)
        has_none = known is not None and known.parameters == 0 and not node.bypassed
        if node.shares or has_none or why_not_again(state, node.id):
            continue
        doc = f"Places {node.name} again: another use with the same weights."
        found.append(
            Entry(
                node.type_name, f"{node.name}, same weights", doc, family_of(node.type_name),
                node.config, (node.name, "same weights", "shared weights"), node.id,
            )
        )  # fmt: skip
    return tuple(found)


def first_sentence(type_name: str) -> str:
    """What a layer says it does."""
    return (layer_class(type_name).__doc__ or "").strip().split("\n\n")[0].replace("\n    ", " ")


def _layer_entries() -> Iterator[Entry]:
    for cls in all_layers():
        name = cls.__name__
        if cls is Operator:
            continue
        yield Entry(
            name, name, first_sentence(name), family_of(name), FrozenConfig(), words_for(name)
        )


def _function_entries() -> Iterator[Entry]:
    for name, function in FUNCTIONS.items():
        if name != "linear":
            config: dict[str, Plain] = {"activation": name}
            yield Entry(
                "Activation", f"Activation {name}", function.doc, family_of("Activation"),
                FrozenConfig(config), (name, name.replace("_", " ")),
            )  # fmt: skip


def _operation_entries() -> Iterator[Entry]:
    """Operations with an operand, by name; found by the names of other libraries too."""
    words: dict[str, list[str]] = {}
    for word, found in OPERATIONS.by_word.items():
        for made in found:
            words.setdefault(made.name, []).append(word)
    for name in sorted(OPERATIONS):
        made = OPERATIONS[name]
        if made.operands:
            known = dict.fromkeys((name, name.replace("_", " "), *words.get(name, ())))
            yield Entry(
                Operator.__name__, name, made.tip, "operation",
                FrozenConfig({"operation": name}), tuple(known),
            )  # fmt: skip


def _taken(entry: Entry) -> tuple[int, int | None]:
    """Fewest and most inputs of what an entry adds."""
    return inputs_taken(entry.type_name, _starting(entry))


def _offer(state: DocumentState, entry: Entry, place: Place) -> Offer | None:
    """The entry as it would be connected; None when it cannot be."""
    low, high = _taken(entry)
    if place.before:
        if high == 0 or (place.wire is not None and low > 1):
            return None
        types = flow_of(state).types([place.feed])
        if not types:
            return Offer(entry, "in 1", None)
        made = _type_of(entry, types)
        if made is None or (place.wire is not None and not _fits_behind(state, made, place.wire)):
            return None
        if low > 1:
            # What is joined to one thing may be joined to others of any shape.
            return Offer(entry, "in 1", None)
        other = _type_of(entry, other_flow(state).types([place.feed]))
        return Offer(entry, "in 1", reported(made, other or made).sample)
    if place.target:
        return _offer_in_front(state, entry, place)
    made = _type_of(entry)
    return Offer(entry, "", None if made is None else made.sample)


def _why_not_shared(state: DocumentState, entry: Entry, place: Place) -> str:
    """Why what comes in at a place does not fit the weights an entry shares; empty if it does."""
    flow = flow_of(state)
    types = flow.types([place.feed]) if entry.shares and place.before else ()
    if not types or outcome(entry.type_name, entry.config, types).error is not None:
        return ""
    uses = state.uses_of(entry.shares) or (entry.shares,)
    return sizes_message(state, uses, [each.sample for each in types], flow)


def _offer_in_front(state: DocumentState, entry: Entry, place: Place) -> Offer | None:
    """The entry as what feeds an input; its own inputs are not known yet."""
    made = _type_of(entry)
    if made is None:
        return Offer(entry, "out", None)
    wire = Wire("", place.target, place.slot if place.slot is not None else 0)
    return Offer(entry, "out", made.sample) if _fits_behind(state, made, wire) else None


def _type_of(entry: Entry, given: tuple[TensorType, ...] = ()) -> TensorType | None:
    """What an entry makes of an input of a type; None if it refuses, or needs one and has none."""
    low = _taken(entry)[0]
    if not given and low:
        return None
    types = outcome(entry.type_name, _starting(entry), given * low).types
    return types[0] if types else None


def _refusal(state: DocumentState, entry: Entry, place: Place) -> str:
    """Why an entry is not offered at a place."""
    low, high = _taken(entry)
    if place.before and high == 0:
        return "it has no inputs"
    if place.wire is not None and low > 1:
        return "it needs several inputs"
    given = flow_of(state).types([place.feed]) if place.before else ()
    if given:
        refused = outcome(entry.type_name, _starting(entry), given * low).error
        if refused is not None:
            return refused.message
    return _why_not_shared(state, entry, place) or "the next layer cannot take its output"


def _fits_behind(state: DocumentState, made: TensorType, wire: Wire) -> bool:
    """Whether what a wire leads to takes a type in place of what it gets now."""
    node = state.nodes[wire.target]
    if node.kind == "dot":
        return True
    flow = flow_of(state)
    types = [flow.type_at(port) for port in node.inputs]
    types[wire.slot : wire.slot + 1] = [made]
    known = tuple(each for each in types if each is not None)
    if len(known) < max(len(types), arity(node)[0]):
        return True
    return refusal(node, known) is None


@cache
def _starting(entry: Entry) -> FrozenConfig:
    return checked_config(entry.type_name, starting_config(entry.type_name, entry.config))


def _usual(state: DocumentState, entry: Entry, place: Place, before: str) -> int:
    """Place among what usually stands here."""
    if place.target and not place.before:
        return successor_place(entry.type_name, _type_at(state, place.target))
    return successor_place(before, entry.type_name)


def _type_at(state: DocumentState, node_id: str) -> str:
    """The type of a layer, through dots; empty for none."""
    node = state.nodes.get(node_id)
    while node is not None and node.kind == "dot" and node.inputs:
        node = state.nodes.get(node.sources[0])
    return "" if node is None else node.type_name


def added_text(layers: Sequence[NewLayer], made: Chained) -> str:
    """The name of the step that adds layers."""
    if len(layers) > 1:
        return f"Add {len(layers)} layers"
    name = made.state.nodes[made.ids[0]].name
    return f"Place {name} again" if layers[0].shares else f"Add {name}"


def _joined(state: DocumentState, target: str, place: Place) -> DocumentState:
    """With all outputs of a place feeding a layer that takes so many, as far as shapes fit."""
    most = arity(state.nodes[target])[1]
    if not place.beside or (most is not None and most <= len(place.beside)):
        return state
    first = []
    for port in place.beside:
        try:
            state = connect(state, port, target)
        except StudioError:
            continue
        first.append(port)
    node = state.nodes[target]
    rest = tuple(port for port in node.inputs if port not in first)
    return state.with_nodes([replace(node, inputs=(*first, *rest))])


def add_at_place(
    state: DocumentState,
    layers: Sequence[NewLayer],
    place: Place,
    at: tuple[float, float] | None = None,
    level: str = TOP,
) -> Chained:
    """Add layers behind, in front of or between what a place names.

    Args:
        state: what to change.
        layers: what to add, in order.
        place: what they are connected to.
        at: where the first one stands; beside what it is connected to by default.
        level: the block they go into where they are connected to nothing.

    Raises:
        ParameterError: an unknown type or a wrong option.
        GraphError: they cannot be connected there.
    """
    if not place.target:
        made = add_chain(state, layers, after=place.source, wire=place.wire, at=at, level=level)
        return Chained(_joined(made.state, made.ids[0], place), made.ids)
    made = add_chain(state, layers, at=at, level=level_of_input(state, place.target))
    offer = link_offer(made.state, made.ids[-1], place.target, place.slot)
    return Chained(linked(made.state, made.ids[-1], place.target, offer), made.ids)
