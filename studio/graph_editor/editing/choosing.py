"""What a search field on the canvas offers: layers to add, or types to switch to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from PySide6.QtCore import QPointF

from studio.engine.core.errors import StudioError
from studio.engine.layers.graph import Port
from studio.session.document.adding.preview import AddPreview, first_message, preview_edit
from studio.session.document.adding.published_blocks import Placed, block_offer, place_block
from studio.session.document.adding.quick_add import (
    Entry,
    Offer,
    Place,
    QuickAdd,
    add_at_place,
    added_text,
    entries,
    meant_by,
    no_match_text,
)
from studio.session.document.cards.families import family_of
from studio.session.document.cards.geometry import NODE_WIDTH, card_width
from studio.session.document.cards.lines import shape_label
from studio.session.document.cards.ports import port_offset
from studio.session.document.checks.lengths import shown_type
from studio.session.document.document import Document
from studio.session.document.edits.chains import Chained, NewLayer
from studio.session.document.edits.places import move_by
from studio.session.document.edits.switching import switch_type, switchable, why_not
from studio.session.document.state import CanvasNode, DocumentState

_PORTS = {"in 1": "into its input", "out": "from its output", "": ""}


class Choice(NamedTuple):
    """One row of the list.

    Attributes:
        title: what it is.
        family: what it is coloured by.
        port: how it would be connected.
        shape: what would come out of it.
        doc: one sentence about it.
        fixed: it is shown only, and cannot be chosen by itself.
    """

    title: str
    family: str
    port: str = ""
    shape: str = ""
    doc: str = ""
    fixed: bool = False


class Chooser(Protocol):
    """What a search is for."""

    prompt: str

    def search(self, query: str) -> Sequence[Choice]:
        """What fits; empty when nothing does."""
        ...

    def remark(self) -> str:
        """What is wrong with the query; empty when nothing is."""
        ...

    def outcome(self, row: int) -> DocumentState | None:
        """The document if a row were taken; None if that is impossible."""
        ...

    def take(self, row: int) -> bool:
        """Take a row; whether it changed something."""
        ...


class AddChooser:
    """Offers layers to add at a place, or a whole net that was typed.

    Args:
        document: where they are added.
        quick_add: finds and ranks them.
        place: what they are connected to.
        at: the point of the canvas their port is to lie at; None for beside what they follow.
        added: told the ids of what was added, and of what type the first is.
        blocks: finds published blocks.
    """

    prompt = "Add a layer, or type a net: conv 16 3x3 > relu > pool 2"

    def __init__(
        self,
        document: Document,
        quick_add: QuickAdd,
        place: Place,
        at: QPointF | None,
        added: Callable[[Sequence[str], str], object],
        blocks: Callable[[str], Sequence[Entry]],
    ) -> None:
        self._document = document
        self._quick_add = quick_add
        self._place = place
        self._at = _origin(place, at)
        self._added = added
        self._blocks = blocks
        self._offers: tuple[Offer, ...] = ()
        self._net: tuple[NewLayer, ...] = ()
        self._remark = ""

    def search(self, query: str) -> Sequence[Choice]:
        """The layers of a typed net, or what fits the query."""
        self._offers, self._net, self._remark = (), (), ""
        state = self._document.state
        try:
            self._net = self._quick_add.typed(query)
        except StudioError as error:
            said = (part[:1].upper() + part[1:] for part in (error.message, error.hint) if part)
            self._remark = "\n".join(said)
            return ()
        if self._net:
            return [_net_choice(layer) for layer in self._net]
        self._offers = self._with_blocks(query, self._quick_add.offers(state, query, self._place))
        if not self._offers:
            self._remark = self._quick_add.why_none(state, query, self._place)
        return [_offer_choice(offer) for offer in self._offers]

    def remark(self) -> str:
        """Why nothing was found, or why a typed net does not fit."""
        return self._remark

    def outcome(self, row: int) -> DocumentState | None:
        """The document with the row, or with the whole net."""
        layers, block = self._layers(row), self._block(row)
        if not layers and block is None:
            return None
        try:
            if block is not None:
                return self._placed(block).state
            made = self._made(layers)
        except StudioError as error:
            self._remark = error.message
            return None
        if self._net:
            # Unlike an offer, a typed net need not fit; it may be drawn and mended afterwards.
            message = first_message(made.state, made.ids)
            self._remark = message[:1].upper() + message[1:]
        return made.state

    def take(self, row: int) -> bool:
        """Add the row, or the whole net, as one step."""
        layers, state, block = self._layers(row), self._document.state, self._block(row)
        if block is not None:
            placed = self._placed(block)
            self._document.apply(f"Add {placed.state.nodes[placed.block].name}", placed.state)
            self._added([placed.block], "")
            return True
        if not layers:
            return False
        made = self._made(layers)
        first = layers[0].type_name
        self._quick_add.took(state, first, self._place)
        self._document.apply(added_text(layers, made), made.state)
        self._added(made.ids, first)
        return True

    def _made(self, layers: Sequence[NewLayer]) -> Chained:
        document, place = self._document, self._place
        made = add_at_place(document.state, layers, place, self._at, document.open_block)
        if self._at is None or not place.target or len(made.ids) > 1:
            return made
        # Its output lies at the point, however wide its name makes it.
        wider = card_width(made.state.nodes[made.ids[0]]) - NODE_WIDTH
        return replace(made, state=move_by(made.state, made.ids, -wider, 0.0))

    def _with_blocks(self, query: str, offers: tuple[Offer, ...]) -> tuple[Offer, ...]:
        """Published blocks too: first those whose names begin with the query."""
        if not query:
            return offers
        begins: list[Offer] = []
        others: list[Offer] = []
        for entry in self._blocks(query):
            offer = block_offer(self._document.state, entry, self._place)
            if offer is not None:
                is_first = entry.title.casefold().startswith(query.casefold())
                (begins if is_first else others).append(offer)
        return (*begins, *offers, *others)

    def _placed(self, entry: Entry) -> Placed:
        document = self._document
        return place_block(
            document.state, entry.block, self._place, self._at, document.open_block
        )  # fmt: skip

    def _block(self, row: int) -> Entry | None:
        """The published block of a row; None for a layer."""
        entry = self._offers[row].entry if 0 <= row < len(self._offers) else None
        return entry if entry is not None and entry.block else None

    def _layers(self, row: int) -> tuple[NewLayer, ...]:
        if self._net:
            return self._net
        if not 0 <= row < len(self._offers) or self._offers[row].entry.block:
            return ()
        entry = self._offers[row].entry
        return (NewLayer(entry.type_name, entry.config, entry.shares),)


class SwitchChooser:
    """Offers the types a layer may become.

    Args:
        document: where it is.
        node_id: the layer.
    """

    prompt = "Change the layer type"

    def __init__(self, document: Document, node_id: str) -> None:
        self._document = document
        self._node_id = node_id
        self._found: list[Entry] = []
        self._query = ""

    def search(self, query: str) -> Sequence[Choice]:
        """The types that fit; operations only for a query, as there are many."""
        self._query = query
        scored = [
            (score, entry)
            for entry in self._possible(with_operations=bool(query))
            if (score := entry.score(query)) is not None
        ]
        scored.sort(key=lambda item: -round(item[0]))
        self._found = [entry for _, entry in scored]
        return [
            Choice(entry.title, entry.family, "", self._shape(entry), entry.doc)
            for entry in self._found
        ]

    def _possible(self, *, with_operations: bool) -> Iterator[Entry]:
        state = self._document.state
        types, node = switchable(state, self._node_id), state.node(self._node_id)
        for entry in entries():
            if entry.family == "operation":
                if with_operations and not why_not(node, entry.type_name, entry.config):
                    yield entry
            elif entry.type_name in types and not entry.config:
                yield entry

    def remark(self) -> str:
        """What to say when nothing fits."""
        if self._found:
            return ""
        meant = meant_by(self._query)
        if meant is None:
            return no_match_text(self._query)
        node = self._document.state.node(self._node_id)
        return f"{node.name} cannot be changed to {meant.title}."

    def outcome(self, row: int) -> DocumentState | None:
        """The document with the other type."""
        return self._switched(self._found[row]) if 0 <= row < len(self._found) else None

    def take(self, row: int) -> bool:
        """Switch, as one step."""
        if not 0 <= row < len(self._found):
            return False
        entry, state = self._found[row], self._document.state
        made = switch_type(state, self._node_id, entry.type_name, entry.config)
        before = state.node(self._node_id).name
        self._document.apply(f"Change {before} to {entry.title}", made)
        return True

    def _shape(self, entry: Entry) -> str:
        made = self._switched(entry)
        found = None if made is None else shown_type(made, Port(self._node_id))
        return "" if found is None else shape_label(found.sample)

    def _switched(self, entry: Entry) -> DocumentState | None:
        try:
            state = self._document.state
            return switch_type(state, self._node_id, entry.type_name, entry.config)
        except StudioError:
            return None


def effect_text(before: DocumentState, after: DocumentState) -> str:
    """What a change does to the whole network, in a few words; empty where that is not known."""
    found: AddPreview = preview_edit(before, after)
    return found.text


def _origin(place: Place, at: QPointF | None) -> tuple[float, float] | None:
    """Where the layer stands so that the port in question lies at a point."""
    if at is None:
        return None
    node = CanvasNode("")
    left = at.x() - NODE_WIDTH if place.target else at.x()
    return left, at.y() - port_offset(node)


def _offer_choice(offer: Offer) -> Choice:
    entry = offer.entry
    shape = "" if offer.shape is None else shape_label(offer.shape)
    return Choice(entry.title, entry.family, _PORTS.get(offer.port, offer.port), shape, entry.doc)


def _net_choice(layer: NewLayer) -> Choice:
    options = ", ".join(f"{k} {v}" for k, v in layer.config.items() if k != "name")
    return Choice(layer.type_name, family_of(layer.type_name), options, fixed=True)
