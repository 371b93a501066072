"""Random edits of a document, as a user might make them, for machines and properties."""

from __future__ import annotations

import random
from collections.abc import Callable

from studio.engine.core.errors import StudioError
from studio.engine.layers.catalog import all_layers, layer_class
from studio.session.document.arrange.layered import layout
from studio.session.document.arrange.wrapping import Room
from studio.session.document.edits import (
    annotations,
    arranging,
    block_places,
    blocks,
    comments,
    copies,
    insertion,
    layers,
    linked_copies,
    places,
    removal,
    sections,
    sharing,
    switching,
    wires,
)
from studio.session.document.edits.chains import NewLayer, add_chain
from studio.session.document.edits.outputs import NO_LOSS, set_output_training
from studio.session.document.files.clipboard import copy_text, paste
from studio.session.document.levels import all_blocks, contents
from studio.session.document.resolve import output_names
from studio.session.document.state import PREVIEW_MODES, DocumentState, Wire

# Which options and inputs an operator has follows from its operation, not from its class.
TYPES = [cls.__name__ for cls in all_layers() if cls.__name__ != "Operator"]
NAMES = ("conv", "head", "tail", "relu", "data", "", "two words", "x" * 70, "é", "block.1")
SHAPES = ([8, 8, 1], [4], [12, 12, 3], [2, 3])


