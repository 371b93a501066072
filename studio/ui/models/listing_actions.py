"""What can be done in the listing and with the path of what is selected."""

from __future__ import annotations

from studio.ui.models.actions import ActionSpec

MENU = "View/Listing"

GROUPINGS = {
    "flat": ("Program order", "List the instructions in the order they run."),
    "layer": ("By layer", "List the instructions under the layers they came from."),
    "section": ("By section", "List the instructions under data, forward, loss and so on."),
}

COLOURINGS = {
    "layer": ("Colour by layer", "Give every layer a colour of its own."),
    "opcode": ("Colour by opcode", "Give every kind of instruction a colour of its own."),
    "section": ("Colour by section", "Give every section of the program a colour of its own."),
    "time": ("Colour by time", "Colour each line by the time it took when last measured."),
    "bytes": ("Colour by bytes", "Colour each line by the bytes it reads and writes."),
    "nothing": ("No colours", "Leave the colour band out."),
}

LEVELS = {
    "layer": ("Alt+1", "Same as layer", "Show the layer of what is selected."),
    "instruction": ("Alt+2", "Same as instruction", "Show the instruction of what is selected."),
    "tensor": ("Alt+3", "Same as tensor", "Show the tensor of what is selected."),
    "kernel": ("Alt+4", "Same as kernel", "Show the kernel of what is selected."),
}


def _listing(
    name: str, text: str, tip: str, *keys: str, aliases: tuple[str, ...] = (), group: str = "",
    checkable: bool = False,
) -> ActionSpec:  # fmt: skip
    return ActionSpec(
        f"listing.{name}", text, tip, keys, MENU, "listing", aliases, checkable, group
    )


ACTIONS: tuple[ActionSpec, ...] = (
    _listing("goto", "Go to…", "Go to an index, a register, or the name of a layer or tensor.",
             "G", aliases=("jump", "line"), group="go"),
    _listing("find", "Find in the listing…", "Mark every line that contains a text.", "Ctrl+F",
             aliases=("search",), group="go"),
    _listing("find_next", "Next match or marked line",
             "Go to the next line found, or the next one that belongs to the selection.", "F3",
             group="go"),
    _listing("find_previous", "Previous match or marked line",
             "Go to the line found before, or the one before that belongs to the selection.",
             "Shift+F3", group="go"),
    _listing("back", "Back in the listing", "Return to where the listing was before it jumped.",
             "Alt+Left", "Esc", aliases=("return",), group="go"),
    _listing("forward", "Forward in the listing", "Go again to where Back came from.",
             "Alt+Right", aliases=("next place",), group="go"),
    _listing("producer", "Go to the producer", "Go to the instruction that writes the register.",
             "P", aliases=("definition", "writer"), group="register"),
    _listing("uses", "List uses", "List every instruction that touches the register.", "X",
             aliases=("references", "readers"), group="register"),
    _listing("pin_uses", "Pin the list of uses",
             "Keep the list of uses of the register under the caret.", "Shift+X",
             group="register"),
    _listing("name", "Name the register…",
             "Give the tensor a name of yours, which is kept in the project.", "N",
             aliases=("alias", "rename", "label"), group="label"),
    _listing("comment", "Comment on the line…",
             "Write a comment behind the instruction, which is kept in the project.", ";",
             aliases=("note", "remark", "annotate"), group="label"),
    _listing("next_register", "Next register", "Move the caret to the next register of the line.",
             "Ctrl+Right", group="register"),
    _listing("previous_register", "Previous register",
             "Move the caret to the register before in the line.", "Ctrl+Left", group="register"),
    _listing("reveal", "Reveal in the graph", "Bring the layer of the line into sight.", "Return",
             "Enter", aliases=("canvas", "node"), group="show"),
    _listing("show", "Show on the canvas", "Show the layer of the line on the canvas.", "Space",
             group="show"),
    _listing("level_down", "More detail", "From layers to instructions to kernels.", "I",
             aliases=("kernels", "level"), group="level"),
    _listing("level_up", "Less detail", "From kernels to instructions to layers.", "Shift+I",
             aliases=("layers", "level"), group="level"),
    _listing("level_layers", "Layers", "Show one line for each layer.", group="level",
             checkable=True),
    _listing("level_instructions", "Instructions", "Show every instruction.", group="level",
             checkable=True),
    _listing("level_kernels", "Kernels", "Show what the instructions run as.",
             aliases=("dispatches",), group="level", checkable=True),
    _listing("fold", "Fold", "Hide what is under the line, or go to the line it is under.",
             "Left", aliases=("collapse",), group="fold"),
    _listing("unfold", "Unfold", "Show what is under the line.", "Right", aliases=("expand",),
             group="fold"),
    _listing("fold_all", "Fold all", "Close every group.", aliases=("collapse",), group="fold"),
    _listing("unfold_all", "Unfold all", "Open every group.", aliases=("expand",), group="fold"),
    _listing("copy", "Copy lines", "Copy the selected lines as the compiler prints them.",
             "Ctrl+C", group="copy"),
    _listing("copy_table", "Copy as table",
             "Copy the selected lines with all columns, separated by tabs.", "Ctrl+Shift+C",
             aliases=("tsv", "spreadsheet"), group="copy"),
    _listing("passes", "Compiler passes", "Show what each pass of the compiler changed.",
             aliases=("diff", "optimisation"), group="passes", checkable=True),
    _listing("baseline", "Pin as baseline",
             "Keep this program, to see how later ones differ from it.", "Ctrl+B",
             aliases=("compare",), group="passes"),
    _listing("train", "Training program", "Show the program a training step runs.",
             group="mode", checkable=True),
    _listing("infer", "Inference program", "Show the program that only predicts.",
             aliases=("predict",), group="mode", checkable=True),
    _listing("unoptimised", "Without optimisation",
             "Compile at level 0: the program as it was lowered.", aliases=("O0", "debug"),
             group="mode", checkable=True),
    *(
        _listing(f"group_{name}", text, tip, group="grouping", checkable=True)
        for name, (text, tip) in GROUPINGS.items()
    ),
    *(
        _listing(f"colour_{name}", text, tip, aliases=("color",), group="colouring",
                 checkable=True)
        for name, (text, tip) in COLOURINGS.items()
    ),
    *(
        ActionSpec(f"go.{name}", text, tip, (keys,), "View", aliases=("path", "level"),
                   group="path", needs="sight")
        for name, (keys, text, tip) in LEVELS.items()
    ),
)  # fmt: skip
