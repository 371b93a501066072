"""Carries out the actions of the canvas: each id of the action table, bound to what it does."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import QGuiApplication

from studio.engine.layers.graph import Port
from studio.graph_editor.canvas.actions import ACTIONS
from studio.graph_editor.canvas.block_commands import BlockCommands
from studio.graph_editor.editing.context import CANVAS, CanvasContext
from studio.graph_editor.editing.interactions.place_again import PlaceAgain
from studio.session.core import entities
from studio.session.document.arrange.layered import layout_level
from studio.session.document.checks import possible
from studio.session.document.edits.arranging import Edge, align, straighten
from studio.session.document.edits.comments import add_frame, add_note
from studio.session.document.edits.copies import duplicate_mapped
from studio.session.document.edits.layers import mark_output, set_preview
from studio.session.document.edits.places import move_by
from studio.session.document.edits.removal import delete_counted
from studio.session.document.edits.sharing import give_own_layer
from studio.session.document.edits.wires import cut_wires
from studio.session.document.files.clipboard import MIME, copy_text, paste_mapped
from studio.session.document.finding.keyboard_navigation import Direction, first_layer, next_node
from studio.session.document.flow import downstream
from studio.session.document.level_view import input_rows, with_places
from studio.session.document.levels import wires_of
from studio.session.document.state import PREVIEW_MODES, DocumentState, Wire
from studio.session.notices.settling import UNDO

if TYPE_CHECKING:
    from studio.graph_editor.canvas.view import CanvasView


class CanvasCommands:
    """What the actions in `canvas/actions.py` do to a canvas.

    Args:
        canvas: what they act on.
    """

    def __init__(self, canvas: CanvasView) -> None:
        self.canvas: CanvasView = canvas
        self.context: CanvasContext = canvas.context
        self.blocks: BlockCommands = BlockCommands(canvas.context)
        self.context.studio.actions.attach(ACTIONS, self)

    # -- why not --------------------------------------------------------------------------------

    def why_no_undo(self) -> str:
        """A step to take back is needed."""
        done = self.context.studio.document.history.undo_text
        return "" if done else "there is nothing to undo"

    def why_no_redo(self) -> str:
        """A step that was taken back is needed."""
        undone = self.context.studio.document.history.redo_text
        return "" if undone else "there is nothing to redo"

    def needs_things(self) -> str:
        """Something on the canvas has to be selected."""
        if self.context.selected_ids():
            return ""
        return "only wires are selected" if self._wires() else possible.NOTHING

    def needs_layers(self) -> str:
        """A layer has to be selected."""
        return "" if self._layers() else possible.NO_LAYER

    def needs_a_graph(self) -> str:
        """Something has to be on the canvas."""
        return "" if self.context.document.state.nodes else "the canvas is empty"

    def needs_a_match(self) -> str:
        """Something found or selected is needed."""
        if self.canvas.chrome.find_bar.found or self.context.selected_ids():
            return ""
        return "no search result and nothing selected"

    def asks(self, why_not: Callable[[DocumentState, list[str]], str]) -> str:
        """Why a check refuses the selection; empty when it does not."""
        return why_not(self.context.document.state, self.context.selected_ids())

    def why_not_straighten(self) -> str:
        """Things with a wire between them have to be selected, or one that is fed."""
        return possible.why_not_straighten(self.context.graph.seen, self.context.selected_ids())

    def why_not_freeze(self) -> str:
        """Layers with parameters have to be selected."""
        document = self.context.document
        return possible.why_not_freeze(
            document.state, self.context.selected_ids(), document.report
        )  # fmt: skip

    def why_not_place_again(self) -> str:
        """A layer with weights has to be selected."""
        document = self.context.document
        return possible.why_not_place_again(
            document.state, self.context.selected_ids(), document.report
        )  # fmt: skip

    def why_not_drop_wires(self) -> str:
        """Wires, or layers with wires, have to be selected."""
        return possible.why_not_drop_wires(
            self.context.document.state, self.context.selected_ids(), len(self._wires())
        )

    def needs_any_layer(self) -> str:
        """A layer has to be on the canvas."""
        return "" if any(self.context.document.state.layers()) else "there is no layer"

    def needs_repairs(self) -> str:
        """An error with a repair is needed."""
        return "" if self.canvas.fixes.chips else "there is nothing to fix"

    def needs_anything(self) -> str:
        """Something has to be selected, at least a wire."""
        return "" if self.context.selected_ids() or self._wires() else possible.NOTHING

    def _layers(self) -> list[str]:
        nodes = self.context.document.state.nodes
        return [i for i in self.context.selected_ids() if nodes[i].is_layer]

    def _wires(self) -> list[Wire]:
        chosen = self.context.bus.drawn.entities
        found = [Wire(*entities.wire_ends(e)) for e in chosen if e.kind == "wire"]
        return [wire for wire in found if wire in self.context.graph.wires]

    # -- history and clipboard ------------------------------------------------------------------

    def undo(self) -> None:
        """Cancel the gesture going on, or undo the last step."""
        if not self.canvas.gestures.cancel():
            self.context.document.undo()

    def redo(self) -> None:
        """Redo the step that was undone last."""
        self.context.document.redo()

    def copy(self) -> None:
        """Put the selection on the clipboard, as our own format and as text."""
        text = copy_text(self.context.document.state, self.context.selected_ids())
        data = QMimeData()
        data.setData(MIME, text.encode())
        data.setText(text)
        QGuiApplication.clipboard().setMimeData(data)

    def cut(self) -> None:
        """Copy, and delete without healing."""
        self.copy()
        self.delete(heal=False, verb="Cut")

    def paste(self, *, keep_inputs: bool = False) -> None:
        """Put copied layers at the pointer; text from another program that is no layers is refused.

        Raises:
            FormatError: the clipboard holds no layers, or broken text.
        """
        data = QGuiApplication.clipboard().mimeData()
        raw = bytes(data.data(MIME).data())
        text = raw.decode("utf-8", "replace") if raw else data.text()
        at = self.context.new_place()
        made = paste_mapped(
            self.context.document.state, text, (at.x(), at.y()), keep_inputs=keep_inputs,
            level=self.context.open_block.id,
        )  # fmt: skip
        self.context.document.apply(f"Paste {len(made.ids)} items", made.state)
        self._select_copies(made.ids.values())

    def duplicate(self) -> None:
        """Copy the selection in place."""
        chosen = self.context.selected_ids()
        made = duplicate_mapped(self.context.document.state, chosen)
        self.context.document.apply(self._named("Duplicate", chosen), made.state)
        self._select_copies(made.ids.values())

    def _select_copies(self, node_ids: Iterable[str]) -> None:
        """Select copies, but not what stands in a copied block: that would open the block."""
        made, nodes = list(node_ids), self.context.document.state.nodes
        self._select(i for i in made if nodes[i].parent not in made)

    # -- selection ------------------------------------------------------------------------------

    def select_all(self) -> None:
        self._select(self.context.graph.seen.nodes)

    def _select(self, node_ids: Iterable[str]) -> None:
        self.context.select(node_ids)

    def walk(self, side: Direction, *, extend: bool = False) -> None:
        """Select the next thing that way."""
        context, state = self.context, self.context.graph.seen
        primary = context.bus.drawn.primary
        at = primary.key if primary is not None and primary.key in state.nodes else ""
        found = next_node(state, at, side) if at else first_layer(state)
        if found:
            mode: Literal["add", "replace"] = "add" if extend else "replace"
            context.bus.select([entities.node(found)], source=CANVAS, mode=mode)
            context.navigation.reveal(context.graph.area_of([found]))

    def next_match(self, step: int) -> None:
        """Go to the next layer found; without a search, to the next of those selected."""
        context, bar = self.context, self.canvas.chrome.find_bar
        selection = context.bus.drawn
        chosen = self.context.selected_ids()
        if bar.found and (bar.isVisible() or len(chosen) < 2):
            bar.step(step)
            return
        if selection.primary is not None and selection.primary.key in chosen:
            at = chosen.index(selection.primary.key) + step
            primary = entities.node(chosen[at % len(chosen)])
            context.open_block.show([primary.key])
            context.bus.select(selection.entities, primary, CANVAS)
            context.navigation.reveal(context.graph.area_of([primary.key]))

    def frame_selection(self) -> None:
        """Bring the selection into sight; of a wire, what it joins."""
        ends = [end for wire in self._wires() for end in (wire.source, wire.target)]
        chosen = [*self.context.selected_ids(), *ends]
        self.context.navigation.frame(self.context.graph.area_of(chosen))

    # -- edits ----------------------------------------------------------------------------------

    def delete(self, *, heal: bool, verb: str = "Delete") -> None:
        """Remove the selected things and wires, and say how to get them back."""
        context, chosen, wires = self.context, self.context.selected_ids(), self._wires()
        found = delete_counted(cut_wires(context.document.state, wires), chosen, heal=heal)
        if not chosen:
            count = f"{len(wires)} wire{'' if len(wires) == 1 else 's'}"
            context.document.apply(f"{verb} {count}", found.state)
            return
        context.document.apply(self._named(verb, chosen), found.state)
        # The next step settles it: as long as it is offered, what it takes back is the last one.
        context.studio.notify(found.text, "info", ("Undo", context.document.undo), about=UNDO)

    def next_repair(self) -> None:
        """Show on the canvas what the next repair would do; Enter makes it, Esc does not."""
        context, primary = self.context, self.context.bus.drawn.primary
        chip = self.canvas.fixes.step("" if primary is None else primary.key)
        if chip is not None:
            # Enter and Esc are the canvas's, wherever the keyboard was.
            self.canvas.setFocus()
            context.navigation.reveal(context.graph.area_of([chip.node_id]))

    def drop_wires(self) -> None:
        """Remove the selected wires and all those of selected layers."""
        wires = wires_of(self.context.document.state, self.context.selected_ids())
        self.context.apply("Disconnect wires", lambda now: cut_wires(now, [*wires, *self._wires()]))

    def add_note(self) -> None:
        """Put a note at the pointer and write in it."""
        at, level = self.context.new_place(), self.context.open_block.id
        self._add_comment("Add a note", lambda state: add_note(state, at.x(), at.y(), level=level))

    def add_frame(self) -> None:
        """Put a frame around the selection, and give it a title."""
        chosen, level = self.context.selected_ids(), self.context.open_block.id
        self._add_comment("Add a frame", lambda state: add_frame(state, chosen, level=level))

    def _add_comment(self, text: str, edit: Callable[[DocumentState], DocumentState]) -> None:
        before = set(self.context.document.state.nodes)
        if self.context.apply(text, edit):
            made = [i for i in self.context.document.state.nodes if i not in before]
            self._select(made)
            self.canvas.inline_editor.edit(made[0])

    def mark_output(self) -> None:
        """Mark the outputs of the selected layers as outputs of the network; unmark them where all
        are marked."""
        ports = [self.context.output_of(node_id) for node_id in self._layers()]
        state = self.context.document.state
        marked = any(port not in state.outputs for port in ports)
        if len(ports) > 1:
            which = f"{len(ports)} layers"
        else:
            (port,) = ports
            name = state.nodes[port.node].name
            which = f"output {port.output} of {name}" if port.output else name
        self.context.apply(
            f"{'Mark' if marked else 'Unmark'} {which} as output{'s' * (len(ports) > 1)}",
            lambda now: reduce(lambda s, port: mark_output(s, port, marked), ports, now),
        )

    def why_no_next_output(self) -> str:
        """A layer with several outputs has to be selected."""
        layers = self._layers()
        if not layers:
            return possible.NO_LAYER
        several = self.context.outputs_of(layers[-1]) > 1
        return "" if several else "the selected layer has one output"

    def next_output(self) -> None:
        """Choose the next output of the selected layer."""
        node_id = self._layers()[-1]
        following = self.context.output_of(node_id).output + 1
        count = self.context.outputs_of(node_id)
        self.context.choose_output(Port(node_id, following % count))

    def place_again(self) -> None:
        """Carry another use of the selected layer to where it is placed."""
        self.canvas.setFocus()
        self.canvas.gestures.cancel()
        gesture = PlaceAgain(self.canvas.gestures, self._layers()[-1])
        self.canvas.gestures.begin(gesture, gesture.button)
        no_keys = Qt.KeyboardModifier.NoModifier
        gesture.move(self.context.pointer_at(self.context.pointer_or_middle(), no_keys))

    def own_layer(self) -> None:
        """End the sharing of the selected layer's parameters."""
        node_id = self._layers()[-1]
        name = self.context.document.state.nodes[node_id].name
        self.context.apply(f"Stop sharing parameters of {name}",
                           lambda state: give_own_layer(state, node_id))  # fmt: skip

    def next_preview(self) -> None:
        """Step what the selected layers show of their output; of all, with none selected."""
        state = self.context.document.state
        layers = self._layers() or [node.id for node in state.layers()]
        now = state.nodes[layers[-1]].preview
        mode = PREVIEW_MODES[(PREVIEW_MODES.index(now) + 1) % len(PREVIEW_MODES)]
        if mode in ("thumbnail", "full"):
            self.context.studio.preferences.set("previews", True)
        self.context.apply(f"Preview: {mode}", lambda state: set_preview(state, layers, mode))

    def layout_selection(self) -> None:
        """Arrange the selection; of one layer, everything downstream of it."""
        chosen = self.context.selected_ids()
        if len(chosen) == 1:
            chosen = sorted(downstream(self.context.graph.seen, chosen))
        self._arrange(self._named("Lay out", chosen), chosen)

    def layout_all(self) -> None:
        self._arrange("Lay out everything", None)

    def layout_down(self) -> None:
        """Arrange from top to bottom."""
        chosen = self.context.selected_ids() or None
        self.arrange("Lay out from top to bottom",
                             lambda state: self._laid_out(state, chosen, down=True))  # fmt: skip

    def _arrange(self, text: str, chosen: Iterable[str] | None) -> None:
        self.arrange(text, lambda state: self._laid_out(state, chosen))
        self.canvas.keep_in_sight()

    def arrange(self, text: str, edit: Callable[[DocumentState], DocumentState]) -> None:
        """Make an edit of places as one step; what it moves slides there."""
        nodes = self.context.document.state.nodes
        before = {node_id: (node.x, node.y) for node_id, node in nodes.items()}
        if self.context.apply(text, edit):
            self.canvas.sliding.begin(before)

    def align(self, edge: Edge) -> None:
        """Bring the selection to a common line."""
        self.arrange(f"Align {edge}", lambda state: align(state, self.context.selected_ids(), edge))

    def nudge(self, dx: float, dy: float) -> None:
        """Move the selection a little."""
        document, chosen = self.context.document, self.context.selected_ids()
        made = move_by(document.state, chosen, dx, dy)
        document.apply(self._named("Nudge", chosen), made, merge_key=f"nudge {sorted(chosen)}")

    def on_layers(
        self, text: str, edit: Callable[[DocumentState, Iterable[str]], DocumentState]
    ) -> None:
        """Edit the selected layers."""
        chosen = self._layers()
        self.context.apply(self._named(text, chosen), lambda state: edit(state, chosen))

    def on_chosen(
        self, text: str, edit: Callable[[DocumentState, Iterable[str]], DocumentState]
    ) -> None:
        """Move what is selected to other places."""
        chosen = self.context.selected_ids()
        self.arrange(self._named(text, chosen), lambda state: edit(state, chosen))

    def straighten(self) -> None:
        """Make the wires between the selected things level."""
        chosen, seen = self.context.selected_ids(), self.context.graph.seen
        made = straighten(seen, chosen, input_rows(self.context.document.state, seen))
        self.arrange(self._named("Straighten", chosen),
                     lambda state: with_places(state, seen, made))  # fmt: skip

    def _named(self, verb: str, chosen: Iterable[str]) -> str:
        """A step's name: what is done to what."""
        nodes = self.context.document.state.nodes
        names = [nodes[node_id].name for node_id in chosen if node_id in nodes]
        return f"{verb} {names[0]}" if len(names) == 1 else f"{verb} {len(names)} items"

    def _laid_out(
        self, state: DocumentState, chosen: Iterable[str] | None, *, down: bool = False
    ) -> DocumentState:
        """The layout of things at the open level, or of all there; pinned ones stay.

        They are as large as the canvas allows, unless they are to run downwards.
        """
        pinned = [node.id for node in state.nodes.values() if node.pinned]
        return layout_level(
            state, self.context.open_block.id, chosen, direction="down" if down else "right",
            pinned=pinned, room=None if down else self.context.navigation.room,
        )  # fmt: skip
