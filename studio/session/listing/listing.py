"""The state of a listing: which program, how it is arranged, where the caret is."""

from __future__ import annotations

from collections.abc import Iterable

from studio.engine.core.signal import Signal
from studio.engine.core.tensor import Ref
from studio.engine.train.project.annotations import NO_ANNOTATIONS, Annotations
from studio.session.listing.arrangement import (
    LEVELS,
    NOTHING,
    Arrangement,
    Arranger,
    Failure,
    Grouping,
    Level,
    Line,
)
from studio.session.listing.colouring import Band, ColourBy, Colouring, hues_of
from studio.session.listing.kernels import Kernels
from studio.session.listing.labels import Labels
from studio.session.listing.line_spans import OperandSpan
from studio.session.listing.look_up import find_rows
from studio.session.listing.row_changes import NO_CHANGES, RowChanges, row_changes
from studio.session.listing.rows import ProgramRows
from studio.session.listing.totals import Times, Totals, line_totals, no_times


class Listing:
    """What a listing shows. The program is put in by `show`; everything else is the user's choice.

    Caret and folding are kept by the keys of lines, so that they outlive a compile.
    """

    def __init__(self) -> None:
        self.arranged: Signal[[]] = Signal()
        self.recoloured: Signal[[]] = Signal()
        self.timed: Signal[[]] = Signal()
        self.caret_moved: Signal[[]] = Signal()
        self.rows: ProgramRows | None = None
        self.labels: Labels | None = None
        self.kernels: Kernels | None = None
        self.arrangement: Arrangement = NOTHING
        self.changes: RowChanges = NO_CHANGES
        self.matches: tuple[int, ...] = ()
        self.has_times = False
        self._level: Level = "instructions"
        self._grouping: Grouping = "flat"
        self._colour_by: ColourBy = "layer"
        self._colouring: Colouring | None = None
        self._hues: dict[str, int] = {}
        self._times: Times = no_times
        self._annotations: Annotations = NO_ANNOTATIONS
        self._failure: Failure | None = None
        self._folded: set[str] = set()
        self._arranger: Arranger | None = None
        self._query = ""
        self._caret = -1
        self._caret_line: Line | None = None
        self._operand = -1

    # -- what is shown --------------------------------------------------------------------------

    def show(
        self,
        rows: ProgramRows | None,
        kernels: Kernels | None = None,
        failure: Failure | None = None,
        arranger: Arranger | None = None,
        changes: RowChanges | None = None,
    ) -> RowChanges:
        """Show a program; the differences to the one before.

        Args:
            rows: the program, None for none.
            kernels: its dispatches, where they are known.
            failure: where the compile of a later graph stopped.
            arranger: puts the rows in order, where there is one already.
            changes: the differences, where they are known already.
        """
        before = self.rows
        self.changes = NO_CHANGES
        if rows is not None and before is not None and rows is not before:
            self.changes = row_changes(before, rows) if changes is None else changes
        self.rows, self.kernels, self._failure = rows, kernels, failure
        if rows is not None and (self._arranger is None or self._arranger.rows is not rows):
            self._arranger = arranger or Arranger(rows)
        self._recolour()
        self._label()
        self._arrange()
        return self.changes

    def forget_changes(self) -> None:
        """The user has seen what the last compile changed."""
        if self.changes:
            had_removed = bool(self.changes.removed)
            self.changes = NO_CHANGES
            if had_removed:
                self._arrange()
            else:
                self.recoloured.emit()

    def annotate(self, annotations: Annotations) -> None:
        """Show what a person calls registers, and says of instructions."""
        if annotations != self._annotations:
            self._annotations = annotations
            self._label()
            self.recoloured.emit()

    def set_times(self, times: Times) -> None:
        """Measured times have come, or changed: a few digits, unless colours stand for them."""
        self._times = times
        rows = self.rows
        self.has_times = rows is not None and any(times(i) is not None for i in rows.entries)
        if self._colour_by == "time":
            self._recolour()
            self.recoloured.emit()
        self.timed.emit()

    @property
    def times(self) -> Times:
        """Measured times of entries."""
        return self._times

    @property
    def lines(self) -> tuple[Line, ...]:
        """The lines, top to bottom."""
        return self.arrangement.lines

    def totals(self, line: Line) -> Totals:
        """Operations, bytes and time of a line."""
        return Totals() if self.rows is None else line_totals(self.rows, line, self._times)

    def bands(self, line: Line) -> tuple[Band, ...]:
        """The parts of its colour band."""
        return () if self._colouring is None else self._colouring.bands(line)

    def hue_of(self, owner: str) -> int:
        """The hue of a layer, -1 for housekeeping."""
        return -1 if self._colouring is None else self._colouring.hue_of(owner)

    # -- how it is arranged ---------------------------------------------------------------------

    @property
    def level(self) -> Level:
        """Layers, instructions or kernels."""
        return self._level

    def set_level(self, level: Level) -> None:
        """Show layers, instructions or kernels."""
        if level != self._level:
            self._level = level
            self._arrange()

    def step_level(self, step: int) -> None:
        """Go some levels down towards kernels, or up towards layers; stops at the ends."""
        place = LEVELS.index(self._level) + step
        self.set_level(LEVELS[min(max(place, 0), len(LEVELS) - 1)])

    @property
    def grouping(self) -> Grouping:
        """Program order, by layer, or by section."""
        return self._grouping

    def set_grouping(self, grouping: Grouping) -> None:
        """Group the lines."""
        if grouping != self._grouping:
            self._grouping = grouping
            self._arrange()

    @property
    def colour_by(self) -> ColourBy:
        """What colours stand for."""
        return self._colour_by

    def set_colour_by(self, colour_by: ColourBy) -> None:
        """Choose what colours stand for."""
        if colour_by != self._colour_by:
            self._colour_by = colour_by
            self._recolour()
            self.recoloured.emit()

    def is_folded(self, line: Line) -> bool:
        """Whether what is under a line is hidden."""
        return line.key in self.arrangement.folded

    def is_foldable(self, line: Line) -> bool:
        """Whether something is under a line that can be hidden."""
        return line.key in self.arrangement.foldable

    def fold(self, keys: Iterable[str], folded: bool = True) -> None:
        """Hide or show what is under lines."""
        changed = set(keys) - self._folded if folded else set(keys) & self._folded
        if changed:
            self._folded ^= changed
            self._arrange()

    def fold_all(self, folded: bool = True) -> None:
        """Fold or unfold everything there is at this grouping."""
        self.fold(self.arrangement.foldable, folded)

    def open_to(self, index: int) -> int:
        """Unfold whatever hides an instruction; its line."""
        place = self.arrangement.place_of(index)
        while place >= 0 and self.is_folded(self.lines[place]):
            self.fold((self.lines[place].key,), False)
            place = self.arrangement.place_of(index)
        return place

    # -- caret ----------------------------------------------------------------------------------

    @property
    def caret(self) -> int:
        """The line the caret is in, -1 for none."""
        return self._caret

    @property
    def caret_line(self) -> Line | None:
        """That line itself."""
        return self._caret_line

    @property
    def operand(self) -> int:
        """Which register of the line the caret is on, -1 for none."""
        return self._operand

    def set_caret(self, place: int, operand: int = -1) -> None:
        """Move the caret to a line and to one of its registers."""
        place = place if 0 <= place < len(self.lines) else -1
        if (place, operand) != (self._caret, self._operand):
            self._caret, self._operand = place, operand
            self._caret_line = self.lines[place] if place >= 0 else None
            self.caret_moved.emit()

    def step_operand(self, step: int) -> None:
        """Move the caret along the registers of its line."""
        count = len(self.spans(self._caret_line)) if self._caret_line is not None else 0
        if count:
            start = -1 if step > 0 else 0
            now = self._operand if self._operand >= 0 else start
            self.set_caret(self._caret, (now + step) % count)

    def spans(self, line: Line) -> tuple[OperandSpan, ...]:
        """The registers in a line; none in lines that are no instructions."""
        if self.labels is None or line.kind not in ("instruction", "reference"):
            return ()
        return self.labels.spans(line.row)

    def register(self) -> Ref | None:
        """The register under the caret; the first result of its line where it is on none."""
        line = self._caret_line
        if line is None or self.rows is None or line.row < 0:
            return None
        spans = [span for span in self.spans(line) if span.ref.present]
        chosen = self.spans(line)[self._operand] if self._operand >= 0 else None
        if chosen is not None and chosen.ref.present:
            return chosen.ref
        out = self.rows.written(line.row)
        return out[0] if out else spans[0].ref if spans else None

    # -- search ---------------------------------------------------------------------------------

    @property
    def query(self) -> str:
        """The text searched for."""
        return self._query

    def find(self, query: str) -> tuple[int, ...]:
        """Search; rows that match, which stay marked until the next search."""
        self._query = query
        self._find()
        self.recoloured.emit()
        return self.matches

    def next_match(self, step: int = 1) -> int:
        """The row of the next match behind the caret (or before it), around the ends; -1 without.

        Args:
            step: 1 for the next one, -1 for the one before.
        """
        if not self.matches:
            return -1
        here = self._caret_line.row if self._caret_line is not None else -1
        if step > 0:
            return next((i for i in self.matches if i > here), self.matches[0])
        return next((i for i in reversed(self.matches) if i < here), self.matches[-1])

    # -- inside ---------------------------------------------------------------------------------

    def _label(self) -> None:
        rows = self.rows
        self.labels = None if rows is None else Labels(rows, self._annotations)
        self._find()

    def _find(self) -> None:
        rows = self.rows
        self.matches = () if rows is None else find_rows(rows, self._query, self.labels)

    def _recolour(self) -> None:
        rows = self.rows
        if rows is None:
            self._colouring, self._hues = None, {}
            return
        self._hues = hues_of(rows, self._hues)
        self._colouring = Colouring(rows, self._colour_by, self._times, self._hues)

    def _arrange(self) -> None:
        if self.rows is None or self._arranger is None:
            self.arrangement = NOTHING
        else:
            self.arrangement = self._arranger.arrange(
                self._level, self._grouping, folded=self._folded, kernels=self.kernels,
                removed=self.changes.removed, failure=self._failure,
            )  # fmt: skip
        line = self._caret_line
        if line is not None:
            place = self._place_again(line)
            self._caret = place
            kept = place >= 0 and self.lines[place].key == line.key
            self._operand = self._operand if kept else -1
            self._caret_line = self.lines[place] if place >= 0 else None
        self.arranged.emit()

    def _place_again(self, line: Line) -> int:
        """Where a line of the arrangement before is now: itself, its instruction, or nothing."""
        place = self.arrangement.by_key.get(line.key)
        if place is not None:
            return place
        if self.rows is None or line.row < 0:
            return -1
        key = line.key.partition("#")[0]
        index = self.rows.origins.index_of(key)
        return self.arrangement.place_of(line.row if index is None else index)
