"""What can be done in the listing, with its keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from studio.session.core.action_table import Action, ActionTable
from studio.session.listing.arrangement import Grouping, Level
from studio.session.listing.colouring import ColourBy

if TYPE_CHECKING:
    from studio.instruction_view.listing.commands import ListingCommands

MENU = "View/Listing"

GROUPINGS: dict[Grouping, tuple[str, str]] = {
    "flat": ("Program order", "List instructions in program order."),
    "layer": ("By layer", "Group instructions by layer."),
    "section": ("By section", "Group instructions by section: data, forward, loss and so on."),
}

COLOURINGS: dict[ColourBy, tuple[str, str]] = {
    "layer": ("Colour by layer", "One colour per layer."),
    "opcode": ("Colour by opcode", "One colour per opcode."),
    "section": ("Colour by section", "One colour per section of the program."),
    "time": ("Colour by time", "Colour lines by their last measured time."),
    "bytes": ("Colour by bytes", "Colour lines by the bytes they read and write."),
    "nothing": ("No colours", "Hide the colour band."),
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
    _listing("find", "Find in the listing…", "Highlight all lines that contain a text.", "Ctrl+F",
             aliases=("search",), group="go",
             run=lambda c: c.pane.ask_find()),
    _listing("find_next", "Next match or marked line",
             "Go to the next search result or line of the selection.", "F3",
             group="go",
             run=lambda c: c.pane.step_match(1), enabled=lambda c: c.why_nothing_to_walk()),
    _listing("find_previous", "Previous match or marked line",
             "Go to the previous search result or line of the selection.",
             "Shift+F3", group="go",
             run=lambda c: c.pane.step_match(-1),
             enabled=lambda c: c.why_nothing_to_walk()),
    _listing("back", "Back in the listing", "Go back to where the listing was before it jumped.",
             "Alt+Left", "Esc", aliases=("return",), group="go",
             run=lambda c: c.pane.view.go_back(), enabled=lambda c: c.why_no_way_back()),
    _listing("forward", "Forward in the listing",
             "Go forward to where the listing was before going back.",
             "Alt+Right", aliases=("next place",), group="go",
             run=lambda c: c.pane.view.go_forward(), enabled=lambda c: c.why_no_way_on()),
    _listing("producer", "Go to the producer", "Go to the instruction that writes the register.",
             "P", aliases=("definition", "writer"), group="register",
             run=lambda c: c.on_register(c.pane.go_to_producer),
             enabled=lambda c: c.why_no_register()),
    _listing("uses", "List uses", "List all instructions that use the register.", "X",
             aliases=("references", "readers"), group="register",
             run=lambda c: c.on_register(c.pane.uses.show_uses),
             enabled=lambda c: c.why_no_register()),
    _listing("pin_uses", "Pin the list of uses",
             "Keep the list of uses of the register under the caret.", "Shift+X",
             group="register",
             run=lambda c: c.on_register(c.pane.uses.pin_uses),
             enabled=lambda c: c.why_no_register()),
    _listing("name", "Name the register…",
             "Name the tensor; the name is saved in the project.", "N",
             aliases=("alias", "rename", "label"), group="label",
             run=lambda c: c.on_register(c.pane.labelling.ask_name),
             enabled=lambda c: c.why_no_register()),
    _listing("comment", "Comment on the line…",
             "Add a comment to the instruction, saved in the project.", ";",
             aliases=("note", "remark", "annotate"), group="label",
             run=lambda c: c.pane.labelling.ask_comment(),
             enabled=lambda c: c.why_no_instruction()),
    _listing("next_register", "Next register", "Move the caret to the next register of the line.",
             "Ctrl+Right", group="register",
             run=lambda c: c.step_register(1), enabled=lambda c: c.why_no_line()),
    _listing("previous_register", "Previous register",
             "Move the caret to the previous register of the line.", "Ctrl+Left", group="register",
             run=lambda c: c.step_register(-1), enabled=lambda c: c.why_no_line()),
    _listing("reveal", "Reveal in the graph",
             "Scroll the canvas to the layer of the line.", "Return",
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
    _level("kernels", "Kernels", "Show the kernels that run the instructions.", "dispatches"),
    _listing("fold", "Fold", "Collapse the line, or go to its parent.",
             "Left", aliases=("collapse",), group="fold",
             run=lambda c: c.fold(), enabled=lambda c: c.why_no_line()),
    _listing("unfold", "Unfold", "Expand the line.", "Right", aliases=("expand",),
             group="fold",
             run=lambda c: c.unfold(), enabled=lambda c: c.why_no_line()),
    _listing("fold_all", "Fold all", "Collapse all groups.", aliases=("collapse",), group="fold",
             run=lambda c: c.listing.fold_all()),
    _listing("unfold_all", "Unfold all", "Expand all groups.", aliases=("expand",), group="fold",
             run=lambda c: c.listing.fold_all(False)),
    _listing("copy", "Copy lines", "Copy the selected lines as the compiler prints them.",
             "Ctrl+C", group="copy",
             run=lambda c: c.copy_lines()),
    _listing("copy_table", "Copy as table",
             "Copy the selected lines with all columns, separated by tabs.", "Ctrl+Shift+C",
             aliases=("tsv", "spreadsheet"), group="copy",
             run=lambda c: c.copy_table()),
    _listing("passes", "Compiler passes", "Show the changes of each compiler pass.",
             aliases=("diff", "optimisation"), group="passes",
             run=lambda c: c.pane.show_passes(True), checked=lambda c: c.pane.shows_passes),
    _listing("baseline", "Pin as baseline",
             "Keep this program to compare later ones with it.",
             aliases=("compare",), group="passes",
             run=lambda c: c.pane.pin_baseline()),
    _listing("train", "Training program", "Show the program of a training step.",
             group="mode",
             run=lambda c: c.compilation.show("train"), enabled=lambda c: c.why_no_training(),
             checked=lambda c: c.shows("train")),
    _listing("infer", "Inference program", "Show the program for inference.",
             aliases=("predict",), group="mode",
             run=lambda c: c.compilation.show("infer"), checked=lambda c: c.shows("infer")),
    _listing("unoptimised", "Without optimisation",
             "Compile at optimisation level 0, as lowered.", aliases=("O0", "debug"),
             group="mode",
             run=lambda c: c.switch_optimisation(),
             checked=lambda c: c.compilation.level == 0),
    *map(_grouping, GROUPINGS),
    *map(_colouring, COLOURINGS),
)  # fmt: skip
"""The actions of the listing, in menu order."""
