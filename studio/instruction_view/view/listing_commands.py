"""Joins the actions of the listing to its pane."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtGui import QGuiApplication

from studio.engine.core.tensor import Ref
from studio.instruction_view.model.arrangement import GROUPINGS, LEVELS
from studio.instruction_view.model.colouring import COLOURINGS
from studio.instruction_view.model.copying import as_text, as_tsv

if TYPE_CHECKING:
    from studio.instruction_view.view.listing_pane import ListingPane
    from studio.ui.models.actions import ActionRegistry
    from studio.ui.models.studio import Studio

NO_PROGRAM = "there is no program"
NO_LINE = "the caret is in no line"
NO_REGISTER = "the caret is on no register"
NO_INSTRUCTION = "the caret is on no instruction"
NO_WAY_BACK = "the listing has not jumped"
NO_WAY_ON = "the listing has not gone back"
NO_DATA = "a training program needs data and a loss"
NOTHING_TO_WALK = "nothing is found and nothing is marked"


def bind_listing(pane: ListingPane, studio: Studio) -> None:
    """Carry out the listing's actions in a pane."""
    commands = _Commands(pane, studio)
    actions = studio.actions
    commands.bind_movement(actions)
    commands.bind_registers(actions)
    commands.bind_folding(actions)
    commands.bind_copying(actions)
    commands.bind_choices(actions)


