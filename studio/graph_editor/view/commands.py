"""Carries out the actions of the canvas: each id of the action table, bound to what it does."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import QMimeData
from PySide6.QtGui import QGuiApplication

from studio.graph_editor.model import possible
from studio.graph_editor.model.arrange.layered import Direction as Flowing
from studio.graph_editor.model.arrange.layered import layout
from studio.graph_editor.model.clipboard import MIME, copy_text, paste_mapped
from studio.graph_editor.model.edits.arranging import Edge, align, distribute, straighten
from studio.graph_editor.model.edits.bypassing import bypass
from studio.graph_editor.model.edits.comments import add_frame, add_note
from studio.graph_editor.model.edits.copies import duplicate_mapped
from studio.graph_editor.model.edits.layers import collapse, freeze, mark_output, pin, set_preview
from studio.graph_editor.model.edits.places import move_by
from studio.graph_editor.model.edits.removal import delete_counted
from studio.graph_editor.model.edits.sharing import give_own_layer
from studio.graph_editor.model.edits.wires import cut_wires
from studio.graph_editor.model.flow import downstream
from studio.graph_editor.model.geometry import GRID
from studio.graph_editor.model.state import PREVIEW_MODES, DocumentState, Wire
from studio.graph_editor.model.walking import Direction, first_layer, walk
from studio.ui.models import entities
from studio.ui.models.notice_settling import UNDO

if TYPE_CHECKING:
    from studio.graph_editor.view.canvas import CanvasView

_STEPS: dict[str, tuple[float, float]] = {
    "left": (-GRID, 0.0), "right": (GRID, 0.0), "up": (0.0, -GRID), "down": (0.0, GRID),
}  # fmt: skip
_ALIGNED: dict[str, Edge] = {"left": "left", "right": "right", "up": "top", "down": "bottom"}
_DIRECTIONS: tuple[Direction, ...] = ("left", "right", "up", "down")


class CanvasCommands:
    """Binds the actions to a canvas.

    Args:
        canvas: what they act on.
    """

    def __init__(self, canvas: CanvasView) -> None:
        self._canvas = canvas
        self._bound: list[str] = []
        self._bind_edit()
        self._bind_graph()
        self._bind_view()
        canvas.bus.selected.connect(self._refresh)

    # -- binding --------------------------------------------------------------------------------

    def _bind(
        self,
        action_id: str,
        handler: Callable[[], object],
        enabled: Callable[[], str] | None = None,
    ) -> None:
        self._canvas.studio.actions.bind(action_id, handler, enabled)
        self._bound.append(action_id)

    def _bind_edit(self) -> None:
        self._bind("edit.undo", self.undo, self._why_no_undo)
        self._bind("edit.redo", self.redo, self._why_no_redo)
        self._bind("edit.cut", self.cut, self._needs_things)
        self._bind("edit.copy", self.copy, self._needs_things)
        self._bind("edit.paste", self.paste)
        self._bind("edit.paste_inputs", lambda: self.paste(keep_inputs=True))
        self._bind("edit.select_all", self.select_all, self._needs_a_graph)
        self._bind("canvas.find", lambda: self._canvas.chrome.find_bar.open_bar(),
                   self._needs_any_layer)  # fmt: skip

    def _bind_graph(self) -> None:
        canvas = self._canvas
        self._bind("canvas.quick_add", canvas.searches.add_by_keys)
        self._bind("graph.note", self.add_note)
        self._bind("graph.frame", self.add_frame, self._needs_things)
        self._bind("graph.duplicate", self.duplicate, self._needs_things)
        self._bind("graph.delete", lambda: self.delete(heal=True), self._needs_anything)
        self._bind("graph.delete_only", lambda: self.delete(heal=False), self._needs_anything)
        self._bind("graph.rename", canvas.writing.rename_selected, self._needs_things)
        self._bind("graph.switch_type", canvas.searches.switch_selected, self._needs_layers)
        for action_id, name, edit, why_not in (
            ("graph.bypass", "Bypass", bypass, self._asks(possible.why_not_bypass)),
            ("graph.freeze", "Freeze", freeze, self._why_not_freeze),
            ("graph.collapse", "Collapse", collapse, self._needs_layers),
            ("graph.pin", "Pin", pin, self._needs_layers),
        ):
            self._bind(action_id, self._on_layers(name, edit), why_not)
        self._bind("graph.repair", self.next_repair, self._needs_repairs)
        self._bind("graph.mark_output", self.mark_output, self._needs_layers)
        self._bind("graph.own_layer", self.own_layer, self._asks(possible.why_not_own_layer))
        self._bind("graph.preview", self.next_preview, self._needs_any_layer)
        self._bind("graph.layout", self.layout_selection, self._needs_things)
        self._bind("graph.layout_all", lambda: self._arrange("Lay out everything", None),
                   self._needs_a_graph)  # fmt: skip
        self._bind("graph.layout_down", self.layout_down, self._needs_a_graph)
        self._bind("graph.straighten", self._on_chosen("Straighten", straighten),
                   self._asks(possible.why_not_straighten))  # fmt: skip
        self._bind("graph.distribute", self._on_chosen("Distribute", distribute),
                   lambda: possible.why_not_distribute(self._canvas.selected_ids()))  # fmt: skip
        self._bind("graph.drop_wires", self.drop_wires, self._why_not_drop_wires)
        for side in _DIRECTIONS:
            self._bind(f"graph.align_{side}", self._aligner(side),
                       lambda: possible.why_not_align(self._canvas.selected_ids()))  # fmt: skip
            self._bind(f"graph.nudge_{side}", self._nudger(side), self._needs_things)

    def _bind_view(self) -> None:
        canvas, navigation = self._canvas, self._canvas.navigation
        for side in _DIRECTIONS:
            self._bind(f"canvas.walk_{side}", self._walker(side, extend=False),
                       self._needs_a_graph)  # fmt: skip
            self._bind(f"canvas.extend_{side}", self._walker(side, extend=True),
                       self._needs_a_graph)  # fmt: skip
        self._bind("canvas.frame_selection", self.frame_selection, self._needs_anything)
        self._bind("canvas.frame_all", canvas.show_all, self._needs_a_graph)
        self._bind("canvas.back", navigation.back,
                   lambda: self._may(navigation.can_go_back))  # fmt: skip
        self._bind("canvas.forward", navigation.forward,
                   lambda: self._may(navigation.can_go_forward))  # fmt: skip
        self._bind("canvas.find_next", lambda: self.next_match(1), self._needs_a_match)
        self._bind("canvas.find_previous", lambda: self.next_match(-1), self._needs_a_match)
        self._bind("canvas.zoom_100", navigation.actual_size)
        self._bind("canvas.zoom_in", lambda: navigation.step(1))
        self._bind("canvas.zoom_out", lambda: navigation.step(-1))

    def _refresh(self, *_args: object) -> None:
        self._canvas.studio.actions.refresh(*self._bound)

    def _why_no_undo(self) -> str:
        done = self._canvas.studio.document.history.undo_text
        return "" if done else "there is nothing to take back"

    def _why_no_redo(self) -> str:
        undone = self._canvas.studio.document.history.redo_text
        return "" if undone else "nothing was taken back"

    @staticmethod
    def _may(possible: bool) -> str:
        return "" if possible else "no other view has moved the canvas"

    def _needs_things(self) -> str:
        if self._canvas.selected_ids():
            return ""
        return "only wires are selected" if self._wires() else possible.NOTHING

    def _needs_layers(self) -> str:
        return "" if self._layers() else possible.NO_LAYER

    def _needs_a_graph(self) -> str:
        return "" if self._canvas.document.state.nodes else "the canvas is empty"

    def _needs_a_match(self) -> str:
        if self._canvas.chrome.find_bar.found or self._canvas.selected_ids():
            return ""
        return "nothing is found and nothing is selected"

    def _asks(self, why_not: Callable[[DocumentState, list[str]], str]) -> Callable[[], str]:
        return lambda: why_not(self._canvas.document.state, self._canvas.selected_ids())

    def _why_not_freeze(self) -> str:
        document = self._canvas.document
        return possible.why_not_freeze(
            document.state, self._canvas.selected_ids(), document.report
        )  # fmt: skip

    def _why_not_drop_wires(self) -> str:
        return possible.why_not_drop_wires(
            self._canvas.document.state, self._canvas.selected_ids(), len(self._wires())
        )

    def _needs_any_layer(self) -> str:
        return "" if any(self._canvas.document.state.layers()) else "there is no layer"

    def _needs_repairs(self) -> str:
        return "" if self._canvas.fixes.chips else "there is nothing to repair"

    def _needs_anything(self) -> str:
        return "" if self._canvas.selected_ids() or self._wires() else possible.NOTHING

    def _layers(self) -> list[str]:
        nodes = self._canvas.document.state.nodes
        return [i for i in self._canvas.selected_ids() if nodes[i].is_layer]

    def _wires(self) -> list[Wire]:
        chosen = self._canvas.bus.drawn.entities
        found = [Wire(*entities.wire_ends(e)) for e in chosen if e.kind == "wire"]
        return [wire for wire in found if wire in self._canvas.graph.wires]

    # -- history and clipboard ------------------------------------------------------------------

    def undo(self) -> None:
        """Call the gesture off, or take back the last step."""
        if not self._canvas.cancel_gesture():
            self._canvas.document.undo()

    def redo(self) -> None:
        """Do the last step again."""
        self._canvas.document.redo()

    def copy(self) -> None:
        """Put the selection on the clipboard, as our own format and as text."""
        text = copy_text(self._canvas.document.state, self._canvas.selected_ids())
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
        at = self._canvas.paste_place()
        made = paste_mapped(
            self._canvas.document.state, text, (at.x(), at.y()), keep_inputs=keep_inputs
        )
        self._canvas.document.apply(f"Paste {len(made.ids)} items", made.state)
        self._select(made.ids.values())

    def duplicate(self) -> None:
        """Copy the selection in place."""
        chosen = self._canvas.selected_ids()
        made = duplicate_mapped(self._canvas.document.state, chosen)
        self._canvas.document.apply(self._named("Duplicate", chosen), made.state)
        self._select(made.ids.values())

    # -- selection ------------------------------------------------------------------------------

    def select_all(self) -> None:
        """Select everything on the canvas."""
        self._select(self._canvas.document.state.nodes)

    def _select(self, node_ids: Iterable[str]) -> None:
        chosen = [entities.node(node_id) for node_id in node_ids]
        self._canvas.bus.select(chosen, source=self._canvas.source)

    def _walker(self, side: Direction, *, extend: bool) -> Callable[[], None]:
        return lambda: self.walk(side, extend=extend)

    def walk(self, side: Direction, *, extend: bool = False) -> None:
        """Select the next thing that way."""
        canvas, state = self._canvas, self._canvas.document.state
        primary = canvas.bus.drawn.primary
        at = primary.key if primary is not None and primary.key in state.nodes else ""
        found = walk(state, at, side) if at else first_layer(state)
        if found:
            mode: Literal["add", "replace"] = "add" if extend else "replace"
            canvas.bus.select([entities.node(found)], source=canvas.source, mode=mode)
            canvas.navigation.reveal(canvas.graph.area_of([found]))

    def next_match(self, step: int) -> None:
        """Go to the next layer found; without a search, to the next of those selected."""
        canvas, bar = self._canvas, self._canvas.chrome.find_bar
        selection = canvas.bus.drawn
        chosen = self._canvas.selected_ids()
        if bar.found and (bar.isVisible() or len(chosen) < 2):
            bar.step(step)
            return
        if selection.primary is not None and selection.primary.key in chosen:
            at = chosen.index(selection.primary.key) + step
            primary = entities.node(chosen[at % len(chosen)])
            canvas.bus.select(selection.entities, primary, canvas.source)
            canvas.navigation.reveal(canvas.graph.area_of([primary.key]))

    def frame_selection(self) -> None:
        """Bring the selection into sight; of a wire, what it joins."""
        ends = [end for wire in self._wires() for end in (wire.source, wire.target)]
        chosen = [*self._canvas.selected_ids(), *ends]
        self._canvas.navigation.frame(self._canvas.graph.area_of(chosen))

    # -- edits ----------------------------------------------------------------------------------

    def delete(self, *, heal: bool, verb: str = "Delete") -> None:
        """Remove the selected things and wires, and say how to get them back."""
        canvas, chosen, wires = self._canvas, self._canvas.selected_ids(), self._wires()
        found = delete_counted(cut_wires(canvas.document.state, wires), chosen, heal=heal)
        if not chosen:
            count = f"{len(wires)} wire{'' if len(wires) == 1 else 's'}"
            canvas.document.apply(f"{verb} {count}", found.state)
            return
        canvas.document.apply(self._named(verb, chosen), found.state)
        # The next step settles it: as long as it is offered, what it takes back is the last one.
        canvas.studio.notify(found.text, "info", ("Undo", canvas.document.undo), about=UNDO)

    def next_repair(self) -> None:
        """Show on the canvas what the next repair would do; Enter makes it, Esc does not."""
        canvas, primary = self._canvas, self._canvas.bus.drawn.primary
        chip = canvas.fixes.step("" if primary is None else primary.key)
        if chip is not None:
            # Enter and Esc are the canvas's, wherever the keyboard was.
            canvas.setFocus()
            canvas.navigation.reveal(canvas.graph.area_of([chip.node_id]))

    def drop_wires(self) -> None:
        """Remove the selected wires and all those of selected layers."""
        chosen = set(self._canvas.selected_ids())
        state = self._canvas.document.state
        wires = [w for w in state.wires() if w.source in chosen or w.target in chosen]
        self._canvas.apply("Drop wires", lambda now: cut_wires(now, [*wires, *self._wires()]))

    def add_note(self) -> None:
        """Put a note at the pointer and write in it."""
        at = self._canvas.paste_place()
        self._add_comment("Add a note", lambda state: add_note(state, at.x(), at.y()))

    def add_frame(self) -> None:
        """Put a frame around the selection, and give it a title."""
        chosen = self._canvas.selected_ids()
        self._add_comment("Add a frame", lambda state: add_frame(state, chosen))

    def _add_comment(self, text: str, edit: Callable[[DocumentState], DocumentState]) -> None:
        before = set(self._canvas.document.state.nodes)
        if self._canvas.apply(text, edit):
            made = [i for i in self._canvas.document.state.nodes if i not in before]
            self._select(made)
            self._canvas.writing.write(made[0])

    def mark_output(self) -> None:
        """Mark the selected layer as output, or not any more."""
        node_id = self._layers()[-1]
        name = self._canvas.document.state.nodes[node_id].name
        self._canvas.apply(f"Mark {name} as output", lambda state: mark_output(state, node_id))

    def own_layer(self) -> None:
        """End the sharing of the selected layer's parameters."""
        node_id = self._layers()[-1]
        name = self._canvas.document.state.nodes[node_id].name
        self._canvas.apply(f"Make {name} a layer of its own",
                           lambda state: give_own_layer(state, node_id))  # fmt: skip

    def next_preview(self) -> None:
        """Step what the selected layers show of their output; of all, with none selected."""
        state = self._canvas.document.state
        layers = self._layers() or [node.id for node in state.layers()]
        now = state.nodes[layers[-1]].preview
        mode = PREVIEW_MODES[(PREVIEW_MODES.index(now) + 1) % len(PREVIEW_MODES)]
        if mode in ("thumbnail", "full"):
            self._canvas.studio.preferences.set("previews", True)
        self._canvas.apply(f"Preview: {mode}", lambda state: set_preview(state, layers, mode))

    def layout_selection(self) -> None:
        """Arrange the selection; of one layer, everything downstream of it."""
        chosen = self._canvas.selected_ids()
        if len(chosen) == 1:
            chosen = sorted(downstream(self._canvas.document.state, chosen))
        self._arrange(self._named("Lay out", chosen), chosen)

    def layout_down(self) -> None:
        """Arrange from top to bottom."""
        chosen = self._canvas.selected_ids() or None
        self._canvas.arrange("Lay out from top to bottom",
                             lambda state: _laid_out(state, chosen, "down"))  # fmt: skip

    def _arrange(self, text: str, chosen: Iterable[str] | None) -> None:
        self._canvas.arrange(text, lambda state: _laid_out(state, chosen, "right"))

    def _aligner(self, side: Direction) -> Callable[[], object]:
        edge = _ALIGNED[side]
        return lambda: self._canvas.arrange(
            f"Align {edge}", lambda state: align(state, self._canvas.selected_ids(), edge)
        )

    def _nudger(self, side: Direction) -> Callable[[], object]:
        dx, dy = _STEPS[side]
        return lambda: self._nudge(dx, dy)

    def _nudge(self, dx: float, dy: float) -> None:
        document, chosen = self._canvas.document, self._canvas.selected_ids()
        made = move_by(document.state, chosen, dx, dy)
        document.apply(self._named("Nudge", chosen), made, merge_key=f"nudge {sorted(chosen)}")

    def _on_layers(
        self, text: str, edit: Callable[[DocumentState, Iterable[str]], DocumentState]
    ) -> Callable[[], object]:
        return lambda: self._edit(text, edit, self._layers())

    def _on_chosen(
        self, text: str, edit: Callable[[DocumentState, Iterable[str]], DocumentState]
    ) -> Callable[[], object]:
        def arrange() -> None:
            chosen = self._canvas.selected_ids()
            self._canvas.arrange(self._named(text, chosen), lambda state: edit(state, chosen))

        return arrange

    def _edit(
        self,
        text: str,
        edit: Callable[[DocumentState, Iterable[str]], DocumentState],
        chosen: list[str],
    ) -> None:
        self._canvas.apply(self._named(text, chosen), lambda state: edit(state, chosen))

    def _named(self, verb: str, chosen: Iterable[str]) -> str:
        """A step's name: what is done to what."""
        nodes = self._canvas.document.state.nodes
        names = [nodes[node_id].name for node_id in chosen if node_id in nodes]
        return f"{verb} {names[0]}" if len(names) == 1 else f"{verb} {len(names)} items"


def _laid_out(state: DocumentState, chosen: Iterable[str] | None, way: Flowing) -> DocumentState:
    """The layout of things, or of everything; pinned ones stay."""
    pinned = [node.id for node in state.nodes.values() if node.pinned]
    return layout(state, chosen, direction=way, pinned=pinned)
