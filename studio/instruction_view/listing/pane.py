"""The listing pane: tools above, the table or the passes, search and uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QStackedLayout,
    QToolTip,
    QVBoxLayout,
    QWidget,
)

from studio.engine.core.errors import ParameterError
from studio.engine.core.tensor import Ref
from studio.instruction_view.listing.actions import ACTIONS, COLOURINGS, GROUPINGS
from studio.instruction_view.listing.commands import ListingCommands
from studio.instruction_view.listing.labelling import Labelling
from studio.instruction_view.listing.line_table import Spot
from studio.instruction_view.listing.links import ListingLinks
from studio.instruction_view.listing.search_bar import SearchBar
from studio.instruction_view.listing.segments import Segments
from studio.instruction_view.listing.uses_panel import UsesPanel
from studio.instruction_view.listing.view import ListingView
from studio.instruction_view.passes.viewer import PassViewer
from studio.instruction_view.tips import opcode_tip, plain_tip, register_tip
from studio.session.compile.compilation_result import CompiledProgram
from studio.session.listing.arrangement import Failure, Level, Line
from studio.session.listing.columns import cell_text, exact_cell
from studio.session.listing.listing import Listing
from studio.session.listing.look_up import go_to
from studio.session.listing.passes.pass_steps import BASELINE, PassStep
from studio.session.listing.tensor_map.rows import TensorRow
from studio.widgets import binding
from studio.widgets.frames.empty_state import EmptyState
from studio.widgets.frames.frame import PaneFrame
from studio.widgets.labels.tool_button import tool_button
from studio.widgets.menus import Entry, menu_of

if TYPE_CHECKING:
    from studio.session.studio import Studio

_TOOL_ROOM = 120
"""Pixels beside the choices for the age of the listing, the menu and gaps."""

_TOOL_GAPS = 48
"""Pixels between them and at the sides."""

FLASH_MS = 1500
"""How long what a compile changed stays marked."""

MODES = (("listing.train", "Train"), ("listing.infer", "Infer"))
LEVEL_BUTTONS = (
    ("listing.level_layers", "Layers"),
    ("listing.level_instructions", "Instructions"),
    ("listing.level_kernels", "Kernels"),
    ("listing.passes", "Passes"),
)
LISTING_IDS = tuple(action.id for action in ACTIONS)

VIEW_MENU: tuple[Entry, ...] = (
    ("Group", tuple(f"listing.group_{name}" for name in GROUPINGS)),
    ("Colour", tuple(f"listing.colour_{name}" for name in COLOURINGS)),
    None,
    "listing.fold_all",
    "listing.unfold_all",
    None,
    "listing.unoptimised",
    "listing.baseline",
)

LINE_MENU: tuple[Entry, ...] = (
    "listing.reveal",
    "listing.producer",
    "listing.uses",
    "listing.pin_uses",
    None,
    "listing.name",
    "listing.comment",
    None,
    "listing.goto",
    "listing.find",
    "listing.back",
    "listing.forward",
    None,
    "listing.fold",
    "listing.unfold",
    None,
    "listing.copy",
    "listing.copy_table",
)


class ListingPane(PaneFrame):
    """Shows the program of the document as it is compiled again and again.

    Args:
        studio: the models.
        parent: owner in Qt.
    """

    def __init__(self, studio: Studio, parent: QWidget | None = None) -> None:
        super().__init__(linkable=True, parent=parent)
        self.setObjectName("listing")
        self._compilation = studio.compilation
        self._profiling = studio.profiling
        self._problems = studio.problems
        self._actions = studio.actions
        self._baseline: CompiledProgram | None = None
        self._tensors: dict[Ref, TensorRow] = {}
        self.listing = Listing()
        self.links = ListingLinks(self.listing, studio.bus, lambda: self._compilation.provenance)
        self.view: ListingView = ListingView(self.listing, self.links, self)
        self.view.viewport().setProperty("richTips", True)
        self.search = SearchBar(self)
        self.uses: UsesPanel = UsesPanel(self)
        self.labelling: Labelling = Labelling(self.listing, studio.annotations, self.search, self)
        self.passes = PassViewer(studio.tasks, self.listing.hue_of, self)
        # Actions ask which page is shown as soon as they are attached.
        self._pages = QStackedLayout()
        self._flash = QTimer(self)
        self._flash.setSingleShot(True)
        self._flash.setInterval(FLASH_MS)
        self._flash.timeout.connect(self.listing.forget_changes)
        ListingCommands(self, studio)
        self._build()
        self._join(studio)
        self._take_program()
        self._take_times()

    def _build(self) -> None:
        self._pages.addWidget(self.view)
        self._pages.addWidget(self.passes)
        self._modes = Segments(self._actions, MODES, "Program", self)
        self._levels = Segments(self._actions, LEVEL_BUTTONS, "Level", self)
        self._age = QLabel(self)
        self._age.setObjectName("listing.age")
        self._age.setProperty("role", "faint")
        self._menu = tool_button("more", "listing.menu", "Listing options", self)
        tools = QHBoxLayout()
        tools.setContentsMargins(8, 2, 4, 2)
        tools.setSpacing(12)
        tools.addWidget(self._modes)
        tools.addWidget(self._levels)
        tools.addStretch(1)
        tools.addWidget(self._age)
        tools.addWidget(self._menu)
        body = QWidget(self)
        column = QVBoxLayout(body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(tools)
        column.addWidget(self.search)
        column.addLayout(self._pages, 1)
        column.addWidget(self.uses)
        body.setFocusProxy(self.view)
        self.set_body(body)

    def _join(self, studio: Studio) -> None:
        binding.connect(self, studio.compilation.changed, self._take_program)
        binding.connect(self, studio.compilation.stale_changed, self._show_age)
        binding.refresh(self, self._take_times, studio.profiling.changed, when_visible=True,
                        live="picture")  # fmt: skip
        binding.connect(self, self.links.marked, self._show_note)
        binding.connect(self, self.listing.arranged, self._refresh_actions)
        binding.connect(self, self.listing.arranged, self._plan_kernels)
        binding.connect(self, studio.compilation.kernels_refused, studio.fail)
        binding.connect(self, self.listing.caret_moved, self._refresh_actions)
        self.pin_changed.connect(self.links.set_pinned)
        self.view.tip_wanted.connect(self._show_tip)
        self.view.producer_wanted.connect(self.go_to_producer)
        self.view.line_opened.connect(self._open_line)
        self.view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.view.customContextMenuRequested.connect(self._show_line_menu)
        self._menu.clicked.connect(self._show_view_menu)
        self.search.searched.connect(self._find)
        self.search.stepped.connect(self.step_match)
        self.search.went.connect(self._go_to)
        self.search.closed.connect(self.close_search)
        self.labelling.ended.connect(self.close_search)
        self.labelling.changed.connect(self._take_labels)
        binding.connect(self, studio.document_replaced, self._document_replaced)
        self.uses.row_wanted.connect(self.view.go_to_row)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Choices become menus when they do not fit side by side."""
        super().resizeEvent(event)
        room = self.width() - _TOOL_ROOM
        levels, modes = self._levels.wide_width, self._modes.wide_width
        self._levels.set_compact(room < levels + modes)
        self._modes.set_compact(room < modes + levels // len(LEVEL_BUTTONS))
        self._fit_age()

    def _fit_age(self) -> None:
        """The age gives way to the choices; that the program is stale is seen of its lines too."""
        wanted = self._modes.sizeHint().width() + self._levels.sizeHint().width()
        wanted += self._age.sizeHint().width() + self._menu.sizeHint().width() + _TOOL_GAPS
        self._age.setVisible(bool(self._age.text()) and wanted <= self.width())

    # -- what is shown --------------------------------------------------------------------------

    @property
    def shows_passes(self) -> bool:
        """Whether the compiler's passes are shown in place of the table."""
        return self._pages.currentWidget() is self.passes

    def show_passes(self, on: bool) -> None:
        """Show the compiler's passes, or the table again."""
        self._pages.setCurrentWidget(self.passes if on else self.view)
        if on:
            self._take_passes()
        self._refresh_actions()

    def pin_baseline(self) -> None:
        """Keep this program: the passes begin with how later ones differ from it."""
        self._baseline = self._compilation.shown
        self._take_passes()
        self.passes.look_at(BASELINE)
        self.show_passes(True)

    def _take_program(self) -> None:
        shown = self._compilation.shown
        if shown is None:
            self.listing.show(None)
            self.show_empty(self._empty_state())
            self._tensors = {}
        else:
            known = shown.changes if shown.before is self.listing.rows else None
            changes = self.listing.show(
                shown.rows, shown.kernels, self._failure(), shown.arranger, known
            )
            self._tensors = {row.ref: row for row in shown.tensors}
            self.show_empty(None)
            if changes:
                self._flash.start()
        self.links.refresh()
        self.uses.use_rows(self.listing.rows, self.listing.labels)
        self._modes.refresh()
        self._show_age()
        if self.shows_passes:
            self._take_passes()

    def _plan_kernels(self) -> None:
        """Plan the kernels when they are first shown."""
        if self.listing.level == "kernels":
            self._compilation.plan_kernels()

    def _document_replaced(self, _document: object) -> None:
        self.labelling.give_up()

    def _take_labels(self) -> None:
        self.uses.use_rows(self.listing.rows, self.listing.labels)

    def _take_passes(self) -> None:
        shown = self._compilation.shown
        if shown is None:
            self.passes.take(())
            return
        steps = shown.passes
        if self._baseline is not None:
            against = PassStep(
                BASELINE, self._baseline.program, shown.program, shown.batch, shown.data_rows
            )
            steps = (against, *steps)
        self.passes.take(steps)

    def show_level(self, level: Level) -> None:
        """Show the table at a level."""
        self.listing.set_level(level)
        self.show_passes(False)

    def _take_times(self) -> None:
        self.listing.set_times(self._profiling.times_ms(self._compilation.provenance).get)

    def _failure(self) -> Failure | None:
        """The line that says where the compile of the document as it is now stopped."""
        stop, shown = self._compilation.stop, self._compilation.shown
        if stop is None or shown is None:
            return None
        rows = shown.rows
        found = rows.rows_of(stop.node)
        who = f"{stop.error.who}: " if stop.error.who else ""
        return Failure(found[0] if found else len(rows), f"{who}{stop.error.message}")

    def _empty_state(self) -> EmptyState:
        error = self._compilation.error
        if self._compilation.is_compiling and error is None:
            return EmptyState("listing", "Compiling…")
        count = len(self._problems.items)
        if error is None or not self._compilation.has_layers:
            return EmptyState("listing", "Add a layer and the program appears here")
        noun = "1 problem" if count == 1 else f"{count} problems"
        show = ("Show problems", lambda: self._actions.trigger("problems.next"))
        return EmptyState(
            "listing",
            f"No program: the graph has {noun}",
            error.message,
            show if count else None,
        )

    def _show_age(self) -> None:
        edits, stop = self._compilation.stale_edits, self._compilation.stop
        text = "" if not edits else "1 edit ago" if edits == 1 else f"{edits} edits ago"
        if stop is not None and self._compilation.result is not None:
            text = f"stopped {text}".strip() if stop.stage else text or "stopped"
        self._age.setText(text)
        self._age.setToolTip("The listing is out of date." if text else "")
        self._fit_age()
        self.view.set_stale(self._compilation.is_stale)

    def _show_note(self, _may_scroll: bool = False) -> None:
        self.set_note(self.links.note())

    def _refresh_actions(self) -> None:
        self._levels.refresh()
        self._actions.refresh(*LISTING_IDS)

    # -- going places ---------------------------------------------------------------------------

    def go_to_producer(self, ref: Ref) -> None:
        """Go to the instruction that writes a register."""
        rows = self.listing.rows
        row = None if rows is None else rows.producer(ref)
        if row is not None:
            self.view.go_to_row(row)

    def step_match(self, step: int) -> None:
        """Go to the next line found; without a search, to the next one that is marked."""
        if self.listing.matches:
            self.view.go_to_row(self.listing.next_match(step))
            self._say_matches()
            return
        row = self.links.next_marked(step)
        if row >= 0:
            self.links.walk_to(row)
            self.view.show_place(self.listing.open_to(row))

    def ask_find(self) -> None:
        self.search.ask("find", self.listing.query)
        self._find(self.listing.query)

    def ask_goto(self) -> None:
        self.search.ask("goto")

    def close_search(self) -> None:
        """Close the field; the table has the keyboard again."""
        self.search.hide()
        if self.search.purpose == "find":
            self.listing.find("")
        self.view.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _find(self, text: str) -> None:
        self.listing.find(text)
        self._say_matches()
        self._refresh_actions()

    def _say_matches(self) -> None:
        matches, line = self.listing.matches, self.listing.caret_line
        if not self.listing.query:
            self.search.answer("")
        elif not matches:
            self.search.answer("not found", is_wrong=True)
        elif line is not None and line.row in matches:
            self.search.answer(f"{matches.index(line.row) + 1} of {len(matches)}")
        else:
            self.search.answer(f"{len(matches)} found")

    def _go_to(self, text: str) -> None:
        rows, line = self.listing.rows, self.listing.caret_line
        if rows is None:
            return
        try:
            start = -1 if line is None else line.row
            found = go_to(rows, text, start, self.listing.labels)
        except ParameterError as error:
            self.search.answer(f"{error.message} {error.hint}".strip(), is_wrong=True)
            return
        self.search.hide()
        self.view.setFocus(Qt.FocusReason.ShortcutFocusReason)
        spans = [] if self.listing.labels is None else self.listing.labels.spans(found.row)
        operand = next((i for i, span in enumerate(spans) if span.ref == found.ref), -1)
        self.view.go_to_row(found.row, operand)

    def _open_line(self, line: Line) -> None:
        if line.kind == "heading" and self.listing.is_foldable(line):
            self.listing.fold((line.key,), not self.listing.is_folded(line))
        else:
            self.links.reveal(line)

    # -- pop-ups --------------------------------------------------------------------------------

    def _show_tip(self, at: QPoint, spot: Spot) -> None:
        text = self.tip_of(spot)
        if text:
            area = self.view.spot_rect(spot.place, spot.operand)
            QToolTip.showText(at, text, self.view.viewport(), area)
        else:
            QToolTip.hideText()

    def tip_of(self, spot: Spot) -> str:
        """What a card says of a spot; empty for nothing."""
        rows = self.listing.rows
        if rows is None or spot.place < 0:
            return ""
        line = self.view.lines[spot.place]
        ref = self.links.register_at(line, spot.operand)
        if ref is not None and ref in self._tensors:
            names = {found: row.key for found, row in self._tensors.items()}
            return register_tip(self._tensors[ref], names, self.labelling.name_of(ref))
        if spot.is_mnemonic:
            return opcode_tip(rows.instruction(line.row))
        if spot.column is None:
            return plain_tip(", ".join(band.name for band in self.listing.bands(line) if band.name))
        exact = exact_cell(self.listing, line, spot.column)
        return plain_tip(exact or cell_text(self.listing, line, spot.column))

    def _show_line_menu(self, at: QPoint) -> None:
        spot = self.view.spot_at(at)
        if spot.place >= 0:
            self.listing.set_caret(spot.place, spot.operand)
        menu_of(self._actions, LINE_MENU, self).popup(self.view.viewport().mapToGlobal(at))

    def _show_view_menu(self) -> None:
        corner = self._menu.mapToGlobal(self._menu.rect().bottomLeft())
        menu_of(self._actions, VIEW_MENU, self).popup(corner)
