"""The lines of a listing in the order shown: grouped, folded, at one of three levels.

At the level of kernels the dispatches of each instruction, or fused group, stand below its lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Literal, NamedTuple, TypeAlias, get_args

from studio.session.listing.kernels import Kernels
from studio.session.listing.rows import ProgramRows

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

    @cached_property
    def by_key(self) -> Mapping[str, int]:
        """The place of each line by its key."""
        return {line.key: place for place, line in enumerate(self.lines)}

    def place_of(self, index: int) -> int:
        """The line that shows an instruction, or the folded one it is in; -1 for no such."""
        return self.places[index] if 0 <= index < len(self.places) else -1


NOTHING = Arrangement()


def heading_key(kind: str, name: str) -> str:
    """The key of a heading: ``layer:conv1``, ``section:forward``, ``section:forward 2``."""
    return f"{kind}:{name}"


class LayerPart(NamedTuple):
    """What stands under the heading of a layer.

    Attributes:
        members: indices of its entries, those it shares with other layers too.
        own: those listed under it.
        references: lines that point at instructions listed under another layer.
    """

    members: tuple[int, ...]
    own: tuple[int, ...]
    references: tuple[Line, ...]


class Arranger:
    """Puts the rows of one program in order, again and again; lines that stay are made once.

    Args:
        rows: the program.
    """

    def __init__(self, rows: ProgramRows) -> None:
        self.rows = rows
        self._lines: dict[int, tuple[Line, ...]] = {}

    @cached_property
    def groups(self) -> frozenset[str]:
        """Keys of the lines that begin fused groups."""
        rows = self.rows
        return frozenset(rows.key(i) for i in rows.entries if rows.is_group_begin(i))

    @cached_property
    def layer_parts(self) -> Mapping[str, LayerPart]:
        """What stands under each layer and housekeeping owner, in program order."""
        rows = self.rows
        members: dict[str, list[int]] = {owner: [] for owner in rows.all_owners}
        own: dict[str, list[int]] = {owner: [] for owner in rows.all_owners}
        for index in rows.entries:
            owners = rows.listed_owners(index)
            own[owners[0]].append(index)
            for owner in owners:
                members[owner].append(index)
        return {
            owner: LayerPart(tuple(found), tuple(own[owner]), self._references(owner, own[owner]))
            for owner, found in members.items()
            if found
        }

    def _references(self, owner: str, own: Collection[int]) -> tuple[Line, ...]:
        rows, listed, stem = self.rows, set(own), heading_key("layer", owner)
        return tuple(
            Line("reference", f"{stem}→{rows.key(index)}", index, 1)
            for index in rows.rows_of(owner)
            if rows.group(index).first not in listed
            and not rows.is_group_begin(index)
            and not rows.is_group_end(index)
        )

    def prepare(self) -> None:
        """Make what does not depend on folding; for a thread of its own."""
        self.lines_at(0)
        _ = self.groups, self.layer_parts

    def lines_at(self, depth: int) -> tuple[Line, ...]:
        """A line for every instruction, those outside groups indented by ``depth``."""
        made = self._lines.get(depth)
        if made is None:
            rows = self.rows
            made = self._lines[depth] = tuple(
                Line("instruction", rows.key(i), i, depth + rows.is_inside(i))
                for i in range(len(rows))
            )
        return made

    def arrange(
        self,
        level: Level = "instructions",
        grouping: Grouping = "flat",
        *,
        folded: Collection[str] = (),
        kernels: Kernels | None = None,
        removed: Sequence[Removed] = (),
        failure: Failure | None = None,
    ) -> Arrangement:
        """Put the rows in order.

        Args:
            level: layers only, instructions, or these with the kernels they run as.
            grouping: program order, under their layers, or program order with headings of sections.
            folded: keys of headings and fused groups that are closed.
            kernels: dispatches, for the level of kernels.
            removed: instructions that have just gone.
            failure: where the compile of a later graph stopped.
        """
        work = _Arranging(self, level, frozenset(folded), kernels, removed)
        if level == "layers":
            work.add_layers()
        elif grouping == "flat":
            work.add_entries(self.rows.entries, 0)
        elif grouping == "section":
            work.add_sections()
        else:
            work.add_by_layer()
        return work.finish(failure)


class _Arranging:
    """One arrangement being made."""

    def __init__(
        self,
        arranger: Arranger,
        level: Level,
        folded: frozenset[str],
        kernels: Kernels | None,
        removed: Sequence[Removed],
    ) -> None:
        rows = arranger.rows
        self.arranger = arranger
        self.rows = rows
        self.level = level
        self.folded = folded
        self.kernels = kernels
        self.lines: list[Line] = []
        self.places = [-1] * len(rows)
        self.headings: set[str] = set()
        self._gone = _gone_behind(rows, removed)
        closed = (rows.origins.index_of(key) for key in folded & arranger.groups)
        self._closed = {index for index in closed if index is not None}
        self._special = self._closed | {rows.group(i).first for i in self._gone if i >= 0}

    def finish(self, failure: Failure | None) -> Arrangement:
        """The arrangement."""
        if failure is not None:
            self._add_failure(failure)
        foldable = frozenset(self.headings)
        if self.level != "layers":
            foldable |= self.arranger.groups
        return Arrangement(tuple(self.lines), self.places, foldable, self.folded & foldable)

    def add_layers(self) -> None:
        """One line for each layer and housekeeping owner."""
        for owner, part in self.arranger.layer_parts.items():
            self._add_heading("layer", owner, part.members, part.members)

    def add_sections(self) -> None:
        """Program order under a heading wherever another section begins."""
        times: Counter[str] = Counter()
        for section, found in groupby(self.rows.entries, self.rows.section):
            members = tuple(found)
            times[section] += 1
            name = section if times[section] == 1 else f"{section} {times[section]}"
            if self._add_heading("section", name, members, members, title=section):
                self.add_entries(members, 1)

    def add_by_layer(self) -> None:
        """Under a heading for each layer; what is shared stands under the first of them."""
        for owner, part in self.arranger.layer_parts.items():
            if self._add_heading("layer", owner, part.members, part.own):
                self.add_entries(part.own, 1)
                self.lines += part.references

    def add_entries(self, members: Iterable[int], depth: int) -> None:
        """Single instructions and fused groups, each with its kernels if these are wanted."""
        if depth == 0:
            self._add_removed(-1, 0)
        if self.level == "kernels":
            for index in members:
                self._add_group(index, depth)
            return
        # What needs no care is taken over in stretches: programs may have many thousands of lines.
        begin = end = 0
        for index in members:
            if index != end or index in self._special:
                self._add_stretch(begin, end, depth)
                begin = index
            end = self.rows.group(index).last + 1
            if index in self._special:
                self._add_group(index, depth)
                begin = end
        self._add_stretch(begin, end, depth)

    def _add_stretch(self, begin: int, end: int, depth: int) -> None:
        if end > begin:
            place = len(self.lines)
            self.lines += self.arranger.lines_at(depth)[begin:end]
            self.places[begin:end] = range(place, place + end - begin)

    def _add_group(self, index: int, depth: int) -> None:
        """An entry that is folded, that lines have gone from, or that has its kernels below."""
        span, lines = self.rows.group(index), self.arranger.lines_at(depth)
        is_closed = index in self._closed
        last = index if is_closed else span.last
        for each in range(span.first, span.last + 1):
            if each == index or not is_closed:
                self.places[each] = len(self.lines)
                self.lines.append(lines[each])
                if each == last and self.level == "kernels":
                    self._add_kernels(index, depth)
                self._add_removed(each, depth)
            else:
                self.places[each] = self.places[index]

    def _add_removed(self, behind: int, depth: int) -> None:
        for gone in self._gone.get(behind, ()):
            self.lines.append(Line("removed", gone.key, -1, depth, title=gone.text))

    def _add_heading(
        self,
        kind: str,
        name: str,
        members: Sequence[int],
        hides: Sequence[int],
        title: str = "",
    ) -> bool:
        """Add a heading, titled as named unless told; whether what is under it is shown."""
        key = heading_key(kind, name)
        place = len(self.lines)
        self.lines.append(
            Line("heading", key, members[0], title=title or name, members=tuple(members))
        )
        if self.level != "layers":
            self.headings.add(key)
            if key not in self.folded:
                return True
        for index in hides:
            span = self.rows.group(index)
            for each in range(span.first, span.last + 1):
                if self.places[each] < 0:
                    self.places[each] = place
        return False

    def _add_kernels(self, index: int, depth: int) -> None:
        """The dispatches of an entry, below its lines."""
        kernels, key = self.kernels, self.rows.key(index)
        # A name for each entry says no more than its lines do.
        runs = () if kernels is None or not kernels.is_exact else kernels.of(index)
        for number in range(len(runs)):
            self.lines.append(Line("kernel", f"{key}#{number}", index, depth + 2, number))

    def _add_failure(self, failure: Failure) -> None:
        place = len(self.lines)
        if 0 <= failure.row < len(self.places) and self.places[failure.row] >= 0:
            place = self.places[failure.row]
        self.lines.insert(place, Line("failure", "failure", -1, title=failure.text))
        self.places = [p + (p >= place) for p in self.places]


def _gone_behind(rows: ProgramRows, removed: Sequence[Removed]) -> dict[int, list[Removed]]:
    """Rows that have gone, by the index of the row they stood behind; -1 at the beginning."""
    behind: dict[str, int] = {"": -1}
    found: dict[int, list[Removed]] = {}
    for gone in removed:
        index = behind.get(gone.after)
        if index is None:
            known = rows.origins.index_of(gone.after)
            index = -1 if known is None else known
        behind[gone.key] = index
        found.setdefault(index, []).append(gone)
    return found
