"""What can be done on the canvas and to the graph, with its keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from studio.session.core.action_table import Action, ActionTable
from studio.session.document.cards.geometry import GRID
from studio.session.document.checks import possible
from studio.session.document.edits.arranging import Edge, distribute
from studio.session.document.edits.layers import bypass, collapse, freeze, pin
from studio.session.document.finding.keyboard_navigation import Direction

if TYPE_CHECKING:
    from studio.graph_editor.canvas.commands import CanvasCommands

_DIRECTIONS: tuple[Direction, ...] = ("left", "right", "up", "down")


def _moved(can_go: bool) -> str:
    return "" if can_go else "the canvas has not jumped"


_EDIT: tuple[Action[CanvasCommands], ...] = (
    Action(
        "edit.undo", "Undo", "Undo the last step, or cancel the current gesture.",
        ("Ctrl+Z",), "Edit", aliases=("back", "revert"), group="history",
        needs="sight",
        icon="undo", run=lambda c: c.undo(), enabled=lambda c: c.why_no_undo(),
    ),
    Action(
        "edit.redo", "Redo", "Redo the step that was undone last.",
        ("Ctrl+Shift+Z", "Ctrl+Y"), "Edit", aliases=("again",), group="history",
        needs="sight",
        icon="redo", run=lambda c: c.redo(), enabled=lambda c: c.why_no_redo(),
    ),
    Action(
        "edit.cut", "Cut", "Copy the selection and delete it without reconnecting wires.",
        ("Ctrl+X",), "Edit", "canvas", group="clipboard",
        icon="cut", run=lambda c: c.cut(), enabled=lambda c: c.needs_things(),
    ),
    Action(
        "edit.copy", "Copy", "Copy the selected layers; other programs get them as text.",
        ("Ctrl+C",), "Edit", "canvas", group="clipboard",
        icon="copy", run=lambda c: c.copy(), enabled=lambda c: c.needs_things(),
    ),
    Action(
        "edit.paste", "Paste", "Paste the copied layers at the pointer, with the "
                               "wires between them.",
        ("Ctrl+V",), "Edit", "canvas", aliases=("insert",), group="clipboard",
        icon="paste", run=lambda c: c.paste(),
    ),
    Action(
        "edit.paste_inputs", "Paste keeping inputs",
        "Paste the copied layers at the pointer, connected to the same inputs as the "
        "originals.",
        ("Ctrl+Shift+V",), "Edit", "canvas", group="clipboard",
        run=lambda c: c.paste(keep_inputs=True),
    ),
    Action(
        "edit.select_all", "Select all", "Select everything on the canvas.",
        ("Ctrl+A",), "Edit", "canvas", group="selection",
        run=lambda c: c.select_all(), enabled=lambda c: c.needs_a_graph(),
    ),
    Action(
        "canvas.find", "Find a layer", "Find layers by name or type.",
        ("Ctrl+F",), "Edit", "canvas", aliases=("search",), group="selection",
        run=lambda c: c.canvas.chrome.find_bar.open_bar(),
        enabled=lambda c: c.needs_any_layer(),
    ),
)  # fmt: skip

_GRAPH: tuple[Action[CanvasCommands], ...] = (
    Action(
        "canvas.quick_add", "Add a layer",
        "Search for a layer, or type a chain such as conv 16 3x3 > relu; it is "
        "connected after the selection.",
        ("Tab",), "Graph", "canvas", aliases=("new layer", "insert layer", "quick add"),
        group="add",
        run=lambda c: c.canvas.searches.add_by_keys(),
    ),
    Action(
        "graph.note", "Add a note", "Add a note to the canvas.",
        ("C",), "Graph", "canvas", aliases=("comment", "text"), group="add",
        run=lambda c: c.add_note(),
    ),
    Action(
        "graph.frame", "Frame the selection in a box",
        "Draw a titled box around the selected layers; they move together.",
        ("Ctrl+J",), "Graph", "canvas", aliases=("comment box", "group box"), group="add",
        run=lambda c: c.add_frame(), enabled=lambda c: c.needs_things(),
    ),
    Action(
        "graph.duplicate", "Duplicate", "Copy the selected layers in place.",
        ("Ctrl+D", "Shift+D"), "Graph", "canvas", aliases=("clone",), group="selection",
        run=lambda c: c.duplicate(), enabled=lambda c: c.needs_things(),
    ),
    Action(
        "graph.place_again", "Place again with the same weights",
        "Use the selected layer a second time: it follows the pointer; click to place it, on a "
        "wire to insert it, on a layer to connect it after that.",
        ("Alt+D",), "Graph", "canvas",
        aliases=("share weights", "shared layer", "siamese", "tied", "duplicate linked"),
        group="selection",
        run=lambda c: c.place_again(), enabled=lambda c: c.why_not_place_again(),
    ),
    Action(
        "graph.delete", "Delete",
        "Delete the selection and reconnect the wires around it where shapes fit.",
        ("Del", "Backspace"), "Graph", "canvas", aliases=("remove", "dissolve"),
        group="selection",
        run=lambda c: c.delete(heal=True), enabled=lambda c: c.needs_anything(),
    ),
    Action(
        "graph.delete_only", "Delete without reconnecting",
        "Delete the selection and all its wires.",
        ("Shift+Del",), "Graph", "canvas", aliases=("remove",), group="selection",
        run=lambda c: c.delete(heal=False), enabled=lambda c: c.needs_anything(),
    ),
    Action(
        "graph.rename", "Rename", "Rename the layer; it keeps its weights.",
        ("F2",), "Graph", "canvas", aliases=("name",), group="layer",
        run=lambda c: c.canvas.inline_editor.edit_selected(), enabled=lambda c: c.needs_things(),
    ),
    Action(
        "graph.switch_type", "Change the layer type",
        "Replace the layer by one of another type; wires and common options stay.",
        ("S",), "Graph", "canvas", aliases=("replace layer", "change type"), group="layer",
        run=lambda c: c.canvas.searches.switch_selected(),
        enabled=lambda c: c.needs_layers(),
    ),
    Action(
        "graph.repair", "Show the next fix",
        "Preview the next suggested fix of an error on the canvas; Enter applies it.",
        ("Ctrl+.",), "Graph", aliases=("fix", "quick fix", "mend"), group="layer",
        needs="sight",
        run=lambda c: c.next_repair(), enabled=lambda c: c.needs_repairs(),
    ),
    Action(
        "graph.bypass", "Bypass", "Pass data through the selected layers unchanged, or "
                                  "stop doing so.",
        ("M",), "Graph", "canvas", aliases=("mute", "disable", "skip"), group="layer",
        run=lambda c: c.on_layers("Bypass", bypass),
        enabled=lambda c: c.asks(possible.why_not_bypass),
    ),
    Action(
        "graph.freeze", "Freeze parameters",
        "Exclude the parameters of the selected layers from training, or include them again.",
        ("Shift+F",), "Graph", "canvas", aliases=("trainable", "lock"), group="layer",
        run=lambda c: c.on_layers("Freeze", freeze), enabled=lambda c: c.why_not_freeze(),
    ),
    Action(
        "graph.mark_output", "Mark as output",
        "Make the selected layer, or its chosen output, an output of the network, or stop "
        "doing so.",
        (), "Graph", "canvas", aliases=("end", "prediction"), group="layer",
        run=lambda c: c.mark_output(), enabled=lambda c: c.needs_layers(),
    ),
    Action(
        "graph.next_output", "Choose the next output",
        "Choose which output of the selected layer is marked, and feeds what is added.",
        ("O",), "Graph", "canvas", aliases=("port", "second output"), group="layer",
        run=lambda c: c.next_output(), enabled=lambda c: c.why_no_next_output(),
    ),
    Action(
        "graph.own_layer", "Stop sharing parameters",
        "Give this use of a shared layer its own parameters.",
        (), "Graph", "canvas", aliases=("unshare", "make unique"), group="layer",
        run=lambda c: c.own_layer(), enabled=lambda c: c.asks(possible.why_not_own_layer),
    ),
    Action(
        "graph.collapse", "Collapse", "Show only the titles of the selected layers, or "
                                      "expand them.",
        ("H",), "Graph", "canvas", aliases=("fold", "hide body"), group="look",
        run=lambda c: c.on_layers("Collapse", collapse), enabled=lambda c: c.needs_layers(),
    ),
    Action(
        "graph.preview", "Change the preview size",
        "Cycle what the selected layers, or all, show of their output: nothing, the "
        "shape, a small image, a large image.",
        ("Shift+H",), "Graph", "canvas",
        aliases=("thumbnail", "show pictures", "images on layers", "activations"), group="look",
        run=lambda c: c.next_preview(), enabled=lambda c: c.needs_any_layer(),
    ),
    Action(
        "graph.layout", "Lay out the selection",
        "Arrange the selected layers along their wires, as large as the canvas allows.",
        ("L",), "Graph", "canvas", aliases=("arrange", "tidy"), group="arrange",
        run=lambda c: c.layout_selection(), enabled=lambda c: c.needs_things(),
    ),
    Action(
        "graph.layout_all", "Lay out everything",
        "Arrange all layers along their wires, as large as the canvas allows.",
        ("Shift+L",), "Graph", "canvas", aliases=("arrange", "tidy"), group="arrange",
        run=lambda c: c.layout_all(), enabled=lambda c: c.needs_a_graph(),
    ),
    Action(
        "graph.layout_down", "Lay out from top to bottom",
        "Arrange the selected layers, or all, so that data flows downwards.",
        (), "Graph", "canvas", aliases=("vertical", "arrange"), group="arrange",
        run=lambda c: c.layout_down(), enabled=lambda c: c.needs_a_graph(),
    ),
    Action(
        "graph.pin", "Pin in place",
        "Keep the selected layers in place during layout, or release them.",
        ("P",), "Graph", "canvas", aliases=("lock position", "keep place"), group="arrange",
        run=lambda c: c.on_layers("Pin", pin), enabled=lambda c: c.needs_layers(),
    ),
    Action(
        "graph.straighten", "Straighten wires",
        "Move the selected layers up or down until the wires between them are straight.",
        ("Q",), "Graph", "canvas", aliases=("level",), group="arrange",
        run=lambda c: c.straighten(),
        enabled=lambda c: c.why_not_straighten(),
    ),
    Action(
        "graph.distribute", "Distribute evenly",
        "Make the gaps between the selected layers equal, along the longer side.",
        ("Shift+Q",), "Graph", "canvas", aliases=("space evenly",), group="arrange",
        run=lambda c: c.on_chosen("Distribute", distribute),
        enabled=lambda c: possible.why_not_distribute(c.context.selected_ids()),
    ),
    Action(
        "graph.drop_wires", "Disconnect all wires", "Remove all wires of the selected layers.",
        (), "Graph", "canvas", aliases=("disconnect", "unlink"), group="wires",
        run=lambda c: c.drop_wires(), enabled=lambda c: c.why_not_drop_wires(),
    ),
)  # fmt: skip

# Enter opens a block and Esc closes it: both are keys of the canvas itself.
_BLOCKS: tuple[Action[CanvasCommands], ...] = (
    Action(
        "graph.group", "Group into a block",
        "Draw the selected layers as one block; the network stays the same.",
        ("Ctrl+G",), "Graph", "canvas", aliases=("subgraph", "module", "make a block"),
        group="blocks",
        run=lambda c: c.blocks.group(), enabled=lambda c: c.blocks.why_not_group(),
    ),
    Action(
        "graph.dissolve", "Dissolve the block",
        "Put the layers of the selected block in its place; the network stays the same.",
        ("Ctrl+Shift+G",), "Graph", "canvas", aliases=("ungroup", "expand"), group="blocks",
        run=lambda c: c.blocks.dissolve(), enabled=lambda c: c.blocks.needs_block(),
    ),
    Action(
        "graph.copy_linked", "Copy as a linked block",
        "Copy the selected block: what is changed in one copy changes in all, but each has its "
        "own weights.",
        ("Ctrl+Shift+D",), "Graph", "canvas", aliases=("duplicate linked", "instance"),
        group="blocks",
        run=lambda c: c.blocks.copy_linked(), enabled=lambda c: c.blocks.needs_block(),
    ),
    Action(
        "graph.unlink", "Unlink the block",
        "Change the selected block without its linked copies from now on.",
        ("Ctrl+U",), "Graph", "canvas", aliases=("make unique", "independent"), group="blocks",
        run=lambda c: c.blocks.unlink(), enabled=lambda c: c.blocks.why_not_unlink(),
    ),
    Action(
        "graph.share_block", "Use the block again with the same weights",
        "Copy the selected block as a whole; both have one set of weights.",
        (), "Graph", "canvas", aliases=("share", "siamese", "call twice"), group="blocks",
        run=lambda c: c.blocks.share(), enabled=lambda c: c.blocks.why_not_enter(),
    ),
    Action(
        "graph.publish_block", "Publish to the palette",
        "Keep the selected block in the palette, for every project; one of the same name is "
        "replaced.",
        (), "Graph", "canvas", aliases=("save block", "library", "reuse"), group="blocks",
        run=lambda c: c.blocks.publish(), enabled=lambda c: c.blocks.why_not_enter(),
    ),
    Action(
        "graph.add_block_input", "Add an input to the block",
        "Give the selected or open block another input.",
        (), "Graph", "canvas", aliases=("port",), group="blocks",
        run=lambda c: c.blocks.add_port("in"), enabled=lambda c: c.blocks.why_no_port(),
    ),
    Action(
        "graph.add_block_output", "Add an output to the block",
        "Give the selected or open block another output.",
        (), "Graph", "canvas", aliases=("port",), group="blocks",
        run=lambda c: c.blocks.add_port("out"), enabled=lambda c: c.blocks.why_no_port(),
    ),
    Action(
        "graph.move_out", "Move out of the block",
        "Put the selected layers next to the open block; their wires pass its ports.",
        (), "Graph", "canvas", aliases=("take out", "extract"), group="blocks",
        run=lambda c: c.blocks.move_out(), enabled=lambda c: c.blocks.why_not_move_out(),
    ),
    Action(
        "graph.enter_block", "Open the block", "Show the layers inside the selected block.",
        (), "Graph", "canvas", aliases=("enter", "go into", "inside"), group="blocks",
        run=lambda c: c.blocks.enter(), enabled=lambda c: c.blocks.why_not_enter(),
    ),
    Action(
        "graph.leave_block", "Close the block",
        "Go back to the level that the open block stands in.",
        (), "Graph", "canvas", aliases=("leave", "up", "parent", "outside"), group="blocks",
        needs="sight",
        run=lambda c: c.blocks.leave(), enabled=lambda c: c.blocks.why_not_leave(),
    ),
)  # fmt: skip

_ALIGNED: dict[Direction, tuple[Edge, str]] = {
    "left": ("left", "left edges"), "right": ("right", "right edges"),
    "up": ("top", "upper edges"), "down": ("bottom", "lower edges"),
}  # fmt: skip
_STEPS: dict[Direction, tuple[float, float]] = {
    "left": (-GRID, 0.0), "right": (GRID, 0.0), "up": (0.0, -GRID), "down": (0.0, GRID),
}  # fmt: skip


def _of_arrow(side: Direction) -> tuple[Action[CanvasCommands], ...]:
    """What an arrow key does, with and without others held."""
    key, (edge, edges), step = side.capitalize(), _ALIGNED[side], _STEPS[side]
    return (
        Action(
            f"graph.align_{side}", f"Align the {edges}",
            f"Align the selected layers at their {edges}.",
            (f"Ctrl+Shift+{key}",), "Graph/Align", "canvas", group="align",
            run=lambda c: c.align(edge),
            enabled=lambda c: possible.why_not_align(c.context.selected_ids()),
        ),
        Action(
            f"graph.nudge_{side}", f"Nudge {side}", f"Move the selection 8 pixels {side}.",
            (f"Ctrl+{key}",), "Graph/Nudge", "canvas", aliases=("move",), group="nudge",
            run=lambda c: c.nudge(*step), enabled=lambda c: c.needs_things(),
        ),
        Action(
            f"canvas.walk_{side}", f"Go {side}",
            "Select the next layer along the wires." if side in ("left", "right")
            else "Select the next layer with the same input.",
            (key,), "View/Navigate", "canvas", group="walk",
            run=lambda c: c.walk(side), enabled=lambda c: c.needs_a_graph(),
        ),
        Action(
            f"canvas.extend_{side}", f"Extend the selection {side}",
            "Add the next layer to the selection.",
            (f"Shift+{key}",), "View/Navigate", "canvas", group="extend",
            run=lambda c: c.walk(side, extend=True), enabled=lambda c: c.needs_a_graph(),
        ),
    )  # fmt: skip


_VIEW: tuple[Action[CanvasCommands], ...] = (
    Action(
        "canvas.frame_selection", "Show the selection", "Zoom to fit the selection.",
        ("F",), "View", "canvas", aliases=("zoom to selection", "focus"), group="canvas",
        run=lambda c: c.frame_selection(), enabled=lambda c: c.needs_anything(),
    ),
    Action(
        "canvas.frame_all", "Show the whole graph", "Zoom to fit the whole graph.",
        ("Home", "Shift+1"), "View", "canvas", aliases=("fit", "zoom to fit"), group="canvas",
        run=lambda c: c.canvas.show_all(), enabled=lambda c: c.needs_a_graph(),
    ),
    Action(
        "canvas.back", "Previous view",
        "Go back to where the canvas was before it jumped.",
        ("Alt+Left",), "View", "canvas", aliases=("return", "previous place"), group="canvas",
        run=lambda c: c.context.navigation.back(),
        enabled=lambda c: _moved(c.context.navigation.can_go_back),
    ),
    Action(
        "canvas.forward", "Next view", "Go forward to where the canvas was before going back.",
        ("Alt+Right",), "View", "canvas", aliases=("next place",), group="canvas",
        run=lambda c: c.context.navigation.forward(),
        enabled=lambda c: _moved(c.context.navigation.can_go_forward),
    ),
    Action(
        "canvas.find_next", "Next match", "Go to the next search result or selected layer.",
        ("F3",), "Edit", "canvas", group="selection",
        run=lambda c: c.next_match(1), enabled=lambda c: c.needs_a_match(),
    ),
    Action(
        "canvas.find_previous", "Previous match",
        "Go to the previous search result or selected layer.",
        ("Shift+F3",), "Edit", "canvas", group="selection",
        run=lambda c: c.next_match(-1), enabled=lambda c: c.needs_a_match(),
    ),
    Action(
        "canvas.zoom_100", "Zoom to 100 %", "Show the canvas at its actual size.",
        ("Ctrl+0",), "View", "canvas", aliases=("actual size", "reset zoom"), group="canvas",
        run=lambda c: c.context.navigation.actual_size(),
    ),
    Action(
        "canvas.zoom_in", "Zoom in", "Show the canvas larger.",
        ("Ctrl++", "Ctrl+="), "View", "canvas", aliases=("larger",), group="canvas",
        run=lambda c: c.context.navigation.step(1),
    ),
    Action(
        "canvas.zoom_out", "Zoom out", "Show more of the canvas.",
        ("Ctrl+-",), "View", "canvas", aliases=("smaller",), group="canvas",
        run=lambda c: c.context.navigation.step(-1),
    ),
)  # fmt: skip

ACTIONS: ActionTable[CanvasCommands] = ActionTable(
    10,
    *_EDIT,
    *_GRAPH,
    *_BLOCKS,
    *(action for side in _DIRECTIONS for action in _of_arrow(side)),
    *_VIEW,
    changes=lambda c: (c.context.bus.selected,),
)
"""Every action of canvas and graph."""
