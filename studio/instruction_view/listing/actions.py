"""What can be done in the listing, with its keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from studio.session.core.actions import Action, ActionTable
from studio.session.listing.arrangement import Grouping, Level
from studio.session.listing.colouring import ColourBy

if TYPE_CHECKING:
    from studio.instruction_view.listing.commands import ListingCommands

MENU = "View/Listing"

GROUPINGS: dict[Grouping, tuple[str, str]] = {
    "flat": ("Program order", "List the instructions in the order they run."),
    "layer": ("By layer", "List the instructions under the layers they came from."),
    "section": ("By section", "List the instructions under data, forward, loss and so on."),
}

COLOURINGS: dict[ColourBy, tuple[str, str]] = {
    "layer": ("Colour by layer", "Give every layer a colour of its own."),
    "opcode": ("Colour by opcode", "Give every kind of instruction a colour of its own."),
    "section": ("Colour by section", "Give every section of the program a colour of its own."),
    "time": ("Colour by time", "Colour each line by the time it took when last measured."),
    "bytes": ("Colour by bytes", "Colour each line by the bytes it reads and writes."),
    "nothing": ("No colours", "Leave the colour band out."),
}


def _needs_a_program(c: ListingCommands) -> str:
    return c.why_no_program()


def _listing(
    name: str,
    text: str,
    tip: str,
    *keys: str,
    run: Callable[[ListingCommands], object],
    enabled: Callable[[ListingCommands], str] = _needs_a_program,
    checked: Callable[[ListingCommands], bool] | None = None,
    aliases: tuple[str, ...] = (),
    group: str = "",
) -> Action[ListingCommands]:
    return Action(
        f"listing.{name}", text, tip, keys, MENU, "listing", aliases=aliases, group=group,
        run=run, enabled=enabled, checked=checked,
    )  # fmt: skip


def _level(name: Level, text: str, tip: str, *aliases: str) -> Action[ListingCommands]:
    return _listing(
        f"level_{name}", text, tip, aliases=aliases, group="level",
        run=lambda c: c.pane.show_level(name), checked=lambda c: c.is_level(name),
    )  # fmt: skip


def _grouping(name: Grouping) -> Action[ListingCommands]:
    text, tip = GROUPINGS[name]
    return _listing(
        f"group_{name}", text, tip, group="grouping",
        run=lambda c: c.listing.set_grouping(name), checked=lambda c: c.listing.grouping == name,
    )  # fmt: skip


def _colouring(name: ColourBy) -> Action[ListingCommands]:
    text, tip = COLOURINGS[name]
    return _listing(
        f"colour_{name}", text, tip, aliases=("color",), group="colouring",
        run=lambda c: c.listing.set_colour_by(name),
        checked=lambda c: c.listing.colour_by == name,
    )  # fmt: skip


ACTIONS: ActionTable[ListingCommands] = ActionTable(
    30,
    _listing("goto", "Go to…", "Go to an index, a register, or the name of a layer or tensor.",
             "G", aliases=("jump", "line"), group="go",
             run=lambda c: c.pane.ask_goto()),
    _listing("find", "Find in the listing…", "Mark every line that contains a text.", "Ctrl+F",
             aliases=("search",), group="go",
             run=lambda c: c.pane.ask_find()),
    _listing("find_next", "Next match or marked line",
             "Go to the next line found, or the next one that belongs to the selection.", "F3",
             group="go",
             run=lambda c: c.pane.step_match(1), enabled=lambda c: c.why_nothing_to_walk()),
    _listing("find_previous", "Previous match or marked line",
             "Go to the line found before, or the one before that belongs to the selection.",
             "Shift+F3", group="go",
             run=lambda c: c.pane.step_match(-1),
             enabled=lambda c: c.why_nothing_to_walk()),
    _listing("back", "Back in the listing", "Return to where the listing was before it jumped.",
             "Alt+Left", "Esc", aliases=("return",), group="go",
             run=lambda c: c.pane.view.go_back(), enabled=lambda c: c.why_no_way_back()),
    _listing("forward", "Forward in the listing", "Go again to where Back came from.",
             "Alt+Right", aliases=("next place",), group="go",
             run=lambda c: c.pane.view.go_forward(), enabled=lambda c: c.why_no_way_on()),
    _listing("producer", "Go to the producer", "Go to the instruction that writes the register.",
             "P", aliases=("definition", "writer"), group="register",
             run=lambda c: c.on_register(c.pane.go_to_producer),
             enabled=lambda c: c.why_no_register()),
    _listing("uses", "List uses", "List every instruction that touches the register.", "X",
             aliases=("references", "readers"), group="register",
             run=lambda c: c.on_register(c.pane.uses.show_uses),
             enabled=lambda c: c.why_no_register()),
    _listing("pin_uses", "Pin the list of uses",
             "Keep the list of uses of the register under the caret.", "Shift+X",
             group="register",
             run=lambda c: c.on_register(c.pane.uses.pin_uses),
             enabled=lambda c: c.why_no_register()),
    _listing("name", "Name the register…",
             "Give the tensor a name of yours, which is kept in the project.", "N",
             aliases=("alias", "rename", "label"), group="label",
             run=lambda c: c.on_register(c.pane.labelling.ask_name),
             enabled=lambda c: c.why_no_register()),
    _listing("comment", "Comment on the line…",
             "Write a comment behind the instruction, which is kept in the project.", ";",
             aliases=("note", "remark", "annotate"), group="label",
             run=lambda c: c.pane.labelling.ask_comment(),
             enabled=lambda c: c.why_no_instruction()),
    _listing("next_register", "Next register", "Move the caret to the next register of the line.",
             "Ctrl+Right", group="register",
             run=lambda c: c.step_register(1), enabled=lambda c: c.why_no_line()),
    _listing("previous_register", "Previous register",
             "Move the caret to the register before in the line.", "Ctrl+Left", group="register",
             run=lambda c: c.step_register(-1), enabled=lambda c: c.why_no_line()),
    _listing("reveal", "Reveal in the graph", "Bring the layer of the line into sight.", "Return",
             "Enter", aliases=("canvas", "node"), group="show",
             run=lambda c: c.reveal(), enabled=lambda c: c.why_no_line()),
    _listing("show", "Show on the canvas", "Show the layer of the line on the canvas.", "Space",
             group="show",
             run=lambda c: c.reveal(), enabled=lambda c: c.why_no_line()),
    _listing("level_down", "More detail", "From layers to instructions to kernels.", "I",
             aliases=("kernels", "level"), group="level",
             run=lambda c: c.listing.step_level(1)),
    _listing("level_up", "Less detail", "From kernels to instructions to layers.", "Shift+I",
             aliases=("layers", "level"), group="level",
             run=lambda c: c.listing.step_level(-1)),
    _level("layers", "Layers", "Show one line for each layer."),
    _level("instructions", "Instructions", "Show every instruction."),
    _level("kernels", "Kernels", "Show what the instructions run as.", "dispatches"),
    _listing("fold", "Fold", "Hide what is under the line, or go to the line it is under.",
             "Left", aliases=("collapse",), group="fold",
             run=lambda c: c.fold(), enabled=lambda c: c.why_no_line()),
    _listing("unfold", "Unfold", "Show what is under the line.", "Right", aliases=("expand",),
             group="fold",
             run=lambda c: c.unfold(), enabled=lambda c: c.why_no_line()),
    _listing("fold_all", "Fold all", "Close every group.", aliases=("collapse",), group="fold",
             run=lambda c: c.listing.fold_all()),
    _listing("unfold_all", "Unfold all", "Open every group.", aliases=("expand",), group="fold",
             run=lambda c: c.listing.fold_all(False)),
    _listing("copy", "Copy lines", "Copy the selected lines as the compiler prints them.",
             "Ctrl+C", group="copy",
             run=lambda c: c.copy_lines()),
    _listing("copy_table", "Copy as table",
             "Copy the selected lines with all columns, separated by tabs.", "Ctrl+Shift+C",
             aliases=("tsv", "spreadsheet"), group="copy",
             run=lambda c: c.copy_table()),
    _listing("passes", "Compiler passes", "Show what each pass of the compiler changed.",
             aliases=("diff", "optimisation"), group="passes",
             run=lambda c: c.pane.show_passes(True), checked=lambda c: c.pane.shows_passes),
    _listing("baseline", "Pin as baseline",
             "Keep this program, to see how later ones differ from it.", "Ctrl+B",
             aliases=("compare",), group="passes",
             run=lambda c: c.pane.pin_baseline()),
    _listing("train", "Training program", "Show the program a training step runs.",
             group="mode",
             run=lambda c: c.compilation.show("train"), enabled=lambda c: c.why_no_training(),
             checked=lambda c: c.shows("train")),
    _listing("infer", "Inference program", "Show the program that only predicts.",
             aliases=("predict",), group="mode",
             run=lambda c: c.compilation.show("infer"), checked=lambda c: c.shows("infer")),
    _listing("unoptimised", "Without optimisation",
             "Compile at level 0: the program as it was lowered.", aliases=("O0", "debug"),
             group="mode",
             run=lambda c: c.switch_optimisation(),
             checked=lambda c: c.compilation.level == 0),
    *map(_grouping, GROUPINGS),
    *map(_colouring, COLOURINGS),
)  # fmt: skip
"""The actions of the listing, in menu order."""
