"""What the next sweep of the document varies, while it is being put together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from studio.engine.core.errors import StudioError
from studio.engine.core.options import AnyOption, OptionKind, Plain
from studio.engine.core.signal import Signal
from studio.engine.scale.sweep.search_space import Variable, parse_axes, variables
from studio.engine.train.project.project import Project
from studio.session.document.change import Change
from studio.session.document.document import Document
from studio.session.document.state import DocumentState

NO_VALUES = "Give values: a list such as 8,16,32, or a range such as 0.1..0.5"


class SweepDraft:
    """The axes collected for the next sweep, as ``--vary`` takes them.

    It follows the document: an axis keeps its layer when that is renamed. An axis whose layer or
    option is gone stays, with a problem, so that undo brings it back. Another document begins
    without axes.
    """

    def __init__(self) -> None:
        self.changed: Signal[[]] = Signal()
        self._axes: dict[str, str] = {}
        self._document: Document | None = None
        self._known: tuple[DocumentState, Project | None, Mapping[str, Variable]] | None = None
        self._problems: dict[tuple[str, str], str] = {}

    def follow(self, document: Document) -> None:
        """Collect for another document."""
        if self._document is not None:
            self._document.changed.disconnect(self._document_changed)
        self._document = document
        document.changed.connect(self._document_changed)
        self._known = None
        had = bool(self._axes)
        self._axes = {}
        if had:
            self.changed.emit()

    @property
    def axes(self) -> tuple[tuple[str, str], ...]:
        """Names and values, in the order they were added."""
        return tuple(self._axes.items())

    def words(self) -> tuple[str, ...]:
        """The axes as ``NAME=VALUES``."""
        return tuple(f"{name}={values}" for name, values in self._axes.items())

    def holds(self, name: str) -> bool:
        """Whether something is among the axes."""
        return name in self._axes

    def add(self, name: str, values: str = "") -> None:
        """Vary something, by the suggestion where no values are given; one that is varied stays."""
        if name not in self._axes:
            self._axes[name] = values or self.suggested(name)
            self.changed.emit()

    def set_values(self, name: str, values: str) -> None:
        """Give an axis other values; nothing happens where there is no such axis."""
        if name in self._axes and self._axes[name] != values:
            self._axes[name] = values
            self.changed.emit()

    def remove(self, name: str) -> None:
        """Vary something no longer."""
        if self._axes.pop(name, None) is not None:
            self.changed.emit()

    def clear(self) -> None:
        """Vary nothing."""
        if self._axes:
            self._axes = {}
            self.changed.emit()

    def names(self) -> tuple[str, ...]:
        """Everything of the project that can be varied; nothing while the network is broken."""
        return tuple(self._variables())

    def suggested(self, name: str) -> str:
        """Values around the present one, as ``--vary`` takes them; empty where none come to mind.

        Numbers that are chosen by their order of magnitude get a decade to each side, shares a
        range within their limits, sizes half, the same and double, and choices all there are.
        """
        found = self._variables().get(name)
        return "" if found is None else _suggestion(found.option, found.value)

    def problem_of(self, name: str) -> str:
        """Why an axis cannot be varied so, in a sentence; empty where it can."""
        values = self._axes.get(name, "").strip()
        _, project, _ = self._look()
        key = (name, values)
        if key not in self._problems:
            self._problems[key] = _problem(name, values, project)
        return self._problems[key]

    def _variables(self) -> Mapping[str, Variable]:
        return self._look()[2]

    def _look(self) -> tuple[DocumentState, Project | None, Mapping[str, Variable]]:
        """The project as it is now; made once for each state of the document."""
        document = self._document
        state = DocumentState() if document is None else document.state
        if self._known is None or self._known[0] is not state:
            project: Project | None = None
            try:
                project = None if document is None else document.project()
            except StudioError:
                # The network is said to be broken elsewhere; nothing can be varied meanwhile.
                project = None
            self._known = (state, project, {} if project is None else variables(project))
            self._problems = {}
        return self._known

    def _document_changed(self, change: Change) -> None:
        if change.only_places or not self._axes:
            return
        renamed = dict(_renamed(change))
        moved: dict[str, str] = {}
        for name, values in self._axes.items():
            owner, dot, option = name.rpartition(".")
            if owner in renamed:
                moved[f"{renamed[owner]}{dot}{option}"] = values
            else:
                moved.setdefault(name, values)
        self._axes = moved
        # What was fine may be a problem now, or the other way round.
        self.changed.emit()


def _renamed(change: Change) -> Iterable[tuple[str, str]]:
    """Old and new names of the layers that a change renamed."""
    for node_id in change.modified:
        before, after = change.before.nodes[node_id], change.after.nodes[node_id]
        if after.is_layer and before.name != after.name:
            yield before.name, after.name


def _problem(name: str, values: str, project: Project | None) -> str:
    if project is None:
        return "The network has errors; nothing can be varied until they are repaired"
    if not values:
        return NO_VALUES
    try:
        parse_axes([f"{name}={values}"], project)
    except StudioError as error:
        return f"{error.message}; {error.hint}" if error.hint else error.message
    return ""


def _suggestion(option: AnyOption, value: Plain) -> str:
    kind = option.kind
    if kind is OptionKind.FLAG:
        return "true,false"
    if option.choices:
        return ",".join(option.choices)
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else None
    if kind is OptionKind.INTEGER:
        return _listed(option, number, _whole_around(option, number))
    if kind is OptionKind.PAIR:
        return _pairs(option, value)
    if kind is OptionKind.NUMBER or option.name == "learning_rate":
        return _numbers(option, None if number is None else float(number))
    if option.kinds is None:
        return ""
    keys = [kind.key for kind in option.kinds.kinds if not _needs_options(kind.options)]
    return ",".join(key or "none" for key in keys) if len(keys) > 1 else ""


def _needs_options(options: Iterable[AnyOption]) -> bool:
    return any(option.required for option in options)


def _whole_around(option: AnyOption, number: float | None) -> list[int]:
    """Half, the same and double; neighbours of small numbers."""
    if number is None:
        start = int(max(option.low, 1))
        return [start, 2 * start]
    value = int(number)
    if option.steps != "powers" and value < 4:
        first = max(value - 1, int(option.low))
        return [first, first + 1, first + 2]
    return [value // 2, value, 2 * value]


def _listed(option: AnyOption, number: float | None, values: Iterable[int]) -> str:
    fitting = [str(each) for each in dict.fromkeys(values) if option.low <= each <= option.high]
    if number is None and option.optional:
        fitting.insert(0, "none")
    return ",".join(fitting) if len(fitting) > 1 else ""


def _pairs(option: AnyOption, value: Plain) -> str:
    """Pairs such as a window's size: two less, the same, two more, so that odd ones stay odd."""
    sides = [int(str(side)) for side in value] if isinstance(value, list) else [1, 1]
    least = int(option.low)
    step = 2 if min(sides) > least + 1 else 1
    made = []
    for change in (-step, 0, step):
        moved = [max(side + change, least) for side in sides]
        made.append(str(moved[0]) if len(set(moved)) == 1 else "x".join(map(str, moved)))
    if value is None:
        made = ["none", *made]
    found = list(dict.fromkeys(made))
    return ",".join(found) if len(found) > 1 else ""


