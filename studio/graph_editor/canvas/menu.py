"""The context menu of the canvas: the same order everywhere, whatever was clicked."""

from __future__ import annotations

from PySide6.QtCore import QPoint

from studio.graph_editor.editing.picking import Target
from studio.session.core.action_table import ActionRegistry
from studio.widgets.menus import Entry, menu_of

_ADD: tuple[Entry, ...] = ("canvas.quick_add", "edit.paste", "graph.note")
_LAYER: tuple[Entry, ...] = (
    "graph.edit_options",
    "graph.rename",
    "graph.duplicate",
    "graph.switch_type",
    None,
    "graph.bypass",
    "graph.freeze",
    "graph.mark_output",
    None,
    "graph.place_again",
    "graph.own_layer",
    None,
    ("Appearance", ("graph.collapse", "graph.preview")),
    ("Arrange", ("graph.layout", "graph.pin", "graph.straighten", "graph.distribute",
                 None, "graph.align_left", "graph.align_right", "graph.align_up",
                 "graph.align_down")),
    "graph.frame",
    "graph.group",
    None,
    "edit.cut",
    "edit.copy",
    "edit.paste",
    None,
    "graph.drop_wires",
    "graph.delete",
)  # fmt: skip
_BLOCK: tuple[Entry, ...] = (
    "graph.enter_block",
    "graph.rename",
    None,
    "graph.duplicate",
    "graph.copy_linked",
    "graph.share_block",
    "graph.unlink",
    "graph.publish_block",
    None,
    "graph.group",
    "graph.dissolve",
    ("Ports", ("graph.add_block_input", "graph.add_block_output")),
    None,
    ("Arrange", ("graph.layout", "graph.pin", "graph.straighten", "graph.distribute")),
    "graph.frame",
    None,
    "edit.cut",
    "edit.copy",
    "edit.paste",
    None,
    "graph.drop_wires",
    "graph.delete",
)
_IN_BLOCK: tuple[Entry, ...] = (
    None,
    "graph.add_block_input",
    "graph.add_block_output",
    "graph.leave_block",
)
_INSIDE: tuple[Entry, ...] = (None, "graph.move_out")
_PORT: tuple[Entry, ...] = (
    "graph.rename",
    "graph.add_block_input",
    "graph.add_block_output",
    None,
    "graph.drop_wires",
    "graph.delete",
)
_COMMENT: tuple[Entry, ...] = (
    "graph.rename",
    "graph.duplicate",
    None,
    "edit.cut",
    "edit.copy",
    None,
    "graph.delete",
)
_WIRE: tuple[Entry, ...] = ("canvas.quick_add", None, "graph.drop_wires", "graph.delete")
_EMPTY: tuple[Entry, ...] = (
    *_ADD,
    None,
    "edit.select_all",
    "canvas.find",
    "graph.layout_all",
    "graph.preview",
    None,
    "canvas.frame_all",
    "canvas.zoom_100",
)


def entries_for(
    target: Target,
    *,
    is_comment: bool = False,
    is_block: bool = False,
    is_port: bool = False,
    in_block: bool = False,
) -> tuple[Entry, ...]:
    """What the menu holds over a part of the canvas."""
    if target.wire is not None:
        return _WIRE
    if not target.node:
        return (*_EMPTY, *_IN_BLOCK) if in_block else _EMPTY
    if is_port:
        return _PORT
    if is_block:
        return (*_BLOCK, *_INSIDE) if in_block else _BLOCK
    if is_comment:
        return _COMMENT
    return (*_LAYER, *_INSIDE) if in_block else _LAYER


def open_canvas_menu(
    registry: ActionRegistry, entries: tuple[Entry, ...], at: QPoint, parent: object
) -> None:
    """Show the menu at a place of the screen; it does not stop the rest."""
    known = tuple(entry for entry in entries if not isinstance(entry, str) or entry in registry)
    menu = menu_of(registry, known, parent)  # type: ignore[arg-type]
    menu.setObjectName("canvas_menu")
    menu.popup(at)
