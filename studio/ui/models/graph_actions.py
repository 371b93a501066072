"""What can be done on the canvas and to the graph, with its keys."""

from __future__ import annotations

from studio.ui.models.actions import ActionSpec

_EDIT: tuple[ActionSpec, ...] = (
    ActionSpec(
        "edit.undo", "Undo", "Take back the last step, or call off the gesture that is open.",
        ("Ctrl+Z",), "Edit", aliases=("back", "revert"), group="history",
        needs="sight",
    ),
    ActionSpec(
        "edit.redo", "Redo", "Do the step again that was taken back last.",
        ("Ctrl+Shift+Z", "Ctrl+Y"), "Edit", aliases=("again",), group="history",
        needs="sight",
    ),
    ActionSpec(
        "edit.cut", "Cut", "Copy the selection and delete it without healing.",
        ("Ctrl+X",), "Edit", "canvas", group="clipboard",
    ),
    ActionSpec(
        "edit.copy", "Copy", "Copy the selected layers, also as readable text for other programs.",
        ("Ctrl+C",), "Edit", "canvas", group="clipboard",
    ),
    ActionSpec(
        "edit.paste", "Paste", "Put copied layers at the pointer, wired among themselves.",
        ("Ctrl+V",), "Edit", "canvas", aliases=("insert",), group="clipboard",
    ),
    ActionSpec(
        "edit.paste_inputs", "Paste keeping inputs",
        "Put copied layers at the pointer and feed them from where the originals are fed.",
        ("Ctrl+Shift+V",), "Edit", "canvas", group="clipboard",
    ),
    ActionSpec(
        "edit.select_all", "Select all", "Select everything on the canvas.",
        ("Ctrl+A",), "Edit", "canvas", group="selection",
    ),
    ActionSpec(
        "canvas.find", "Find a layer", "Find layers by name or type.",
        ("Ctrl+F",), "Edit", "canvas", aliases=("search",), group="selection",
    ),
)  # fmt: skip

_GRAPH: tuple[ActionSpec, ...] = (
    ActionSpec(
        "canvas.quick_add", "Add a layer",
        "Search for a layer, or type a net such as conv 16 3x3 > relu; it follows the selection.",
        ("Tab",), "Graph", "canvas", aliases=("new layer", "insert layer", "quick add"),
        group="add",
    ),
    ActionSpec(
        "graph.note", "Add a note", "Put a note on the canvas.",
        ("C",), "Graph", "canvas", aliases=("comment", "text"), group="add",
    ),
    ActionSpec(
        "graph.frame", "Frame the selection in a box",
        "Put a titled box around the selected layers; it moves with them.",
        ("Ctrl+J",), "Graph", "canvas", aliases=("comment box", "group box"), group="add",
    ),
    ActionSpec(
        "graph.duplicate", "Duplicate", "Copy the selected layers in place.",
        ("Ctrl+D", "Shift+D"), "Graph", "canvas", aliases=("clone",), group="selection",
    ),
    ActionSpec(
        "graph.delete", "Delete",
        "Delete the selection and join the wires it interrupts, where they fit.",
        ("Del", "Backspace"), "Graph", "canvas", aliases=("remove", "dissolve"),
        group="selection",
    ),
    ActionSpec(
        "graph.delete_only", "Delete without healing",
        "Delete the selection and every wire to it.",
        ("Shift+Del",), "Graph", "canvas", aliases=("remove",), group="selection",
    ),
    ActionSpec(
        "graph.rename", "Rename", "Give the layer another name; its weights go with it.",
        ("F2",), "Graph", "canvas", aliases=("name",), group="layer",
    ),
    ActionSpec(
        "graph.edit_options", "Edit the options", "Go to the layer's first field in the inspector.",
        ("Return", "Enter"), "Graph", "canvas", aliases=("parameters", "inspect"), group="layer",
    ),
    ActionSpec(
        "graph.switch_type", "Switch the layer's type",
        "Make it another layer in place; wires and the options both understand stay.",
        ("S",), "Graph", "canvas", aliases=("replace layer", "change type"), group="layer",
    ),
    ActionSpec(
        "graph.repair", "Show the next repair",
        "Show on the canvas what the next repair of an error would do; Enter makes it.",
        ("Ctrl+.",), "Graph", aliases=("fix", "quick fix", "mend"), group="layer",
        needs="sight",
    ),
    ActionSpec(
        "graph.bypass", "Bypass", "Let data pass the selected layers unchanged, or not any more.",
        ("M",), "Graph", "canvas", aliases=("mute", "disable", "skip"), group="layer",
    ),
    ActionSpec(
        "graph.freeze", "Freeze the parameters",
        "Keep the parameters of the selected layers as they are in training, or train them again.",
        ("Shift+F",), "Graph", "canvas", aliases=("trainable", "lock"), group="layer",
    ),
    ActionSpec(
        "graph.mark_output", "Mark as output",
        "Make the selected layer the network's output, or not any more.",
        (), "Graph", "canvas", aliases=("end", "prediction"), group="layer",
    ),
    ActionSpec(
        "graph.own_layer", "Give it a layer of its own",
        "End the sharing of parameters with another use of the layer.",
        (), "Graph", "canvas", aliases=("unshare", "make unique"), group="layer",
    ),
    ActionSpec(
        "graph.collapse", "Collapse", "Draw only the titles of the selected layers, or all.",
        ("H",), "Graph", "canvas", aliases=("fold", "hide body"), group="look",
    ),
    ActionSpec(
        "graph.preview", "Step the previews",
        "Step what the selected layers, or all, show of their output: nothing, its shape, a small "
        "picture, a large one.",
        ("Shift+H",), "Graph", "canvas",
        aliases=("thumbnail", "show pictures", "images on layers", "activations"), group="look",
    ),
    ActionSpec(
        "graph.layout", "Lay out the selection", "Arrange the selected layers along their wires.",
        ("L",), "Graph", "canvas", aliases=("arrange", "tidy"), group="arrange",
    ),
    ActionSpec(
        "graph.layout_all", "Lay out everything", "Arrange all layers along their wires.",
        ("Shift+L",), "Graph", "canvas", aliases=("arrange", "tidy"), group="arrange",
    ),
    ActionSpec(
        "graph.layout_down", "Lay out from top to bottom",
        "Arrange the selected layers, or all, so that data runs down.",
        (), "Graph", "canvas", aliases=("vertical", "arrange"), group="arrange",
    ),
    ActionSpec(
        "graph.pin", "Pin in place",
        "Keep the selected layers where they are when others are laid out, or not any more.",
        ("P",), "Graph", "canvas", aliases=("lock position", "keep place"), group="arrange",
    ),
    ActionSpec(
        "graph.straighten", "Straighten the wires",
        "Move the selected layers up or down until the wires between them are level.",
        ("Q",), "Graph", "canvas", aliases=("level",), group="arrange",
    ),
    ActionSpec(
        "graph.distribute", "Distribute evenly",
        "Make the spaces between the selected layers equal, along the longer side.",
        ("Shift+Q",), "Graph", "canvas", aliases=("space evenly",), group="arrange",
    ),
    ActionSpec(
        "graph.drop_wires", "Drop the wires", "Remove all wires of the selected layers.",
        (), "Graph", "canvas", aliases=("disconnect", "unlink"), group="wires",
    ),
)  # fmt: skip