class Editor:
    """Chooses edits and makes them; what refuses leaves the state as it was."""

    def __init__(self, seed: int, most: int = 24) -> None:
        self.random = random.Random(seed)
        self.most = most
        self.refused = 0
        self.clip = ""
        self.types = TYPES
        self.block_edits: tuple[Callable[[DocumentState], DocumentState], ...] = (
            self.group, self.group, self.ungroup, self.into_block, self.out_of_block,
            self.rename_block, self.move_port,
        )  # fmt: skip
        """Edits that change no network."""
        self.edits: tuple[Callable[[DocumentState], DocumentState], ...] = (
            self.add, self.add, self.add_on_wire, self.chain, self.connect, self.connect,
            self.disconnect, self.delete, self.delete_only, self.move, self.insert, self.dot,
            self.knife, self.move_outputs, self.drop, self.option, self.rename, self.freeze,
            self.bypass, self.duplicate, self.switch, self.collapse, self.preview, self.output,
            self.comment, self.resize, self.straighten, self.align, self.distribute, self.layout,
            self.paste, self.training, self.data, self.notes, self.name, self.own_layer,
            self.share, self.pin, self.alias, self.say, self.of_output,
            *self.block_edits, self.connect_levels,
            self.add_port, self.linked_copy, self.share_block, self.make_unique,
        )  # fmt: skip

    def step(self, state: DocumentState) -> tuple[str, DocumentState]:
        """The name of a random edit, and the state after it."""
        edit = self.random.choice(self.edits)
        if len(state.nodes) > self.most and self.random.random() < 0.5:
            edit = self.delete
        try:
            return edit.__name__, edit(state)
        except StudioError:
            self.refused += 1
            return edit.__name__, state

    def some(self, state: DocumentState, most: int = 4) -> list[str]:
        ids = list(state.nodes)
        count = min(len(ids), self.random.randint(1, most))
        return self.random.sample(ids, count)

    def one(self, state: DocumentState) -> str:
        return self.random.choice(list(state.nodes) or ["none"])

    def wire(self, state: DocumentState) -> Wire:
        return self.random.choice(list(state.wires()) or [Wire("none", "none", 0)])

    def place(self) -> tuple[float, float]:
        return self.random.uniform(-500, 2000), self.random.uniform(-500, 1000)

    def add(self, state: DocumentState) -> DocumentState:
        type_name = self.random.choice(self.types)
        config = {"shape": self.random.choice(SHAPES)} if type_name == "Input" else {}
        after = self.one(state) if state.nodes and self.random.random() < 0.7 else ""
        at = self.place() if self.random.random() < 0.3 else None
        return layers.add_layer(state, type_name, after=after, at=at, config=config)

    def add_on_wire(self, state: DocumentState) -> DocumentState:
        return insertion.add_on_wire(state, self.random.choice(self.types), self.wire(state))

    def chain(self, state: DocumentState) -> DocumentState:
        made = [NewLayer(self.random.choice(TYPES[1:]), {}) for _ in range(2)]
        wire = self.wire(state) if self.random.random() < 0.5 else None
        after = self.one(state) if state.nodes and wire is None else ""
        return add_chain(state, made, after=after, wire=wire).state

    def connect(self, state: DocumentState) -> DocumentState:
        slot = self.random.choice([None, None, 0, 1, 2])
        return wires.connect(
            state, self.one(state), self.one(state), slot,
            replacing=self.random.random() < 0.3, check_shapes=self.random.random() < 0.5,
        )  # fmt: skip

    def disconnect(self, state: DocumentState) -> DocumentState:
        wire = self.wire(state)
        return wires.disconnect(state, wire.target, wire.slot)

    def delete(self, state: DocumentState) -> DocumentState:
        return removal.delete(state, self.some(state, 3))

    def delete_only(self, state: DocumentState) -> DocumentState:
        return removal.delete(state, self.some(state, 2), heal=False)

    def move(self, state: DocumentState) -> DocumentState:
        return places.move(state, {i: self.place() for i in self.some(state)})

    def insert(self, state: DocumentState) -> DocumentState:
        push = self.random.choice(["right", "left"])
        return insertion.insert_on_wire(
            state, self.some(state, 2), self.wire(state), push=push, check_shapes=False
        )

    def dot(self, state: DocumentState) -> DocumentState:
        return wires.add_dot(state, self.wire(state), *self.place())

    def knife(self, state: DocumentState) -> DocumentState:
        return wires.cut_wires(state, [self.wire(state), self.wire(state)])

    def move_outputs(self, state: DocumentState) -> DocumentState:
        return wires.move_outputs(state, self.one(state), self.one(state))

    def drop(self, state: DocumentState) -> DocumentState:
        node_id, into = self.one(state), self.random.random() < 0.5
        ends = [w for w in state.wires() if (w.target if into else w.source) == node_id]
        return wires.cut_wires(state, ends)

    def option(self, state: DocumentState) -> DocumentState:
        node = state.node(self.one(state))
        known = [o.name for o in layer_class(node.type_name).options] if node.is_layer else []
        name = self.random.choice([*known, "units"])
        value = self.random.choice([None, 3, 16, "same", "relu", 0.5, [3, 3], [8, 8, 1], True])
        return layers.set_option(state, node.id, name, value)

    def rename(self, state: DocumentState) -> DocumentState:
        return layers.rename(state, self.one(state), self.random.choice(NAMES))

    def freeze(self, state: DocumentState) -> DocumentState:
        return layers.freeze(state, self.some(state))

    def bypass(self, state: DocumentState) -> DocumentState:
        return layers.bypass(state, self.some(state, 2))

    def duplicate(self, state: DocumentState) -> DocumentState:
        keep = self.random.random() < 0.5
        return copies.duplicate(state, self.some(state), keep_inputs=keep)

    def switch(self, state: DocumentState) -> DocumentState:
        return switching.switch_type(state, self.one(state), self.random.choice(self.types))

    def collapse(self, state: DocumentState) -> DocumentState:
        return layers.collapse(state, self.some(state))

    def pin(self, state: DocumentState) -> DocumentState:
        return layers.pin(state, self.some(state))

    def preview(self, state: DocumentState) -> DocumentState:
        return layers.set_preview(state, self.some(state), self.random.choice(PREVIEW_MODES))

    def output(self, state: DocumentState) -> DocumentState:
        return layers.mark_output(state, self.one(state))

    def comment(self, state: DocumentState) -> DocumentState:
        if self.random.random() < 0.5:
            return comments.add_note(state, *self.place(), "a note")
        return comments.add_frame(state, self.some(state), text="a frame")

    def resize(self, state: DocumentState) -> DocumentState:
        return comments.resize(state, self.one(state), *self.place())

    def straighten(self, state: DocumentState) -> DocumentState:
        return arranging.straighten(state, self.some(state))

    def align(self, state: DocumentState) -> DocumentState:
        edge = self.random.choice(["left", "right", "top", "bottom", "centre_x", "centre_y"])
        return arranging.align(state, self.some(state), edge)

    def distribute(self, state: DocumentState) -> DocumentState:
        return arranging.distribute(state, self.some(state, 6))

    def layout(self, state: DocumentState) -> DocumentState:
        chosen = None if self.random.random() < 0.3 else self.some(state, 8)
        direction = self.random.choice(["right", "down"])
        pinned = self.some(state, 2) if self.random.random() < 0.3 else ()
        rooms = [None, Room(700.0, 420.0), Room(300.0, 900.0)]
        room = self.random.choice(rooms)
        return layout(state, chosen, direction=direction, pinned=pinned, room=room)

    def paste(self, state: DocumentState) -> DocumentState:
        if not self.clip or self.random.random() < 0.5:
            self.clip = copy_text(state, self.some(state))
        at = self.place() if self.random.random() < 0.5 else None
        level = self.random.choice([None, "", self.block(state)])
        return paste(
            state, self.clip, at, keep_inputs=self.random.random() < 0.5, level=level,
            linked=self.random.random() < 0.5,
        )  # fmt: skip

    def training(self, state: DocumentState) -> DocumentState:
        return sections.set_training(state, {"epochs": self.random.randint(-1, 9)})

    def of_output(self, state: DocumentState) -> DocumentState:
        names = output_names(state)
        if not names:
            return state
        changes = self.random.choice((
            {"loss": self.random.choice(("mse", "mae", None, NO_LOSS))},
            {"weighted_metrics": self.random.choice((["mae"], []))},
            {"metrics": self.random.choice((["mae"], [], None))},
            {"loss_weights": self.random.choice((0.5, 1.0))},
            {"class_weights": self.random.choice(("balanced", None))},
        ))  # fmt: skip
        return set_output_training(state, self.random.choice(names), changes)

    def data(self, state: DocumentState) -> DocumentState:
        return sections.set_data(state, self.random.choice([None, {"source": "digits"}, {}]))

    def notes(self, state: DocumentState) -> DocumentState:
        return sections.set_notes(state, self.random.choice(["", "one", "two"]))

    def alias(self, state: DocumentState) -> DocumentState:
        key = f"{state.node(self.one(state)).name}/output"
        return annotations.name_tensor(state, key, self.random.choice(["", "w", "v", "0x1"]))

    def say(self, state: DocumentState) -> DocumentState:
        key = f"train/forward/{self.one(state)}/LINEAR/0"
        return annotations.comment_instruction(state, key, self.random.choice(["", "why", "\n\0"]))

    def name(self, state: DocumentState) -> DocumentState:
        return sections.set_name(state, self.random.choice(["", "one", "two"]))

    def share(self, state: DocumentState) -> DocumentState:
        after = self.one(state) if self.random.random() < 0.5 else ""
        return sharing.place_again(state, self.one(state), after=after)

    def block(self, state: DocumentState) -> str:
        return self.random.choice([b.id for b in all_blocks(state)] or ["none"])

    def beside(self, state: DocumentState, most: int = 4) -> list[str]:
        """Things of one level."""
        level = self.random.choice(["", *(b.id for b in all_blocks(state))])
        ids = [n.id for n in contents(state, level)]
        return self.random.sample(ids, min(len(ids), self.random.randint(1, most)))

    def port(self, state: DocumentState) -> str:
        return self.random.choice([n.id for n in state.nodes.values() if n.port] or ["none"])

    def group(self, state: DocumentState) -> DocumentState:
        return blocks.group(state, self.beside(state), self.random.choice(["", "", "stem", "a/b"]))

    def ungroup(self, state: DocumentState) -> DocumentState:
        return blocks.ungroup(state, self.block(state))

    def into_block(self, state: DocumentState) -> DocumentState:
        level = self.random.choice(["", self.block(state), self.block(state)])
        return block_places.move_to_level(state, self.beside(state, 3), level)

    def out_of_block(self, state: DocumentState) -> DocumentState:
        return block_places.move_out(state, self.beside(state, 2))

    def rename_block(self, state: DocumentState) -> DocumentState:
        node_id = self.random.choice([self.block(state), self.port(state)])
        return blocks.rename_block(state, node_id, self.random.choice(NAMES))

    def move_port(self, state: DocumentState) -> DocumentState:
        return blocks.move_port(state, self.port(state), self.random.randint(-1, 3))

    def add_port(self, state: DocumentState) -> DocumentState:
        return blocks.add_port(state, self.block(state), self.random.choice(["in", "out"])).state

    def connect_levels(self, state: DocumentState) -> DocumentState:
        return block_places.connect_levels(state, self.one(state), self.one(state))

    def linked_copy(self, state: DocumentState) -> DocumentState:
        keep = self.random.random() < 0.5
        return copies.duplicate(state, [self.block(state)], keep_inputs=keep, linked=True)

    def share_block(self, state: DocumentState) -> DocumentState:
        return copies.share_block(state, self.block(state)).state

    def make_unique(self, state: DocumentState) -> DocumentState:
        return linked_copies.make_unique(state, self.block(state))

    def own_layer(self, state: DocumentState) -> DocumentState:
        return sharing.give_own_layer(state, self.one(state))
