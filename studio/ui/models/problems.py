"""Everything that stands in the way of a training, in one list, each with where it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from studio.engine.core.errors import StudioError
from studio.engine.core.signal import Signal
from studio.ui.models import entities
from studio.ui.models.entities import Entity
from studio.ui.models.selection import SelectionBus

Severity: TypeAlias = Literal["error", "warning"]
Source: TypeAlias = Literal["graph", "data", "compiler", "training"]

SOURCES: tuple[Source, ...] = ("graph", "data", "compiler", "training")
"""In the order problems are listed: what comes first is the cause of what comes later."""

VIEW = "problems"
"""How this list names itself on the selection bus."""


@dataclass(frozen=True)
class Repair:
    """One way to put a problem right.

    Attributes:
        text: what it does, a verb first.
        effect: what comes of it.
        apply: does it, as one step that can be undone.
    """

    text: str
    effect: str
    apply: Callable[[], object] = field(compare=False)


@dataclass(frozen=True)
class ProblemItem:
    """One problem.

    Attributes:
        id: the same as long as the problem is.
        severity: an error stops the training, a warning does not.
        source: which part found it.
        text: the rule, what was expected and what came, in one sentence.
        hint: what to do about it; empty when the sentence says it.
        place: the layer, file or part it is in, as the user named it.
        entity: where to look; None where no view shows it.
        repairs: ways to put it right, cheapest first.
        details: more about it, perhaps many lines.
    """

    id: str
    severity: Severity
    source: Source
    text: str
    hint: str = ""
    place: str = ""
    entity: Entity | None = None
    repairs: tuple[Repair, ...] = ()
    details: str = ""

    def plain(self) -> str:
        """The problem as text to copy."""
        head = f"{self.severity}: {self.place}: {self.text}" if self.place else (
            f"{self.severity}: {self.text}"
        )  # fmt: skip
        more = (line for line in (self.hint, self.details) if line)
        return "\n  ".join((head, *more))


class ProblemList:
    """The problems of all parts of the studio, and the one the user is at.

    Args:
        bus: where the one walked to is selected and shown.
    """

    def __init__(self, bus: SelectionBus) -> None:
        self.changed: Signal[[]] = Signal()
        self.current_changed: Signal[[]] = Signal()
        self._bus = bus
        self._by_source: dict[Source, tuple[ProblemItem, ...]] = {}
        self._current = ""

    @property
    def items(self) -> tuple[ProblemItem, ...]:
        """All of them: errors before warnings, causes before consequences."""
        found = [item for source in SOURCES for item in self._by_source.get(source, ())]
        return tuple(sorted(found, key=lambda item: item.severity == "warning"))

    @property
    def errors(self) -> int:
        """How many stop the training."""
        return sum(item.severity == "error" for item in self.items)

    @property
    def warnings(self) -> int:
        """How many do not."""
        return sum(item.severity == "warning" for item in self.items)

    def provide(self, source: Source, items: Iterable[ProblemItem]) -> None:
        """Take the problems one part found, in place of those it had found before."""
        found = tuple(items)
        if found == self._by_source.get(source, ()):
            return
        self._by_source[source] = found
        if self.current is None:
            self._current = ""
        self.changed.emit()

    def provide_error(
        self, source: Source, error: StudioError | None, ids: Mapping[str, str] | None = None
    ) -> None:
        """Take the one error of a part, or none.

        Args:
            source: the part.
            error: what it says.
            ids: node ids by the name a user gave them, to find the layer an error names.
        """
        self.provide(source, () if error is None else (of_error(source, error, ids or {}),))

    # -- walking --------------------------------------------------------------------------------

    @property
    def current(self) -> ProblemItem | None:
        """The problem the user is at."""
        return next((item for item in self.items if item.id == self._current), None)

    def next(self) -> ProblemItem | None:
        """Go to the next problem, from the last to the first; None where there is none."""
        return self._step(1)

    def previous(self) -> ProblemItem | None:
        """Go to the problem before, from the first to the last; None where there is none."""
        return self._step(-1)

    def go_to(self, item: ProblemItem) -> None:
        """Stand at a problem and show where it is."""
        self._current = item.id
        if item.entity is not None:
            self._bus.select((item.entity,), source=VIEW)
            self._bus.reveal(item.entity, VIEW)
        self.current_changed.emit()

    def _step(self, way: int) -> ProblemItem | None:
        found = self.items
        if not found:
            return None
        places = [item.id for item in found]
        if self._current in places:
            at = (places.index(self._current) + way) % len(found)
        else:
            at = 0 if way > 0 else -1
        self.go_to(found[at])
        return found[at]


def of_error(source: Source, error: StudioError, ids: Mapping[str, str]) -> ProblemItem:
    """An error as a problem; it lies in the layer it names, if it names one."""
    node_id = next((ids[name] for name in (error.who, error.origin) if name in ids), None)
    return ProblemItem(
        f"{source}:{error.code}:{error.who}:{error.message}",
        "error",
        source,
        error.message,
        error.hint,
        error.who,
        None if node_id is None else entities.node(node_id),
        details=error.origin,
    )


class Fix(Protocol):
    """A repair as the document offers it: makes another state of one."""

    @property
    def text(self) -> str: ...
    @property
    def effect(self) -> str: ...


class GraphProblem(Protocol):
    """A problem as the document reports it."""

    @property
    def id(self) -> str: ...
    @property
    def severity(self) -> str: ...
    @property
    def node(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def hint(self) -> str: ...
    @property
    def fixes(self) -> Sequence[Fix]: ...


def of_graph(
    found: Iterable[GraphProblem],
    names: Mapping[str, str],
    repair: Callable[[Fix], object],
) -> tuple[ProblemItem, ...]:
    """The document's problems as items.

    Args:
        found: as the report lists them.
        names: what the user calls each node, by id.
        repair: applies a fix to the document.
    """
    return tuple(
        ProblemItem(
            f"graph:{each.id}:{each.node}",
            "error" if each.severity == "error" else "warning",
            "graph",
            each.message,
            each.hint,
            names.get(each.node, each.node),
            entities.node(each.node) if each.node else None,
            tuple(Repair(fix.text, fix.effect, _bound(repair, fix)) for fix in each.fixes),
        )
        for each in found
    )


def _bound(repair: Callable[[Fix], object], fix: Fix) -> Callable[[], object]:
    return lambda: repair(fix)
