"""What the actions of blocks do on the canvas."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from studio.graph_editor.editing.context import CANVAS, CanvasContext
from studio.session.document.checks import possible
from studio.session.document.edits.blocks import group, ungroup
from studio.session.document.levels import contents

if TYPE_CHECKING:
    from studio.session.document.state import CanvasNode

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
        context = self._context
        for block in self._chosen():
            inside = [node.id for node in contents(context.document.state, block.id)]
            if context.apply(f"Dissolve {block.name}", partial(ungroup, block_id=block.id)):
                context.select(i for i in inside if i in context.document.state.nodes)

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
