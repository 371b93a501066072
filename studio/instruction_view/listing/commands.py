"""What the actions of the listing do to its pane."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtGui import QGuiApplication

from studio.engine.core.tensor import Ref
from studio.instruction_view.listing.actions import ACTIONS
from studio.session.listing.copying import as_text, as_tsv

if TYPE_CHECKING:
    from studio.instruction_view.listing.pane import ListingPane
    from studio.session.compile.compilation import Compilation
    from studio.session.listing.listing import Listing
    from studio.session.studio import Studio

NO_PROGRAM = "there is no program"
NO_LINE = "no line is selected"
NO_REGISTER = "no register at the caret"
NO_INSTRUCTION = "no instruction at the caret"
NO_WAY_BACK = "the listing has not jumped"
NO_WAY_ON = "there is no next place"
NO_DATA = "a training program needs data and a loss"
NOTHING_TO_WALK = "no search result and no marked line"


class ListingCommands:
    """What the actions of `listing_actions` do; and why they cannot, in a few words.

    Args:
        pane: what they act on.
        studio: the models.
    """

    def __init__(self, pane: ListingPane, studio: Studio) -> None:
        self.pane: ListingPane = pane
        self.listing: Listing = pane.listing
        self.compilation: Compilation = studio.compilation
        studio.actions.attach(ACTIONS, self)

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

    # -- doing ----------------------------------------------------------------------------------

    def shows(self, mode: str) -> bool:
        """Whether a mode's program is the one shown."""
        shown = self.compilation.shown
        return shown is not None and shown.program.mode == mode

    def is_level(self, level: str) -> bool:
        """Whether the listing is at a level."""
        return self.listing.level == level and not self.pane.shows_passes

    def switch_optimisation(self) -> None:
        """Compile at level 0, or at the usual one again."""
        self.compilation.set_level(None if self.compilation.level == 0 else 0)

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
            chosen = self.pane.view.chosen_instructions() or range(len(rows))
            QGuiApplication.clipboard().setText(as_text(rows, chosen))

    def copy_table(self) -> None:
        """All columns of the lines."""
        rows = self.listing.rows
        if rows is not None:
            chosen = self.pane.view.chosen_instructions() or range(len(rows))
            QGuiApplication.clipboard().setText(
                as_tsv(rows, chosen, self.listing.times, self.listing.labels)
            )
