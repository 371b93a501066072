"""The lines of a listing in the order shown: grouped, folded, at one of three levels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias, get_args

from studio.instruction_view.model.kernels import Kernels
from studio.instruction_view.model.rows import ProgramRows

Level: TypeAlias = Literal["layers", "instructions", "kernels"]
Grouping: TypeAlias = Literal["flat", "layer", "section"]
LineKind: TypeAlias = Literal["heading", "instruction", "kernel", "reference", "failure", "removed"]

LEVELS: tuple[Level, ...] = get_args(Level)
GROUPINGS: tuple[Grouping, ...] = get_args(Grouping)


class Line(NamedTuple):
    """One line of the listing.

    Attributes:
        kind: what it shows: a heading of a layer or section, an instruction, a kernel of one, a
            reference to an instruction listed under another layer, where a compile stopped, or an
            instruction that has just gone.
        key: its identity, the same after another compile.
        row: running index of its instruction; of the first one for a heading, -1 without any.
        depth: how far it is indented.
        number: which kernel of its instruction.
        title: text of a line that is no instruction.
        members: for a heading, the indices of its entries (fused groups as one).
    """

    kind: LineKind
    key: str
    row: int
    depth: int = 0
    number: int = 0
    title: str = ""
    members: tuple[int, ...] = ()


class Removed(NamedTuple):
    """An instruction the last compile dropped, shown for a moment where it was.

    Attributes:
        key: its key in the program before.
        text: its line there.
        after: key of the instruction it stood behind; empty at the beginning.
    """

    key: str
    text: str
    after: str


class Failure(NamedTuple):
    """Where a compile stopped.

    Attributes:
        row: the row before which it stopped; one behind the last where that is not known.
        text: what was wrong, in one sentence.
    """

    row: int
    text: str


@dataclass(frozen=True)
class Arrangement:
    """Lines in order, and where each instruction is found among them.

    Attributes:
        lines: what is shown, top to bottom.
        places: for each instruction the line that shows it, or the folded line that hides it.
        foldable: keys of lines that can be folded.
        folded: keys of those that are.
    """

    lines: tuple[Line, ...] = ()
    places: Sequence[int] = ()
    foldable: frozenset[str] = frozenset()
    folded: frozenset[str] = frozenset()
    by_key: dict[str, int] = field(default_factory=dict)

    def place_of(self, index: int) -> int:
        """The line that shows an instruction, or the folded one it is in; -1 for no such."""
        return self.places[index] if 0 <= index < len(self.places) else -1


NOTHING = Arrangement()


def arrange(
    rows: ProgramRows,
    level: Level = "instructions",
    grouping: Grouping = "flat",
    *,
    folded: Collection[str] = (),
    kernels: Kernels | None = None,
    removed: Sequence[Removed] = (),
    failure: Failure | None = None,
) -> Arrangement:
    """Put the rows of a program in order.

    Args:
        rows: the program.
        level: layers only, instructions, or the kernels they run as.
        grouping: program order, under their layers, or under their sections.
        folded: keys of headings and fused groups that are closed.
        kernels: dispatches, for the level of kernels.
        removed: instructions that have just gone.
        failure: where the compile of a later graph stopped.
    """
    work = _Arranging(rows, level, frozenset(folded), kernels, removed, failure)
    if level == "layers":
        work.add_layers()
    elif grouping == "flat":
        work.add_entries(rows.entries)
    elif grouping == "section":
        work.add_sections()
    else:
        work.add_by_layer()
    return work.finish()


def heading_key(kind: str, name: str) -> str:
    """The key of a heading: ``layer:conv1``, ``section:forward``."""
    return f"{kind}:{name}"


class _Arranging:
    """One arrangement being made."""

    def __init__(
        self,
        rows: ProgramRows,
        level: Level,
        folded: frozenset[str],
        kernels: Kernels | None,
        removed: Sequence[Removed],
        failure: Failure | None,
    ) -> None:
        self.rows = rows
        self.level = level
        self.folded = folded
        self.kernels = kernels
        self.lines: list[Line] = []
        self.places = [-1] * len(rows)
        self.foldable: set[str] = set()
        self.failure = failure
        self._gone: defaultdict[str, list[Removed]] = defaultdict(list)
        for each in removed:
            self._gone[each.after].append(each)

    def finish(self) -> Arrangement:
        """The arrangement."""
        if self.failure is not None:
            self._add_failure(self.failure)
        by_key = {line.key: place for place, line in enumerate(self.lines)}
        return Arrangement(
            tuple(self.lines),
            self.places,
            frozenset(self.foldable),
            self.folded & self.foldable,
            by_key,
        )

    def add_layers(self) -> None:
        """One line for each layer and housekeeping owner."""
        for owner, members in self._entries_by_owner().items():
            self._add_heading("layer", owner, members)

    def add_sections(self) -> None:
        """Program order under a heading for each section."""
        found: defaultdict[str, list[int]] = defaultdict(list)
        for index in self.rows.entries:
            found[self.rows.section(index)].append(index)
        for section, members in found.items():
            if self._add_heading("section", section, members):
                self.add_entries(members, 1)

    def add_by_layer(self) -> None:
        """Under a heading for each layer; what is shared stands under the first of them."""
        for owner, members in self._entries_by_owner().items():
            own = [i for i in members if self.rows.listed_owners(i)[0] == owner]
            if self._add_heading("layer", owner, members, hides=own):
                self.add_entries(own, 1)
                self._add_references(owner, set(own))

    def add_entries(self, members: Iterable[int], depth: int = 0) -> None:
        """Single instructions and fused groups, or the kernels of them."""
        if depth == 0:
            self._add_removed("", 0)
        for index in members:
            if self.level == "kernels":
                self._add_kernels(index, depth)
            else:
                self._add_entry(index, depth)

    def _add_heading(
        self, kind: str, name: str, members: Sequence[int], hides: Sequence[int] | None = None
    ) -> bool:
        """Add a heading; whether what is under it is shown."""
        key = heading_key(kind, name)
        place = len(self.lines)
        first = members[0] if members else -1
        self.lines.append(Line("heading", key, first, title=name, members=tuple(members)))
        if self.level != "layers":
            self.foldable.add(key)
            if key not in self.folded:
                return True
        for index in members if hides is None else hides:
            span = self.rows.group(index)
            for each in range(span.first, span.last + 1):
                if self.places[each] < 0:
                    self.places[each] = place
        return False

    def _add_entry(self, index: int, depth: int) -> None:
        span = self.rows.group(index)
        key = self._add_row(index, depth)
        if span.first == span.last:
            return
        self.foldable.add(key)
        if key in self.folded:
            place = self.places[index]
            self.places[span.first : span.last + 1] = [place] * (span.last + 1 - span.first)
            return
        for each in range(index + 1, span.last + 1):
            self._add_row(each, depth + (each < span.last))

    def _add_row(self, index: int, depth: int) -> str:
        key = self.rows.key(index)
        self.places[index] = len(self.lines)
        self.lines.append(Line("instruction", key, index, depth))
        self._add_removed(key, depth)
        return key

    def _add_removed(self, after: str, depth: int) -> None:
        for gone in self._gone.pop(after, ()):
            self.lines.append(Line("removed", gone.key, -1, depth, title=gone.text))
            self._add_removed(gone.key, depth)

    def _add_kernels(self, index: int, depth: int) -> None:
        span = self.rows.group(index)
        self.places[span.first : span.last + 1] = [len(self.lines)] * (span.last + 1 - span.first)
        key = self.rows.key(index)
        runs = () if self.kernels is None else self.kernels.of(index)
        for number in range(max(len(runs), 1)):
            self.lines.append(Line("kernel", f"{key}#{number}", index, depth, number))

    def _add_references(self, owner: str, own: set[int]) -> None:
        """Lines that point at instructions of a layer that stand under another one."""
        for index in self.rows.rows_of(owner):
            home = self.rows.group(index).first
            if home in own or self.rows.is_group_begin(index) or self.rows.is_group_end(index):
                continue
            key = f"{heading_key('layer', owner)}→{self.rows.key(index)}"
            self.lines.append(Line("reference", key, index, 1))

    def _entries_by_owner(self) -> dict[str, list[int]]:
        """Entries of every owner, owners in the order the program reaches them."""
        found: dict[str, list[int]] = {owner: [] for owner in self.rows.all_owners}
        for index in self.rows.entries:
            for owner in self.rows.listed_owners(index):
                found[owner].append(index)
        return found

    def _add_failure(self, failure: Failure) -> None:
        place = len(self.lines)
        if 0 <= failure.row < len(self.places) and self.places[failure.row] >= 0:
            place = self.places[failure.row]
        self.lines.insert(place, Line("failure", "failure", -1, title=failure.text))
        self.places = [p + (p >= place) for p in self.places]