class _Commands:
    """What the actions do; and why they cannot, in a few words."""

    def __init__(self, pane: ListingPane, studio: Studio) -> None:
        self.pane = pane
        self.listing = pane.listing
        self.compilation = studio.compilation

    # -- reasons --------------------------------------------------------------------------------

    def why_no_program(self) -> str:
        """A program is needed."""
        return "" if self.listing.rows is not None else NO_PROGRAM

    def why_no_line(self) -> str:
        """A line is needed."""
        return self.why_no_program() or ("" if self.listing.caret_line is not None else NO_LINE)

    def why_no_instruction(self) -> str:
        """A line that is an instruction is needed."""
        line = self.listing.caret_line
        is_one = line is not None and line.kind in ("instruction", "reference")
        return self.why_no_line() or ("" if is_one else NO_INSTRUCTION)

    def why_no_register(self) -> str:
        """A register is needed."""
        reason = self.why_no_line()
        return reason or ("" if self.listing.register() is not None else NO_REGISTER)

    def why_no_way_back(self) -> str:
        """Something to return to is needed."""
        return "" if self.pane.view.can_go_back() else NO_WAY_BACK

    def why_no_way_on(self) -> str:
        """A place that Back has left is needed."""
        return "" if self.pane.view.can_go_forward() else NO_WAY_ON

    def why_nothing_to_walk(self) -> str:
        """Matches or marks are needed."""
        found = self.listing.matches or self.pane.links.marked_rows
        return "" if found else NOTHING_TO_WALK

    def why_no_training(self) -> str:
        """A training program is needed."""
        result = self.compilation.result
        return "" if result is not None and "train" in result.programs else NO_DATA

    # -- binding --------------------------------------------------------------------------------

    def bind_movement(self, actions: ActionRegistry) -> None:
        """Going to places and showing them elsewhere."""
        pane = self.pane
        actions.bind("listing.goto", pane.ask_goto, self.why_no_program)
        actions.bind("listing.find", pane.ask_find, self.why_no_program)
        actions.bind("listing.find_next", lambda: pane.step_match(1), self.why_nothing_to_walk)
        actions.bind("listing.find_previous", lambda: pane.step_match(-1), self.why_nothing_to_walk)
        actions.bind("listing.back", pane.view.go_back, self.why_no_way_back)
        actions.bind("listing.forward", pane.view.go_forward, self.why_no_way_on)
        for name in ("reveal", "show"):
            actions.bind(f"listing.{name}", self.reveal, self.why_no_line)

    def bind_registers(self, actions: ActionRegistry) -> None:
        """What concerns the register under the caret."""
        pane = self.pane
        with_register: dict[str, Callable[[Ref], object]] = {
            "producer": pane.go_to_producer,
            "uses": pane.uses.show_uses,
            "pin_uses": pane.uses.pin_uses,
            "name": pane.labelling.ask_name,
        }
        for name, work in with_register.items():
            actions.bind(f"listing.{name}", partial(self.on_register, work), self.why_no_register)
        actions.bind("listing.comment", pane.labelling.ask_comment, self.why_no_instruction)
        for name, step in (("next_register", 1), ("previous_register", -1)):
            actions.bind(f"listing.{name}", partial(self.step_register, step), self.why_no_line)

    def bind_folding(self, actions: ActionRegistry) -> None:
        """Folding and levels."""
        listing = self.listing
        actions.bind("listing.fold", self.fold, self.why_no_line)
        actions.bind("listing.unfold", self.unfold, self.why_no_line)
        actions.bind("listing.fold_all", listing.fold_all, self.why_no_program)
        actions.bind("listing.unfold_all", lambda: listing.fold_all(False), self.why_no_program)
        actions.bind("listing.level_down", lambda: listing.step_level(1), self.why_no_program)
        actions.bind("listing.level_up", lambda: listing.step_level(-1), self.why_no_program)
        for level in LEVELS:
            actions.bind(
                f"listing.level_{level}",
                partial(self.pane.show_level, level),
                self.why_no_program,
                partial(self.is_level, level),
            )

    def bind_copying(self, actions: ActionRegistry) -> None:
        """Lines for the clipboard."""
        actions.bind("listing.copy", self.copy_lines, self.why_no_program)
        actions.bind("listing.copy_table", self.copy_table, self.why_no_program)

    def bind_choices(self, actions: ActionRegistry) -> None:
        """Which program is shown, and how."""
        listing, compilation, pane = self.listing, self.compilation, self.pane
        for grouping in GROUPINGS:
            actions.bind(
                f"listing.group_{grouping}",
                partial(listing.set_grouping, grouping),
                self.why_no_program,
                partial(self.is_grouping, grouping),
            )
        for colour_by in COLOURINGS:
            actions.bind(
                f"listing.colour_{colour_by}",
                partial(listing.set_colour_by, colour_by),
                self.why_no_program,
                partial(self.is_coloured, colour_by),
            )
        actions.bind("listing.train", lambda: compilation.show("train"), self.why_no_training,
                     lambda: self.shows("train"))  # fmt: skip
        actions.bind("listing.infer", lambda: compilation.show("infer"), self.why_no_program,
                     lambda: self.shows("infer"))  # fmt: skip
        actions.bind(
            "listing.unoptimised",
            lambda: compilation.set_level(None if compilation.level == 0 else 0),
            self.why_no_program,
            lambda: compilation.level == 0,
        )
        actions.bind("listing.passes", lambda: pane.show_passes(True),
                     self.why_no_program, lambda: pane.shows_passes)  # fmt: skip
        actions.bind("listing.baseline", pane.pin_baseline, self.why_no_program)

    # -- doing ----------------------------------------------------------------------------------

    def shows(self, mode: str) -> bool:
        """Whether a mode's program is the one shown."""
        shown = self.compilation.shown
        return shown is not None and shown.program.mode == mode

    def is_level(self, level: str) -> bool:
        """Whether the listing is at a level."""
        return self.listing.level == level and not self.pane.shows_passes

    def is_grouping(self, grouping: str) -> bool:
        """Whether the listing is grouped so."""
        return self.listing.grouping == grouping

    def is_coloured(self, colour_by: str) -> bool:
        """Whether colours stand for that."""
        return self.listing.colour_by == colour_by

    def reveal(self) -> None:
        """Ask the other views to show the line."""
        self.pane.links.reveal(self.listing.caret_line)

    def on_register(self, work: Callable[[Ref], object]) -> None:
        """Do something with the register under the caret."""
        ref = self.listing.register()
        if ref is not None:
            work(ref)

    def step_register(self, step: int) -> None:
        """Move along the registers of the line and select the one reached."""
        self.listing.step_operand(step)
        self.pane.view.choose_caret()

    def fold(self) -> None:
        """Close the line, or go to the line it is under."""
        line = self.listing.caret_line
        if line is None:
            return
        if self.listing.is_foldable(line) and not self.listing.is_folded(line):
            self.listing.fold((line.key,))
            return
        for place in range(self.listing.caret - 1, -1, -1):
            above = self.listing.lines[place]
            if above.depth < line.depth and self.listing.is_foldable(above):
                self.listing.set_caret(place)
                self.pane.view.choose_caret()
                self.pane.view.show_place(place)
                return

    def unfold(self) -> None:
        """Open the line."""
        line = self.listing.caret_line
        if line is not None:
            self.listing.fold((line.key,), False)

    def copy_lines(self) -> None:
        """The exact lines; the whole program where none is chosen."""
        rows = self.listing.rows
        if rows is not None:
            chosen = self.pane.view.chosen_rows() or range(len(rows))
            QGuiApplication.clipboard().setText(as_text(rows, chosen))

    def copy_table(self) -> None:
        """All columns of the lines."""
        rows = self.listing.rows
        if rows is not None:
            chosen = self.pane.view.chosen_rows() or range(len(rows))
            QGuiApplication.clipboard().setText(
                as_tsv(rows, chosen, self.listing.times, self.listing.labels)
            )