_TINY = 0.01
"""Below it a number is chosen by its order of magnitude."""


def _numbers(option: AnyOption, value: float | None) -> str:
    low, high = option.low, option.high
    by_decade = option.steps == "decades" or option.name == "learning_rate"
    if value is None and option.optional:
        return "none,0.0001,0.001,0.01" if by_decade else "none,0.5,1,2"
    number = 0.0 if value is None else value
    if by_decade or 0.0 < number < _TINY:
        middle = number if number > 0.0 else 1e-3
        return _range(max(middle / 10.0, low), min(middle * 10.0, high), "log:")
    if low >= 0.0 and high <= 1.0:
        return _range(*_share_around(number, high))
    if number == 0.0:
        return _range(max(-1.0, low), min(1.0, high))
    ends = sorted((max(number / 2.0, low), min(number * 2.0, high)))
    return _range(ends[0], ends[1])


def _share_around(share: float, high: float) -> tuple[float, float]:
    """A range of shares: half to double the distance from the nearer of 0 and 1."""
    if share == 0.0:
        return 0.0, high / 2.0
    if share <= 0.5:
        return share / 2.0, min(2.0 * share, (1.0 + share) / 2.0)
    rest = 1.0 - share
    return max(1.0 - 2.0 * rest, 0.0) if rest else 0.5, min(1.0 - rest / 2.0, high)


def _range(low: float, high: float, scale: str = "") -> str:
    ends = [float(f"{end:.4g}") for end in (low, high)]
    if not (ends[0] < ends[1] and all(map(math.isfinite, ends))):
        return ""
    return f"{scale}{_digits(ends[0])}..{_digits(ends[1])}"


def _digits(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e4 else f"{value:.4g}"