_SIDES = (("left", "Left"), ("right", "Right"), ("up", "Up"), ("down", "Down"))
_EDGES = {"left": "left edges", "right": "right edges", "up": "upper edges", "down": "lower edges"}

_ARROWS: tuple[ActionSpec, ...] = tuple(
    spec
    for side, key in _SIDES
    for spec in (
        ActionSpec(
            f"graph.align_{side}", f"Align the {_EDGES[side]}",
            f"Bring the selected layers to a common line at their {_EDGES[side]}.",
            (f"Ctrl+Shift+{key}",), "Graph/Align", "canvas", group="align",
        ),
        ActionSpec(
            f"graph.nudge_{side}", f"Nudge {side}", f"Move the selection 8 pixels {side}.",
            (f"Ctrl+{key}",), "Graph/Nudge", "canvas", aliases=("move",), group="nudge",
        ),
        ActionSpec(
            f"canvas.walk_{side}", f"Walk {side}",
            "Select the next layer along the wires." if side in ("left", "right")
            else "Select the next layer among those that are fed alike.",
            (key,), "View/Walk", "canvas", group="walk",
        ),
        ActionSpec(
            f"canvas.extend_{side}", f"Extend the selection {side}",
            "Add the next layer to the selection." ,
            (f"Shift+{key}",), "View/Walk", "canvas", group="extend",
        ),
    )
)  # fmt: skip

_VIEW: tuple[ActionSpec, ...] = (
    ActionSpec(
        "canvas.frame_selection", "Show the selection", "Move and zoom until the selection fits.",
        ("F",), "View", "canvas", aliases=("zoom to selection", "focus"), group="canvas",
    ),
    ActionSpec(
        "canvas.frame_all", "Show the whole graph", "Move and zoom until the whole graph fits.",
        ("Home", "Shift+1"), "View", "canvas", aliases=("fit", "zoom to fit"), group="canvas",
    ),
    ActionSpec(
        "canvas.back", "Look back",
        "Return to where the canvas looked before another view moved it.",
        ("Alt+Left",), "View", "canvas", aliases=("return", "previous place"), group="canvas",
    ),
    ActionSpec(
        "canvas.forward", "Look forward", "Go again where the canvas looked before looking back.",
        ("Alt+Right",), "View", "canvas", aliases=("next place",), group="canvas",
    ),
    ActionSpec(
        "canvas.find_next", "Next match", "Go to the next layer found, or the next one selected.",
        ("F3",), "Edit", "canvas", group="selection",
    ),
    ActionSpec(
        "canvas.find_previous", "Previous match",
        "Go to the layer found before, or the one selected before.",
        ("Shift+F3",), "Edit", "canvas", group="selection",
    ),
    ActionSpec(
        "canvas.zoom_100", "Zoom to 100 %", "Show the canvas at its own size.",
        ("Ctrl+0",), "View", "canvas", aliases=("actual size", "reset zoom"), group="canvas",
    ),
    ActionSpec(
        "canvas.zoom_in", "Zoom in", "Show the canvas larger.",
        ("Ctrl++", "Ctrl+="), "View", "canvas", aliases=("larger",), group="canvas",
    ),
    ActionSpec(
        "canvas.zoom_out", "Zoom out", "Show more of the canvas.",
        ("Ctrl+-",), "View", "canvas", aliases=("smaller",), group="canvas",
    ),
)  # fmt: skip

ACTIONS: tuple[ActionSpec, ...] = _EDIT + _GRAPH + _ARROWS + _VIEW
"""Every action of canvas and graph; views bind what they do."""
