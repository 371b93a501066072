"""What the actions of blocks do on the canvas."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce

from studio.engine.core.errors import StudioError
from studio.graph_editor.editing.context import CANVAS, CanvasContext
from studio.session.document.checks import possible
from studio.session.document.edits.block_places import move_out
from studio.session.document.edits.blocks import add_port, group, ungroup
from studio.session.document.edits.copies import Copied, duplicate_mapped, share_block
from studio.session.document.edits.linked_copies import make_unique
from studio.session.document.errors import LossInCopies
from studio.session.document.levels import contents, copies_of
from studio.session.document.state import CanvasNode, DocumentState, PortSide
from studio.session.notices.settling import EDIT

NO_BLOCK = "no block is selected"


class BlockCommands:
    """Groups, dissolves, enters and leaves blocks.

    Args:
        context: what they work with.
    """

    def __init__(self, context: CanvasContext) -> None:
        self._context = context

    def needs_block(self) -> str:
        """A block has to be selected."""
        return "" if self._chosen() else NO_BLOCK

    def why_not_group(self) -> str:
        """Something that wires lead through, or a block, has to be selected."""
        nodes = self._context.document.state.nodes
        chosen = (nodes[i] for i in self._context.selected_ids())
        found = any((node.flows and not node.port) or node.is_block for node in chosen)
        return "" if found else possible.NO_LAYER

    def why_not_enter(self) -> str:
        """One block has to be the one that keys act on."""
        return "" if primary_block(self._context) is not None else NO_BLOCK

    def why_not_leave(self) -> str:
        """A block has to be open."""
        return "" if self._context.open_block.id else "no block is open"

    def group(self) -> str:
        """Make the selection a block; its id, empty when it was refused."""
        context = self._context
        chosen = context.selected_ids()
        before = set(context.document.state.nodes)
        if not context.apply("Group into a block", lambda state: group(state, chosen)):
            return ""
        nodes = context.document.state.nodes
        made = next(i for i, node in nodes.items() if i not in before and node.is_block)
        context.select([made])
        return made

    def dissolve(self) -> None:
        """Put what is in the selected blocks in their place."""
        inside: list[str] = []

        def edit(state: DocumentState, block: str) -> DocumentState:
            inside.extend(node.id for node in contents(state, block))
            return ungroup(state, block)

        if self._to_each("Dissolve", self._chosen(), edit):
            nodes = self._context.document.state.nodes
            self._context.select(i for i in inside if i in nodes)

    def why_not_unlink(self) -> str:
        """A block with linked copies has to be selected."""
        state = self._context.document.state
        if not self._chosen():
            return NO_BLOCK
        linked = any(len(copies_of(state, block.id)) > 1 for block in self._chosen())
        return "" if linked else "the block has no linked copies"

    def why_not_move_out(self) -> str:
        """A block has to be open, and something in it selected."""
        if not self._context.open_block.id:
            return "no block is open"
        nodes = self._context.document.state.nodes
        found = any(not nodes[i].port for i in self._context.selected_ids())
        return "" if found else possible.NOTHING

    def why_no_port(self) -> str:
        """A block has to be selected or open."""
        return "" if self._meant() else NO_BLOCK

    def copy_linked(self) -> None:
        """Copy the selected blocks; what is changed in one copy is changed in all."""
        chosen = [block.id for block in self._chosen()]
        self._copy("Copy as linked", lambda state: duplicate_mapped(state, chosen, linked=True))

    def share(self) -> None:
        """Use the selected block once more, with one set of weights."""
        block = primary_block(self._context)
        if block is not None:
            self._copy(f"Use {block.name} again", partial(share_block, block_id=block.id))

    def publish(self) -> None:
        """Keep the selected block in the palette, and say so."""
        block, studio = primary_block(self._context), self._context.studio
        if block is None:
            return
        try:
            replaced = studio.palette.publish(self._context.document.state, block.id)
        except StudioError as error:
            studio.fail(error)
            return
        done = "Replaced" if replaced else "Published"
        studio.notify(f"{done} the block {block.name} in the palette")

    def unlink(self) -> None:
        """Let the selected blocks be changed without their copies."""
        state = self._context.document.state
        linked = [block for block in self._chosen() if len(copies_of(state, block.id)) > 1]

        def edit(state: DocumentState, block: str) -> DocumentState:
            # The last of the copies has none by then.
            return make_unique(state, block) if len(copies_of(state, block)) > 1 else state

        self._to_each("Unlink", linked, edit)

    def move_out(self) -> None:
        """Put the selection beside the open block; its wires pass ports.

        Where linked copies would lose layers by it, the user is asked to unlink the block first.
        """
        context = self._context
        state = context.document.state
        chosen = [i for i in context.selected_ids() if not state.nodes[i].port]
        try:
            made = move_out(state, chosen)
        except LossInCopies as error:
            block = error.block.id
            unlink = ("Unlink and move out", lambda: self._unlink_and_move_out(block, chosen))
            context.studio.notices.add_error(error, unlink, about=EDIT)
            return
        if context.apply("Move out of the block", lambda _: made):
            context.select(chosen)

    def _unlink_and_move_out(self, block: str, chosen: list[str]) -> None:
        context = self._context
        name = context.document.state.node(block).name
        if context.apply(f"Unlink {name} and move out of it",
                         lambda state: move_out(make_unique(state, block), chosen)):  # fmt: skip
            context.select(chosen)

    def add_port(self, side: PortSide) -> None:
        """Give the selected block, or the open one, another input or output."""
        context, block = self._context, self._meant()
        made: list[str] = []

        def edit(state: DocumentState) -> DocumentState:
            added = add_port(state, block, side)
            made.append(added.id)
            return added.state

        word = "input" if side == "in" else "output"
        if context.apply(f"Add an {word} to the block", edit) and context.open_block.id == block:
            context.select(made)

    def _to_each(
        self,
        verb: str,
        blocks: list[CanvasNode],
        edit: Callable[[DocumentState, str], DocumentState],
    ) -> bool:
        """Make an edit of each block, all in one step; whether the document changed."""

        def all_edits(state: DocumentState) -> DocumentState:
            return reduce(edit, (block.id for block in blocks), state)

        what = blocks[0].name if len(blocks) == 1 else f"{len(blocks)} blocks"
        return bool(blocks) and self._context.apply(f"{verb} {what}", all_edits)

    def _copy(self, text: str, edit: Callable[[DocumentState], Copied]) -> None:
        made: list[str] = []

        def copied(state: DocumentState) -> DocumentState:
            found = edit(state)
            made.extend(i for old, i in found.ids.items() if old in chosen)
            return found.state

        chosen = {block.id for block in self._chosen()}
        if self._context.apply(text, copied):
            self._context.select(made)

    def _meant(self) -> str:
        """The selected block, that of the selected port, or the open one."""
        primary, nodes = self._context.bus.drawn.primary, self._context.document.state.nodes
        node = None if primary is None else nodes.get(primary.key)
        if node is not None and (node.is_block or node.port):
            return node.id if node.is_block else node.parent
        return self._context.open_block.id

    def enter(self) -> None:
        """Show what is inside the selected block."""
        block = primary_block(self._context)
        if block is not None:
            self._context.bus.clear(CANVAS)
            self._context.open_block.open(block.id)

    def leave(self) -> None:
        """Show what the open block stands in, with the block selected."""
        left = self._context.open_block.leave()
        self._context.select([left] if left else [])

    def _chosen(self) -> list[CanvasNode]:
        nodes = self._context.document.state.nodes
        return [nodes[i] for i in self._context.selected_ids() if nodes[i].is_block]


def primary_block(context: CanvasContext) -> CanvasNode | None:
    """The block that keys act on, if it is one."""
    primary, nodes = context.bus.drawn.primary, context.document.state.nodes
    found = None if primary is None else nodes.get(primary.key)
    return found if found is not None and found.is_block else None
