"""Where the panes of a workspace stand from the start in a window of some size, and how large."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from studio.ui.shell.docks.panes import PaneSpec, Side

SIDES: tuple[Side, ...] = ("left", "right", "bottom")

MIDDLE = (320, 240)
"""What the canvas keeps at least."""

SPLITTER, TABS = 4, 28
"""Pixels between two docks, and of the tabs above those that stand one in front of the other."""

FULL = (1366, 768)
"""From this size of the window on every pane gets all the room it needs, below it about half."""

TENTH = 0.095
"""Share of the window that what has nothing to show may take: a little less than a tenth."""

THIN = (200, 88)
"""The least width and height of a dock."""


class _Share(NamedTuple):
    """How much of the window a side gets: a share of it, within bounds in pixels."""

    share: float
    least: int
    most: int = 10_000


class _Form(NamedTuple):
    """What a workspace looks like.

    Attributes:
        left: width of the left side.
        right: width of the right side.
        bottom: height of the lower side.
        whole: the sides that reach down to the status bar, beside the lower one.
    """

    left: _Share
    right: _Share
    bottom: _Share
    whole: tuple[Side, ...]

    def of(self, side: Side) -> _Share:
        return {"left": self.left, "right": self.right, "bottom": self.bottom}[side]


_FORMS: Mapping[str, _Form] = {
    "build": _Form(_Share(0.17, 248, 340), _Share(0.39, 200), _Share(0.28, 160), ("left", "right")),
    "train": _Form(_Share(0.19, 248, 400), _Share(0.38, 200), _Share(0.34, 160), ("left",)),
    "profile": _Form(_Share(0.17, 248, 340), _Share(0.38, 584), _Share(0.30, 160), ("right",)),
}


@dataclass(frozen=True)
class Column:
    """Panes one in front of the other.

    Attributes:
        panes: their ids, in the order of their tabs.
        front: the one in front; empty where none is open.
        size: along the side, in pixels.
    """

    panes: tuple[str, ...]
    front: str
    size: int


@dataclass(frozen=True)
class Plan:
    """An arrangement.

    Attributes:
        sides: the columns of each side, from the outermost or topmost.
        sizes: of each side, across it, in pixels.
        whole: the sides that reach down to the status bar.
    """

    sides: Mapping[Side, tuple[Column, ...]]
    sizes: Mapping[Side, int]
    whole: tuple[Side, ...]

    @property
    def structure(self) -> object:
        """What of it is not a size, and not which pane is in front."""
        columns = tuple(tuple(c.panes for c in self.sides[side]) for side in SIDES)
        return columns, self.whole


class Planner:
    """Plans the arrangement a workspace has from the start.

    Args:
        specs: all panes.
        workspace: which workspace.
        window: width and height of the window.
        free: the height of it that bars leave.
    """

    def __init__(
        self, specs: Iterable[PaneSpec], workspace: str, window: tuple[int, int], free: int
    ) -> None:
        self._specs = {spec.id: spec for spec in specs}
        self._workspace = workspace
        self._wide, self._high = window
        self._free = free
        self._form = _FORMS[workspace]
        self._is_full = self._wide >= FULL[0] and self._high >= FULL[1]
        self._open: Collection[str] = ()
        self._empty: Collection[str] = ()
        self._called = ""

    def begins_open(self) -> frozenset[str]:
        """The panes that are open from the start."""
        return frozenset(
            name for name, spec in self._specs.items() if spec.place(self._workspace).shown
        )

    def plan(self, is_open: Collection[str], empty: Collection[str], called: str = "") -> Plan:
        """The arrangement.

        Args:
            is_open: the panes that are open.
            empty: those that have nothing to show.
            called: the pane that comes in front of its column, except of urgent ones.
        """
        self._open, self._empty, self._called = is_open, empty, called
        sides = self._sides()
        left = self._across("left", sides["left"], self._wide)
        right = self._across("right", sides["right"], self._wide - left - MIDDLE[0] - 2 * SPLITTER)
        bottom = self._across("bottom", sides["bottom"], self._free - MIDDLE[1] - SPLITTER)
        whole = self._form.whole
        beside = sum(size for side, size in (("left", left), ("right", right)) if side in whole)
        beneath = bottom + SPLITTER if bottom else 0
        room: dict[Side, int] = {
            "left": self._free - (0 if "left" in whole else beneath),
            "right": self._free - (0 if "right" in whole else beneath),
            "bottom": self._wide - beside,
        }
        found = {"left": left, "right": right, "bottom": bottom}
        sizes = {side: self._limited(sides[side], room[side], found[side]) for side in SIDES}
        return Plan(
            {side: self._columns(side, sides[side], room[side], sizes[side]) for side in SIDES},
            sizes, whole,
        )  # fmt: skip

    # -- which panes stand together ---------------------------------------------------------------

    def _sides(self) -> dict[Side, list[list[str]]]:
        """The columns of each side, joined where there is no room for several."""
        found = {side: self._placed(side) for side in SIDES}
        if found["right"] and self._right_needs() > self._wide:
            # As tabs of one column: one above the other they would leave the canvas nothing.
            joined = [name for column in (*found["right"], *found["bottom"]) for name in column]
            found["right"], found["bottom"] = [], [joined]
        for side in ("left", "right"):
            while len(found[side]) > 1 and not self._fit_above(found[side]):
                last = found[side].pop()
                found[side][-1] += last
        while len(found["bottom"]) > 1 and not self._fit_beside(found["bottom"]):
            last = found["bottom"].pop()
            found["bottom"][-1] += last
        return found

    def _placed(self, side: Side) -> list[list[str]]:
        columns: dict[int, list[str]] = {}
        for name, spec in self._specs.items():
            place = spec.place(self._workspace)
            if place.side == side:
                columns.setdefault(place.column, []).append(name)
        for column in columns.values():
            column.sort(key=lambda name: self._specs[name].place(self._workspace).tab)
        return [columns[number] for number in sorted(columns)]

    def _begins(self, columns: Iterable[Sequence[str]]) -> list[str]:
        """The first pane of each column that is open from the start."""
        opened = self.begins_open()
        fronts = (next((name for name in column if name in opened), "") for column in columns)
        return [name for name in fronts if name]

    def _right_needs(self) -> int:
        """The least width of a window whose right side shows its main pane beside the canvas."""
        first = self._begins(self._placed("right"))[:1]
        needed = sum(self._specs[name].room.least_width for name in first)
        return self._form.left.least + MIDDLE[0] + needed + 2 * SPLITTER

    def _fit_above(self, columns: Sequence[Sequence[str]]) -> bool:
        rooms = [self._specs[name].room for name in self._begins(columns)]
        free = self._free - SPLITTER * (len(rooms) - 1)
        needed = sum(r.height if self._is_full else r.least_height for r in rooms)
        return needed + sum(_tabs(column, self.begins_open()) for column in columns) <= free

    def _fit_beside(self, columns: Sequence[Sequence[str]]) -> bool:
        rooms = [self._specs[name].room for name in self._begins(columns)]
        return sum(room.width for room in rooms) <= self._wide - self._form.left.least

    # -- how large they are -----------------------------------------------------------------------

    def _fronts(self, columns: Iterable[Sequence[str]]) -> list[str]:
        return [front for column in columns if (front := self._front(column))]

    def _front(self, column: Sequence[str]) -> str:
        """The pane in front: an urgent one first, and none that is empty before one that is not."""
        opened = [name for name in column if name in self._open]
        if not opened:
            return ""

        def rank(name: str) -> tuple[bool, bool, bool]:
            is_urgent = self._specs[name].place(self._workspace).urgent
            return name in self._empty, not is_urgent, name != self._called

        return min(opened, key=rank)

    def _across(self, side: Side, columns: Sequence[Sequence[str]], room: int) -> int:
        """Width of a side, or height of the lower one; 0 where nothing of it is open."""
        opened = [name for column in columns for name in column if name in self._open]
        if not opened:
            return 0
        wished = self._form.of(side)
        rooms = [self._specs[name].room for name in self._main(columns)]
        if side == "bottom":
            needed = max((r.below if self._is_full else r.least_below for r in rooms), default=0)
            least = max((r.least_below for r in rooms), default=0)
            tabs = max(_tabs(column, self._open) for column in columns)
            needed, least = needed + tabs, least + tabs
        else:
            needed = max((r.width if self._is_full else r.least_width for r in rooms), default=0)
            least = max((r.least_width for r in rooms), default=0)
        whole = self._free if side == "bottom" else self._wide
        size = min(max(round(whole * wished.share), wished.least, needed), wished.most)
        return max(min(size, room), min(least, room), THIN[side == "bottom"])

    def _main(self, columns: Iterable[Sequence[str]]) -> list[str]:
        """Of each column the pane that its size is for: the first open one."""
        mains = (next((name for name in column if name in self._open), "") for column in columns)
        return [name for name in mains if name]

    def _limited(self, columns: Sequence[Sequence[str]], along: int, size: int) -> int:
        """Less than that where a whole side has nothing to show."""
        fronts = self._fronts(columns)
        if not fronts or any(name not in self._empty for name in fronts):
            return size
        most = int(TENTH * self._wide * self._high / max(along, 1))
        return min(size, max(most, min(THIN)))

    def _columns(
        self, side: Side, columns: Sequence[Sequence[str]], room: int, across: int
    ) -> tuple[Column, ...]:
        fronts = [self._front(column) for column in columns]
        wanted = [self._wanted(side, column) for column in columns]
        whole = sum(wanted)
        free = room - SPLITTER * (sum(bool(front) for front in fronts) - 1)
        sizes = [free * each // whole if whole else 0 for each in wanted]
        self._give_away(sizes, fronts, across)
        return tuple(
            Column(tuple(column), front, size)
            for column, front, size in zip(columns, fronts, sizes, strict=True)
        )

    def _wanted(self, side: Side, column: Sequence[str]) -> int:
        """What a column wants along its side; 0 where none of it is open."""
        for name in self._main([column]):
            room = self._specs[name].room
            # A pane opened later takes the room for its tab from those it stands with.
            tabs = _tabs(column, self.begins_open())
            return room.width if side == "bottom" else room.height + tabs
        return 0

    def _give_away(self, sizes: list[int], fronts: Sequence[str], across: int) -> None:
        """What has nothing to show gives what it has above a tenth of the window to the others."""
        showing = [i for i, name in enumerate(fronts) if name and name not in self._empty]
        if not showing:
            return
        most = int(TENTH * self._wide * self._high / max(across, 1))
        for place, name in enumerate(fronts):
            if name in self._empty and sizes[place] > most:
                sizes[showing[0]] += sizes[place] - most
                sizes[place] = most


def _tabs(column: Sequence[str], opened: Collection[str]) -> int:
    """Height of the tabs above a column."""
    return TABS if sum(name in opened for name in column) > 1 else 0
