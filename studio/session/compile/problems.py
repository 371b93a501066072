"""Problems that keep the network from training, in one list, each with its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, TypeAlias

from studio.engine.core.errors import StudioError
from studio.engine.core.signal import Signal
from studio.session.compile.selection import SelectionBus
from studio.session.core import entities
from studio.session.core.entities import Entity
from studio.session.document.document import Document
from studio.session.document.report import Fix, Problem, Severity

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
        tensor: the tensor to look at there.
        details: more about it, perhaps many lines.
        find_repairs: looks for ways to put it right.
    """

    id: str
    severity: Severity
    source: Source
    text: str
    hint: str = ""
    place: str = ""
    entity: Entity | None = None
    tensor: Entity | None = None
    details: str = ""
    find_repairs: Callable[[], tuple[Repair, ...]] | None = field(
        default=None, compare=False, repr=False
    )

    @cached_property
    def repairs(self) -> tuple[Repair, ...]:
        """Ways to put it right, cheapest first; looked for when first asked."""
        return () if self.find_repairs is None else self.find_repairs()

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
        self.tensor_wanted: Signal[[]] = Signal()
        self._bus = bus
        self._by_source: dict[Source, tuple[ProblemItem, ...]] = {}
        self._current = ""
        self._document: Document | None = None

    @property
    def items(self) -> tuple[ProblemItem, ...]:
        """All of them: errors before warnings, causes before consequences.

        What two parts say of one place, such as a file that is missing, is listed once.
        """
        found: list[ProblemItem] = []
        for source in SOURCES:
            said = {(item.place, item.text) for item in found}
            own = self._by_source.get(source, ())
            found += [item for item in own if (item.place, item.text) not in said]
        return tuple(sorted(found, key=lambda item: item.severity == "warning"))

    @property
    def errors(self) -> int:
        """How many stop the training."""
        return sum(item.severity == "error" for item in self.items)

    @property
    def warnings(self) -> int:
        """How many do not."""
        return sum(item.severity == "warning" for item in self.items)

    def follow(self, document: Document) -> None:
        """List what the checks say of a document, now and after every change."""
        if self._document is not None:
            self._document.report_changed.disconnect(self._report_changed)
        self._document = document
        document.report_changed.connect(self._report_changed)
        self._report_changed()

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
        self,
        source: Source,
        error: StudioError | None,
        ids: Mapping[str, str] | None = None,
        tensor: Entity | None = None,
    ) -> None:
        """Take the one error of a part, or none.

        Args:
            source: the part.
            ids: node ids by the name a user gave them, to find the layer an error names.
            tensor: the tensor it is about.
        """
        found = () if error is None else (of_error(source, error, ids or {}),)
        self.provide(source, (replace(item, tensor=tensor) for item in found))

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
        there = [each for each in (item.entity, item.tensor) if each is not None]
        if there:
            # The tensor last: a layer is shown by what of it is looked at.
            self._bus.select(there, source=VIEW)
        for each in there:
            self._bus.reveal(each, VIEW)
        self.current_changed.emit()
        if item.tensor is not None:
            self.tensor_wanted.emit()

    def _report_changed(self) -> None:
        if self._document is not None:
            self.provide("graph", of_document(self._document))

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
    named = (error.who, error.origin, *error.origin.removeprefix("layer ").split(", "))
    known = {**{node_id: node_id for node_id in ids.values()}, **ids}
    node_id = next((known[name] for name in named if name in known), None)
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


def of_document(document: Document) -> tuple[ProblemItem, ...]:
    """What the checks say of a document, with repairs that change it."""
    state = document.state
    names = {node_id: node.name for node_id, node in state.nodes.items()}
    return tuple(_of_graph(problem, names, document) for problem in document.report.problems)


def _of_graph(problem: Problem, names: Mapping[str, str], document: Document) -> ProblemItem:
    return ProblemItem(
        f"graph:{problem.id}:{problem.node}:{problem.port}",
        problem.severity,
        "graph",
        problem.message,
        problem.hint,
        names.get(problem.node, problem.node),
        entities.node(problem.node) if problem.node else None,
        find_repairs=lambda: tuple(_repair(fix, document) for fix in problem.fixes),
    )


def _repair(fix: Fix, document: Document) -> Repair:
    def apply() -> None:
        document.apply(fix.text, fix.apply(document.state))

    return Repair(fix.text, fix.effect, apply)
